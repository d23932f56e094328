// The settings that worker and producers share.
'use strict'

module.exports = {
  queueName: process.env.QUEUE ?? 'payments',
  connection: {
    host: process.env.REDIS_HOST ?? '127.0.0.1',
    port: Number(process.env.REDIS_PORT ?? 6379),
    maxRetriesPerRequest: null,
  },
  // BullMQ's defaults are 30 s; the lab shortens both, so that a run does not wait for them.
  lock: {
    lockDuration: Number(process.env.LOCK_MS ?? 30_000),
    stalledInterval: Number(process.env.STALLED_MS ?? 30_000),
    maxStalledCount: 1,
  },
  jobOptions: { attempts: 3, backoff: { type: 'exponential', delay: 200 } },
}
