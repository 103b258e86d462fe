// The MCP bundle that `./x release bundle` makes, judged and installed by MCP's own tool.
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, copyFileSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { World } from '../harness/world.mjs'
import { document, here, server, toml, world } from './world.mjs'

const root = here('../..')
const tool = join(root, 'release/mcpb/node_modules/@anthropic-ai/mcpb/dist')
const { root: place } = new World({ after })
const bundle = join(place, 'out/keyhole.mcpb')
const installed = join(place, 'installed')
const systems = readFileSync(join(root, 'release/systems.txt'), 'utf8').split('\n').map((row) => row.split(/ +/))
const [name] = systems.find((row) => row[3] === `${process.platform}-${process.arch}`)

before(() => {
  const servers = join(place, 'package/plugin/server')
  mkdirSync(servers, { recursive: true })
  // Without symbols, which are most of an unoptimised program.
  const stripped = spawnSync('strip', ['-o', join(servers, name), server])
  if (stripped.status !== 0) copyFileSync(server, join(servers, name))
  execFileSync(join(root, 'x'), ['release', 'bundle', join(place, 'package'), join(place, 'out')], { stdio: 'pipe' })
  execFileSync(process.execPath, [join(tool, 'cli/cli.js'), 'unpack', bundle, installed], { stdio: 'pipe' })
})

const manifest = () => JSON.parse(readFileSync(join(installed, 'manifest.json'), 'utf8'))

// The command that a client starts, with the settings that its user filled in.
async function configured(userConfig) {
  const { getMcpConfigForManifest } = await import(join(tool, 'node.js'))
  return getMcpConfigForManifest({
    manifest: manifest(), extensionPath: installed, systemDirs: {}, userConfig, pathSeparator: '/',
  })
}

test("the bundle's manifest is valid, and its version is the project's", () => {
  const path = join(root, 'release/mcpb/manifest.json')
  const said = execFileSync(process.execPath, [join(tool, 'cli/cli.js'), 'validate', path], { encoding: 'utf8' })
  assert.match(said, /Manifest schema validation passes!/)
  assert.equal(manifest().version, toml('../../Cargo.toml').workspace.package.version)
})

test('the bundle holds the server, its launcher and the licences, and nothing else', () => {
  const files = readdirSync(installed, { recursive: true }).filter((file) => file !== 'server')
  assert.deepEqual(files.sort(), ['LICENSE-APACHE', 'LICENSE-MIT', 'LICENSE-SCOWL', 'manifest.json', `server/${name}`, 'start.sh'])
})

// In another second: a packer would write the time into the bundle.
test('the same servers make the same bundle', async () => {
  await new Promise((done) => setTimeout(done, 2100))
  execFileSync(join(root, 'x'), ['release', 'bundle', join(place, 'package'), join(place, 'again')], { stdio: 'pipe' })
  assert.deepEqual(readFileSync(join(place, 'again/keyhole.mcpb')), readFileSync(bundle))
})

test('an installed bundle serves the one document that its user chose', async (t) => {
  const made = world(t)
  // A client may unpack the files without their modes.
  chmodSync(join(installed, 'server', name), 0o600)
  const { command, args } = await configured({ binding: 'catalog' })
  const client = new Client({ name: 'keyhole-interop', version: '0' })
  await client.connect(new StdioClientTransport({ command, args, env: made.env() }))
  made.ending.push(() => client.close())
  const { tools } = await client.listTools()
  assert.deepEqual(tools.map((one) => one.name), manifest().tools.map((one) => one.name))
  assert.deepEqual(tools[0].inputSchema.properties, {})
  const result = await client.callTool({ name: 'load_context', arguments: {} })
  assert.equal(result.content[0].text, document)
})

test('an installed bundle does not start without a binding', async () => {
  assert.equal(await configured({}), undefined)
})

test('a bundle without a server for this system says so', () => {
  const lone = join(place, 'lone')
  mkdirSync(lone)
  copyFileSync(join(installed, 'start.sh'), join(lone, 'start.sh'))
  const ran = spawnSync('/bin/sh', [join(lone, 'start.sh'), 'serve'], { encoding: 'utf8' })
  assert.equal(ran.status, 1)
  assert.equal(ran.stdout, '')
  assert.match(ran.stderr, /^keyhole: this bundle holds no server for this system/)
})

test("the registry's entry is of this bundle", () => {
  const entry = JSON.parse(readFileSync(join(place, 'out/server.json'), 'utf8'))
  const sum = createHash('sha256').update(readFileSync(bundle)).digest('hex')
  assert.equal(entry.packages[0].fileSha256, sum)
  const { version } = manifest()
  assert.deepEqual([entry.version, entry.packages[0].version], [version, version])
  assert.ok(entry.packages[0].identifier.endsWith(`/v${version}/keyhole.mcpb`))
})
