// The official TypeScript clients: 2.x in both protocols, and 1.x, which stops at
// 2025-11-25.
import { Client as Client2 } from '@modelcontextprotocol/client'
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio'
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DOCUMENT, REFUSALS, server, world } from './world.mjs'

const INFO = { name: 'keyhole-interop', version: '0' }
const KINDS = [
  ['client 2, initialize', '2025-11-25', Stdio2, () => new Client2(INFO, { versionNegotiation: { mode: 'legacy' } })],
  ['client 2, discover', '2026-07-28', Stdio2, () => new Client2(INFO, { versionNegotiation: { mode: 'auto' } })],
  ['sdk 1', '2025-11-25', Stdio1, () => new Client1(INFO)],
]

// Connects a client, and reads from what it sends which protocol it says that it
// speaks.
async function connected(kind, t, args = []) {
  const [, , Stdio, make] = kind
  const { env, ending } = world(t)
  const transport = new Stdio({ command: server, args: ['serve', ...args], env, stderr: 'pipe' })
  let stderr = ''
  transport.stderr.on('data', (data) => { stderr += data })
  const sent = []
  const send = transport.send.bind(transport)
  transport.send = (message, ...rest) => {
    for (const one of [message].flat()) sent.push(one)
    return send(message, ...rest)
  }
  const client = make()
  await client.connect(transport)
  ending.push(async () => {
    await client.close()
    assert.equal(stderr, '')
  })
  return { client, sent }
}

const load = (client, key, options) =>
  client.callTool({ name: 'load_context', arguments: key === undefined ? {} : { key } }, ...options ?? [])

for (const kind of KINDS) {
  const [name, version] = kind

  test(`${name}: it speaks ${version}`, async (t) => {
    const { client, sent } = await connected(kind, t)
    await client.listTools()
    const list = sent.find((message) => message.method === 'tools/list')
    const stated = list.params?._meta?.['io.modelcontextprotocol/protocolVersion']
    if (version === '2026-07-28') {
      assert.equal(stated, version)
      assert.equal(sent.some((message) => message.method === 'initialize'), false)
    } else {
      assert.equal(stated, undefined)
      assert.equal(sent[0].params.protocolVersion, version)
    }
  })

  test(`${name}: the one tool is listed and its document comes unchanged`, async (t) => {
    const { client } = await connected(kind, t)
    const { tools } = await client.listTools()
    assert.deepEqual(tools.map((tool) => tool.name), ['load_context'])
    assert.deepEqual(tools[0].inputSchema.required, ['key'])
    const result = await load(client, 'k-good')
    assert.notEqual(result.isError, true)
    assert.deepEqual(result.content, [{ type: 'text', text: DOCUMENT }])
  })

  test(`${name}: each refusal arrives with its code, as text and as data`, async (t) => {
    const { client } = await connected(kind, t)
    for (const code of REFUSALS) {
      const result = await load(client, `k-${code}`)
      assert.equal(result.isError, true, code)
      assert.equal(result.structuredContent.code, code)
      assert.ok(result.content[0].text.startsWith(`${code}: `), result.content[0].text)
    }
  })

  test(`${name}: wrong arguments are a result that says what to send`, async (t) => {
    const { client } = await connected(kind, t)
    for (const wrong of [{ key: 'k-good', path: '/etc' }, { key: 5 }, {}]) {
      const result = await client.callTool({ name: 'load_context', arguments: wrong })
      assert.equal(result.isError, true)
      assert.match(result.content[0].text, /exactly one, "key"/)
    }
    const other = client.callTool({ name: 'load_other', arguments: { key: 'k-good' } })
    await assert.rejects(other, (error) => error.code === -32602)
  })

  test(`${name}: a cancelled call ends and the session goes on`, async (t) => {
    const { client, sent } = await connected(kind, t)
    // After 16 of these, one short key a second is looked up. So when one more was answered,
    // others wait, which can be cancelled.
    for (let guess = 0; guess < 16; guess += 1) await load(client, `k-guess-${guess}`)
    const stop = new AbortController()
    const options = Stdio1 === kind[2] ? [undefined, { signal: stop.signal }] : [{ signal: stop.signal }]
    const calls = Array.from({ length: 8 }, () => load(client, 'k-guess', options))
    const done = Promise.allSettled(calls)
    await Promise.race(calls)
    stop.abort()
    assert.ok((await done).some(({ status }) => status === 'rejected'))
    assert.ok(sent.some((message) => message.method === 'notifications/cancelled'))
    assert.equal((await load(client, 'k-good')).content[0].text, DOCUMENT)
  })

  test(`${name}: a bound server takes no key`, async (t) => {
    const { client } = await connected(kind, t, ['--bind', 'catalog'])
    const { tools } = await client.listTools()
    assert.equal(tools[0].title, 'The catalogue')
    assert.deepEqual(tools[0].inputSchema.properties, {})
    assert.equal((await load(client)).content[0].text, DOCUMENT)
    const refused = await load(client, 'k-good')
    assert.equal(refused.isError, true)
    assert.match(refused.content[0].text, /no arguments/)
  })
}
