// A home with a map, for one client: each easy refusal has a key, named like it.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const server = process.env.KEYHOLE_BIN
if (!server) throw new Error('KEYHOLE_BIN does not name the program; run ./x interop')

// The code that each key is refused with; the key is `k-` and the code.
export const REFUSALS = [
  'unknown-key', 'not-markdown', 'not-found', 'not-a-file', 'outside-root', 'too-large', 'not-utf8',
]

export const DOCUMENT = '# Title\r\n\n\u{feff}"quoted" \\ \u{1f511}\n'

const MAP = `roots = ['~/notes']
[keys]
k-good = '~/notes/good.md'
k-not-markdown = '~/notes/a.txt'
k-not-found = '~/notes/gone.md'
k-not-a-file = '~/notes/directory.md'
k-outside-root = '~/out.md'
k-too-large = { path = '~/notes/good.md', max_bytes = 1 }
k-not-utf8 = '~/notes/latin.md'
[bindings.catalog]
key = 'k-good'
title = 'The catalogue'
description = 'Words to look for.'
`

export function world(map = MAP) {
  const home = mkdtempSync(join(tmpdir(), 'keyhole-'))
  const put = (path, text) => {
    mkdirSync(join(home, path, '..'), { recursive: true, mode: 0o700 })
    writeFileSync(join(home, path), text, { mode: 0o600 })
  }
  put('notes/good.md', DOCUMENT)
  put('notes/a.txt', 'text')
  put('notes/latin.md', Buffer.from([0xe9]))
  put('out.md', 'out')
  mkdirSync(join(home, 'notes/directory.md'))
  if (map !== null) put('.config/keyhole/context-map.toml', map)
  return {
    home,
    env: { HOME: home, XDG_CONFIG_HOME: join(home, '.config'), PATH: process.env.PATH },
    end: () => rmSync(home, { recursive: true }),
  }
}
