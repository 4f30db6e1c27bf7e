// Drawings in a real browser: labels, names, marks, the charts of a sweep, shades, and paper.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { open, pixels, written } from "./browser.js";
import { out } from "./pages.js";

test("whatever is drawn, every label lies inside the chart", async () => {
  for (const name of ["one", "two", "big", "sweep"]) for (const size of [{ width: 1280 }, { width: 390, dots: 2 }]) {
    const page = await open(name, size);
    for (const quantity of await page.$$eval(".controls input[type=radio]", (all) => all.map((one) => one.value))) {
      await page.click(`.controls input[value=${quantity}]`);
      const { all, width, height } = await written(page);
      assert.ok(all.length > 8, `${name} ${quantity}`);
      const outside = all.filter((one) => one.left < 0 || one.right > width || one.top < 0 || one.bottom > height);
      assert.deepEqual(outside, [], `${name} ${quantity} at ${size.width}`);
    }
    if (name === "big") assert.ok((await written(page)).all.some(({ text }) => /^\d{2},\d{3}$/.test(text)), "the labels of faults are long");
    await page.close();
  }
});

test("every phase has its whole name, on a phone too, and no name is over another", async () => {
  for (const name of ["one", "two", "gate", "sweep", "big"]) for (const width of [1280, 390]) {
    const page = await open(name, { width });
    const phases = await page.evaluate(() => lspSoakNumbers.read(document.querySelector(".chart script").textContent).servers[0].typical.stretches.map(({ name }) => name));
    assert.ok(phases.length > 4);
    const { all } = await written(page);
    const names = all.filter(({ text }) => phases.includes(text));
    assert.deepEqual(names.map(({ text }) => text), phases, `${name} at ${width}`);
    const over = names.filter((one, place) => names.slice(0, place).some((other) => one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom));
    assert.deepEqual(over, [], `${name} at ${width}`);
    await page.close();
  }
});

test("names stand in rows under each other only where they have no room side by side", async () => {
  const page = await open("one");
  const rows = (stretches, width, most) => page.evaluate((...words) => lspSoakNames.lay(words[0], words[1], (name) => 6 * name.length, words[2]).map(({ row }) => row), stretches, width, most);
  const stretch = (name, left, right) => ({ name, left, right });
  assert.deepEqual(await rows([stretch("start", 0, 100), stretch("goto", 100, 200)], 200), [0, 0]);
  assert.deepEqual(await rows([stretch("start", 0, 100), stretch("goto", 100, 110), stretch("decay", 110, 200)], 200), [0, 1, 0]);
  assert.deepEqual(await rows([stretch("start", 0, 8), stretch("goto", 8, 16), stretch("decay", 16, 200)], 200), [2, 1, 0]);
  assert.deepEqual(await rows([stretch("start", 0, 8), stretch("goto", 8, 16), stretch("decay", 16, 200)], 200, 2), [-1, 1, 0]);
  await page.close();
});

