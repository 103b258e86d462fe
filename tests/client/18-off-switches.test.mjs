// What a user or an administrator can switch off, and what then remains: the
// first way, the second, or nothing. It is never more.

import assert from 'node:assert/strict';
import { onEachClient } from './harness/case.mjs';
import { CANARY, KEY, OWN_TOOL, TOOL, load, plain } from './harness/plugin.mjs';
import { call, say } from './harness/script.mjs';

const LEAVE = ['--allowedTools', `${TOOL},${OWN_TOOL}`];

/** The tools that give content, in a client that loads modules; in others, only TOOL does. */
const SWITCHES = {
  'nothing is switched off': { left: [OWN_TOOL] },
  'disableAllHooks': { user: { disableAllHooks: true }, args: LEAVE, left: [], says: 'caller-not-verified' },
  'allowedMcpServers: []': { user: { allowedMcpServers: [] }, left: [] },
  '--strict-mcp-config': { args: ['--strict-mcp-config'], left: [] },
  '--safe-mode': { args: ['--safe-mode'], left: [], gone: true },
  '--bare': { args: ['--bare'], left: [], gone: true },
  // What keeps users' own modules out, by the client's page for administrators.
  'allowManagedModsOnly': { managed: { pluginConfigs: { 'cc-plugin-sec-default@builtin': { options: { allowManagedModsOnly: true } } } }, left: [TOOL] },
  'allowManagedHooksOnly': { managed: { allowManagedHooksOnly: true }, args: LEAVE, left: [], says: 'caller-not-verified' },
};

for (const [how, { user, managed, args, left, says, gone }] of Object.entries(SWITCHES)) {
  onEachClient('18: ' + how, async ({ t, home, client, loads, seen }) => {
    if (user) home.set(user);
    if (managed && !home.manage(managed)) return t.skip("an administrator's settings cannot be played here");
    const both = [load(KEY), call(OWN_TOOL, {})];
    const session = await home.play(plain(client, { scanner: [both, say('Done.')] }), args);
    session.assertOnlyIn(CANARY, 'scanner');
    if (gone) {
      assert.ok(!session.has('scanner'));
      return seen(`${how}: there is no such agent`);
    }
    const got = session.answers('scanner').filter(({ error }) => !error).map(({ tool }) => tool);
    assert.deepEqual(got, loads || left.length === 0 ? left : [TOOL]);
    if (says) assert.ok(session.answers('scanner').some(({ text }) => text.includes(says)));
    seen(`${how}: ${got.length === 0 ? 'nothing' : got[0] === TOOL ? 'the guarded way' : "the agent's own server"}`);
  });
}
