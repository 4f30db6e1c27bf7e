/* Layout of phase names above a chart, without access to the page. */
const lspSoakNames = (() => {
  const GAP = 5;
  /* Stretches are `{ name, left, right }` in pixels, from left to right; `measure` returns the width of a name. A name that
     fits its stretch gets row 0, the lowest. A longer name gets a row above all names that it overlaps, so the line from a
     stretch to its name crosses no other name. A name without room in `most` rows gets row -1. */
  const lay = (stretches, width, measure, most = Infinity) => {
    const laid = stretches.map(({ name, left, right }) => {
      const wide = measure(name), fits = wide + 2 * GAP <= right - left;
      const from = fits ? left + GAP : Math.max(0, Math.min(left + GAP, width - wide));
      return { name, left, from, to: from + wide, fits, row: -1 };
    });
    for (let place = laid.length - 1; place >= 0; place--) {
      const one = laid[place], later = laid.slice(place + 1).filter((other) => other.row >= 0);
      const under = later.filter((other) => other.left <= one.to + GAP).map((other) => other.row);
      let row = one.fits ? 0 : Math.max(0, ...under) + 1;
      const taken = () => later.some((other) => other.row === row && other.from < one.to + GAP && one.from < other.to + GAP);
      while (taken()) row++;
      one.row = row < most ? row : -1;
    }
    return laid;
  };
  const rows = (laid) => Math.max(0, ...laid.map(({ row }) => row)) + 1;
  return { lay, rows };
})();
