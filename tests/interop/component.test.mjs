// The embedded component, unchanged, in a second engine: jco on Node. It must pass the
// same table of cases as in our engine.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { folder, here, server } from './world.mjs'

test('the component passes the table of cases in jco', (t) => {
  const out = folder(t)
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
    { timeout: 900_000, encoding: 'utf8', maxBuffer: 256 << 20 },
  )
  const cases = JSON.parse(report)
  assert.ok(cases.length > 100, `${cases.length} cases`)
  for (const { name, got, expected } of cases) assert.deepEqual(got, expected, name)
})
