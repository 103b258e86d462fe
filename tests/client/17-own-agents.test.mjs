// Agents of the user, of a project and of other plugins share one server. If the
// client loads modules, only those that the map names see its tool.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { call, say, spawn } from './harness/api.mjs';
import { onEachClient } from './harness/case.mjs';
import { CANARY, KEY, OWN_TOOL, SCANNER, TOOL, agentFile, authorPlugin, catalog, load, loadsModules, onceOffered, way } from './harness/plugin.mjs';

const KEYS = { 'acme:reviewer': 'k-of-acme-0123456789', reader: 'k-of-reader-0123456789' };
const secret = (agent) => `ZQ-SECRET-${agent.replace(':', '-')}`;
const LEAVE = ['--allowedTools', TOOL];
const search = call('ToolSearch', { query: `select:${TOOL}` });

/** The map with the bundled agent's entry and those of `agents`. */
function name(home, agents) {
  catalog(home);
  const map = path.join(home.configured, 'context-map.toml');
  for (const agent of agents) {
    const file = home.write(home.home, `private/${agent.replace(':', '-')}.md`, `${secret(agent)}\n`);
    fs.appendFileSync(map, `${KEYS[agent]} = { path = ${JSON.stringify(file)}, agents = ["${agent}"] }\n`);
  }
}

async function world(home) {
  await home.install();
  await home.install(authorPlugin(home, 'acme', { reviewer: KEYS['acme:reviewer'] }));
  home.write(home.home, '.claude/agents/reader.md', agentFile('reader', KEYS.reader));
}

const shown = (session, actor) => session.of(actor).some(({ body }) => body.tools.some(({ name }) => name === TOOL));

onEachClient("17a: the agents that the map names have the tool, and the main conversation and others do not", async ({ home, client, seen }) => {
  await world(home);
  name(home, Object.keys(KEYS));
  const other = [search, [load(KEYS['acme:reviewer']), load(KEYS.reader)], say('Done.')];
  const session = await home.session(
    {
      parent: [
        [spawn('acme', 'acme:reviewer'), spawn('reader', 'reader'), spawn('scanner', SCANNER), spawn('other', 'general-purpose')],
        ...other,
      ],
      acme: [[load(KEYS['acme:reviewer']), load(KEYS.reader)], say('Done.')],
      reader: [[load(KEYS['acme:reviewer']), load(KEYS.reader)], say('Done.')],
      scanner: [way(client).load, say('Done.')],
      other,
    },
    LEAVE,
  );
  session.assertPlayed();
  session.assertOnlyIn(CANARY, 'scanner');
  for (const [actor, agent] of [['acme', 'acme:reviewer'], ['reader', 'reader']]) {
    session.assertOnlyIn(secret(agent), actor);
    const got = session.answers(actor).filter(({ error }) => !error);
    assert.deepEqual(got.map(({ text }) => text), [`${secret(agent)}\n`]);
  }
  if (!loadsModules(client)) return;
  for (const actor of ['parent', 'other', 'scanner']) assert.equal(shown(session, actor), false, actor);
  for (const actor of ['parent', 'other']) {
    for (const { text } of session.answers(actor).filter(({ tool }) => tool === TOOL)) assert.match(text, /No such tool/);
  }
  seen("a module can show a session's tool to agents by their type, and to nobody else, ToolSearch included");
});

onEachClient('17b: an agent that the map names in mid-session has the tool from its next start', async ({ home, client, seen }) => {
  await world(home);
  name(home, []);
  const session = await home.session(
    {
      parent: [
        () => {
          name(home, Object.keys(KEYS));
          return spawn('acme', 'acme:reviewer');
        },
        spawn('reader', 'reader'),
        [search, load(KEYS.reader)],
        say('Done.'),
      ],
      acme: [load(KEYS['acme:reviewer']), say('Done.')],
      reader: [load(KEYS.reader), say('Done.')],
    },
    LEAVE,
  );
  session.assertPlayed();
  for (const [actor, agent] of [['acme', 'acme:reviewer'], ['reader', 'reader']]) {
    assert.equal(session.answer(actor, TOOL).text, `${secret(agent)}\n`);
    session.assertOnlyIn(secret(agent), actor);
  }
  if (loadsModules(client)) {
    assert.equal(shown(session, 'parent'), false);
    seen('a server that was held back can be let in when an agent is about to start, and the agent has its tool');
  }
});

onEachClient("17c: an impostor by --agents of another plugin's agent is not started, or the client is known for it", async ({ home, client }) => {
  await world(home);
  name(home, Object.keys(KEYS));
  const impostor = { description: 'An impostor.', prompt: 'Do it.', tools: [TOOL] };
  const session = await home.session(
    {
      parent: [spawn('acme', 'acme:reviewer'), say('Done.')],
      acme: [load(KEYS['acme:reviewer']), say('Done.')],
    },
    ['--agents', JSON.stringify({ 'acme:reviewer': impostor }), ...LEAVE],
  );
  session.assertPlayed();
  if (!loadsModules(client)) return assert.equal(session.answer('acme', TOOL).error, false);
  assert.match(session.answer('parent', 'Agent').text, /is not the agent of that plugin/);
  session.assertOnlyIn(secret('acme:reviewer'));
});

/** Teammates: one with the name of an agent that the map names, two of such types. */
const TEAM = ['name', 'acme', 'own'];

onEachClient('17d: teammates get nothing, whatever they are called and of whatever type', async ({ t, home, client, seen }) => {
  // In these clients only the guard tells them apart.
  if (!loadsModules(client)) return t.skip('this client loads no modules');
  // A terminal comes from Python's own library.
  if (spawnSync('python3', ['-c', 'import pty']).status !== 0) return t.skip('python3 is not installed');
  await world(home);
  name(home, Object.keys(KEYS));
  home.set({ permissions: { allow: [TOOL, OWN_TOOL] } });
  // An agent without any tool would not be started at all.
  home.write(home.home, '.claude/agents/reader.md', agentFile('reader', KEYS.reader).replace(TOOL, `${TOOL}, Read`));
  const tries = [load(KEYS.reader), load(KEYS['acme:reviewer']), load(KEY), call(OWN_TOOL, {})];
  const session = await home.terminal(
    {
      ...onceOffered(TOOL, 'reader', [
        spawn('name', 'general-purpose', { name: 'reader' }),
        spawn('acme', 'acme:reviewer', { name: 'acme' }),
        spawn('own', SCANNER, { name: 'own' }),
      ]),
      ...Object.fromEntries(TEAM.map((actor) => [actor, [[search, ...tries], say('Done.'), say('Done.'), say('Done.')]])),
    },
    // The parent, too, has gone on.
    ({ requests }) =>
      TEAM.every((actor) => requests.filter((request) => request.actor === actor).length >= 2) &&
      requests.some(({ actor, text }) => actor === 'parent' && text.includes('start own')),
    { CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS: '1' },
  );
  for (const actor of TEAM) {
    const [, ...answers] = session.answers(actor);
    assert.equal(answers.length, tries.length);
    for (const { text, error } of answers) assert.equal(error, true, `${actor}: ${text}`);
    assert.equal(shown(session, actor), false, actor);
  }
  assert.equal(shown(session, 'parent'), false);
  for (const what of [CANARY, ...Object.keys(KEYS).map(secret)]) session.assertOnlyIn(what);
  assert.match(session.of('parent').at(-1).text, /teammate/i);
  seen('a teammate has neither the tool of the agent whose name it was given, nor that of its type');
});
