// `claude mcp list` starts the server and runs no hook. If it is the first
// command, the server has to install itself, or the client remembers its failure
// for later. This is tried both with a repository as the marketplace, and with an
// unpacked release.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { onEachClient } from './harness/case.mjs';
import { DIST } from './harness/home.mjs';
import { CATALOG, catalog, scan } from './harness/plugin.mjs';

/** The server's place in the output of mcp list, after which a session works. */
async function listFirst(home) {
  const listed = (await home.must('mcp', 'list')).match(/^plugin:keyhole:context: .*$/m)?.[0];
  assert.match(listed, /Connected/);
  assert.equal((await scan(home)).got.text, CATALOG);
  return listed;
}

onEachClient('2a: mcp list as the very first thing connects, and so does the session after it', async ({ home, seen }) => {
  const listed = await listFirst(home);
  seen('mcp list starts the server of a plugin that has run no hook yet');
  assert.ok(listed.includes(home.installed('keyhole').root), listed);
  seen("from a repository, a plugin runs in the client's copy of it");
});

onEachClient('2b: the same from the folder of an unpacked release', { plugin: 'none' }, async ({ home, seen }) => {
  const folder = path.join(home.root, 'release');
  fs.cpSync(DIST, folder, { recursive: true });
  await home.installFrom(folder);
  catalog(home);
  const listed = await listFirst(home);
  assert.ok(listed.includes(`${folder}/`), listed);
  seen("from a folder, a plugin runs in that folder, not in the client's copy: the folder has to stay");
});
