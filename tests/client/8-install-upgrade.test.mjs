// Wherever an install was interrupted, a session works, and the next one installs; and
// each version of the plugin runs its own program, also in the middle of a session.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { say, spawn } from './harness/api.mjs';
import { onEachClient } from './harness/case.mjs';
import { DIST, marketplace } from './harness/home.mjs';
import { CANARY, CATALOG, SCANNER, catalog, loadsModules, way } from './harness/plugin.mjs';

/** More commands than an install can run, so that a loop with a wrong count still ends. */
const MANY = 40;

async function assertWorks(home, after) {
  const session = await home.session({
    parent: [spawn('scanner', SCANNER), say('Done.')],
    scanner: [way(home.client).load, say('Done.')],
  });
  session.assertPlayed();
  assert.equal(session.answer('scanner', way(home.client).tool).text, CATALOG, after);
}

onEachClient('8a: after an install that was killed before any of its commands, a session works', async ({ home }) => {
  await home.install();
  catalog(home);
  const { root, data } = home.installed('keyhole');
  const shims = killers(home);

  let killed = 0;
  for (; killed < MANY; killed += 1) {
    fs.rmSync(data, { recursive: true, force: true });
    const run = await home.run('/bin/sh', [path.join(root, 'start.sh'), data, 'install'], {
      PATH: `${shims}:${process.env.PATH}`,
      KILL_BEFORE: String(killed),
      KILL_COUNT: home.write(home.root, 'count', ''),
    });
    if (run.code === 0) break;
    assert.equal(run.code, 'SIGKILL', `${run.stdout}\n${run.stderr}`);
    await assertWorks(home, `killed before its command ${killed}`);
  }
  // It compares, makes the folder, copies and renames, at least.
  assert.ok(killed >= 4 && killed < MANY, `killed ${killed} times`);
});

onEachClient('8b: what an earlier version, or anybody, left in the data folder is not run', async ({ home }) => {
  await home.install();
  catalog(home);
  const { root, data } = home.installed('keyhole');
  const manifest = fs.readFileSync(path.join(root, 'manifest.sha256'), 'utf8');
  const ran = path.join(home.root, 'ran');
  for (const [, sum] of manifest.matchAll(/^(\w{64}) .server\//gm)) {
    fs.chmodSync(home.write(data, `keyhole-${sum}`, `#!/bin/sh\necho "$1" >>'${ran}'\n`), 0o700);
  }
  home.write(data, 'manifest.sha256', manifest);
  fs.chmodSync(data, 0o700);
  await assertWorks(home, 'as version 0.2.0 would have found all installed');
  assert.ok(!fs.existsSync(ran));
});

onEachClient('8c: an upgraded plugin runs its new server', async ({ home, seen }) => {
  const market = path.join(home.root, 'market');
  fs.cpSync(DIST, market, { recursive: true });
  await home.install(market);
  catalog(home);
  await assertWorks(home, 'the first version');
  const before = home.installed('keyhole').root;

  const ran = path.join(home.root, 'ran');
  const { name, plugin } = marketplace(market);
  const server = path.join(marketplace(DIST).plugin, 'server');
  const old = path.join(server, fs.readdirSync(server)[0]);
  upgrade(plugin, `#!/bin/sh\necho "$1" >>"${ran}"\nexec "${old}" "$@"\n`);
  home.publish(market);
  await home.must('plugin', 'marketplace', 'update', name);
  await home.must('plugin', 'update', `keyhole@${name}`);
  assert.notEqual(home.installed('keyhole').root, before);
  await assertWorks(home, 'the second version');

  const commands = fs.readFileSync(ran, 'utf8').trim().split('\n');
  assert.deepEqual([...new Set(commands)].sort(), [...(loadsModules(home.client) ? ['agents'] : []), 'check', 'guard', 'serve', 'tickets']);
  seen('plugin update puts the new version beside the old, and keeps the data directory');
});

onEachClient('8d: a program that lost its execute bit gives no document, and its line says what to do', async ({ home, client }) => {
  await home.install();
  catalog(home);
  const { root } = home.installed('keyhole');
  const server = path.join(root, 'server');
  const program = path.join(server, fs.readdirSync(server)[0]);
  fs.chmodSync(program, 0o644);
  const session = await home.session({
    parent: [spawn('scanner', SCANNER), say('Done.')],
    scanner: [way(client).load, say('Done.')],
  });
  assert.equal(session.answer('scanner', way(client).tool).error, true);
  session.assertOnlyIn(CANARY);
  assert.match(session.stdout, /run chmod u\+x on it/);
  fs.chmodSync(program, 0o755);
  // 2.1.197 remembers a server that did not start, for a quarter of an hour.
  if (loadsModules(client)) await assertWorks(home, 'it may be run again');
});

onEachClient('8f: in a terminal, the line about such a program is on the screen', async ({ t, home }) => {
  // A terminal comes from Python's own library.
  if (spawnSync('python3', ['-c', 'import pty']).status !== 0) return t.skip('python3 is not installed');
  await home.install();
  catalog(home);
  const server = path.join(home.installed('keyhole').root, 'server');
  fs.chmodSync(path.join(server, fs.readdirSync(server)[0]), 0o644);
  // The terminal draws by moving the cursor, so it contains no blanks.
  const drawn = ({ stdout }) => stdout.replaceAll(/\x1b\[[0-9;?>]*[a-zA-Z]|\s/g, '');
  const session = await home.terminal({ parent: [say('Done.')] }, (session) => drawn(session).includes('chmodu+x'));
  assert.match(drawn(session), /maynotberun/);
});

onEachClient('8e: a plugin that is upgraded in the middle of a session goes on working in that session', async ({ home, client, seen }) => {
  const market = path.join(home.root, 'market');
  fs.cpSync(DIST, market, { recursive: true });
  await home.install(market);
  catalog(home);
  const { name, plugin } = marketplace(market);
  const ran = path.join(home.root, 'ran');
  const session = await home.session({
    parent: [
      async () => {
        upgrade(plugin, `#!/bin/sh\necho "$1" >>"${ran}"\n`);
        home.publish(market);
        await home.must('plugin', 'marketplace', 'update', name);
        await home.must('plugin', 'update', `keyhole@${name}`);
        return spawn('scanner', SCANNER);
      },
      say('Done.'),
    ],
    scanner: [way(client).load, say('Done.')],
  });
  session.assertPlayed();
  assert.equal(session.answer('scanner', way(client).tool).text, CATALOG);
  assert.ok(!fs.existsSync(ran), 'a program of the new version ran');
  seen('a session goes on with the version that it began with');
});

/** A folder of commands, of which the one after KILL_BEFORE others kills the install. */
function killers(home) {
  const shims = path.join(home.root, 'shims');
  for (const name of ['cmp', 'cp', 'grep', 'mkdir', 'mv', 'rm', 'sha256sum', 'shasum', 'uname']) {
    const real = process.env.PATH.split(':').map((dir) => path.join(dir, name)).find(fs.existsSync);
    if (!real) continue;
    const shim = home.write(shims, name, `#!/bin/sh
if [ "$(wc -l <"$KILL_COUNT")" -ge "$KILL_BEFORE" ]; then kill -9 0; fi
echo "${name}" >>"$KILL_COUNT"
exec ${real} "$@"
`);
    fs.chmodSync(shim, 0o755);
  }
  return shims;
}

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
