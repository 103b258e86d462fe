// opencode: the whole client has its servers. Permissions decide which agent is offered
// a tool: it is denied to all, and allowed in the agent's own file.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { call, say, task } from '../harness/model.mjs';
import { adapter, carried, named, other } from './harness/adapter.mjs';
import { lines, onCase, onClient, plain } from './harness/cases.mjs';
import { chat } from './harness/dialects/chat.mjs';
import { BINDING, CANARY } from './harness/home.mjs';

const found = carried('opencode-ai', /^bin\/opencode(\.exe)?$/);

/** A call of a tool that is not offered is shown to the model as a call of `invalid`. */
function asTried(asked) {
  const told = chat.conversation(asked);
  for (const made of told.messages.flatMap(({ calls }) => calls)) {
    if (made.name === 'invalid') Object.assign(made, { name: made.input.tool, input: {} });
  }
  return told;
}

const provider = ({ url }) => ({
  model: 'scripted/scripted',
  small_model: 'scripted/scripted',
  provider: {
    scripted: {
      npm: '@ai-sdk/openai-compatible',
      name: 'scripted',
      options: { baseURL: `${url}/v1`, apiKey: 'dummy' },
      models: { scripted: { name: 'scripted', limit: { context: 400_000, output: 8_000 } } },
    },
  },
});

const client = adapter(found, {
  name: 'opencode',
  dialect: { ...chat, conversation: asTried },
  tool: 'scanner-catalog_load_context',
  spawn: (actor, agent) => call('task', { description: `start ${actor}`, prompt: task(actor), subagent_type: named(agent) }),
  // It asks for a title of the session, from its first prompt.
  aside: ({ tools }) => (tools.length === 0 ? say('A title') : undefined),
  limit: { characters: 51_200 },
  keeps: [/^home\/\.local\/share\/opencode\/opencode\.db(-wal)?$/],
  // Of a longer one the agent gets the beginning; the whole lies below ~/.local/share/opencode:
  // https://github.com/anomalyco/opencode/pull/7239
  cannot: { beyond: /in part: 51\d{3} characters/ },

  async configure(home) {
    home.write(home.home, '.config/opencode/agents/other.md', other('mode: subagent\n'));
    await home.setUp('opencode');
  },
  command: (home, model, prompt) => ({
    program: found.program,
    args: ['run', '--format', 'json', ...(home.arguments ?? []), prompt],
    env: { OPENCODE_CONFIG_CONTENT: JSON.stringify(provider(model)), ...home.environment },
  }),

  setUp: true,
  folder: { variable: 'XDG_CONFIG_HOME', at: '.config' },
});

onClient(client);

const { spawn, load, tool } = client;

// This is checked to notice an opencode that asks first: docs/use-from.md warns of it.
// https://github.com/anomalyco/opencode/issues/7136, https://github.com/anomalyco/opencode/issues/6361
onCase(client, "a project's own configuration gives it to the main conversation, unless opencode reads none", async ({ home, loaded }) => {
  const allow = { 'scanner-catalog_*': 'allow' };
  const taken = { permission: allow, agent: { build: { permission: allow } } };
  for (const file of ['opencode.json', '.opencode/opencode.json']) home.write(home.project, file, JSON.stringify(taken));
  const script = { main: [load(), say('Done.')] };
  loaded(await home.play(script), 'main');

  home.environment = { OPENCODE_DISABLE_PROJECT_CONFIG: '1' };
  const closed = await home.play(script);
  assert.ok(!closed.tools('main').includes(tool), closed.report());
  closed.assertOnlyIn(CANARY);
});

// No user is asked whether a project is trusted.
onCase(client, "a session is the agent only if a project's .opencode makes it a primary one, unless opencode reads no such file", async ({ home, loaded }) => {
  const script = { main: [load(), say('Done.')] };
  const settings = { default_agent: BINDING, agent: { [BINDING]: { mode: 'primary' } } };
  const file = home.write(home.project, 'opencode.json', JSON.stringify(settings));
  const refused = await home.session(script);
  assert.deepEqual([refused.code, refused.requests], [1, []], refused.report());

  home.write(home.project, '.opencode/opencode.json', JSON.stringify(settings));
  fs.rmSync(file);
  loaded(await home.play(script), 'main');

  home.environment = { OPENCODE_DISABLE_PROJECT_CONFIG: '1' };
  home.arguments = ['--agent', BINDING];
  const closed = await home.play(script);
  assert.match(closed.stderr, /is a subagent, not a primary agent/);
  assert.ok(!closed.tools('main').includes(tool), closed.report());
  closed.assertOnlyIn(CANARY);
});

// No setting prevents it, except which agents can be started.
onCase(client, "another agent that is told to continue the first one's task has the document in its conversation", async ({ home }) => {
  const onward = ({ messages }) => {
    const [task_id] = messages.at(-1).results.at(-1).text.match(/ses_\w+/);
    const { call, input } = spawn('other', 'other');
    return { call, input: { ...input, task_id } };
  };
  const session = await home.play(plain(client, { main: [spawn('scanner', 'scanner'), onward, say('Done.')], other: [say('Nothing was done.')] }));
  const [{ text, tools }] = session.of('other');
  assert.ok(text.includes(CANARY), 'opencode starts again for another agent: say so in docs/use-from.md');
  assert.ok(!tools.includes(tool), session.report());
  session.assertOnlyIn(CANARY, 'scanner', 'other');
});

onCase(client, 'the whole of a document that it cuts lies in a file, which max_bytes in the map prevents', async ({ home }) => {
  home.document(lines(client.limit.characters + 1));
  const session = await home.play(plain(client));
  assert.match(session.answer('scanner', tool).text, /output was truncated/);
  assert.ok(home.kept(CANARY).some((file) => file.includes('/opencode/tool-output/')));
});

// `opencode run` has nobody to ask, so it ends.
onCase(client, "the main conversation's reading the document is asked for, its shell's is not", async ({ home }) => {
  const file = home.document();
  const asked = await home.session({ main: [call('read', { filePath: file }), say('Done.')] });
  assert.match(asked.stderr, /permission requested: external_directory .*; auto-rejecting/, asked.report());
  asked.assertOnlyIn(CANARY);

  const shell = await home.play({ main: [call('bash', { command: `cat < '${file}'`, description: 'read' }), say('Done.')] });
  assert.ok(shell.answer('main', 'bash').text.includes(CANARY), `opencode asks by now: say so in docs/use-from.md; ${shell.report()}`);
});
