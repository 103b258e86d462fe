// taplo, with which editors complete and check TOML: the examples and the map's schema.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { World } from '../harness/world.mjs'
import { here } from './world.mjs'

const SCHEMA = `#:schema ${pathToFileURL(here('../../docs/context-map.schema.json'))}\n`
const PAGES = ['README.md', 'docs/map.md', 'plugin/README.md', 'docs/own-subagent.md']
const WRONG = ['root = ["/a"]\n', '[keys]\nk-a = 1\n', '[bindings.a]\nrole = "r"\n']

test('each example and each map in the documentation is valid to taplo, and a mistake is found', (t) => {
  const examples = readdirSync(here('../../docs/examples')).filter((file) => file.endsWith('.toml'))
  assert.ok(examples.includes('context-map.toml'))
  const maps = PAGES.flatMap((page) => {
    // A block in a list is indented.
    const blocks = [...readFileSync(here(`../../${page}`), 'utf8').matchAll(/^( *)```toml\n([^]*?)^ *```$/gm)]
    assert.ok(blocks.length > 0, page)
    return blocks.map(([, indent, block]) => block.replaceAll(new RegExp(`^${indent}`, 'gm'), ''))
  })
  const place = new World(t)
  const written = (name, texts) => texts.map((text, number) => place.write(place.root, `${name}-${number}.toml`, SCHEMA + text))
  const wrong = written('wrong', WRONG)
  const files = [...examples.map((file) => here(`../../docs/examples/${file}`)), ...written('map', maps), ...wrong]
  // All at once, because taplo starts slowly.
  const taplo = [here('node_modules/@taplo/cli/dist/cli.js'), 'lint', '--no-auto-config', '--colors', 'never']
  const { stderr } = spawnSync(process.execPath, [...taplo, ...files], { encoding: 'utf8', timeout: 300_000 })
  const invalid = [...stderr.matchAll(/error=(.*) path="(.*)"/g)].map(([, , file]) => file)
  assert.deepEqual(invalid.sort(), wrong, stderr)
})
