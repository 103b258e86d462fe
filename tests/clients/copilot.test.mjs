// GitHub Copilot CLI: an agent's file may name servers that only this agent has.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { messages } from '../harness/messages.mjs';
import { call, say, task } from '../harness/model.mjs';
import { adapter, named, other, pinned, unlisted } from './harness/adapter.mjs';
import { lines, onCase, onClient, plain } from './harness/cases.mjs';
import { BINDING, CANARY, SECOND } from './harness/home.mjs';
import { onHook } from './harness/hooked.mjs';

const found = pinned('@github/copilot');
const AGENT = `.copilot/agents/${BINDING}.agent.md`;
const OTHER = '.copilot/agents/other.agent.md';

const spawn = (actor, agent, mode = 'sync') =>
  call('task', { name: actor, description: `start ${actor}`, agent_type: named(agent), prompt: task(actor), mode });

const start = (model, ...args) => ({
  program: process.execPath,
  args: [path.join(found.root, 'npm-loader.js'), ...args],
  env: {
    // Its program unpacks itself once, some 200 MB.
    COPILOT_CACHE_HOME: path.join(found.root, '../../.cache/copilot'),
    COPILOT_AUTO_UPDATE: 'false',
    COPILOT_OFFLINE: 'true',
    COPILOT_PROVIDER_TYPE: 'anthropic',
    COPILOT_PROVIDER_BASE_URL: model.url,
    COPILOT_PROVIDER_API_KEY: 'dummy',
    COPILOT_MODEL: 'claude-sonnet-5',
  },
});

/** The agent's file, as `setup` fills in the example. */
const example = (home, more) => home.example('copilot-agent.md', more).replaceAll('identifier-scanner', BINDING);

/** From here on, the client of `home` runs with these arguments as well. */
const also = (home, ...args) => (home.arguments = args);

const open = (home) => home.change(AGENT, unlisted);

const client = adapter(found, {
  name: 'copilot-cli',
  dialect: messages,
  tool: 'scanner-catalog-load_context',
  spawn: (actor, agent) => spawn(actor, agent),
  background: (actor, agent) => spawn(actor, agent, 'background'),
  limit: { characters: 20_480 },
  keeps: [/^home\/\.copilot\/session-state\/[^/]+\/events\.jsonl$/],
  marksErrors: false,
  // One byte over 20,480, the agent gets the first 500 characters and the path of a file in the
  // temporary directory that holds all: https://github.com/github/copilot-cli/issues/3008
  cannot: { beyond: /in part: \d+ characters/ },

  async configure(home) {
    home.write(home.home, OTHER, other());
    await home.setUp('copilot-cli');
  },
  command: (home, model, prompt) => start(model, '-p', prompt, ...(home.arguments ?? [])),
  interactive: (home, model, prompt) => start(model, '-i', prompt),

  setUp: true,
  folder: { variable: 'COPILOT_HOME', at: '.copilot' },
  alone: true,
  handsDown: { tool: 'task', open },
  listed: { file: OTHER, names: ['*', 'scanner-catalog/load_context', 'scanner-catalog/*'], has: /view/ },
  resume: (home) => also(home, '--continue'),
  projectAgent: {
    file: `.github/agents/${BINDING}.agent.md`,
    own: (home) => unlisted(example(home)),
    taken: false,
  },
  namesakes(home) {
    home.write(home.home, AGENT, example(home));
    home.write(home.home, OTHER, example(home, { binding: SECOND }).replace(`name: ${BINDING}`, 'name: other'));
  },
  rival: {
    configure(home) {
      home.write(home.home, AGENT, example(home));
      const server = { type: 'local', command: home.keyhole, args: ['serve', '--bind', SECOND], tools: ['*'] };
      home.write(home.home, '.copilot/mcp-config.json', JSON.stringify({ mcpServers: { 'scanner-catalog': server } }));
    },
  },
});

onClient(client);

const { background, load, finish, tool } = client;

onCase(client, 'of an agent in the background, the main conversation reads the last words only', async ({ home }) => {
  const started = ({ messages }) => messages.at(-1).results[0].text.match(/agent_id: ([\w-]+?)\./)[1];
  const read = (request) => call('read_agent', { agent_id: started(request), wait: true, timeout: 180, since_turn: 0 });
  const session = await home.play(plain(client, { main: [background('scanner', 'scanner'), read, say('Done.')] }));
  assert.match(session.answer('main', 'read_agent').text, /Nothing was found\./);
  session.assertOnlyIn(CANARY, 'scanner');
});

