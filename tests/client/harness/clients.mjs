// The pinned versions of the client, as package.json names them.

import { createRequire } from 'node:module';
import fs from 'node:fs';
import path from 'node:path';

const here = path.resolve(import.meta.dirname, '..');
const only = process.env.KEYHOLE_CLIENT;

/** [{ version, binary }], oldest first; KEYHOLE_CLIENT=VERSION takes just one. */
export const clients = Object.entries(readJson(path.join(here, 'package.json')).dependencies)
  .map(([alias, spec]) => ({ alias, version: spec.split('@').pop() }))
  .filter(({ version }) => !only || version === only)
  .map(({ alias, version }) => ({ version, binary: binaryOf(alias) }));

if (clients.length === 0) throw new Error(`no pinned client has the version ${only}`);

// The binary comes in one of several packages, of which npm installs the one for
// this machine. Taking it from there needs none of the packages' install scripts.
function binaryOf(alias) {
  const manifest = path.join(here, 'node_modules', alias, 'package.json');
  const { optionalDependencies } = readJson(manifest);
  const require = createRequire(manifest);
  for (const [name, version] of Object.entries(optionalDependencies)) {
    try {
      const found = require.resolve(`${name}/package.json`);
      if (readJson(found).version === version) return path.join(path.dirname(found), 'claude');
    } catch {
      // It is for another machine.
    }
  }
  throw new Error(`${alias} has no binary for this machine; run ./x client`);
}

function readJson(file) {
  return JSON.parse(fs.readFileSync(file, 'utf8'));
}
