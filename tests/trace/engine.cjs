// Perfetto's trace processor outside of a browser: requests of its byte protocol on stdin, replies on stdout.
// The only argument is the `engine_bundle.js` of a Perfetto UI, beside which its WebAssembly lies.
"use strict";
const { readFileSync, writeSync } = require("node:fs");
const { dirname, join } = require("node:path");
const vm = require("node:vm");

const [bundle] = process.argv.slice(2);
const { stdin } = process;

/* What the bundle expects of the worker that it is made for. */
globalThis.self = globalThis;
globalThis.WorkerGlobalScope = class {};
globalThis.importScripts = () => {};
globalThis.location = { href: bundle };
globalThis.XMLHttpRequest = class {
  open(_, url) { this.url = url; }
  send() {
    const bytes = readFileSync(join(dirname(bundle), this.url.split("/").at(-1)));
    this.response = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
    this.status = 200;
    this.onload?.();
  }
};
delete globalThis.process;
for (const level of ["log", "warn", "error"]) console[level] = () => {};

const write = (bytes) => {
  for (let at = 0; at < bytes.length;) {
    try { at += writeSync(1, bytes, at); } catch (error) { if (error.code !== "EAGAIN") throw error; }
  }
};
vm.runInThisContext(readFileSync(bundle, "utf8"), { filename: bundle });
const port = { postMessage: write };
self.onmessage({ data: port });
/* The module is there once its promise has been kept. */
setImmediate(() => stdin.on("data", (chunk) => port.onmessage({ data: new Uint8Array(chunk) })));
