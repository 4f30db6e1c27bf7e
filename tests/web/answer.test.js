// The first view of a report: on a screen, on a phone, on paper, in a spreadsheet and outside browsers.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { browser, chart, open, over, pixels, written } from "./browser.js";
import { out, root, soak } from "./pages.js";

const NAMES = ["one", "two", "alone", "crashed", "systems", "machines", "gate", "sweep", "hostile", "allocators", "tuned"];

test("the first screen has one verdict box and, right under it, the table that answers", async () => {
  for (const name of ["one", "two", "alone", "gate", "allocators"]) {
    const page = await open(name, { height: 800 });
    const seen = await page.evaluate(() => {
      const verdict = document.querySelector("main > :first-child"), table = verdict.nextElementSibling.querySelector("table");
      return { verdict: verdict.className, boxes: document.querySelectorAll(".verdict").length, bottom: table.getBoundingClientRect().bottom };
    });
    assert.deepEqual([seen.verdict, seen.boxes], ["verdict", 1], name);
    assert.ok(seen.bottom <= 800, `${name}: the table ends at ${seen.bottom}`);
    await page.close();
  }
  const page = await open("tuned", { height: 800 });
  const row = await page.$$eval("#settings tbody tr", (rows) => rows.find((row) => row.cells[2].textContent === "use").getBoundingClientRect().bottom);
  assert.ok(row <= 800, `the setting to use ends at ${row}`);
  assert.ok(await page.$eval("#ship pre", (line) => line.getBoundingClientRect().bottom) < row, "the line to paste is above it");
  await page.close();
});

test("the page says the same as a terminal, in the same order", async () => {
  const page = await open("allocators");
  const said = await page.$$eval(".verdict p", (all) => all.map((one) => one.innerText.trim()));
  const printed = execFileSync(soak, ["compare", join(root, "reports/ty-allocators")], { encoding: "utf8", env: { ...process.env, COLUMNS: "100" } }).replace(/\s+/g, " ");
  const places = said.map((sentence) => printed.indexOf(sentence));
  assert.ok(said.length > 3 && places.every((place) => place >= 0), said[places.indexOf(-1)]);
  assert.deepEqual(places, places.toSorted((a, b) => a - b));
  assert.ok(places.at(-1) < printed.indexOf("Private memory after each phase"));
  await page.close();
});

test("at 1280 pixels no table is to be scrolled", async () => {
  for (const name of NAMES) {
    const page = await open(name);
    await page.$$eval("details", (all) => all.forEach((one) => { one.open = true; }));
    const wide = await page.$$eval(".scroll", (all) => all.filter((one) => one.scrollWidth > one.clientWidth).map((one) => `${one.ariaLabel}: ${one.scrollWidth} > ${one.clientWidth}`));
    assert.deepEqual(wide, [], name);
    await page.close();
  }
});

test("on a phone every server is in sight", async () => {
  const page = await open("allocators", { width: 390, height: 844 });
  const table = await page.$eval("#private table", (table) => [...table.tBodies[0].rows].map((row) => [...row.cells].slice(1).map((cell) => ({ ...cell.getBoundingClientRect().toJSON(), head: getComputedStyle(cell, "::before").content }))));
  assert.equal(table.length, 5);
  for (const row of table) {
    assert.deepEqual(row.map(({ head }) => head), ['"ty-system (baseline)"', '"ty-jemalloc"', '"ty-mimalloc"']);
    assert.ok(row.every(({ left, right }) => left >= 0 && right <= 390), JSON.stringify(row));
  }
  const legend = await page.$$eval(".legend button", (all) => all.map((one) => one.getBoundingClientRect()).filter(({ left, right }) => left >= 0 && right <= 390).length);
  assert.equal(legend, 3);
  await page.close();
});

test("three servers take six pages of paper at most", async () => {
  for (const width of [1280, 800]) {
    const page = await open("allocators", { width });
    for (const format of ["A4", "Letter"]) {
      const file = join(out, `allocators-${format}.pdf`);
      await page.pdf({ path: file, format, printBackground: true });
      const pages = readFileSync(file, "latin1").match(/\/Type\s*\/Page\b/g).length;
      assert.ok(pages >= 2 && pages <= 6, `${format} at ${width}: ${pages} pages`);
    }
    await page.close();
  }
});

