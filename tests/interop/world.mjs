// A world with the map of cases.toml, for one client. And what else the tests share.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'smol-toml'
import { nodeIn } from '../harness/installed.mjs'
import { World } from '../harness/world.mjs'

// What lies here.
export const here = (path) => join(import.meta.dirname, path)

export const toml = (path) => parse(readFileSync(here(path), 'utf8'))

export const server = process.env.KEYHOLE_BIN
if (!server) throw new Error('KEYHOLE_BIN does not name the program; run ./x interop')

// For tests of tools that need it.
export const { program: node, missing } = nodeIn(import.meta.dirname, 22, 19)
export const onNewerNode = (name, run) => test(name, { skip: missing && `skipped: ${name} (${missing})` }, run)

const { map, document, refused } = toml('cases.toml')
export { document, refused }

export function world(t) {
  const made = new World(t)
  made.write(made.home, 'notes/good.md', document)
  made.writeMap(map)
  return made
}
