"use strict";
/* From what a report embeds to what a chart draws. No element of the page is touched here. */
const lspSoakNumbers = (() => {
  const QUANTITIES = {
    private: { name: "Private", unit: "MiB", scale: 1 / 1024 },
    resident: { name: "Resident", unit: "MiB", scale: 1 / 1024 },
    proportional: { name: "PSS", unit: "MiB", scale: 1 / 1024, note: "as last read, at checkpoints and between" },
    huge: { name: "Huge pages", unit: "MiB", scale: 1 / 1024, note: "as last read, at checkpoints and between" },
    cpu: { name: "CPU", unit: "processors", scale: 1 / 1000 },
    faults: { name: "Faults", unit: "per second", scale: 1 },
  };

  /* The lowest and the highest value at each place of the grid; null where nothing is known. */
  const decode = (coded, places) => {
    const [low, high] = [new Array(places).fill(null), new Array(places).fill(null)];
    let value = 0;
    coded?.low.forEach((more, place) => {
      if (more === null) return;
      low[place] = value += more;
      high[place] = value + (coded.up ? coded.up[place] : 0);
    });
    return { low, high };
  };
  /* Two points for each place: its lowest and its highest value, that first which is nearer to what was before, so that
     the line does not jump more than the server did. */
  const points = ({ low, high }, scale) => {
    const values = new Array(low.length * 2).fill(null);
    let before = 0;
    low.forEach((least, place) => {
      if (least === null) return;
      const most = high[place], falls = Math.abs(before - most) < Math.abs(before - least);
      before = falls ? least : most;
      values[2 * place] = (falls ? most : least) * scale;
      values[2 * place + 1] = before * scale;
    });
    return values;
  };
  const highest = (values, place) => {
    const [a, b] = [values[2 * place], values[2 * place + 1]];
    return a == null && b == null ? null : Math.max(a ?? -Infinity, b ?? -Infinity);
  };
  const middle = (values) => {
    const sorted = values.toSorted((a, b) => a - b), half = sorted.length >> 1;
    return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  };
  /* At each place the median of what at least half of the lines say there. */
  const median = (lines) => {
    const of = (part) => lines[0][part].map((_, place) => {
      const known = lines.map((line) => line[part][place]).filter((value) => value !== null);
      return known.length && known.length * 2 >= lines.length ? middle(known) : null;
    });
    return { low: of("low"), high: of("high") };
  };

  /* From one sequence of bounds to another, straight between them. */
  const warp = (from, to) => (time) => {
    let part = 0;
    while (part < from.length - 2 && time >= from[part + 1]) part++;
    const length = from[part + 1] - from[part];
    return to[part] + (length > 0 ? Math.min(1, (time - from[part]) / length) : 1) * (to[part + 1] - to[part]);
  };
  /* A line on a grid where the bounds lie elsewhere. Every place of the run is in at least one of the grid: no peak is lost. */
  const align = ({ low, high }, back, width, places) => {
    const lines = { low: new Array(places).fill(null), high: new Array(places).fill(null) };
    let first = 0;
    for (let place = 0; place < places; place++) {
      const last = place === places - 1 ? low.length : Math.min(low.length, Math.max(first + 1, Math.ceil(back((place + 1) * width) / width)));
      for (let own = first; own < last; own++) {
        if (low[own] === null) continue;
        lines.low[place] = Math.min(lines.low[place] ?? Infinity, low[own]);
        lines.high[place] = Math.max(lines.high[place] ?? -Infinity, high[own]);
      }
      first = Math.min(last, Math.max(first, Math.floor(back((place + 1) * width) / width)));
    }
    return lines;
  };

  /* The numbers of a chart: every line of every server on the time of the runs, or with their phases under each other. */
  const read = (text) => {
    const data = JSON.parse(text), { width } = data;
    const runs = data.servers.flatMap((server) => server.runs);
    const keys = Object.keys(QUANTITIES).filter((key) => runs.some((run) => run.lines[key]));
    const places = Math.max(...runs.flatMap((run) => Object.values(run.lines).map((line) => line.low.length)));
    runs.forEach((run) => { run.bounds = [0, ...run.bounds]; });
    const alike = runs.length > 1 && runs.every((run) => run.bounds.length === runs[0].bounds.length);
    const common = [0];
    if (alike) for (let part = 1; part < runs[0].bounds.length; part++) common.push(common[part - 1] + middle(runs.map((run) => run.bounds[part] - run.bounds[part - 1])));
    const alignedPlaces = Math.max(1, Math.ceil(common.at(-1) / width));
    const lines = [];
    data.servers.forEach((server, index) => {
      const several = server.runs.length > 1;
      server.first = lines.length;
      if (several) server.runs.forEach((run) => lines.push({ server: index, run }));
      server.main = lines.length;
      lines.push({ server: index });
      server.typicalRun = Math.max(0, server.runs.findIndex((run) => run.name === server.typical.run));
    });
    const decoded = new Map();
    const once = (name, make) => { if (!decoded.has(name)) decoded.set(name, make()); return decoded.get(name); };
    /* All lines of a quantity, in the order of `lines`. */
    const of = (key, aligned) => once(`${key} ${aligned}`, () => data.servers.flatMap((server) => {
      const own = server.runs.map((run) => {
        const line = decode(run.lines[key], places);
        return aligned ? align(line, warp(common, run.bounds), width, alignedPlaces) : line;
      });
      return [...(own.length > 1 ? own : []), median(own)].map((line) => points(line, QUANTITIES[key].scale));
    }));
    /* Phases, windows and requests of the run that stands for its server, in the time that is drawn. */
    const typical = (server, aligned) => once(`typical ${server} ${aligned}`, () => {
      const { typical, runs, typicalRun } = data.servers[server];
      const to = aligned ? warp(runs[typicalRun].bounds, common) : (time) => time;
      const requests = new Map();
      for (const [place, count] of typical.requests) {
        const there = Math.floor(to((place + 0.5) * width) / width);
        requests.set(there, (requests.get(there) ?? 0) + count);
      }
      const moved = (one) => ({ ...one, from: to(one.from), to: to(one.to), checkpoint: one.checkpoint == null ? null : to(one.checkpoint) });
      return { run: typical.run, phases: typical.phases.map(moved), windows: typical.windows.map(moved), requests };
    });
    const size = (aligned) => (aligned ? alignedPlaces : places);
    const times = (aligned) => once(`times ${aligned}`, () => Array.from({ length: 2 * size(aligned) }, (_, point) => (point / 2 + 0.25) * width));
    return { ...data, keys, alike, lines, of, typical, size, times };
  };

  return { QUANTITIES, read, highest };
})();
