// Gemini CLI: an agent's file may name servers that only this agent has.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { call, say, task } from '../harness/model.mjs';
import { adapter, named, other, pinned } from './harness/adapter.mjs';
import { onCase, onClient, plain } from './harness/cases.mjs';
import { gemini } from './harness/dialects/gemini.mjs';
import { BINDING, CANARY } from './harness/home.mjs';

const found = pinned('@google/gemini-cli');
const AGENT = `.gemini/agents/${BINDING}.md`;
const OTHER = '.gemini/agents/other.md';
const POLICY = `.gemini/policies/keyhole-${BINDING}.toml`;
const SETTINGS = '.gemini/settings.json';

const start = (model, ...args) => ({
  program: process.execPath,
  args: [path.join(found.root, 'bundle/gemini.js'), ...args],
  env: { GEMINI_API_KEY: 'dummy', GOOGLE_GEMINI_BASE_URL: model.url, GEMINI_CLI_TRUST_WORKSPACE: 'true', GEMINI_CLI_NO_RELAUNCH: 'true' },
});

const client = adapter(found, {
  name: 'gemini-cli',
  dialect: gemini,
  tool: 'mcp_scanner-catalog_load_context',
  spawn: (actor, agent) => call('invoke_agent', { agent_name: named(agent), prompt: task(actor) }),
  shown: (text) => `<untrusted_context>\n${text}\n</untrusted_context>`,
  finish: (text) => call('complete_task', { result: text }),
  // It asks a small model which model to use.
  aside: ({ tools, path }) => (tools.length === 0 && path.endsWith(':generateContent') ? say('{"complexity_reasoning":"","complexity_score":1}') : undefined),
  // 40,000 together with what it puts around a result.
  limit: { characters: 39_959 },
  keeps: [/^home\/\.gemini\/tmp\/project\/chats\/[^/]+\/[^/]+\.jsonl$/],
  // Of a longer one the agent gets the beginning and the end; the whole lies in a file below
  // ~/.gemini/tmp: https://github.com/google-gemini/gemini-cli/issues/17037
  cannot: { beyond: /in part: 40\d{3} characters/ },

  async configure(home) {
    home.write(home.home, OTHER, other());
    home.write(home.home, SETTINGS, JSON.stringify({ security: { auth: { selectedType: 'gemini-api-key' } } }));
    await home.setUp('gemini-cli');
  },
  command: (home, model, prompt) => start(model, '-p', prompt, ...(home.arguments ?? [])),
  interactive: (home, model, prompt) => start(model, '-i', prompt),

  setUp: true,
  folder: { variable: 'GEMINI_CLI_HOME', at: '.gemini', below: '.gemini' },
  leave: (home) => fs.rmSync(path.join(home.home, POLICY)),
  listed: { file: OTHER, names: ['*', 'mcp_*', 'mcp_scanner-catalog_*'], has: /run_shell_command|read_file/ },
  readBack: {
    read: (file) => call('read_file', { file_path: file }),
    search: (folder) => call('grep_search', { pattern: CANARY, dir_path: folder }),
    places: ['.gemini/tmp/project', '.gemini/tmp/project/chats', '.gemini/policies/../tmp/project', '.gemini', '.'],
    open: (home) => home.change(POLICY, (text) => text.slice(0, text.indexOf('# What the client keeps'))),
  },
  projectAgent: { file: AGENT, own: (home) => fs.readFileSync(path.join(home.home, AGENT), 'utf8'), taken: false },
});

onClient(client);

// google-gemini/gemini-cli#26015
onCase(client, "the field's name in the client's documentation has the agent refused, not its server shared", async ({ home }) => {
  home.change(AGENT, (text) => text.replace('mcp_servers:', 'mcpServers:'));
  const session = await home.play({ main: plain(client).main });
  assert.match(session.stderr, /Unrecognized key\(s\) in object: 'mcpServers'/);
  session.assertOnlyIn(client.tool);
});

// Neither `gemini --help` nor the schema of its settings has such an option.
onCase(client, 'no session is the agent: --agent is refused, settings of a trusted project are ignored, and in another the client does not start', async ({ home }) => {
  home.arguments = ['--agent', BINDING];
  const refused = await home.session({ main: [] });
  assert.match(refused.stderr, /Unknown argument: agent/);
  assert.deepEqual(refused.requests, []);

  home.arguments = [];
  home.write(home.project, SETTINGS, JSON.stringify({ agent: BINDING, agents: { default: BINDING }, general: { agent: BINDING, defaultAgent: BINDING } }));
  const session = await home.play({ main: [client.load(), say('Done.')] });
  assert.ok(!session.tools('main').includes(client.tool), session.report());
  session.assertOnlyIn(CANARY);

  const untrusted = await home.session({ main: [] }, { env: { GEMINI_CLI_TRUST_WORKSPACE: 'false' } });
  assert.match(untrusted.stderr, /not running in a trusted directory/);
  assert.deepEqual(untrusted.requests, []);
});

onCase(client, 'where every call is approved, the main conversation still has nothing', async ({ home, loaded }) => {
  home.arguments = ['--yolo'];
  const [start, end] = plain(client).main;
  const session = await home.play(plain(client, { main: [start, client.load(), end] }));
  loaded(session);
  session.assertOnlyIn(CANARY, 'scanner');
});

/**
 * The client's own leak, seen in 0.61.0: it keeps the agent's server among all servers,
 * and connects all of them again for the main conversation.
 */
for (const [what, policy] of [
  ['the policy refuses the main conversation what /mcp reload gives it', true],
  ['without the policy, /mcp reload gives the main conversation the tool', false],
]) {
  onCase(client, what, async ({ home, loaded }) => {
    // Without the denial, but such that nobody has to be asked.
    if (!policy) home.change(POLICY, () => '[[rule]]\nmcpName = "scanner-catalog"\ntoolName = "load_context"\ndecision = "allow"\npriority = 100\n');
    const session = await home.terminal(plain(client, { later: [client.load(), say('Later.')] }), async ({ type, has, screen }) => {
      await home.until('the end of the first turn', () => has('main', 1) && screen().includes('Done.'));
      await type('/mcp reload', () => screen().includes('Configured MCP servers'));
      await type('[[actor:later]] Go on.', () => has('later', 1));
    });
    assert.deepEqual(session.unscripted, [], session.report());
    assert.ok(session.tools('later').includes(client.tool), 'the client does no more: say so, and drop the policy');
    if (!policy) return loaded(session, 'later');
    assert.match(session.answer('later', client.tool).text, /denied by policy/);
    session.assertOnlyIn(CANARY, 'scanner');
  });
}
