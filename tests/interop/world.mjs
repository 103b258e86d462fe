// A home with the map of cases.toml, for one client. And what else the tests share.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'smol-toml'
import { nodeIn } from '../harness/installed.mjs'

// What lies here.
export const here = (path) => join(import.meta.dirname, path)

export const toml = (path) => parse(readFileSync(here(path), 'utf8'))

export const server = process.env.KEYHOLE_BIN
if (!server) throw new Error('KEYHOLE_BIN does not name the program; run ./x interop')

// For tests of tools that need it.
export const { program: node, missing } = nodeIn(import.meta.dirname, 22, 19)
export const onNewerNode = (name, run) => test(name, { skip: missing && `skipped: ${name} (${missing})` }, run)

// A folder that is removed when the test `t` ends, after all of `ending` has ended.
export function folder(t, ending = []) {
  const path = mkdtempSync(join(tmpdir(), 'keyhole-'))
  t.after(async () => {
    for (const end of ending) await end()
    rmSync(path, { recursive: true })
  })
  return path
}

const { map, document, refused } = toml('cases.toml')
export { document, refused }

export function world(t) {
  const ending = []
  const home = folder(t, ending)
  for (const [folder, file, text] of [['notes', 'good.md', document], ['.config/keyhole', 'context-map.toml', map]]) {
    mkdirSync(join(home, folder), { recursive: true, mode: 0o700 })
    writeFileSync(join(home, folder, file), text, { mode: 0o600 })
  }
  return { home, ending, env: { HOME: home, PATH: process.env.PATH } }
}
