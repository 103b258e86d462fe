// The HTTP transport, which the server itself does not have, for a suite that knows
// only HTTP: `bridge(env)` listens on loopback. Bodies pass unchanged in both directions,
// so that the suite judges our server. A session that begins with `initialize` has a server
// of its own, and so has each request of protocol 2026-07-28, which has no sessions.
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { createInterface } from 'node:readline'
import { server } from './world.mjs'

// Streamable HTTP of 2026-07-28: the status for each error code.
const STATUS = new Map([[-32601, 404], [-32602, 400], [-32022, 400]])

class Child {
  #answers = new Map()

  // `stray` gets answers that nobody asked for, and what is on stderr.
  constructor(env, stray) {
    this.process = spawn(server, ['serve'], { env })
    this.process.stdin.on('error', () => {})
    this.process.stderr.on('data', (data) => stray.push(String(data)))
    this.gone = once(this.process, 'close')
    createInterface({ input: this.process.stdout, crlfDelay: Infinity }).on('line', (line) => {
      const { id, method } = JSON.parse(line)
      const answer = method === undefined && this.#answers.get(JSON.stringify(id))
      if (answer) answer(line)
      else stray.push(line)
    })
  }

  send(body) {
    this.process.stdin.write(`${body}\n`)
  }

  ask(id, body) {
    return new Promise((answer) => {
      this.#answers.set(JSON.stringify(id), answer)
      this.send(body)
    })
  }

  async end() {
    this.process.stdin.end()
    await this.gone
  }
}

export async function bridge(env) {
  const sessions = new Map()
  const stray = []

  async function answer(request, response) {
    const reply = (status, body, headers = {}) => response.writeHead(status, headers).end(body)
    const session = request.headers['mcp-session-id']
    if (session !== undefined && !sessions.has(session)) return reply(404)
    if (request.method === 'DELETE' && session !== undefined) {
      await sessions.get(session).end()
      sessions.delete(session)
      return reply(200)
    }
    if (request.method !== 'POST') return reply(405)
    const body = await text(request)
    const { id, method, params } = JSON.parse(body)
    const stateless = params?._meta?.['io.modelcontextprotocol/protocolVersion'] !== undefined
    const child = sessions.get(session) ?? new Child(env, stray)
    const headers = { 'content-type': 'application/json' }
    if (method === 'initialize' && !stateless) {
      headers['mcp-session-id'] = randomUUID()
      sessions.set(headers['mcp-session-id'], child)
    }
    const isKept = [...sessions.values()].includes(child)
    if (id === undefined || method === undefined) {
      // A notification, or an answer to a request that we never sent.
      child.send(body)
      reply(202)
    } else {
      const line = await child.ask(id, body)
      reply((!isKept && STATUS.get(JSON.parse(line).error?.code)) || 200, line, headers)
    }
    if (!isKept) await child.end()
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
      for (const child of sessions.values()) await child.end()
      return stray
    },
  }
}
