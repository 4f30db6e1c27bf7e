// A browser for the tests, with helpers.
import { pathToFileURL } from "node:url";
import { after, before } from "node:test";
import puppeteer from "puppeteer-core";
import { pages } from "./pages.js";

export let browser, files;

before(async () => {
  files = pages();
  browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
});
after(() => browser?.close());

/** Records on every canvas the texts and positions since its last clear. */
function write() {
  const { clearRect, fillText } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.clearRect = function (...box) { this.canvas.written = []; return clearRect.apply(this, box); };
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...rest) {
    const size = this.measureText(text);
    (this.canvas.written ??= []).push({ text, left: x - size.actualBoundingBoxLeft, right: x + size.actualBoundingBoxRight, top: y - size.actualBoundingBoxAscent, bottom: y + size.actualBoundingBoxDescent });
    return fillText.call(this, text, x, y, ...rest);
  };
}
export const written = (page) => page.$eval(".u-wrap canvas", async (canvas) => {
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  return { all: canvas.written, width: canvas.width, height: canvas.height };
});

/** Opens a page, and records its console messages and network requests. */
export async function open(name, { width = 1280, height = 900, scheme = "light", dots = 1, touch = false } = {}) {
  const page = await browser.newPage();
  await page.evaluateOnNewDocument(write);
  page.said = [];
  page.asked = [];
  page.on("console", (message) => page.said.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => page.said.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => { page.said.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", (request) => page.asked.push(request.url()));
  await page.setViewport({ width, height, deviceScaleFactor: dots, hasTouch: touch });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.goto(pathToFileURL(files[name]).href);
  await page.waitForSelector("html[data-ready]");
  return page;
}
export const chart = (page) => page.$eval(".chart", (chart) => ({ ...chart.dataset }));
export const over = async (page) => { const handle = await page.$(".u-over"); await handle.scrollIntoView(); return (await handle.boundingBox()); };

/** The pixels of a part of a page. */
export async function pixels(page, { x, y, width, height }) {
  const [left, top] = await page.evaluate(() => [scrollX, scrollY]), blank = await browser.newPage();
  const picture = await page.screenshot({ clip: { x: x + left, y: y + top, width, height }, encoding: "base64" });
  const all = await blank.evaluate(async (picture) => {
    const image = new Image();
    image.src = `data:image/png;base64,${picture}`;
    await image.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height }), ctx = canvas.getContext("2d");
    ctx.drawImage(image, 0, 0);
    return [...ctx.getImageData(0, 0, image.width, image.height).data];
  }, picture);
  await blank.close();
  return Array.from({ length: all.length / 4 }, (_, place) => all.slice(4 * place, 4 * place + 3));
}