test("what is copied as TSV is numbers alone, and their units are in the head", async () => {
  for (const name of NAMES) {
    const page = await open(name);
    await page.$$eval("details", (all) => all.forEach((one) => { one.open = true; }));
    const all = await page.evaluate(async () => {
      const copied = [];
      navigator.clipboard.writeText = async (text) => copied.push(text);
      for (const holder of document.querySelectorAll(".copyable:has(table.figures)")) holder.querySelector(".tools button").click();
      await new Promise((done) => setTimeout(done, 50));
      return copied;
    });
    assert.ok(all.length > 3 || name === "one", name);
    for (const copied of all) {
      const [heads, ...rows] = copied.split("\n").map((line) => line.split("\t"));
      for (const row of rows) {
        assert.equal(row.length, heads.length);
        assert.deepEqual(row.slice(1).filter((cell) => !/^(-?\d+(\.\d+)?)?$/.test(cell)), [], `${name}: ${heads[0]} ${row[0]}`);
      }
    }
    await page.close();
  }
  const page = await open("allocators");
  await page.evaluate(() => { navigator.clipboard.writeText = async (text) => { window.copied = text; }; });
  await page.click("#private .tools button");
  const [heads, first, ...rest] = (await page.evaluate(() => window.copied)).split("\n").map((line) => line.split("\t"));
  assert.deepEqual(heads.slice(4, 9), ["ty-jemalloc, MiB", "ty-jemalloc low, MiB", "ty-jemalloc high, MiB", "ty-jemalloc vs baseline low, %", "ty-jemalloc vs baseline high, %"]);
  const compared = JSON.parse(execFileSync(soak, ["compare", join(root, "reports/ty-allocators"), "--format", "json"], { encoding: "utf8", maxBuffer: 1 << 28 }));
  const phases = compared.scenarios[0].targets[0].rows.filter((row) => row.figure === "private" && row.place === "phase");
  const percent = (ratio) => String(Math.round((ratio - 1) * 100));
  assert.deepEqual(first.slice(-2), [phases[0].cells[2].ratio.low, phases[0].cells[2].ratio.high].map(percent));
  assert.equal(rest.at(-1)[7], percent(phases.at(-1).cells[1].ratio.low));
  await page.close();
});

test("a picture has its colours outside of browsers too", async () => {
  const svg = join(out, "allocators.svg"), png = join(out, "allocators-librsvg.png");
  execFileSync("rsvg-convert", [svg, "-o", png]);
  const page = await browser.newPage();
  await page.setViewport({ width: 1000, height: 700 });
  await page.setContent(`<body style="margin:0"><img src="data:image/png;base64,${readFileSync(png, "base64")}">`);
  const image = await (await page.waitForSelector("img")).boundingBox();
  const counts = new Map();
  for (const pixel of await pixels(page, image)) counts.set(pixel.join(), (counts.get(pixel.join()) ?? 0) + 1);
  const seen = (color) => counts.get(color) ?? 0;
  assert.ok(seen("255,255,255") > image.width * image.height / 4, "the ground is white");
  assert.ok(seen("0,0,0") < image.width * image.height / 100, `${seen("0,0,0")} pixels are black`);
  for (const [server, color] of [["ty-system", "0,114,178"], ["ty-jemalloc", "213,94,0"], ["ty-mimalloc", "0,158,115"]]) assert.ok(seen(color) > 300, `${server}: ${seen(color)} pixels`);
  await page.close();
});

test("the keyboard zooms and moves at both ends of a run", async () => {
  const page = await open("two");
  const whole = await chart(page), end = Number(whole.to);
  const press = async (key, times = 1) => { for (let time = 0; time < times; time++) await page.keyboard.press(key); const { from, to } = await chart(page); return [Number(from), Number(to)]; };
  await page.focus(".u-over");
  for (const [edge, back] of [["End", "Home"], ["Home", "End"]]) {
    await press(edge);
    const [low, high] = await press("+", 2);
    assert.ok(Math.abs(high - low - end / 4) < 0.1, `${edge}: a quarter is shown, ${low}–${high}`);
    assert.ok(edge === "End" ? high === end : low === 0, "the edge is shown");
    await page.keyboard.down("Shift");
    const [left, right] = await press(edge === "End" ? "ArrowLeft" : "ArrowRight", 25);
    await page.keyboard.up("Shift");
    assert.ok(edge === "End" ? left < low : right > high, "the chart goes along with the cursor");
    assert.ok(Math.abs(right - left - end / 4) < 0.1);
    assert.deepEqual(await press("-", 3), [0, end], "and out again");
    await press(back);
  }
  await press("+", 40);
  const [low, high] = await press("Home");
  assert.ok(high > low);
  await page.close();
});

