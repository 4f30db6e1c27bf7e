/* Where the names of phases stand above a chart. No element of the page is touched here. */
const lspSoakNames = (() => {
  const GAP = 5;
  /* Each stretch is `{ name, left, right }` in pixels from the left end of a plot of so many, in their order; `measure`
     says how wide a name is. A name that is no longer than its stretch stands in the lowest row, which is 0; of the others each
     stands over what it reaches beyond, so that no line from a stretch up to its name runs through another. A name without
     room in `most` rows has none, and says so by row -1. */
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
