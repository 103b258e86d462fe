// The embedded component, unchanged, in a second engine: jco on Node. It must pass the
// same table of cases as in our engine.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { server } from './world.mjs'

const here = (path) => fileURLToPath(new URL(path, import.meta.url))

// The exact results that differ in this engine, and why. If upstream fixes a case, or a
// case is gone, the test fails until it leaves this list.
const bom = 'jco 1.35.0 reads strings of the component with a TextDecoder that drops a byte order mark'
const DIFFERENCES = {
  'a byte order mark is kept': [{ ok: '2320540a' }, bom],
  'a byte order mark alone is kept': [{ ok: '' }, bom],
}

test('the component passes the table of cases in jco', (t) => {
  const out = mkdtempSync(join(tmpdir(), 'keyhole-'))
  t.after(() => rmSync(out, { recursive: true }))
  const component = join(out, 'component.wasm')
  execFileSync(server, ['contract', '--save', component])
  const jco = here('node_modules/@bytecodealliance/jco/dist/jco.js')
  execFileSync(process.execPath, [jco, 'transpile', component, '--instantiation', 'async', '-q', '-o', out])
  // jco writes modules, and this file tells Node so.
  writeFileSync(join(out, 'package.json'), '{"type": "module"}')
  // In a process of its own: a case that hangs cannot be interrupted from inside.
  const report = execFileSync(
    process.execPath,
    [here('component.mjs'), join(out, 'component.js'), here('../../guest/cases.toml')],
    { timeout: 300_000, encoding: 'utf8', maxBuffer: 256 << 20 },
  )
  const cases = JSON.parse(report)
  assert.ok(cases.length > 100, `${cases.length} cases`)
  const differing = {}
  for (const { name, got, expected } of cases) {
    try {
      assert.deepEqual(got, expected)
    } catch {
      differing[name] = got
    }
  }
  const known = Object.entries(DIFFERENCES).map(([name, [got]]) => [name, got])
  assert.deepEqual(differing, Object.fromEntries(known))
  for (const [name, [, why]] of Object.entries(DIFFERENCES)) t.diagnostic(`differs: ${name}: ${why}`)
  t.diagnostic(`${cases.length} cases, ${known.length} of them with a known difference`)
})