test("two fingers zoom, one moves, and both ends stay ends", async () => {
  const page = await open("two", { width: 390, height: 844, touch: true });
  const box = await over(page), end = Number((await chart(page)).to), session = await page.createCDPSession();
  const touch = (type, ...places) => session.send("Input.dispatchTouchEvent", { type, touchPoints: places.map((part, id) => ({ x: box.x + part * box.width, y: box.y + 60, id })) });
  const drag = async (from, to) => {
    await touch("touchStart", ...from);
    for (let step = 1; step <= 8; step++) await touch("touchMove", ...from.map((part, finger) => part + (to[finger] - part) * step / 8));
    await touch("touchEnd");
    const { from: low, to: high } = await chart(page);
    return [Number(low), Number(high)];
  };
  const [low, high] = await drag([0.4, 0.6], [0.2, 0.8]);
  assert.ok(Math.abs(high - low - end / 3) < end / 20, `a third is shown: ${low}–${high} of ${end}`);
  const [left, right] = await drag([0.3], [0.8]);
  assert.ok(left < low - end / 20 && Math.abs(right - left - (high - low)) < 0.1, `${left}–${right}`);
  assert.equal((await drag([0.1], [0.9]))[0], 0);
  assert.deepEqual(await drag([0.1, 0.9], [0.45, 0.55]), [0, end]);
  assert.deepEqual(page.said, []);
  await page.close();
});

test("an axis of time has round times, from a part of a second to days", async () => {
  const page = await open("two");
  const whole = Number((await chart(page)).to);
  const STEPS = [0.1, 0.2, 0.5, ...[1, 60].flatMap((unit) => [1, 2, 5, 10, 15, 30].map((step) => step * unit)), ...[1, 2, 3, 6, 12, 24, 48].map((hours) => hours * 3600)];
  for (const length of [2, 30, 100, 900, 10_000, 29_000, 86_400, 400_000]) {
    // The same chart with another length in seconds.
    await page.evaluate((times) => {
      const data = JSON.parse(document.querySelector(".chart script").textContent), root = document.createElement("div");
      const stretch = (one) => { for (const name of ["from", "to", "checkpoint"]) if (one[name] != null) one[name] *= times; };
      data.width *= times;
      for (const { typical, runs } of data.servers) { typical.phases.forEach(stretch); typical.stretches.forEach(stretch); typical.windows.forEach(stretch); runs.forEach((run) => { run.bounds = run.bounds.map((bound) => bound * times); }); }
      root.className = "chart";
      root.append(lspSoak.element("script", { type: "application/json" }, JSON.stringify(data)));
      document.querySelector(".chart").replaceWith(root);
      new lspSoak.Chart(root);
    }, length / Number((await chart(page)).to));
    const { all, height } = await written(page);
    const ticks = all.filter(({ text, top }) => /^[\d:.]+( s)?$/.test(text) && top > height - 34).map(({ text }) => text);
    const seconds = ticks.map((text) => text.replace(" s", "").split(":").reduce((sum, part) => 60 * sum + Number(part), 0));
    const steps = seconds.slice(1).map((at, place) => Math.round((at - seconds[place]) * 10) / 10);
    assert.ok(ticks.length > 2 && new Set(steps).size === 1 && STEPS.includes(steps[0]), `${length} s: ${ticks.join(" ")}`);
    assert.ok(seconds.every((at) => Math.abs(at / steps[0] - Math.round(at / steps[0])) < 1e-6), ticks.join(" "));
  }
  assert.ok(whole > 0);
  await page.close();
});

test("each point of a sweep has its name where that has room, and the one to use is marked", async () => {
  for (const name of ["sweep", "tuned"]) {
    const page = await open(name);
    const used = await page.$$eval("#settings tbody tr", (rows) => rows.filter((row) => row.cells[2].textContent === "use").map((row) => `${row.cells[1].textContent} ${row.cells[0].textContent}`));
    assert.equal(used.length, 1, name);
    const fronts = await page.$$eval("#front figure svg", (all) => all.map((svg) => ({ names: [...svg.querySelectorAll(".name")].map((one) => one.textContent), rings: [...svg.querySelectorAll(".ring")].map((ring) => ring.closest(".use").querySelector(".name").textContent) })));
    for (const { names, rings } of fronts) {
      assert.equal(rings.length, 1);
      assert.ok(names.includes(rings[0]) && rings[0].startsWith("★ "), rings[0]);
      /* Settings with equal latency and long names do not all have room. */
      if (name === "sweep") continue;
      assert.equal(rings[0], `★ ${used[0]}`);
      assert.ok(names.filter((one) => /\d [a-z]/.test(one)).length > names.length / 2, `most have their names: ${names.join(", ")}`);
    }
    await page.close();
  }
});
