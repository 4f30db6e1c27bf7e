// Collects the garbage of a Node.js program when lsp-soak signals it, and writes how much memory is live. Loaded by
// `--require`; it answers in the file of its process, in the words of the preloaded library.
'use strict'
const { appendFileSync, readlinkSync } = require('node:fs')
const { isMainThread } = require('node:worker_threads')

const { LSP_SOAK_PURGE_DIR: directory, LSP_SOAK_PURGE_SIGNAL: number, LSP_SOAK_PURGE_PIDS: namespace } = process.env
// In a sandbox the same number is another process, and a worker thread gets no signals.
if (directory && number && isMainThread && namespace === readlinkSync('/proc/self/ns/pid')) {
  const file = `${directory}/${process.pid}`
  const signals = Object.entries(require('node:os').constants.signals)
  const [signal] = signals.find(([, value]) => value === Number(number))
  // The program's own globals stay as they were.
  require('node:v8').setFlagsFromString('--expose-gc')
  const collect = require('node:vm').runInNewContext('gc')
  process.on(signal, () => {
    const begun = process.hrtime.bigint()
    // A second time for what the finalizers of the first one let go.
    for (let round = 0; round < 2; round++) collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
    const { heapUsed, external } = process.memoryUsage()
    appendFileSync(file, `released gc()=${heapUsed + external} nanos=${process.hrtime.bigint() - begun}\n`)
  })
  appendFileSync(file, `ready thread=${process.pid} malloc=?\n`)
}
