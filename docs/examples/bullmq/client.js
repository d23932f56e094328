#!/usr/bin/env node
// The client process of the lab for the queue of BullMQ: answers its requests as JSON lines (docs/protocol.md).
'use strict'
const readline = require('node:readline')
const { Queue } = require('bullmq')
const { Redis } = require('ioredis')
const { jobOptions } = require('./settings.js')

const TIMEOUT_MS = 5_000
const STATES = {
  completed: 'SUCCEEDED', failed: 'DEAD', active: 'RUNNING', waiting: 'ACCEPTED', prioritized: 'ACCEPTED', delayed: 'ACCEPTED',
}
const LISTS = [['completed', 'zrange'], ['failed', 'zrange'], ['delayed', 'zrange'], ['wait', 'lrange'], ['active', 'lrange'], ['paused', 'lrange']]
const queues = new Map()
let reader // of the account: BullMQ has no method that reads all lists at one instant
const names = new Map() // by the id of a job, the lab's name of its task

function queueOf(services) {
  // A producer fails at once while Redis is away, in place of waiting for it: docs.bullmq.io, "Going to production".
  const connection = { host: services.redis.host, port: services.redis.port, enableOfflineQueue: false }
  const queue = new Queue(services.namespace, { connection, defaultJobOptions: jobOptions })
  queue.on('error', () => {}) // each request says by itself whether it was answered
  return queue
}

async function inTime(work) {
  let timer
  const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error('no answer in time')), TIMEOUT_MS) })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}

// What was refused before it was sent surely did not happen; anything else may have.
function outcomeOf(error) {
  return { kind: /enableOfflineQueue/.test(error.message) ? 'fail' : 'info', detail: String(error.message).slice(0, 200) }
}

async function carryOut(queue, operation) {
  const job = operation.id && (await queue.getJob(operation.id))
  switch (operation.type) {
    case 'submit': {
      const delay = Math.ceil((operation.due_s ?? 0) * 1000)
      // With a prefix: jobs share a namespace with the queue's own keys, and a job called "paused" would destroy that list.
      const added = await queue.add('charge', operation.payload, { jobId: `key-${operation.key}`, delay })
      return { kind: 'ok', id: added.id }
    }
    case 'status':
      return job ? { kind: 'ok', state: STATES[await job.getState()], result: job.returnvalue ?? null } : gone
    case 'cancel':
      await job.remove() // throws for a job that a worker has in hand
      return { kind: 'ok' }
    case 'redrive':
      await job.retry('failed', { resetAttemptsMade: true, resetAttemptsStarted: true })
      return { kind: 'ok' }
    case 'pause':
      await queue.pause()
      return { kind: 'ok' }
    case 'resume':
      await queue.resume()
      return { kind: 'ok' }
  }
  return { kind: 'fail', detail: `this queue has no ${operation.type}` }
}
const gone = { kind: 'fail', detail: 'there is no such job' }

// All lists at one instant: between two readings jobs would move from one list to another.
async function account({ queue, client }) {
  const reading = LISTS.reduce((all, [list, read]) => all[read](queue.toKey(list), 0, -1), client.multi())
  const ids = (await reading.exec()).map(([error, found]) => { if (error) throw error; return found })
  const [done, dead, ...pending] = await Promise.all(ids.map(list => Promise.all(list.map(id => nameOf(queue, client, id)))))
  return { done, dead, cancelled: null, expired: [], pending: pending.flat() }
}

function readerOf(services) {
  const client = new Redis({ host: services.redis.host, port: services.redis.port })
  client.on('error', () => {}) // it connects again by itself
  return { queue: queueOf(services), client }
}

async function nameOf(queue, client, id) {
  if (!names.has(id)) {
    const data = await client.hget(queue.toKey(id), 'data') // null: Redis has evicted the job, not its place in the list
    names.set(id, data === null ? id.replace(/^key-/, '') : JSON.parse(data).task)
  }
  return names.get(id)
}

async function answer(request) {
  switch (request.do) {
    case 'client.open':
      queues.set(request.client, queueOf(request.services))
      return {}
    case 'client.close':
      queues.get(request.client).close().catch(() => {})
      return {}
    case 'invoke':
      return inTime(carryOut(queues.get(request.client), request.operation)).catch(outcomeOf)
    case 'account':
      reader ??= readerOf(request.services)
      return inTime(account(reader))
  }
  throw Object.assign(new Error(`there is no request ${request.do}`), { kind: 'unsupported' })
}

const lines = readline.createInterface({ input: process.stdin })
lines.on('line', async line => {
  const request = JSON.parse(line)
  const content = await answer(request).then(
    ok => ({ ok }),
    error => ({ error: { kind: error.kind ?? 'raised', message: String(error.message) } }),
  )
  process.stdout.write(JSON.stringify({ id: request.id, ...content }) + '\n')
})
lines.on('close', () => process.exit(0))