test("a mark is explained where it is drawn and nowhere else", async () => {
  const page = await open("two");
  const said = () => page.$eval(".chart", (chart) => ({ marks: [...chart.querySelectorAll(".marks li")].filter((one) => one.getClientRects().length).map((one) => one.textContent), note: chart.querySelector(".said").textContent }));
  const { marks, note } = await said();
  assert.ok(marks.includes("◆checkpoint") && marks.includes("▲highest point"), marks.join());
  assert.match(note, /^Private, MiB, sampled, an upper bound; ◆ exact\. .*◆ is at the median of the runs' checkpoints, ▲ at the highest/);
  await page.click(".controls input[value=cpu]");
  assert.match((await said()).note, /^CPU, processors\. .* ▲ is at the highest point/);
  assert.doesNotMatch((await said()).note + (await said()).marks, /◆|◇/);
  const most = await page.evaluate(() => { const data = lspSoakNumbers.read(document.querySelector(".chart script").textContent); return Math.max(...data.values("huge", true).flat()); });
  await page.click(".controls input[value=huge]");
  assert.equal((await said()).marks.includes("▲highest point"), most > 0, String(most));
  await page.close();
});

test("a sweep has a point for each setting in both pictures, numbered as in the table, and no number is over another", async () => {
  for (const width of [1280, 390]) {
    const page = await open("sweep", { width });
    assert.match(await page.$eval("h1", (title) => title.textContent), /^tune .+ on completions, .+, 13 settings$/);
    assert.equal(await page.$$eval(".verdict", (all) => all.length), 1);
    const table = await page.$eval("#settings table", (table) => [...table.tBodies[0].rows].map((row) => `${row.cells[1].textContent} ${row.cells[0].textContent}:`));
    const fronts = await page.$$eval("#front figure svg", (all) => all.map((svg) => ({
      points: svg.querySelectorAll(".point").length,
      said: [...svg.querySelectorAll("title")].map((title) => title.textContent),
      boxes: [...svg.querySelectorAll(".name")].map((name) => { const { left, right, top, bottom } = name.getBoundingClientRect(); return { left, right, top, bottom }; }),
      inside: (({ left, right, top, bottom }) => ({ left, right, top, bottom }))(svg.getBoundingClientRect()),
      letters: Math.min(...[...svg.querySelectorAll("text")].map((text) => text.getBoundingClientRect().height)),
    })));
    assert.equal(fronts.length, 2);
    for (const { points, said, boxes, inside, letters } of fronts) {
      assert.equal(points, 13);
      for (const start of table) assert.ok(said.some((words) => words.startsWith(start)), start);
      const over = boxes.filter((one, place) => boxes.slice(0, place).some((other) => one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom));
      assert.deepEqual(over, []);
      assert.ok(boxes.every((box) => box.left >= inside.left && box.right <= inside.right && box.top >= inside.top && box.bottom <= inside.bottom));
      assert.ok(letters >= 9, `letters ${letters} high at ${width}`);
    }
    await page.close();
  }
});

test("no two lines of a sweep are drawn alike, and pointing at a name gives it its colour", async () => {
  const page = await open("sweep");
  const drawn = await page.$$eval(".legend svg", (all) => all.map((svg) => `${getComputedStyle(svg).stroke} ${svg.querySelector("path").getAttribute("stroke-dasharray")}`));
  assert.equal(drawn.length, 13);
  assert.equal(new Set(drawn).size, 13, drawn.join("\n"));
  const chosen = async (color) => (await pixels(page, await (await page.$(".plot")).boundingBox())).filter((one) => one.join() === color).length;
  const rest = await page.$$eval(".legend button", (all) => all.findIndex((one) => one.querySelector(".rest")));
  assert.ok(rest > 0, "some are near grey");
  const whole = await page.evaluate((rest) => { const one = document.createElement("i"); one.className = [...document.querySelectorAll(".legend button")][rest].querySelector("svg").getAttribute("class").split(" ")[0]; document.body.append(one); one.style.color = "var(--own)"; const { color } = getComputedStyle(one); one.remove(); return color.match(/\d+/g).join(); }, rest);
  const before = await chosen(whole);
  await page.hover(`.legend button:nth-child(${rest + 1})`);
  const after = await chosen(whole);
  assert.ok(after > before + 50, `${before} ${after}`);
  await page.hover(".u-over");
  await page.waitForSelector(".tip:not([hidden])");
  assert.equal(await page.$$eval(".tip svg", (all) => all.length), 13);
  assert.deepEqual(page.said, []);
  await page.close();
});

test("labels of strips are whole, so that settings that begin alike are not taken for each other", async () => {
  const page = await open("sweep");
  const labels = await page.$$eval("#runs figure", (all) => all.map((figure) => [...figure.querySelectorAll(".name, .label")].map((one) => one.textContent)));
  for (const all of labels) assert.equal(new Set(all).size, 13, all.join());
  assert.ok(labels.flat().every((label) => !label.includes("…")));
  await page.close();
});

test("a table that goes on at the side has a shade there until its end is reached", async () => {
  const page = await open("sweep", { width: 600 });
  const table = (await page.$$("#settings .scroll, #decay .scroll"))[0];
  await table.scrollIntoView();
  assert.ok(await table.evaluate((one) => one.scrollWidth > one.clientWidth + 20), "it is wider than its frame");
  const edge = async () => {
    const { x, y, width, height } = await table.boundingBox();
    const all = await pixels(page, { x: x + width - 5, y: y + height / 2, width: 4, height: 60 });
    return all.flat().reduce((sum, one) => sum + one, 0) / (all.length * 3 * 255);
  };
  const before = await edge();
  await table.evaluate((one) => { one.scrollLeft = one.scrollWidth; });
  const after = await edge();
  assert.ok(before < after - 0.1, `${before} ${after}`);
  await page.close();
});

test("on paper a chart says what it shows, and colours that mean something are kept without backgrounds", async () => {
  for (const name of ["one", "two", "sweep"]) {
    const page = await open(name, { width: 718 });
    await page.emulateMediaType("print");
    const note = await page.$eval(".chart .said", (note) => [note.getClientRects().length, note.textContent]);
    assert.equal(note[0] > 0, true);
    assert.match(note[1], /^Private, MiB/);
    if (name !== "one") assert.match(note[1], /The strong line is the median of the runs at each moment, the faint ones are the runs\./);
    const kept = await page.$$eval(".key, .marks .silent, .marks .simmer, .legend svg", (all) => all.map((one) => getComputedStyle(one).printColorAdjust));
    assert.ok(kept.length > 1 && kept.every((value) => value === "exact"), kept.join());
    await page.pdf({ path: join(out, `${name}-plain.pdf`), printBackground: false });
    await page.close();
  }
});
