// Agents of the user and of other plugins that have the plugin's server, which they share. If the
// client loads modules, only those that the map names see its tool.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { onEachClient } from './harness/case.mjs';
import { CANARY, CATALOG, KEY, LEAVE, OWN_TOOL, SCANNER, TOOL, agentFile, assertServed, atStart, authorPlugin, call, load, once, onceOffered, say, search, spawn } from './harness/plugin.mjs';

/** A plugin's agent and the user's, with a key each; each is an actor with its own name. */
const AGENTS = { acme: 'acme:reviewer', reader: 'reader' };
const ACTORS = Object.keys(AGENTS);
const key = (actor) => `k-of-${actor}-0123456789`;
const secret = (actor) => `ZQ-SECRET-${actor}\n`;

/** Adds the agents' entries to the map. */
function name(home, agents = AGENTS) {
  const entry = ([actor, agent]) => {
    const file = home.write(home.home, `private/${actor}.md`, secret(actor));
    return [key(actor), { path: file, agents: [agent] }];
  };
  home.addToMap(Object.fromEntries(Object.entries(agents).map(entry)));
}

/** The two agents, which the map names at once or later. */
async function world(home, isNamed = true) {
  await home.install(authorPlugin(home, 'acme', { reviewer: key('acme') }));
  home.write(home.home, '.claude/agents/reader.md', agentFile('reader', key('reader')));
  if (isNamed) name(home);
}

/** Each of `actors` got its own text, and nobody else did. */
function assertOwn(session, actors) {
  for (const actor of actors) {
    const got = session.answers(actor).filter(({ error }) => !error);
    assert.deepEqual(got.map(({ text }) => text), [secret(actor)]);
    session.assertOnlyIn(secret(actor).trim(), actor);
  }
}

onEachClient('only-named-agents-have-tool: the agents that the map names have the tool, and the main conversation and others do not', async ({ home, loads, way }) => {
  await world(home);
  const both = ACTORS.map((actor) => load(key(actor)));
  const other = [search(TOOL), both, say('Done.')];
  const all = { ...AGENTS, scanner: SCANNER, other: 'general-purpose' };
  const session = await home.play(
    {
      parent: [Object.entries(all).map(([actor, agent]) => spawn(actor, agent)), ...other],
      acme: [both, say('Done.')],
      reader: [both, say('Done.')],
      scanner: [way.load, say('Done.')],
      other,
    },
    LEAVE,
  );
  session.assertOnlyIn(CANARY, 'scanner');
  assertOwn(session, ACTORS);
  if (!loads) return;
  for (const actor of ['parent', 'other', 'scanner']) assert.ok(!session.tools(actor).includes(TOOL), actor);
  for (const actor of ['parent', 'other']) {
    for (const { text } of session.answers(actor, TOOL)) assert.match(text, /No such tool/);
  }
});

onEachClient('named-in-mid-session: an agent that the map names in mid-session has the tool from its next start', async ({ home, loads }) => {
  await world(home, false);
  const session = await home.play(
    {
      parent: [
        () => (name(home), spawn('acme', 'acme:reviewer')),
        spawn('reader', 'reader'),
        [search(TOOL), load(key('reader'))],
        say('Done.'),
      ],
      acme: [load(key('acme')), say('Done.')],
      reader: [load(key('reader')), say('Done.')],
    },
    LEAVE,
  );
  assertOwn(session, ACTORS);
  if (loads) assert.ok(!session.tools('parent').includes(TOOL));
});

onEachClient("impostor-of-another-plugin: an impostor by --agents of another plugin's agent is not started, or the client is known for it", async ({ home, loads }) => {
  await world(home);
  const impostor = { description: 'An impostor.', prompt: 'Do it.', tools: [TOOL] };
  const session = await home.play(
    { parent: [spawn('acme', 'acme:reviewer'), say('Done.')], acme: [load(key('acme')), say('Done.')] },
    ['--agents', JSON.stringify({ 'acme:reviewer': impostor }), ...LEAVE],
  );
  if (!loads) return assert.equal(session.answer('acme', TOOL).error, false);
  assert.match(session.answer('parent', 'Agent').text, /is not the agent of that plugin/);
  session.assertOnlyIn(secret('acme').trim());
});

onEachClient("nested-name: an agent in a folder of its plugin is started if the map names its marketplace", async ({ home }) => {
  const key = 'key-of-security-7c31d90a52';
  const market = authorPlugin(home, 'acme', { 'review/security': key });
  home.change(path.join(market, 'acme/agents/review/security.md'), (text) => text.replace('name: review/security', 'name: security'));
  await home.installFrom(market, market);
  const play = async (agent) => {
    home.map({ [key]: { path: home.write(home.home, 'private/catalog.md', CATALOG), agents: [agent] } });
    return home.session({ parent: [spawn('agent', 'acme:review:security'), say('Done.')], agent: [load(key), say('Done.')] });
  };
  assert.equal((await play('acme@acme-marketplace:review:security')).answer('agent', TOOL).text, CATALOG);
});

