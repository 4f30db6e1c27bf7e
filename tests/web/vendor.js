// Copies the uPlot files that reports embed from its package. With `--check` it only compares them.
import { copyFileSync, readFileSync } from "node:fs";

const from = new URL("node_modules/uplot/", import.meta.url);
const to = new URL("../../crates/report/src/document/page/assets/uplot/", import.meta.url);
const files = { "dist/uPlot.iife.min.js": "uPlot.iife.min.js", "dist/uPlot.min.css": "uPlot.min.css", LICENSE: "LICENSE" };
const { version } = JSON.parse(readFileSync(new URL("package.json", from)));

for (const [source, target] of Object.entries(files)) {
  const [package_, vendored] = [new URL(source, from), new URL(target, to)];
  if (!process.argv.includes("--check")) copyFileSync(package_, vendored);
  else if (!readFileSync(package_).equals(readFileSync(vendored))) {
    console.error(`${target} is not the one of uplot ${version}: run \`npm --prefix tests/web run vendor\``);
    process.exit(1);
  }
}
console.log(`uplot ${version}: write its hashes into crates/report/src/document/page/assets/uplot/README.md when it is a new one`);
