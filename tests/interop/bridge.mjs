// The HTTP transport, which the server itself does not have, for a suite that knows
// only HTTP: `bridge(args, env)` listens on loopback and starts the server for each
// client. Bodies pass unchanged in both directions, so that the suite judges our
// server.
//
// A session that begins with `initialize` has its own child. Protocol 2026-07-28 has no
// sessions: all its requests go to one other child, one after another, because several
// clients may use the same id.
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createInterface } from 'node:readline'
import { server } from './world.mjs'

// No answer takes so long.
const LIMIT_MS = 30_000

// Streamable HTTP of 2026-07-28: the status for each error code.
const STATUS = new Map([[-32601, 404], [-32602, 400], [-32022, 400]])

class Child {
  #answers = new Map()
  // Answers that nobody asked for, and what is on stderr: there must be none of either.
  stray = []

  constructor(args, env) {
    this.process = spawn(server, ['serve', ...args], { env, stdio: ['pipe', 'pipe', 'pipe'] })
    this.process.stdin.on('error', () => {})
    this.process.stderr.on('data', (data) => this.stray.push(String(data)))
    this.gone = once(this.process, 'close')
    createInterface({ input: this.process.stdout, crlfDelay: Infinity }).on('line', (line) => {
      const { id, method } = JSON.parse(line)
      const answer = method === undefined && this.#answers.get(JSON.stringify(id))
      if (answer) answer(line)
      else this.stray.push(line)
    })
  }

  send(body) {
    this.process.stdin.write(`${body}\n`)
  }

  async ask(id, body) {
    const name = JSON.stringify(id)
    const answer = new Promise((resolve, reject) => {
      this.#answers.set(name, resolve)
      setTimeout(() => reject(new Error(`no answer to ${body}`)), LIMIT_MS).unref()
    })
    this.send(body)
    return answer.finally(() => this.#answers.delete(name))
  }

  async end() {
    this.process.stdin.end()
    const late = setTimeout(() => this.process.kill('SIGKILL'), LIMIT_MS)
    await this.gone
    clearTimeout(late)
    return this.stray
  }
}

export async function bridge(args, env) {
  const sessions = new Map()
  const stray = []

  const shared = new Child(args, env)
  let turn = Promise.resolve()

  async function inTurn(id, body) {
    const before = turn
    turn = before.then(() => shared.ask(id, body)).catch(() => {})
    await before
    return turn
  }

  async function answer(request, response) {
    const session = request.headers['mcp-session-id']
    const child = sessions.get(session)
    const reply = (status, body, headers = {}) => response.writeHead(status, headers).end(body)
    if (session !== undefined && !child) return reply(404)
    if (request.method === 'DELETE' && child) {
      sessions.delete(session)
      stray.push(...await child.end())
      return reply(200)
    }
    if (request.method !== 'POST') return reply(405)
    const parts = []
    for await (const part of request) parts.push(part)
    const body = Buffer.concat(parts).toString()
    const message = JSON.parse(body)
    const headers = { 'content-type': 'application/json' }
    const stateless = message.params?._meta?.['io.modelcontextprotocol/protocolVersion'] !== undefined
    if (message.method === 'initialize' && !stateless) {
      const id = randomUUID()
      sessions.set(id, new Child(args, env))
      return reply(200, await sessions.get(id).ask(message.id, body), { ...headers, 'mcp-session-id': id })
    }
    // A notification, or an answer to a request that we never sent.
    if (message.id === undefined || message.method === undefined) {
      const to = child ?? shared
      to.send(body)
      return reply(202)
    }
    if (child) return reply(200, await child.ask(message.id, body), headers)
    const line = await inTurn(message.id, body)
    return reply(STATUS.get(JSON.parse(line).error?.code) ?? 200, line, headers)
  }

  const listener = createServer((request, response) => {
    answer(request, response).catch((error) => {
      stray.push(String(error))
      response.writeHead(500).end()
    })
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  return {
    url: `http://127.0.0.1:${listener.address().port}/mcp`,
    // Ends it, and returns what the server wrote unasked.
    async end() {
      listener.closeAllConnections()
      listener.close()
      for (const child of [shared, ...sessions.values()]) stray.push(...await child.end())
      return stray
    },
  }
}
