// The plugin as packed for Windows: no script, and the client starts the program itself.
// Here it is this system's program, since no client for Windows runs here. What it shows
// is that both clients start the words of that package's files, without a shell.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { onEachClient } from './harness/case.mjs';
import { DIST } from './harness/home.mjs';
import { CANARY, CATALOG, KEY, SCANNER, catalog, load } from './harness/plugin.mjs';
import { say, spawn } from './harness/script.mjs';

const PACK = path.resolve(import.meta.dirname, '../../release/packages/plugin.py');

/** The marketplace with the plugin as for Windows. */
function without(home) {
  const dist = path.join(home.root, 'no shell');
  const { status, stderr } = spawnSync('python3', [PACK, DIST, dist], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  assert.equal(fs.existsSync(path.join(dist, 'plugin/start.sh')), false);
  return dist;
}

/** The parent's call is denied, and the agent, which makes `its` call, has the catalog. */
async function first(home, its) {
  catalog(home);
  const parent = [load(KEY), spawn('scanner', SCANNER), say('Reported.')];
  const session = await home.play({ parent, scanner: [its, say('Done.')] });
  const [{ error, text }] = session.answers('scanner');
  assert.deepEqual([error, text], [false, CATALOG]);
  assert.equal(session.answers('parent')[0].error, true);
  session.assertOnlyIn(CANARY, 'scanner');
  const { data } = home.installed('keyhole');
  assert.deepEqual(fs.readdirSync(data), ['tickets'], 'nothing is installed');
  assert.deepEqual(fs.readdirSync(path.join(data, 'tickets')), [], 'the guard looked after the call, too');
}

onEachClient('22a: without a shell, the first session loads the catalog, for the subagent alone', { plugin: 'none' }, async ({ home, way }) => {
  await home.install(without(home));
  await first(home, way.load);
});

// In a client that loads none, that is 22a.
onEachClient('22b: without a shell, the guard alone is enough where no module is loaded', { plugin: 'none', modules: true }, async ({ home }) => {
  await home.installGuarded(without(home));
  await first(home, load(KEY));
});
