// Ten agents at once, in the foreground and in the background, and what remains
// of their server when the client ends, however it ends.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { processes } from '../harness/world.mjs';
import { onEachClient } from './harness/case.mjs';
import { CANARY, CATALOG, SCANNER, plain } from './harness/plugin.mjs';
import { say, spawn } from './harness/script.mjs';

const TEN = Array.from({ length: 10 }, (_, index) => `scanner-${index}`);

for (const background of [false, true]) {
  onEachClient('19a: ten agents at once have the catalog, in the ' + (background ? 'background' : 'foreground'), async ({ home, way }) => {
    const session = await home.play({
      parent: [
        TEN.map((name) => spawn(name, SCANNER, { run_in_background: background })),
        // It learns of each end in a separate turn, at most.
        ...Array.from({ length: 24 }, () => say('Go on.')),
      ],
      ...Object.fromEntries(TEN.map((name) => [name, [way.load, say('Done.')]])),
    });
    for (const name of TEN) assert.equal(session.answer(name, way.tool).text, CATALOG);
    session.assertOnlyIn(CANARY, ...TEN);
    // The client has just been killed.
    await home.until('the end of the servers', () => servers(home).length === 0);
  });
}

onEachClient('19b: no server is left, whatever ends the client', async ({ t, home, client, way }) => {
  if (spawnSync('setsid', ['true']).status !== 0) return t.skip('setsid is not installed');
  // The tests' usual way to end what they started uses the process group.
  home.command = (...words) => ['setsid', ['--wait', ...words]];
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGKILL']) {
    let killed;
    const kill = () => {
      const running = servers(home);
      assert.ok(running.length > 0, 'the server runs');
      killed = running[0].parent;
      process.kill(killed, signal);
      return say('Done.');
    };
    await home.session(plain(client, { scanner: [way.load, kill, say('Done.')] }));
    assert.ok(killed, signal);
    try {
      await home.until(`the end of the server after ${signal}`, () => servers(home).length === 0);
    } finally {
      for (const { id } of servers(home)) process.kill(id, 'SIGKILL');
    }
  }
});

/** The servers that run from this home's copy of the plugin. */
function servers(home) {
  const program = `${home.installed('keyhole').root}/server/keyhole-`;
  return processes((words) => words.startsWith(program) && words.includes(' serve '));
}
