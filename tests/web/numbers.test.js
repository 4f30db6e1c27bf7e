// The page's decoding of chart numbers, for random samples: no line has a turn that its samples lack.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { runInNewContext } from "node:vm";

const script = readFileSync(new URL("../../crates/report/src/document/page/assets/numbers.js", import.meta.url), "utf8");
const { read } = runInNewContext(`${script}; lspSoakNumbers`);

const WIDTH = 0.05;

/** Seeded pseudorandom numbers. */
function dice(seed) {
  let state = seed;
  return (most) => { state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0; return Math.floor(state / 4_294_967_296 * most); };
}

/** Samples on a grid, two per place; with `holes` some places are unknown. */
function samples(roll, holes) {
  const places = 4 + roll(60);
  return Array.from({ length: places }, (_, place) => (holes && place > 1 && roll(12) === 0 ? [null, null] : [roll(1_000), roll(1_000)])).flat();
}

/** A run in the page's format: differences, and three phases with random bounds. */
function run(values, roll) {
  const first = [], then = [], end = values.length / 2 * WIDTH;
  let before = 0;
  for (let place = 0; place < values.length / 2; place++) {
    const [one, two] = [values[2 * place], values[2 * place + 1]];
    first.push(one === null ? null : one - before);
    then.push(one === null ? 0 : two - one);
    before = one ?? before;
  }
  const [began, middle, last] = [0, 1, 2].map(() => roll(1_000) / 1_000 * end).sort((a, b) => a - b);
  return { name: "run.jsonl", bounds: [began, middle, last, end], lines: { private: { first, then } } };
}

/** The aligned lines of these runs, with the median last. */
function lines(all, roll) {
  const runs = all.map((values) => run(values, roll));
  const server = { label: "server", place: 0, runs, typical: { run: runs[0].name, phases: [], stretches: [], windows: [], requests: [] } };
  return read(JSON.stringify({ width: WIDTH, exact: false, servers: [server] })).values("private", true);
}

const known = (values) => values.filter((value) => value !== null);
function turns(values) {
  const moves = known(values).map((value, place, all) => value - (all[place - 1] ?? value)).filter((move) => move !== 0);
  return moves.filter((move, place) => place > 0 && move > 0 !== moves[place - 1] > 0).length;
}

test("a line turns no more often than its samples, and keeps the highest of them", () => {
  for (let seed = 1; seed <= 400; seed++) {
    const roll = dice(seed), all = Array.from({ length: 2 + roll(3) }, () => samples(roll, seed % 2 === 0));
    const drawn = lines(all, roll);
    all.forEach((values, place) => {
      assert.ok(turns(drawn[place]) <= turns(values), `seed ${seed}`);
      assert.equal(Math.max(...known(drawn[place])), Math.max(...known(values)) / 1024, `seed ${seed}`);
    });
  }
});

test("samples that only rise, or only fall, are a line that does the same", () => {
  for (let seed = 1; seed <= 400; seed++) {
    const roll = dice(seed), way = seed % 2 ? 1 : -1;
    const all = Array.from({ length: 2 + roll(3) }, () => samples(roll, false).sort((a, b) => way * (a - b)));
    lines(all, roll).slice(0, all.length).forEach((line) => assert.equal(turns(line), 0, `seed ${seed}`));
  }
});

test("a median is never outside of the runs at its moment", () => {
  for (let seed = 1; seed <= 400; seed++) {
    const roll = dice(seed), all = Array.from({ length: 2 + roll(5) }, () => samples(roll, seed % 2 === 0));
    const drawn = lines(all, roll), median = drawn.at(-1);
    median.forEach((value, point) => {
      const there = known(drawn.slice(0, -1).map((line) => line[point]));
      if (value !== null) assert.ok(value >= Math.min(...there) && value <= Math.max(...there), `seed ${seed}`);
    });
  }
});
