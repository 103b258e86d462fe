// What the cases of the client's sandbox around its shells have in common: an ordinary user, the
// document, and the settings that `keyhole setup` writes.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { example, recorded } from '../../harness/pages.mjs';
import { onEachClient } from './case.mjs';
import { noSandbox, unprivileged } from './ordinary.mjs';
import { CANARY, CATALOG, PACKAGED, SANDBOX, bash, programIn } from './plugin.mjs';

export const AGENT = 'catalog-scanner';
/** Ours, where every user can start it. */
export const PROGRAM = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'keyhole-program-')), 'keyhole');
fs.chmodSync(path.dirname(PROGRAM), 0o755);
fs.copyFileSync(programIn(PACKAGED), PROGRAM);
fs.chmodSync(PROGRAM, 0o755);
process.on('exit', () => fs.rmSync(path.dirname(PROGRAM), { recursive: true }));
export const BASH = ['--allowedTools', 'Bash'];

/** The case, by an ordinary user: for root, the client has another sandbox. */
export function onEachShell(name, ...more) {
  const run = more.pop();
  onEachClient(name, { plugin: 'none', terminal: true, ...more[0] }, async (given) => {
    const without = noSandbox();
    if (without) return given.t.skip(without);
    unprivileged(given.t, given.home);
    await run(given);
  });
}

/**
 * The document, an agent of one's own that starts this program, and the sandbox, as setup writes them.
 * Returns the settings of docs/examples for an administrator, with this document and the user's PATH.
 */
export async function setUp(home, { program = PROGRAM, file = '~/private/catalog.md', agent = AGENT } = {}) {
  home.write(home.home, file.slice(2), CATALOG);
  home.sandboxed = true;
  await home.agreed(program, ...recorded('claude-code', agent, file));
  const { sandbox, permissions } = home.settings();
  const { filesystem } = SANDBOX.sandbox;
  const folder = path.dirname(program).replace(home.home, '~');
  // A link may lead to the map.
  const linked = sandbox.filesystem.denyWrite.filter((one) => one.startsWith('~/dotfiles'));
  const denyWrite = [...filesystem.denyWrite, ...linked, folder];
  assert.deepEqual(sandbox, { ...SANDBOX.sandbox, filesystem: { ...filesystem, denyWrite } });
  for (const rule of SANDBOX.permissions.deny) assert.ok(permissions.deny.includes(rule), rule);
  const machine = JSON.parse(example('managed-settings.json').replace('identifiers.md', 'catalog.md'));
  machine.env.PATH = home.env().PATH;
  return machine;
}

/** The rules for the document itself: for its folder, and for its path. */
export const [FOLDER, FILE] = ['Read(~/private/**)', 'Read(~/private/catalog.md)'];

/** The sandbox with such rules, as settings. */
export const walled = (...deny) => ({ ...SANDBOX, permissions: { deny: [...deny, ...SANDBOX.permissions.deny] } });

/** A home with the document, in which the project has a program that reads it. */
export function bare(home, text = CATALOG) {
  const file = home.write(home.home, 'private/catalog.md', text);
  fs.chmodSync(home.write(home.project, 'read', `#!/bin/sh\ncat ${file}\n`), 0o755);
  return file;
}

export const READS = [bash('./read'), bash('./read', { dangerouslyDisableSandbox: true })];
export const leaked = (session) => session.answers('parent').some(({ text }) => text.includes(CANARY));