onCase(client, 'without max_bytes in the map, the main conversation may read the file to which the result was written', async ({ home }) => {
  home.document(lines(client.limit.characters + 1));
  const tmp = path.join(home.root, 'tmp');
  const spilled = () => fs.readdirSync(tmp).filter((name) => name.includes('tool-output'));
  const view = () => call('view', { path: path.join(tmp, spilled()[0]), view_range: [1, 1] });
  const session = await home.play(plain(client, { main: [spawn('scanner', 'scanner'), view, say('Done.')] }));
  assert.ok(session.answers('main').at(-1).text.includes(CANARY), session.report());
  assert.deepEqual(spilled(), [], 'it is there until the session ends');
});

onCase(client, "a repository's agent starts its server in a folder that nobody trusted", async ({ home, loaded }) => {
  home.write(home.project, `.github/agents/${BINDING}.agent.md`, example(home));
  const session = await home.play(plain(client));
  // If it asks for trust now, docs/use-from.md should say so.
  loaded(session);
  session.assertOnlyIn(CANARY, 'scanner');
}, { bare: true });

onCase(client, 'who starts a session as the agent gives the document to the main conversation', async ({ home, loaded }) => {
  also(home, '--agent', BINDING);
  loaded(await home.play({ main: [load(), say('Done.')] }), 'main');
});

// `copilot help config` of this version has no such setting.
onCase(client, 'no file of a project, trusted or not, starts a session as the agent', async ({ home }) => {
  const settings = JSON.stringify({ agent: BINDING, defaultAgent: BINDING, customAgent: BINDING });
  for (const name of ['settings', 'settings.local']) home.write(home.project, `.github/copilot/${name}.json`, settings);
  for (const trusted_folders of [[], [home.project]]) {
    home.write(home.home, '.copilot/config.json', JSON.stringify({ trusted_folders }));
    const session = await home.play({ main: [load(), say('Done.')] });
    assert.ok(!session.tools('main').includes(tool), session.report());
    session.assertOnlyIn(CANARY);
  }
});

onCase(client, 'an agent whose server lists no tools is not there at all', async ({ home }) => {
  home.change(AGENT, (text) => text.replace(/^ {4}tools:.*\n/m, ''));
  const session = await home.play({ main: [spawn('scanner', 'scanner'), say('Done.')] });
  assert.match(session.answer('main', 'task').text, /Unknown agent_type/, session.report());
});

onCase(client, 'in a terminal it is the same: the agent alone has it, and nobody is asked', async ({ home, loaded }) => {
  // The user's trust in the folder, as the client notes it.
  home.write(home.home, '.copilot/config.json', JSON.stringify({ trusted_folders: [home.project] }));
  const session = await home.terminal(plain(client), ({ has }) => home.until('the last turn', () => has('main', 1)));
  assert.deepEqual(session.unscripted, []);
  loaded(session);
  assert.ok(!session.tools('main').includes(tool));
  session.assertOnlyIn(CANARY, 'scanner');
});

onHook(client, {
  agent: BINDING,
  file: '.copilot/hooks/keyhole.json',
  start: (...all) => [spawn(...all)],
  configure: open,
});

onCase(client, "a hook is not run for what has the agent's name and not its type, and a project's is not run", async ({ home }) => {
  await home.inject('copilot-cli', BINDING);
  const answer = home.write(home.project, 'answer', JSON.stringify({ additionalContext: 'ZQ-FALSE' }));
  const hooks = { SubagentStart: [{ type: 'command', command: `cat '${answer}'` }] };
  home.write(home.project, '.github/hooks/hook.json', JSON.stringify({ version: 1, hooks }));
  const named = spawn('named', 'general-purpose');
  named.input.name = BINDING;
  const session = await home.play({
    main: [spawn('scanner', 'scanner'), named, say('Done.')],
    scanner: [finish('Done.')],
    named: [finish('Done.')],
  });
  assert.ok(session.of('scanner')[0].text.includes(CANARY));
  session.assertOnlyIn(CANARY, 'scanner');
  session.assertOnlyIn('ZQ-FALSE');
});
