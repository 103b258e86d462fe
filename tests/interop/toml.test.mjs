// taplo, with which editors complete and check TOML: the map's schema, on every map
// that the documentation shows.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { folder, here } from './world.mjs'

const schema = `#:schema ${pathToFileURL(here('../../docs/context-map.schema.json'))}\n`

function lint(...files) {
  const { status, stderr } = spawnSync(
    process.execPath,
    [here('node_modules/@taplo/cli/dist/cli.js'), 'lint', '--no-auto-config', '--colors', 'never', ...files],
    { encoding: 'utf8', timeout: 300_000 },
  )
  return { status, said: stderr }
}

// Lints each text as a map with the schema; the output numbers them. All at once,
// because taplo starts slowly.
function maps(t, texts) {
  const place = folder(t)
  return lint(...texts.map((text, number) => {
    const file = join(place, `map-${number}.toml`)
    writeFileSync(file, schema + text)
    return file
  }))
}

test('each example in TOML is valid, and a map says where its schema is', () => {
  const examples = here('../../docs/examples/')
  const files = readdirSync(examples).filter((file) => file.endsWith('.toml'))
  assert.ok(files.includes('context-map.toml'))
  const { status, said } = lint(...files.map((file) => join(examples, file)))
  assert.equal(status, 0, said)
  const text = readFileSync(join(examples, 'context-map.toml'), 'utf8')
  assert.match(text, /^#:schema \.\.\/context-map\.schema\.json\n/)
})

test('each map in the documentation is valid by the schema', (t) => {
  const pages = ['README.md', 'docs/map.md', 'plugin/README.md', 'docs/use-from.md', 'docs/own-subagent.md']
  const blocks = pages.flatMap((page) => {
    const text = readFileSync(here(`../../${page}`), 'utf8')
    // A block in a list is indented.
    const found = [...text.matchAll(/^( *)```toml\n([^]*?)^ *```$/gm)].map(([, indent, block]) =>
      block.replaceAll(new RegExp(`^${indent}`, 'gm'), ''))
    assert.ok(found.length > 0, page)
    return found
  })
  const { status, said } = maps(t, blocks)
  assert.equal(status, 0, said)
})

test('a mistake in a map is found', (t) => {
  const wrong = ['root = ["/a"]\n', 'max_bytes = 0\n', '[keys]\nk-a = 1\n', '[bindings.A]\nkey = "k"\n', '[bindings.a]\nrole = "r"\n']
  const { status, said } = maps(t, wrong)
  assert.notEqual(status, 0)
  for (const number of wrong.keys()) {
    assert.match(said, new RegExp(`error=schema validation failed path="[^"]*/map-${number}\\.toml"`), wrong[number])
  }
})
