// The official conformance suite, through a bridge, because it speaks only HTTP.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { bridge } from './bridge.mjs'
import { here, node, onNewerNode, toml, world } from './world.mjs'

const { passes, fails } = toml('conformance.toml')
const known = fails.flatMap(({ checks }) => checks)
const SUITE = here('node_modules/@modelcontextprotocol/conformance/dist/index.js')
// Every scenario that ran in any version.
const seen = new Set()

const scenario = (check) => check.split('/')[0]

// Each scenario that the suite has for `version`, with the names of its checks that do
// not pass. A warning does not count as passed. It writes into the folder `out`.
async function run(version, url, out) {
  const args = ['server', '--url', url, '--suite', 'all', '--spec-version', version, '--output-dir', out]
  const options = { env: { PATH: process.env.PATH, HOME: out }, stdio: ['ignore', 'pipe', 'inherit'], timeout: 600_000 }
  const suite = spawn(node, [SUITE, ...args], options)
  const [said] = await Promise.all([text(suite.stdout), once(suite, 'close')])
  // The last part of its output has a line for each scenario that it ran.
  const summary = said.split('=== SUMMARY ===')[1] ?? assert.fail(said)
  const scenarios = [...summary.matchAll(/^. ([a-z0-9-]+): /gm)].map(([, name]) => name)
  const folders = readdirSync(out)
  return new Map(scenarios.map((name) => {
    const folder = folders.filter((one) => one.replace(/-\d{4}-\d\d-\d\dT.*$/, '') === `server-${name}`)
    assert.equal(folder.length, 1, `results of ${name}`)
    const checks = JSON.parse(readFileSync(join(out, folder[0], 'checks.json'), 'utf8'))
    const bad = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
    return [name, new Set(bad.map(({ id }) => (id === name ? name : `${name}/${id}`)))]
  }))
}

for (const version of Object.keys(passes)) {
  onNewerNode(`conformance to ${version} is what the list says`, async (t) => {
    const made = world(t)
    const { url, end } = await bridge(made.env())
    const ran = await run(version, url, made.project)
    // On its streams the server has written nothing but answers.
    assert.deepEqual(await end(), [])
    for (const name of ran.keys()) seen.add(name)
    const bad = [...ran.values()].flatMap((checks) => [...checks])
    const listed = known.filter((check) => ran.has(scenario(check)))
    assert.deepEqual(bad.sort(), listed.sort(), 'what does not pass')
    const good = [...ran].filter(([, checks]) => checks.size === 0).map(([name]) => name)
    assert.deepEqual(good.sort(), [...passes[version]].sort(), 'what passes')
  })
}

onNewerNode('no scenario is listed that the suite has not', () => {
  assert.deepEqual(known.filter((check) => !seen.has(scenario(check))), [])
})
