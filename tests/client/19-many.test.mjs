// Ten agents at once, in the foreground and in the background, and what remains
// of their server when the client ends, however it ends.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { say, spawn } from './harness/api.mjs';
import { onEachClient } from './harness/case.mjs';
import { CANARY, CATALOG, SCANNER, catalog, way } from './harness/plugin.mjs';

const TEN = Array.from({ length: 10 }, (_, index) => `scanner-${index}`);

for (const background of [false, true]) {
  onEachClient('19a: ten agents at once have the catalog, in the ' + (background ? 'background' : 'foreground'), async ({ home, client }) => {
    await home.install();
    catalog(home);
    const session = await home.session({
      parent: [
        TEN.map((name) => spawn(name, SCANNER, { run_in_background: background })),
        // It learns of each end in a separate turn, at most.
        ...Array.from({ length: 24 }, () => say('Go on.')),
      ],
      ...Object.fromEntries(TEN.map((name) => [name, [way(client).load, say('Done.')]])),
    });
    session.assertPlayed();
    for (const name of TEN) assert.equal(session.answer(name, way(client).tool).text, CATALOG);
    session.assertOnlyIn(CANARY, ...TEN);
    // The client has just been killed.
    await home.until('the end of the servers', () => servers(home).length === 0);
  });
}

onEachClient('19b: no server is left, whatever ends the client', async ({ t, home, client }) => {
  if (spawnSync('setsid', ['true']).status !== 0) return t.skip('setsid is not installed');
  await home.install();
  catalog(home);
  // The tests' usual way to end what they started uses the process group.
  home.command = (...words) => ['setsid', ['--wait', ...words]];
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGKILL']) {
    let killed;
    await home.session({
      parent: [spawn('scanner', SCANNER), say('Done.')],
      scanner: [
        way(client).load,
        () => {
          const running = servers(home);
          assert.ok(running.length > 0, 'the server runs');
          killed = running[0].parent;
          process.kill(killed, signal);
          return say('Done.');
        },
        say('Done.'),
      ],
    });
    assert.ok(killed, signal);
    try {
      await home.until(`the end of the server after ${signal}`, () => servers(home).length === 0);
    } finally {
      for (const { pid } of servers(home)) process.kill(pid, 'SIGKILL');
    }
  }
});

/** The servers that run from this home's copy of the plugin. */
function servers(home) {
  const { root } = home.installed('keyhole');
  const { stdout } = spawnSync('ps', ['-axo', 'pid=,ppid=,args='], { encoding: 'utf8' });
  return stdout
    .split('\n')
    .map((line) => line.match(/^ *(\d+) +(\d+) +(.*)$/))
    .filter((found) => found?.[3].startsWith(`${root}/server/keyhole-`) && found[3].includes(' serve '))
    .map(([, pid, parent]) => ({ pid: Number(pid), parent: Number(parent) }));
}