/** Teammates: one with the name of an agent that the map names, two of such types. */
const TEAM = ['name', 'type', 'own'];

// In other clients only the guard tells them apart: see `teammate-denied`.
onEachClient('teammates-have-no-tool: teammates get nothing, whatever they are called and of whatever type', { terminal: true, modules: true }, async ({ home }) => {
  await world(home);
  home.set({ permissions: { allow: [TOOL, OWN_TOOL] } });
  // An agent without any tool would not be started at all.
  home.change('.claude/agents/reader.md', (text) => text.replace(TOOL, `${TOOL}, Read`));
  const tries = [load(key('reader')), load(key('acme')), load(KEY), call(OWN_TOOL, {})];
  const teammate = [[search(TOOL), ...tries], say('Done.'), say('Done.'), say('Done.')];
  const session = await home.terminal(
    {
      ...onceOffered(TOOL, 'reader', [
        spawn('name', 'general-purpose', { name: 'reader' }),
        spawn('type', 'acme:reviewer', { name: 'acme' }),
        spawn('own', SCANNER, { name: 'own' }),
      ]),
      ...Object.fromEntries(TEAM.map((actor) => [actor, teammate])),
    },
    // The parent, too, has gone on.
    ({ requests }) =>
      TEAM.every((actor) => requests.filter((request) => request.actor === actor).length >= 2) &&
      requests.some(({ actor, text }) => actor === 'parent' && text.includes('start own')),
    { CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS: '1' },
  );
  for (const actor of TEAM) {
    const answers = session.answers(actor, TOOL, OWN_TOOL);
    assert.equal(answers.length, tries.length);
    for (const { text, error } of answers) assert.equal(error, true, `${actor}: ${text}`);
    assert.ok(!session.tools(actor).includes(TOOL), actor);
  }
  assert.ok(!session.tools('parent').includes(TOOL));
  for (const what of [CANARY, ...ACTORS.map((actor) => secret(actor).trim())]) session.assertOnlyIn(what);
  assert.match(session.of('parent').at(-1).text, /teammate/i);
});

/** The plugin's start.sh, which also notes each start of a server. */
function noted(home) {
  const file = home.write(home.root, 'starts', '');
  atStart(home, 'serve', `echo "$*" >>'${file}'`);
  const starts = (word) => fs.readFileSync(file, 'utf8').split('\n').filter((line) => line.includes(word));
  return { start: home.plugin('start.sh'), data: home.installed('keyhole').data, starts };
}

// anthropics/claude-code #84638: agents that run at once with identical inline servers share one
// process. Whoever shares ours gets nothing by it: a ticket is for one call of one agent.
onEachClient('twin-server-gets-nothing: an agent with the very server of the scanner runs beside it, and gets nothing', async ({ home, loads, way }) => {
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
    LEAVE,
  );
  assertServed(session, way.tool, 'scanner');
  assert.equal(session.answer('twin', OWN_TOOL).error, true);
  // Without mods, the scanner has no server of its own. With them, the two are not the same: the
  // scanner's has a variable more.
  const own = starts('--bind');
  assert.equal(own.length, loads ? 2 : 1, own.join('\n'));
});

onEachClient("shared-server-own-files: two of the user's agents with one server between them each get their own", async ({ t, home, client }) => {
  const { start, data, starts } = noted(home);
  name(home, { alpha: 'alpha', beta: 'beta' });
  /** Each calls for its own and for the other's at the same time; what they were told. */
  const play = (tool, servers) => {
    for (const name of ['alpha', 'beta']) home.agent(home.home, { name, tools: tool, ...servers });
    const turns = (own, other) => [
      once([other], [own, other].map((actor) => call(tool, { key: key(actor) }))),
      say('Done.'),
    ];
    const parent = [[spawn('alpha', 'alpha'), spawn('beta', 'beta')], say('Done.')];
    const script = { parent, alpha: turns('alpha', 'beta'), beta: turns('beta', 'alpha') };
    return home.play(script, ['--allowedTools', tool]);
  };
  // The plugin's own server, in the agents' files under a name of their own: the guard knows
  // no such server, so nobody leaves tickets.
  const ours = { type: 'stdio', command: 'sh', args: [start, data, 'serve', '--require-ticket', '--map', home.mapFile] };
  const session = await play('mcp__ours__load_context', { mcpServers: [{ ours }] });
  for (const actor of ['alpha', 'beta']) {
    assert.deepEqual(session.answers(actor).map(({ error }) => error), [true, true]);
    session.assertOnlyIn(secret(actor).trim());
  }
  // They share it if the second begins before the first has its own.
  const inline = starts('--map');
  assert.ok([1, 2].includes(inline.length), inline.join('\n'));
  t.diagnostic(`in ${client.version}, the two had ${inline.length} process(es) between them`);
  // By the plugin's server, which all share.
  assertOwn(await play(TOOL), ['alpha', 'beta']);
});
