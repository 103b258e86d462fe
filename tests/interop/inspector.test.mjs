// MCP Inspector's command line.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { node, skip } from './node.mjs'
import { DOCUMENT, REFUSALS, here, server, world } from './world.mjs'

function inspect(place, args, serve = []) {
  const ran = spawnSync(
    node,
    [
      here('node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js'),
      '--cli', '-e', `HOME=${place.home}`, server, 'serve', ...serve, ...args,
    ],
    { env: place.env, encoding: 'utf8', timeout: 600_000, stdio: ['ignore', 'pipe', 'pipe'] },
  )
  let answer
  try {
    answer = JSON.parse(ran.stdout)
  } catch {
    answer = null
  }
  return { exit: ran.status, answer, said: ran.stdout + ran.stderr }
}

const call = (...args) => ['--method', 'tools/call', '--tool-name', 'load_context', ...args]

test('the Inspector lists the tool, and has nothing against its schema', { skip }, (t) => {
  const place = world(t)
  const { exit, answer, said } = inspect(place, ['--method', 'tools/list', '--strict'])
  assert.equal(exit, 0, said)
  assert.deepEqual(answer.tools.map((tool) => tool.name), ['load_context'])
})

test('the Inspector gets the document', { skip }, (t) => {
  const place = world(t)
  const { exit, answer, said } = inspect(place, call('--tool-arg', 'key=k-good'))
  assert.equal(exit, 0, said)
  assert.equal(answer.content[0].text, DOCUMENT)
})

test('the Inspector exits with 5 on each refusal and shows its code', { skip }, (t) => {
  const place = world(t)
  for (const code of REFUSALS) {
    const { exit, answer, said } = inspect(place, call('--tool-arg', `key=k-${code}`))
    assert.equal(exit, 5, said)
    assert.equal(answer.structuredContent.code, code)
  }
})

test('the Inspector gets the document of a bound server without a key', { skip }, (t) => {
  const place = world(t)
  const listed = inspect(place, ['--method', 'tools/list', '--strict'], ['--bind', 'catalog'])
  assert.equal(listed.exit, 0, listed.said)
  assert.deepEqual(listed.answer.tools[0].inputSchema.properties, {})
  const { exit, answer, said } = inspect(place, call(), ['--bind', 'catalog'])
  assert.equal(exit, 0, said)
  assert.equal(answer.content[0].text, DOCUMENT)
})
