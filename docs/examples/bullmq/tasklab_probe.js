// The lab's probe for a worker in JavaScript: runs one attempt by the script that the lab answers (docs/protocol.md).
'use strict'
const net = require('node:net')
const readline = require('node:readline')
const { setTimeout: sleep } = require('node:timers/promises')

// `options`: the attempt's number, its idempotency key, its fence. Returns what the handler hands back; throws an error with `kind`.
async function runTask(payload, options = {}) {
  const [host, port] = process.env.TASKLAB_OUTSIDE.split(':')
  const socket = net.connect({ host, port: Number(port), noDelay: true })
  const answers = readline.createInterface({ input: socket })[Symbol.asyncIterator]()
  socket.on('error', () => {}) // the end of the answers says it, too
  const ask = async request => {
    socket.write(JSON.stringify(request) + '\n')
    const { value, done } = await answers.next()
    if (done) throw new Error('the lab closed the connection')
    const answer = JSON.parse(value)
    if (answer.error) throw new Error(answer.error)
    return answer
  }
  try {
    const { script } = await ask({ op: 'begin', actor: process.env.TASKLAB_ACTOR, payload, ...options })
    for (const step of script) {
      if (step.do === 'rest') await sleep(step.seconds * 1000)
      else if (step.do === 'send') await ask(step.request)
      else if (step.do === 'die') process.kill(process.pid, 'SIGKILL')
      else if (step.do === 'fail') throw Object.assign(new Error(step.message), { kind: step.error })
      else if (step.do === 'return') return step.value
    }
  } finally {
    socket.destroy()
  }
}

module.exports = { runTask }
