// The embedded component, unchanged, in a second engine: jco on Node. It must pass the
// same table of cases as in our engine.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { World } from '../harness/world.mjs'
import { here, server } from './world.mjs'

/** The component as it stands in the program, which says its size and its hash. */
function embedded() {
  const contract = execFileSync(server, ['contract'], { encoding: 'utf8' })
  const [, size, sum] = /(\d+) bytes[^]*?sha256:([0-9a-f]{64})/.exec(contract)
  const program = readFileSync(server)
  // What each component begins with.
  const head = Buffer.from('\0asm\r\0\x01\0')
  for (let at = program.indexOf(head); at >= 0; at = program.indexOf(head, at + 1)) {
    const found = program.subarray(at, at + Number(size))
    if (createHash('sha256').update(found).digest('hex') === sum) return found
  }
  return assert.fail('the program holds no component with the hash that it says')
}

test('the component passes the table of cases in jco', (t) => {
  const { root: out } = new World(t)
  const component = join(out, 'component.wasm')
  writeFileSync(component, embedded())
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
