// Each version of the plugin runs its own program, also in the middle of a session; and
// one that may not be run says so.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { onEachClient } from './harness/case.mjs';
import { DIST, marketplace } from './harness/home.mjs';
import { CANARY, CATALOG, PACKAGED, SCANNER, catalog, plain, programIn, scan } from './harness/plugin.mjs';
import { say, spawn } from './harness/script.mjs';

onEachClient('8c: a session goes on with the version that it began with, and the next one runs the upgraded plugin', { plugin: 'none' }, async ({ home, loads, seen }) => {
  const market = path.join(home.root, 'market');
  fs.cpSync(DIST, market, { recursive: true });
  await home.install(market);
  catalog(home);
  const before = home.installed('keyhole').root;
  const ran = path.join(home.root, 'ran');
  const { name, plugin } = marketplace(market);
  const upgraded = async () => {
    upgrade(plugin, `#!/bin/sh\necho "$1" >>"${ran}"\nexec "${programIn(PACKAGED)}" "$@"\n`);
    home.publish(market);
    await home.must('plugin', 'marketplace', 'update', name);
    await home.must('plugin', 'update', `keyhole@${name}`);
    return spawn('scanner', SCANNER);
  };
  assert.equal((await scan(home, { parent: [upgraded, say('Done.')] })).got.text, CATALOG);
  assert.ok(!fs.existsSync(ran), 'a program of the new version ran');
  seen('a session goes on with the version that it began with');

  assert.notEqual(home.installed('keyhole').root, before);
  assert.equal((await scan(home)).got.text, CATALOG);
  const commands = new Set(fs.readFileSync(ran, 'utf8').trim().split('\n'));
  assert.deepEqual([...commands].sort(), [...(loads ? ['agents'] : []), 'check', 'guard', 'serve', 'tickets']);
  seen('plugin update puts the new version beside the old, and keeps the data directory');
});

onEachClient('8d: a program that lost its execute bit gives no document, and its line says what to do', async ({ home, client, loads, way }) => {
  const program = programIn(home.installed('keyhole').root);
  fs.chmodSync(program, 0o644);
  const session = await home.session(plain(client));
  assert.equal(session.answer('scanner', way.tool).error, true);
  session.assertOnlyIn(CANARY);
  assert.match(session.stdout, /run chmod u\+x on it/);
  fs.chmodSync(program, 0o755);
  // 2.1.197 remembers a server that did not start, for a quarter of an hour.
  if (loads) assert.equal((await scan(home)).got.text, CATALOG);
});

onEachClient('8f: in a terminal, the line about such a program is on the screen', { terminal: true }, async ({ home }) => {
  fs.chmodSync(programIn(home.installed('keyhole').root), 0o644);
  const said = ({ drawn }) => drawn.includes('chmodu+x');
  assert.match((await home.terminal({ parent: [say('Done.')] }, said)).drawn, /maynotberun/);
});

/** Makes the plugin in the folder `plugin` the next version, with `server` as its program. */
function upgrade(plugin, server) {
  const manifest = path.join(plugin, 'manifest.sha256');
  const lines = fs.readFileSync(manifest, 'utf8').replace(/^\w+(?=\s+\*?(server\/.*))/gm, (_, file) => {
    fs.writeFileSync(path.join(plugin, file), server);
    return createHash('sha256').update(server).digest('hex');
  });
  fs.writeFileSync(manifest, lines);
  const described = path.join(plugin, '.claude-plugin/plugin.json');
  fs.writeFileSync(described, JSON.stringify({ ...JSON.parse(fs.readFileSync(described)), version: '99.0.0' }));
}
