// A worker of BullMQ as in production: locks, stalled jobs and retries by the settings of settings.js; only its handler is the lab's.
'use strict'
const { UnrecoverableError, Worker } = require('bullmq')
const { connection, lock, queueName } = require('./settings.js')
const { runTask } = require('./tasklab_probe.js')

async function charge(job) {
  try {
    // attemptsMade counts failures: a job that stalled comes again with the same number.
    const handedBack = await runTask(job.data, { attempt: job.attemptsMade + 1, key: job.id })
    return handedBack.result ?? null
  } catch (error) {
    if (error.kind === 'permanent') throw new UnrecoverableError(error.message)
    throw error
  }
}

const worker = new Worker(queueName, charge, { connection, concurrency: 2, ...lock })
worker.on('error', error => console.error(`worker: ${error.message}`))
worker.on('stalled', id => console.error(`stalled: ${id}`))
worker.on('failed', (job, error) => console.error(`failed: ${job?.id}, attempt ${job?.attemptsMade}: ${error.message}`))

async function stop() {
  await worker.close() // waits for the jobs in hand
  process.exit(0)
}
process.on('SIGTERM', stop)
process.on('SIGINT', stop)
