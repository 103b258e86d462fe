// Runs the guest's table of cases in jco: `node component.mjs COMPONENT_JS CASES`.
// Writes each case's result to standard output, as JSON.
import { filesystem } from '@bytecodealliance/preview2-shim'
import { _setPreopens } from '@bytecodealliance/preview2-shim/filesystem'
import { isUtf8 } from 'node:buffer'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parse } from 'smol-toml'

const [, , component, table] = process.argv
const { instantiate } = await import(component)
const modules = new Map()
async function coreModule(name) {
  if (!modules.has(name)) modules.set(name, WebAssembly.compile(readFileSync(join(dirname(component), name))))
  return modules.get(name)
}

// A TEXT of the table: a string, or parts to join.
const text = (value) => [value].flat()
  .map((part) => (typeof part === 'string' ? part : part.text.repeat(Number(part.times)))).join('')

// What a file of the table holds; undefined if the entry is no file, or one of zeros.
function content(entry) {
  if (entry.text !== undefined) return Buffer.from(text(entry.text))
  if (entry.hex !== undefined) return Buffer.from(text(entry.hex), 'hex')
}

// Closing a listener would remove its name.
const sockets = []

async function make(root, entry) {
  const path = join(root, text(entry.path))
  const bytes = content(entry)
  if (bytes) writeFileSync(path, bytes)
  else if (entry.size !== undefined) {
    writeFileSync(path, '')
    truncateSync(path, Number(entry.size))
  }
  else if (entry.link !== undefined) symlinkSync(text(entry.link), path)
  else if (entry.make === 'directory') mkdirSync(path)
  else if (entry.make === 'fifo') execFileSync('mkfifo', ['--', path])
  else if (entry.make === 'socket') {
    const socket = createServer().listen(path)
    await once(socket, 'listening')
    sockets.push(socket)
  } else throw new Error(`${path}: nothing to make`)
  if (entry.mode !== undefined) chmodSync(path, Number(entry.mode))
}

function expected(one) {
  if (one.error !== undefined) return { error: one.error }
  const from = one['ok-from'] && one.tree.find((entry) => text(entry.path) === text(one['ok-from']))
  const bytes = content(from ?? { text: one.ok, hex: one['ok-hex'] }) ?? Buffer.alloc(Number(from.size))
  return { ok: bytes.toString('hex') }
}

async function run(one, root) {
  for (const entry of one.tree ?? []) await make(root, entry)
  const key = text(one.key ?? 'k-good')
  const granted = text(one['granted-key'] ?? key)
  const grant = one.grant && { name: text(one.grant.name), maxBytes: BigInt(one.grant['max-bytes'] ?? 65536) }
  _setPreopens(one.preopen === false ? {} : { '/': root })
  const { loader } = await instantiate(coreModule, {
    'keyhole:context/grants': { find: (asked) => (asked === granted ? grant : undefined) },
    'wasi:filesystem/preopens': filesystem.preopens,
    'wasi:filesystem/types': filesystem.types,
  })
  try {
    const bytes = loader.load(key)
    // As the host does: it must be text.
    return isUtf8(bytes) ? { ok: Buffer.from(bytes).toString('hex') } : { error: 'not-utf8' }
  } catch (error) {
    // The component's own refusals have a payload; anything else is a failure.
    return typeof error.payload === 'string' ? { error: error.payload } : { thrown: String(error) }
  }
}

const done = []
for (const one of parse(readFileSync(table, 'utf8'), { integersAsBigInt: true }).case) {
  const home = mkdtempSync(join(tmpdir(), 'keyhole-'))
  // Some cases reach beyond the directory.
  mkdirSync(join(home, 'root'))
  done.push({ name: text(one.name), got: await run(one, join(home, 'root')), expected: expected(one) })
  rmSync(home, { recursive: true })
}
for (const socket of sockets) socket.close()
// Otherwise the engine's worker would keep the process running.
process.stdout.write(JSON.stringify(done), () => process.exit(0))
