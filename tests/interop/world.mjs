// A home with a map, for one client: each easy refusal has a key, named like it. And what
// else the tests share.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'smol-toml'

// What lies here.
export const here = (path) => join(import.meta.dirname, path)

// A folder that is removed when the test `t` ends, after all of `ending` has ended.
export function folder(t, ending = []) {
  const path = mkdtempSync(join(tmpdir(), 'keyhole-'))
  t.after(async () => {
    for (const end of ending) await end()
    rmSync(path, { recursive: true })
  })
  return path
}

export const server = process.env.KEYHOLE_BIN
if (!server) throw new Error('KEYHOLE_BIN does not name the program; run ./x interop')

const MAP = readFileSync(here('map.toml'), 'utf8')

// The code that each key is refused with; the key is `k-` and the code.
const refused = Object.keys(parse(MAP).keys).filter((key) => key !== 'k-good')
export const REFUSALS = ['unknown-key', ...refused.map((key) => key.slice(2))]

export const DOCUMENT = '# Title\r\n\n\u{feff}"quoted" \\ \u{1f511}\n'

export function world(t) {
  const ending = []
  const home = folder(t, ending)
  const put = (path, text) => {
    mkdirSync(join(home, path, '..'), { recursive: true, mode: 0o700 })
    writeFileSync(join(home, path), text, { mode: 0o600 })
  }
  put('notes/good.md', DOCUMENT)
  put('notes/a.txt', 'text')
  put('notes/latin.md', Buffer.from([0xe9]))
  put('out.md', 'out')
  mkdirSync(join(home, 'notes/directory.md'))
  put('.config/keyhole/context-map.toml', MAP)
  return {
    home,
    ending,
    env: { HOME: home, XDG_CONFIG_HOME: join(home, '.config'), PATH: process.env.PATH },
  }
}
