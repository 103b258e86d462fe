// A program that an npm package brings in another package, of which npm installs the
// one for this system. Taking it from there needs none of the packages' install
// scripts.

import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pinned } from './installed.mjs';

/**
 * The pinned package `name` as `pinned` describes it, and `program`: the first of
 * `files` that one of its per-system packages contains.
 */
export function carried(name, files) {
  const found = pinned(name);
  if (found.missing) return found;
  const manifest = path.join(found.root, 'package.json');
  const require = createRequire(manifest);
  const { optionalDependencies = {} } = JSON.parse(fs.readFileSync(manifest, 'utf8'));
  for (const other of Object.keys(optionalDependencies)) {
    let root;
    try {
      root = path.dirname(require.resolve(`${other}/package.json`));
    } catch {
      continue; // Not this system's.
    }
    for (const file of fs.readdirSync(root, { recursive: true })) {
      if (files.test(file)) return { ...found, program: path.join(root, file) };
    }
  }
  return { ...found, missing: 'its registry has no program for this system' };
}
