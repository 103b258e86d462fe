// The official TypeScript clients: 2.x in both protocols, and 1.x, which stops at
// 2025-11-25.
import { Client as Client2 } from '@modelcontextprotocol/client'
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio'
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { document, refused, server, world } from './world.mjs'

const INFO = { name: 'keyhole-interop', version: '0' }
const KINDS = [
  ['client 2, initialize', '2025-11-25', Stdio2, () => new Client2(INFO, { versionNegotiation: { mode: 'legacy' } })],
  ['client 2, discover', '2026-07-28', Stdio2, () => new Client2(INFO, { versionNegotiation: { mode: 'auto' } })],
  ['sdk 1', '2025-11-25', Stdio1, () => new Client1(INFO)],
]

for (const [name, version, Stdio, make] of KINDS) {
  // A connected client, and what it sends.
  async function connected(t, ...args) {
    const made = world(t)
    const transport = new Stdio({ command: server, args: ['serve', ...args], env: made.env(), stderr: 'pipe' })
    let stderr = ''
    transport.stderr.on('data', (data) => { stderr += data })
    const sent = []
    const send = transport.send.bind(transport)
    transport.send = (message, ...rest) => {
      sent.push(...[message].flat())
      return send(message, ...rest)
    }
    const client = make()
    await client.connect(transport)
    made.ending.push(async () => {
      await client.close()
      assert.equal(stderr, '')
    })
    const load = (args, ...options) => client.callTool({ name: 'load_context', arguments: args }, ...options)
    return { client, sent, load }
  }

  test(`${name}: it speaks ${version}`, async (t) => {
    const { client, sent } = await connected(t)
    await client.listTools()
    const list = sent.find((message) => message.method === 'tools/list')
    const stated = list.params?._meta?.['io.modelcontextprotocol/protocolVersion']
    const begun = sent.find((message) => message.method === 'initialize')?.params.protocolVersion
    assert.deepEqual([stated, begun], version === '2026-07-28' ? [version, undefined] : [undefined, version])
  })

  test(`${name}: the one tool is listed, its document comes unchanged, and each refusal arrives`, async (t) => {
    const { client, load } = await connected(t)
    const { tools } = await client.listTools()
    assert.deepEqual(tools.map((tool) => [tool.name, tool.inputSchema.required]), [['load_context', ['key']]])
    const { isError, content } = await load({ key: 'k-good' })
    assert.deepEqual([isError ?? false, content], [false, [{ type: 'text', text: document }]])
    for (const { arguments: args, code, says } of refused) {
      const { isError, structuredContent, content: [{ text }] } = await load(args)
      assert.deepEqual([isError, structuredContent?.code, text.slice(0, says.length)], [true, code, says])
    }
    const other = client.callTool({ name: 'load_other', arguments: { key: 'k-good' } })
    await assert.rejects(other, (error) => error.code === -32602)
  })

  test(`${name}: a cancelled call ends and the session goes on`, async (t) => {
    const { sent, load } = await connected(t)
    const stop = new AbortController()
    const options = Stdio === Stdio1 ? [undefined, { signal: stop.signal }] : [{ signal: stop.signal }]
    // A file that was just written takes 100 ms.
    const call = load({ key: 'k-good' }, ...options)
    while (!sent.some((message) => message.method === 'tools/call')) await setTimeout(1)
    stop.abort()
    await assert.rejects(call)
    assert.ok(sent.some((message) => message.method === 'notifications/cancelled'))
    assert.equal((await load({ key: 'k-good' })).content[0].text, document)
  })

  test(`${name}: a bound server takes no key`, async (t) => {
    const { client, load } = await connected(t, '--bind', 'catalog')
    const { tools } = await client.listTools()
    assert.deepEqual([tools[0].title, tools[0].inputSchema.properties], ['The catalogue', {}])
    assert.equal((await load({})).content[0].text, document)
    const refused = await load({ key: 'k-good' })
    assert.equal(refused.isError, true)
    assert.match(refused.content[0].text, /no arguments/)
  })
}
