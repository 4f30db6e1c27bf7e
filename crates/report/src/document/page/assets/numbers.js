"use strict";
/* Decodes a report's embedded numbers for a chart, without access to the page. */
const lspSoakNumbers = (() => {
  const QUANTITIES = {
    private: { name: "Private", unit: "MiB", scale: 1 / 1024 },
    resident: { name: "Resident", unit: "MiB", scale: 1 / 1024 },
    proportional: { name: "PSS", unit: "MiB", scale: 1 / 1024, note: "as last read, at checkpoints and between" },
    huge: { name: "Huge pages", unit: "MiB", scale: 1 / 1024, note: "as last read, at checkpoints and between" },
    cpu: { name: "CPU", unit: "processors", scale: 1 / 1000 },
    faults: { name: "Faults", unit: "per second", scale: 1 },
  };

  /* Two values per place of the grid, in time order; null if unknown. */
  const decode = (coded, places, scale) => {
    const values = new Array(2 * places).fill(null);
    let value = 0;
    coded?.first.forEach((more, place) => {
      if (more === null) return;
      values[2 * place] = (value += more) * scale;
      values[2 * place + 1] = (value + (coded.then ? coded.then[place] : 0)) * scale;
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
  /* The median of the lines at each time, where at least half of them have a value. */
  const median = (lines) => lines[0].map((_, point) => {
    const known = lines.map((line) => line[point]).filter((value) => value !== null);
    return known.length && known.length * 2 >= lines.length ? middle(known) : null;
  });

  /* A piecewise linear map from one sequence of bounds to another. */
  const warp = (from, to) => (time) => {
    let part = 0;
    while (part < from.length - 2 && time >= from[part + 1]) part++;
    const length = from[part + 1] - from[part];
    return to[part] + (length > 0 ? Math.min(1, (time - from[part]) / length) : 1) * (to[part + 1] - to[part]);
  };
  /* A line on the grid of other bounds. Each value falls into exactly one place, so no peak is lost or drawn twice. A place
     keeps its lowest and highest value, in time order; an empty place takes the value at its time. */
  const align = (values, onto, back, width, places) => {
    const laid = Array.from({ length: places }, () => []);
    values.forEach((value, point) => {
      if (value !== null) laid[Math.min(places - 1, Math.floor(onto((point + 0.5) * width / 2) / width))].push(value);
    });
    return laid.flatMap((all, place) => {
      if (all.length === 0) {
        const value = values[Math.floor(back((place + 0.5) * width) / width * 2)] ?? null;
        return [value, value];
      }
      const low = Math.min(...all), high = Math.max(...all);
      return all.indexOf(low) < all.indexOf(high) ? [low, high] : [high, low];
    });
  };

  /* The numbers of a chart: all lines of all servers, in run time or with aligned phases. */
  const read = (text) => {
    const data = JSON.parse(text), { width } = data;
    const runs = data.servers.flatMap((server) => server.runs);
    const keys = Object.keys(QUANTITIES).filter((key) => runs.some((run) => run.lines[key]));
    const places = Math.max(...runs.flatMap((run) => Object.values(run.lines).map((line) => line.first.length)));
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
    /* The lines of a quantity, in the order of `lines`. */
    const values = (key, aligned) => once(`${key} ${aligned}`, () => data.servers.flatMap((server) => {
      const own = server.runs.map((run) => {
        const line = decode(run.lines[key], places, QUANTITIES[key].scale);
        return aligned ? align(line, warp(run.bounds, common), warp(common, run.bounds), width, alignedPlaces) : line;
      });
      return [...(own.length > 1 ? own : []), median(own)];
    }));
    /* Phases, windows and requests of a server's typical run, in the drawn time. */
    const typical = (server, aligned) => once(`typical ${server} ${aligned}`, () => {
      const { typical, runs, typicalRun } = data.servers[server];
      const to = aligned ? warp(runs[typicalRun].bounds, common) : (time) => time;
      const requests = new Map();
      for (const [place, count] of typical.requests) {
        const there = Math.floor(to((place + 0.5) * width) / width);
        requests.set(there, (requests.get(there) ?? 0) + count);
      }
      const moved = (one) => ({ ...one, from: to(one.from), to: to(one.to), checkpoint: one.checkpoint == null ? null : to(one.checkpoint) });
      return { run: typical.run, phases: typical.phases.map(moved), stretches: typical.stretches.map(moved), windows: typical.windows.map(moved), requests };
    });
    const size = (aligned) => (aligned ? alignedPlaces : places);
    const times = (aligned) => once(`times ${aligned}`, () => Array.from({ length: 2 * size(aligned) }, (_, point) => (point / 2 + 0.25) * width));
    return { ...data, keys, alike, lines, values, typical, size, times };
  };

  return { QUANTITIES, read, highest };
})();
