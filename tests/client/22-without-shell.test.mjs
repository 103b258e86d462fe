// The plugin as packed for Windows: no script, and the client starts the program itself.
// Here it is this system's program, since no client for Windows runs here. What it shows
// is that both clients start the words of that package's files, without a shell.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { say, spawn } from './harness/api.mjs';
import { onEachClient } from './harness/case.mjs';
import { DIST } from './harness/home.mjs';
import { CANARY, CATALOG, KEY, SCANNER, catalog, load, loadsModules, way } from './harness/plugin.mjs';

const PACK = path.resolve(import.meta.dirname, '../../release/packages/plugin.py');

/** The marketplace with the plugin as for Windows. */
function without(home) {
  const dist = path.join(home.root, 'no shell');
  const { status, stderr } = spawnSync('python3', [PACK, DIST, dist], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  assert.equal(fs.existsSync(path.join(dist, 'plugin/start.sh')), false);
  return dist;
}

onEachClient('22a: without a shell, the first session loads the catalog, for the subagent alone', async ({ home, client }) => {
  await home.install(without(home));
  catalog(home);
  const session = await home.session({
    parent: [load(KEY), spawn('scanner', SCANNER), say('Reported.')],
    scanner: [way(client).load, say('Done.')],
  });
  session.assertPlayed();
  const answer = session.answer('scanner', way(client).tool);
  assert.deepEqual([answer.error, answer.text], [false, CATALOG]);
  session.assertOnlyIn(CANARY, 'scanner');
  const [denied] = session.answers('parent');
  assert.equal(denied.error, true, denied.text);
  const { data } = home.installed('keyhole');
  assert.deepEqual(fs.readdirSync(data), ['tickets'], 'nothing is installed');
  assert.deepEqual(fs.readdirSync(path.join(data, 'tickets')), [], 'the guard looked after the call, too');
});

onEachClient('22b: without a shell, the guard alone is enough where no module is loaded', async ({ home, client, t }) => {
  if (!loadsModules(client)) return t.skip('22a is that, in this client');
  await home.install(without(home));
  const file = path.join(home.installed('keyhole').root, 'hooks/hooks.json');
  const { modules, ...classic } = JSON.parse(fs.readFileSync(file, 'utf8'));
  assert.ok(modules);
  fs.writeFileSync(file, JSON.stringify(classic));
  catalog(home);
  const session = await home.session({
    parent: [load(KEY), spawn('scanner', SCANNER), say('Reported.')],
    scanner: [load(KEY), say('Done.')],
  });
  session.assertPlayed();
  assert.equal(session.answers('scanner')[0].text, CATALOG);
  assert.equal(session.answers('parent')[0].error, true);
  session.assertOnlyIn(CANARY, 'scanner');
});
