// Collects the garbage of a Node.js program when lsp-soak signals it, and writes how much memory is live. Loaded by
// `--require`; it answers in the file of its process, in the words of the preloaded library. The program must not notice it:
// what fails here is only not answered.
'use strict'
try {
  const { appendFileSync, readlinkSync } = require('node:fs')
  const { isMainThread } = require('node:worker_threads')
  const { LSP_SOAK_PURGE_DIR: directory, LSP_SOAK_PURGE_SIGNAL: number, LSP_SOAK_PURGE_PIDS: namespace } = process.env
  const say = (line) => {
    try {
      appendFileSync(`${directory}/${process.pid}`, `${line}\n`)
    } catch {}
  }

  // In a sandbox the same number is another process.
  if (directory && number && namespace === readlinkSync('/proc/self/ns/pid')) {
    if (isMainThread) {
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
        say(`released gc()=${heapUsed + external} nanos=${process.hrtime.bigint() - begun}`)
      })
      say(`ready thread=${process.pid} malloc=?`)
    } else {
      // A worker has a heap of its own, which no signal reaches.
      say('worker began')
      process.on('exit', () => say('worker ended'))
    }
  }
} catch {}
