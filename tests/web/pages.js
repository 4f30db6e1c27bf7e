// The pages under test, rendered by the program: a run, a comparison, several machines and systems, a crashing server, a single server,
// a gate, a sweep, a server with a hostile name, a large campaign, and two committed reports.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { join } from "node:path";

export const HOSTILE = "</script><img src=x onerror=alert(1)>";

export const root = fileURLToPath(new URL("../../", import.meta.url));
export const soak = process.env.LSP_SOAK ?? join(root, "target/release/lsp-soak");
export const out = process.env.WEB_OUT ?? join(root, "target/web");
const golden = readFileSync(join(root, "fixtures/records/completed.jsonl"), "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));

/** The golden record with another label and number, and slightly larger figures. */
function variant(label, run, larger) {
  const [header, ...entries] = structuredClone(golden);
  header.server.label = label;
  header.plan = { ...header.plan, run };
  header.settings.command_line = ["lsp-soak", "run", "scenarios/completions.toml", "--server", label];
  const grow = (counters) => {
    for (const name of ["resident", "private", "high_water"]) if (counters[name]) counters[name] = Math.round(counters[name] * larger / 4096) * 4096;
  };
  for (const { event } of entries) {
    if (event.sample) grow(event.sample.counters);
    for (const round of event.checkpoint?.rounds ?? []) round.forEach((sample) => grow(sample.counters));
    for (const rollup of event.checkpoint?.rollups ?? []) for (const name of ["resident", "proportional", "proportional_anonymous", "anonymous"]) rollup[name] = Math.round(rollup[name] * larger);
    for (const mark of event.peak?.marks ?? []) grow(mark.counters);
  }
  return [header, ...entries];
}

/** Ten minutes at 20 Hz of a curve that never settles. */
function long(label, run, seed) {
  const [header, ...entries] = variant(label, run, 1);
  header.settings.interval = 50_000_000;
  const end = entries.findIndex(({ event }) => event.shutdown);
  const sample = entries.findLast(({ event }) => event.sample).event.sample;
  let at = entries[end - 1].at, state = seed;
  const more = [];
  for (let tick = 0; tick < 12_000; tick++) {
    at += 50_000_000;
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    const held = Math.round((150 + 60 * Math.sin(tick / 700) + state / 2_147_483_648 * 30) * 256) * 4096;
    const counters = { ...sample.counters, private: held, resident: held + (14 << 20), high_water: held + (40 << 20), user: sample.counters.user + tick * 20_000_000, minor_faults: sample.counters.minor_faults + tick * 2_000 + state % 30 };
    more.push({ at, event: { sample: { ...sample, counters } } });
  }
  const rest = entries.slice(end).map((entry) => ({ ...entry, at: at + 1 }));
  return [header, ...entries.slice(0, end), ...more, ...rest];
}

function write(name, records) {
  const directory = join(out, name);
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  records.forEach((record, place) => writeFileSync(join(directory, `run-${String(place + 1).padStart(3, "0")}.jsonl`), record.map((line) => JSON.stringify(line) + "\n").join("")));
  return directory;
}

function render(name, ...words) {
  const file = join(out, `${name}.html`);
  writeFileSync(file, execFileSync(soak, [...words, "--format", "html"], { maxBuffer: 1 << 28 }));
  return file;
}

/** Verdicts other than PASS have their own exit codes. */
function judge(name, ...words) {
  const { stdout, stderr, status } = spawnSync(soak, ["gate", ...words, "--format", "html"], { maxBuffer: 1 << 28 });
  if (![0, 1, 3].includes(status)) throw new Error(`gate: ${status}: ${stderr}`);
  const file = join(out, `${name}.html`);
  writeFileSync(file, stdout);
  return file;
}

/** The same runs on another machine. */
function on(machine, records) {
  return records.map(([header, ...entries]) => [{ ...header, host: { ...header.host, cpu: machine } }, ...entries]);
}

/** The same runs on another system. */
function under(target, records) {
  return records.map(([header, ...entries]) => [{ ...header, host: { ...header.host, target } }, ...entries]);
}

/** A sweep of `settings` cells with similar labels; two of them are on the front with the default. */
function swept(settings, blocks) {
  const labels = ["default", ...Array.from({ length: settings - 1 }, (_, place) => `thread.dirty-${1_000 * (place + 1)}.narenas-${1 + place % 4}`)];
  return Array.from({ length: blocks }, (_, block) => labels.map((label, place) => {
    const [header, ...entries] = variant(label, block * settings + place + 1, (place ? 0.7 + 0.02 * place : 1) * (1 + block / 400));
    const env = place ? { _RJEM_MALLOC_CONF: `dirty_decay_ms:${1_000 * place}` } : {};
    const cell = { of: settings, default: place === 0, env, args: [], preload: null };
    return [{ ...header, plan: { ...header.plan, block: block + 1, cell } }, ...entries];
  })).flat();
}

/** The timeline of these records as SVG. */
function picture(name, ...words) {
  writeFileSync(join(out, `${name}.svg`), execFileSync(soak, [...words, "--format", "svg"], { maxBuffer: 1 << 28 }));
}

export function pages() {
  mkdirSync(out, { recursive: true });
  const two = [0, 1, 2, 3].flatMap((run) => [variant("ty", 2 * run + 1, 1 + run / 200), variant("ty-jemalloc", 2 * run + 2, 1.2 + run / 150)]);
  const three = Array.from({ length: 24 }, (_, run) => long(["system", "jemalloc", "mimalloc"][run % 3], run + 1, run + 1));
  const hostile = write("hostile-records", [variant("plain", 1, 1), variant(HOSTILE, 2, 1.1), variant("plain", 3, 1), variant(HOSTILE, 4, 1.1)]);
  const big = write("big-records", three);
  const machines = write("machines-records", [...on("EPYC", two), ...on("Xeon", two)]);
  const judged = write("gate-records", two);
  const crashed = readFileSync(join(root, "fixtures/records/crashed.jsonl"), "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));
  picture("one", "report", join(root, "fixtures/records/completed.jsonl"));
  picture("two", "compare", write("two-records", two));
  picture("hostile", "compare", hostile);
  picture("big", "compare", big);
  picture("allocators", "compare", join(root, "reports/ty-allocators"));
  return {
    one: render("one", "report", join(root, "fixtures/records/completed.jsonl")),
    two: render("two", "compare", write("two-records", two)),
    machines: render("machines", "compare", machines),
    gate: judge("gate", "--from", judged, "--baseline", "ty", "--candidate", "ty-jemalloc"),
    crashed: render("crashed", "compare", write("crashed-records", [...two, crashed])),
    alone: render("alone", "compare", write("alone-records", two.filter(([header]) => header.server.label === "ty"))),
    systems: render("systems", "compare", write("systems-records", [...two, ...under("aarch64-apple-darwin", two)])),
    sweep: render("sweep", "tune", "--from", write("sweep-records", swept(13, 4))),
    hostile: render("hostile", "compare", hostile),
    big: render("big", "compare", big),
    allocators: render("allocators", "compare", join(root, "reports/ty-allocators")),
    tuned: render("tuned", "tune", "--from", join(root, "reports/ty-tune"), "--allow-latency", "30%", "--allow-cpu", "30%"),
  };
}
