/* Converts a table for a spreadsheet: one column per number of a cell, with its unit in the head. No access to the page. */
const lspSoakTable = (() => {
  const SCALES = { ns: 1e-9, "µs": 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600, B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };
  const NUMBER = /([<>≤≥]?)\s*([+−]?)(\d[\d,]*(?:\.\d+)?)(?:\s*([KMG]iB|B|ns|µs|ms|s|min|h|%)(?![\p{L}\p{N}]))?/gu;
  const WORDS = /^(?:[\s–/,*]|to|of|per \p{L}+|by machine|least|most)*$/u;
  const ORDER = ["", "below", "above", "low", "high", "of", "runs", "of runs", "vs baseline", "vs baseline low", "vs baseline high", "by machine low", "by machine high"];
  const BOUNDS = { "<": "below", "≤": "below", ">": "above", "≥": "above" };

  /* The numbers of a part of a cell, or null if it has other text. A unit also applies to the numbers before it. */
  const numbers = (part) => {
    const all = [], whole = part.replace(/(\d+) h (\d+) min/g, (_, hours, minutes) => `${60 * hours + +minutes} min`).replace(/(\d+) min (\d+) s/g, (_, minutes, seconds) => `${60 * minutes + +seconds} s`);
    const rest = whole.replace(NUMBER, (_, bound, sign, digits, unit) => { all.push({ bound, value: Number((sign === "−" ? "-" : "") + digits.replaceAll(",", "")), unit, exact: digits.includes(".") }); return " "; });
    all.reduceRight((unit, one) => (one.unit ??= unit), undefined);
    return WORDS.test(rest) ? all : null;
  };
  /* The meaning of a part's numbers: an interval after a bracket, a ratio after an arrow. */
  const kinds = (mark, part, count) => {
    const ends = (name) => [`${name} low`.trim(), `${name} high`.trim()];
    if (mark === "(") return / of /.test(part) ? ["runs", "of runs"] : ends("");
    if (mark) return [...ends("vs baseline"), ...ends("by machine")];
    if (part.includes("/")) return ["", "of"];
    if (count === 2 && /–| to /.test(part)) return ends("");
    return count > 1 ? Array.from({ length: count }, (_, place) => String(place + 1)) : [""];
  };
  /* The numbers of a cell by meaning; null for a text. */
  const cell = (text) => {
    const all = new Map();
    if (!/\d/.test(text)) return all;
    for (const [, mark, part] of text.matchAll(/([(▲▼≈]?)([^()▲▼≈]*)/gu)) {
      const values = numbers(part), names = values && kinds(mark, part, values.length);
      if (!values || values.length > names.length) return null;
      if (values.length === 1 && mark === "(") values.push(values[0]);
      /* `<` and `>` give a bound, not an end of an interval. */
      values.forEach((one, place) => { if (!one.bound) all.set(names[place], one); else if (values.length === 1) all.set(BOUNDS[one.bound], one); });
    }
    return all;
  };
  /* Splits a column by meaning; a text column stays unchanged. */
  const column = ([head, ...texts], unit) => {
    const cells = texts.map(cell), all = cells.flatMap((one) => [...one?.values() ?? []]);
    if (texts.every((text) => ["–", "n/a", ""].includes(text))) return [[head, ...texts.map(() => "")]];
    if (!all.length || cells.includes(null)) return [[head, ...texts]];
    const least = (one) => all.map((other) => other.unit).filter((other) => SCALES[other] && /B$/.test(other) === /B$/.test(one)).sort((a, b) => SCALES[a] - SCALES[b])[0];
    /* Only sizes have a fraction, so a column with one gets the unit of the caption. */
    const usual = all.some((one) => !one.unit && one.exact) ? unit : undefined;
    const place = (kind) => (ORDER.includes(kind) ? ORDER.indexOf(kind) : Number(kind) + ORDER.length);
    return [...new Set(cells.flatMap((one) => [...one.keys()]))].sort((a, b) => place(a) - place(b)).map((kind) => {
      const own = cells.map((one) => one.get(kind)), shown = own.find((one) => one)?.unit ?? (/^(runs|of)/.test(kind) ? undefined : usual), to = SCALES[shown] ? least(shown) ?? shown : shown;
      const value = (one) => (one ? String(Number((one.value * (SCALES[one.unit] ?? 1) / (one.unit ? SCALES[to] ?? 1 : 1)).toPrecision(12))) : "");
      return [[head, kind].filter(Boolean).join(" ") + (to ? `, ${to}` : ""), ...own.map(value)];
    });
  };
  /* `rows` are texts with the heads first; `caption` names the unit of sizes without one. */
  const tsv = (rows, caption) => {
    const unit = caption.match(/\b[KMG]iB\b(?!·)/)?.[0];
    const [first, ...others] = rows[0].map((_, place) => rows.map((row) => row[place]));
    const columns = [first, ...others.flatMap((one) => column(one, unit))];
    return rows.map((_, row) => columns.map((one) => one[row]).join("\t")).join("\n");
  };
  return { tsv };
})();
