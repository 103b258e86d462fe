// anthropics/claude-code #84638: agents that run at once with identical inline servers
// share one process. Whoever shares ours gets nothing by it: a ticket is for one call of
// one agent.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { onEachClient } from './harness/case.mjs';
import { CANARY, CATALOG, KEY, OWN_TOOL, SCANNER, TOOL, atServe } from './harness/plugin.mjs';
import { call, once, say, spawn } from './harness/script.mjs';

/** The plugin's start.sh, which also notes each start of a server. */
function noted(home) {
  const file = home.write(home.root, 'starts', '');
  atServe(home, `echo "$*" >>'${file}'`);
  const { root, data } = home.installed('keyhole');
  const starts = () => fs.readFileSync(file, 'utf8').split('\n').filter(Boolean);
  return { start: path.join(root, 'start.sh'), data, starts };
}

onEachClient('25a: an agent with the very server of the scanner runs beside it, and gets nothing', async ({ home, loads, way, seen }) => {
  const { start, data, starts } = noted(home);
  const serve = ['serve', '--bind', 'privacy-scanner', '--key-env', 'KEYHOLE_KEY', '--agent', SCANNER, '--require-ticket'];
  const env = { KEYHOLE_KEY: KEY, CLAUDE_PLUGIN_DATA: data };
  const server = { type: 'stdio', command: 'sh', args: [start, data, ...serve], env };
  home.agent(home.home, { name: 'twin', tools: OWN_TOOL, mcpServers: [{ keyhole_privacy_scanner: server }] });
  const session = await home.play(
    {
      parent: [[spawn('scanner', SCANNER), spawn('twin', 'twin')], say('Done.')],
      scanner: [once(['twin'], way.load), once(['twin'], say('Done.'), 1)],
      twin: [once(['scanner'], call(OWN_TOOL, {})), once(['scanner'], say('Done.'), 1)],
    },
    ['--allowedTools', `${TOOL},${OWN_TOOL}`],
  );
  assert.equal(session.answer('scanner', way.tool).text, CATALOG);
  assert.equal(session.answer('twin', OWN_TOOL).error, true);
  session.assertOnlyIn(CANARY, 'scanner');
  const own = starts().filter((line) => line.includes('--bind'));
  // 2.1.197 knows no server of the scanner's own. In the other client they are not the same:
  // the scanner's has a variable more.
  assert.equal(own.length, loads ? 2 : 1, own.join('\n'));
  seen(`the two had ${own.length} process${own.length === 1 ? '' : 'es'} of that server`);
});

onEachClient("25b: two of the user's agents with one server between them each get their own", async ({ home, seen }) => {
  const { start, data, starts } = noted(home);
  const names = ['alpha', 'beta'];
  const key = (name) => `k-of-${name}-0123456789`;
  const secret = (name) => `ZQ-SECRET-${name}`;
  const entry = (name) => ({ path: home.write(home.home, `${name}.md`, secret(name)), agents: [name] });
  home.map(Object.fromEntries(names.map((name) => [key(name), entry(name)])));
  /** Each calls for its own and for the other's at the same time; whether that failed. */
  const play = async (tool, servers) => {
    for (const name of names) home.agent(home.home, { name, tools: tool, ...servers });
    const loads = (...names) => names.map((name) => call(tool, { key: key(name) }));
    const turns = (own, other) => [once([other], loads(own, other)), say('Done.')];
    const parent = [names.map((name) => spawn(name, name)), say('Done.')];
    const script = { parent, alpha: turns('alpha', 'beta'), beta: turns('beta', 'alpha') };
    const session = await home.play(script, tool === TOOL ? [] : ['--allowedTools', tool]);
    for (const name of names) session.assertOnlyIn(secret(name), name);
    return names.map((name) => session.answers(name).map(({ error }) => error));
  };
  // The plugin's own server, in the agents' files under a name of their own: the guard knows
  // no such server, so nobody leaves tickets.
  const map = home.mapFile;
  const ours = { type: 'stdio', command: 'sh', args: [start, data, 'serve', '--require-ticket', '--map', map] };
  assert.deepEqual(await play('mcp__ours__load_context', { mcpServers: [{ ours }] }), [[true, true], [true, true]]);
  const inline = starts().filter((line) => line.includes('--map'));
  // They share it if the second begins before the first has its own.
  assert.ok([1, 2].includes(inline.length), inline.join('\n'));
  seen(`two agents with identical inline servers had ${inline.length} process${inline.length === 1 ? '' : 'es'} between them`);
  // By the plugin's server, which all share.
  assert.deepEqual(await play(TOOL), [[false, true], [false, true]]);
});
