// anthropics/claude-code #84638: agents that run at once with identical inline servers
// share one process. Whoever shares ours gets nothing by it: a ticket is for one call of
// one agent.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { call, once, say, spawn } from './harness/api.mjs';
import { onEachClient } from './harness/case.mjs';
import { CANARY, CATALOG, KEY, OWN_TOOL, SCANNER, TOOL, catalog, load, loadsModules, way } from './harness/plugin.mjs';

/** An agent of the user's with that server under that name. */
function agent(home, name, server, command, tools) {
  const head = [`name: ${name}`, 'description: Works.', `tools: ${tools}`, `mcpServers: ${JSON.stringify([{ [server]: command }])}`];
  home.write(home.home, `.claude/agents/${name}.md`, `---\n${head.join('\n')}\n---\n\nWork.\n`);
}

/** The plugin's start.sh, which also notes each start of a server. */
function noted(home) {
  const { root, data } = home.installed('keyhole');
  const start = path.join(root, 'start.sh');
  const file = home.write(home.root, 'starts', '');
  const text = fs.readFileSync(start, 'utf8');
  fs.writeFileSync(start, text.replace('\nset -u\n', `\nset -u\n[ "$2" = serve ] && echo "$*" >>'${file}'\n`));
  return { start, data, starts: () => fs.readFileSync(file, 'utf8').trim().split('\n').filter(Boolean) };
}

onEachClient('25a: an agent with the very server of the scanner runs beside it, and gets nothing', async ({ home, client, seen }) => {
  await home.install();
  catalog(home);
  const { start, data, starts } = noted(home);
  const serve = ['serve', '--bind', 'privacy-scanner', '--key-env', 'KEYHOLE_KEY', '--agent', SCANNER, '--require-ticket'];
  const env = { KEYHOLE_KEY: KEY, CLAUDE_PLUGIN_DATA: data };
  agent(home, 'twin', 'keyhole_privacy_scanner', { type: 'stdio', command: 'sh', args: [start, data, ...serve], env }, OWN_TOOL);
  const session = await home.session(
    {
      parent: [[spawn('scanner', SCANNER), spawn('twin', 'twin')], say('Done.')],
      scanner: [once(['twin'], way(client).load), once(['twin'], say('Done.'), 1)],
      twin: [once(['scanner'], call(OWN_TOOL, {})), once(['scanner'], say('Done.'), 1)],
    },
    ['--allowedTools', `${TOOL},${OWN_TOOL}`],
  );
  session.assertPlayed();
  assert.equal(session.answer('scanner', way(client).tool).text, CATALOG);
  assert.equal(session.answer('twin', OWN_TOOL).error, true);
  session.assertOnlyIn(CANARY, 'scanner');
  const own = starts().filter((line) => line.includes('--bind'));
  // 2.1.197 knows no server of the scanner's own. In the other client they are not the same:
  // the scanner's has a variable more.
  assert.equal(own.length, loadsModules(client) ? 2 : 1, own.join('\n'));
  seen(`the two had ${own.length} process${own.length === 1 ? '' : 'es'} of that server`);
});

onEachClient("25b: two of the user's agents with one server between them each get their own", async ({ home, client, seen }) => {
  await home.install();
  const { start, data, starts } = noted(home);
  const keys = { alpha: 'k-of-alpha-0123456789', beta: 'k-of-beta-0123456789' };
  const secret = (name) => `ZQ-SECRET-${name}`;
  home.map(Object.fromEntries(Object.keys(keys).map((name) => [keys[name], { path: home.write(home.home, `${name}.md`, secret(name)), agents: [name] }])));
  // The plugin's own server, in the agents' files: the guard knows no such server.
  const map = path.join(home.configured, 'context-map.toml');
  const command = { type: 'stdio', command: 'sh', args: [start, data, 'serve', '--require-ticket', '--map', map] };
  const play = async (server, tool) => {
    for (const name of Object.keys(keys)) agent(home, name, server, command, tool);
    const turns = (own, other) => [once([other], [call(tool, { key: keys[own] }), call(tool, { key: keys[other] })]), say('Done.')];
    const session = await home.session(
      { parent: [[spawn('alpha', 'alpha'), spawn('beta', 'beta')], say('Done.')], alpha: turns('alpha', 'beta'), beta: turns('beta', 'alpha') },
      ['--allowedTools', tool],
    );
    session.assertPlayed();
    for (const name of Object.keys(keys)) session.assertOnlyIn(secret(name), name);
    return ['alpha', 'beta'].map((name) => session.answers(name).map(({ error }) => error));
  };
  // Under a name of their own nobody leaves tickets.
  assert.deepEqual(await play('ours', 'mcp__ours__load_context'), [[true, true], [true, true]]);
  const inline = starts().filter((line) => line.includes('--map'));
  // They share it if the second begins before the first has its own.
  assert.ok([1, 2].includes(inline.length), inline.join('\n'));
  seen(`two agents with identical inline servers had ${inline.length} process${inline.length === 1 ? '' : 'es'} between them`);
  // By the plugin's server, which all share.
  for (const name of Object.keys(keys)) {
    home.write(home.home, `.claude/agents/${name}.md`, `---\nname: ${name}\ndescription: Works.\ntools: ${TOOL}\n---\n\nWork.\n`);
  }
  const turns = (own, other) => [once([other], [load(keys[own]), load(keys[other])]), say('Done.')];
  const session = await home.session({
    parent: [[spawn('alpha', 'alpha'), spawn('beta', 'beta')], say('Done.')],
    alpha: turns('alpha', 'beta'),
    beta: turns('beta', 'alpha'),
  });
  session.assertPlayed();
  for (const name of Object.keys(keys)) {
    assert.deepEqual(session.answers(name).map(({ error }) => error), [false, true]);
    session.assertOnlyIn(secret(name), name);
  }
});
