// Agents of the user, of a project and of other plugins share one server. If the
// client loads modules, only those that the map names see its tool.

import assert from 'node:assert/strict';
import { onEachClient } from './harness/case.mjs';
import { CANARY, KEY, OWN_TOOL, SCANNER, TOOL, agentFile, authorPlugin, load, onceOffered } from './harness/plugin.mjs';
import { call, say, search, spawn } from './harness/script.mjs';

const KEYS = { 'acme:reviewer': 'k-of-acme-0123456789', reader: 'k-of-reader-0123456789' };
const secret = (agent) => `ZQ-SECRET-${agent.replace(':', '-')}`;
const LEAVE = ['--allowedTools', TOOL];

/** Adds the agents' entries to the map. */
function name(home) {
  const entry = (agent) => ({
    path: home.write(home.home, `private/${agent.replace(':', '-')}.md`, `${secret(agent)}\n`),
    agents: [agent],
  });
  home.addToMap(Object.fromEntries(Object.entries(KEYS).map(([agent, key]) => [key, entry(agent)])));
}

/** A plugin's agent and the user's, which the map names at once or later. */
async function world(home, isNamed = true) {
  await home.install(authorPlugin(home, 'acme', { reviewer: KEYS['acme:reviewer'] }));
  home.write(home.home, '.claude/agents/reader.md', agentFile('reader', KEYS.reader));
  if (isNamed) name(home);
}

onEachClient("17a: the agents that the map names have the tool, and the main conversation and others do not", async ({ home, loads, way, seen }) => {
  await world(home);
  const both = [load(KEYS['acme:reviewer']), load(KEYS.reader)];
  const other = [search(TOOL), both, say('Done.')];
  const session = await home.play(
    {
      parent: [
        [spawn('acme', 'acme:reviewer'), spawn('reader', 'reader'), spawn('scanner', SCANNER), spawn('other', 'general-purpose')],
        ...other,
      ],
      acme: [both, say('Done.')],
      reader: [both, say('Done.')],
      scanner: [way.load, say('Done.')],
      other,
    },
    LEAVE,
  );
  session.assertOnlyIn(CANARY, 'scanner');
  for (const [actor, agent] of [['acme', 'acme:reviewer'], ['reader', 'reader']]) {
    session.assertOnlyIn(secret(agent), actor);
    const got = session.answers(actor).filter(({ error }) => !error);
    assert.deepEqual(got.map(({ text }) => text), [`${secret(agent)}\n`]);
  }
  if (!loads) return;
  for (const actor of ['parent', 'other', 'scanner']) assert.ok(!session.tools(actor).includes(TOOL), actor);
  for (const actor of ['parent', 'other']) {
    for (const { text } of session.answers(actor).filter(({ tool }) => tool === TOOL)) assert.match(text, /No such tool/);
  }
  seen("a module can show a session's tool to agents by their type, and to nobody else, ToolSearch included");
});

onEachClient('17b: an agent that the map names in mid-session has the tool from its next start', async ({ home, loads, seen }) => {
  await world(home, false);
  const session = await home.play(
    {
      parent: [
        () => (name(home), spawn('acme', 'acme:reviewer')),
        spawn('reader', 'reader'),
        [search(TOOL), load(KEYS.reader)],
        say('Done.'),
      ],
      acme: [load(KEYS['acme:reviewer']), say('Done.')],
      reader: [load(KEYS.reader), say('Done.')],
    },
    LEAVE,
  );
  for (const [actor, agent] of [['acme', 'acme:reviewer'], ['reader', 'reader']]) {
    assert.equal(session.answer(actor, TOOL).text, `${secret(agent)}\n`);
    session.assertOnlyIn(secret(agent), actor);
  }
  if (loads) {
    assert.ok(!session.tools('parent').includes(TOOL));
    seen('a server that was held back can be let in when an agent is about to start, and the agent has its tool');
  }
});

onEachClient("17c: an impostor by --agents of another plugin's agent is not started, or the client is known for it", async ({ home, loads }) => {
  await world(home);
  const impostor = { description: 'An impostor.', prompt: 'Do it.', tools: [TOOL] };
  const session = await home.play(
    {
      parent: [spawn('acme', 'acme:reviewer'), say('Done.')],
      acme: [load(KEYS['acme:reviewer']), say('Done.')],
    },
    ['--agents', JSON.stringify({ 'acme:reviewer': impostor }), ...LEAVE],
  );
  if (!loads) return assert.equal(session.answer('acme', TOOL).error, false);
  assert.match(session.answer('parent', 'Agent').text, /is not the agent of that plugin/);
  session.assertOnlyIn(secret('acme:reviewer'));
});

/** Teammates: one with the name of an agent that the map names, two of such types. */
const TEAM = ['name', 'acme', 'own'];

// In other clients only the guard tells them apart: case 14.
onEachClient('17d: teammates get nothing, whatever they are called and of whatever type', { terminal: true, modules: true }, async ({ home, seen }) => {
  await world(home);
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
      ...Object.fromEntries(TEAM.map((actor) => [actor, [[search(TOOL), ...tries], say('Done.'), say('Done.'), say('Done.')]])),
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
    assert.ok(!session.tools(actor).includes(TOOL), actor);
  }
  assert.ok(!session.tools('parent').includes(TOOL));
  for (const what of [CANARY, ...Object.keys(KEYS).map(secret)]) session.assertOnlyIn(what);
  assert.match(session.of('parent').at(-1).text, /teammate/i);
  seen('a teammate has neither the tool of the agent whose name it was given, nor that of its type');
});
