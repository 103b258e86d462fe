// MCP Inspector's command line.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { document, here, node, onNewerNode, server, world } from './world.mjs'

const INSPECTOR = here('node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js')
const LIST = ['--method', 'tools/list', '--strict']
const call = (...args) => ['--method', 'tools/call', '--tool-name', 'load_context', ...args]

// Runs it with `args` against `serve`; it exits with `status`. Returns the answer.
function inspect(t, status, args, ...serve) {
  const made = world(t)
  const ran = spawnSync(node, [INSPECTOR, '--cli', '-e', `HOME=${made.home}`, server, 'serve', ...serve, ...args],
    { env: made.env(), encoding: 'utf8', timeout: 600_000, stdio: ['ignore', 'pipe', 'pipe'] })
  assert.equal(ran.status, status, ran.stdout + ran.stderr)
  return JSON.parse(ran.stdout)
}

onNewerNode('the Inspector lists the tool, and has nothing against its schema', (t) => {
  const { tools } = inspect(t, 0, LIST)
  assert.deepEqual(tools.map((tool) => tool.name), ['load_context'])
})

onNewerNode('the Inspector gets the document', (t) => {
  assert.equal(inspect(t, 0, call('--tool-arg', 'key=k-good')).content[0].text, document)
})

onNewerNode('the Inspector exits with 5 on a refusal and shows its code', (t) => {
  const answer = inspect(t, 5, call('--tool-arg', 'key=k-not-found'))
  assert.equal(answer.structuredContent.code, 'not-found')
})

onNewerNode('the Inspector gets the document of a bound server without a key', (t) => {
  const { tools } = inspect(t, 0, LIST, '--bind', 'catalog')
  assert.deepEqual(tools[0].inputSchema.properties, {})
  assert.equal(inspect(t, 0, call(), '--bind', 'catalog').content[0].text, document)
})
