// Qwen Code: an agent's file may name servers that only this agent has.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { call, say, task } from '../harness/model.mjs';
import { adapter, named, node, other, pinned, unlisted } from './harness/adapter.mjs';
import { onCase, onClient, plain } from './harness/cases.mjs';
import { chat } from './harness/dialects/chat.mjs';
import { BINDING, CANARY } from './harness/home.mjs';

const found = pinned('@qwen-code/qwen-code');
const { program, missing } = node(22);
const AGENT = `.qwen/agents/${BINDING}.md`;
const OTHER = '.qwen/agents/other.md';
const SETTINGS = '.qwen/settings.json';
const TRUSTED = '.qwen/trustedFolders.json';
const TOOL = 'mcp__scanner-catalog__load_context';

const client = adapter({ ...found, missing: found.missing ?? missing }, {
  name: 'qwen-code',
  dialect: chat,
  tool: TOOL,
  spawn: (actor, agent) =>
    call('agent', { description: `start ${actor}`, prompt: task(actor), subagent_type: named(agent), run_in_background: false }),
  keeps: [/^home\/\.qwen\/projects\/[^/]+\/subagents\/[^/]+\/agent-scanner-catalog-[^/]+\.jsonl$/],
  // Its threshold of 25,000, and 3,000 more.
  limit: { characters: 28_000 },
  // Of a longer one the agent gets the first 2,000 characters; the whole lies in a file below
  // ~/.qwen/tmp: https://github.com/QwenLM/qwen-code/pull/2446
  cannot: { beyond: /in part: 2\d{3} characters/ },

  async configure(home) {
    home.write(home.home, SETTINGS, JSON.stringify({ permissions: { allow: ['agent(other)'] } }));
    // As the client notes that its user trusts the folder.
    home.write(home.home, TRUSTED, JSON.stringify({ [home.project]: 'TRUST_FOLDER' }));
    home.write(home.home, OTHER, other());
    await home.setUp('qwen-code');
  },
  command: (home, model, prompt) => ({
    program,
    args: [path.join(found.root, 'cli-entry.js'), '--approval-mode', 'default', '-p', prompt, ...(home.arguments ?? [])],
    env: { OPENAI_API_KEY: 'dummy', OPENAI_BASE_URL: `${model.url}/v1`, OPENAI_MODEL: 'scripted' },
  }),

  setUp: true,
  folder: { variable: 'QWEN_HOME', at: '.qwen' },
  leave: (home) => home.change(SETTINGS, (text) => text.replace(`"${TOOL}"`, '"read_file"')),
  handsDown: { tool: 'agent', open: (home) => home.change(AGENT, unlisted), inner: 'other' },
  listed: { file: OTHER, names: ['read_file', 'mcp__scanner-catalog'], has: /read_file/ },
  readBack: {
    read: (file) => call('read_file', { file_path: file }),
    search: (folder) => call('grep_search', { pattern: CANARY, path: folder }),
    places: ['', '.qwen', '.qwen/.', '.qwen/projects', './.qwen/projects/..'],
    open: (home) => home.change(SETTINGS, (text) => text.replaceAll('Read(~/.qwen/', 'Read(~/none/')),
  },
  // As in Claude Code. Such an agent may tell the main conversation what it is given.
  projectAgent: { file: AGENT, own: (home) => fs.readFileSync(path.join(home.home, AGENT), 'utf8'), taken: true },
});

onClient(client);

onCase(client, 'with QWEN_RUNTIME_DIR, the rules that setup prints keep what the client writes there', async ({ home, loaded }) => {
  home.moved = { QWEN_RUNTIME_DIR: path.join(home.root, 'moved') };
  await home.agreed(home.keyhole, 'setup', 'remove', BINDING);
  await home.setUp('qwen-code');
  const [start, end] = plain(client).main;
  const kept = () => {
    const [file] = home.kept(CANARY);
    assert.ok(file.startsWith('moved/projects/'), file);
    return client.readBack.read(path.join(home.root, file));
  };
  const session = await home.play(plain(client, { main: [start, kept, end] }));
  loaded(session);
  session.assertOnlyIn(CANARY, 'scanner');
});

onCase(client, 'servers as a list, as in Claude Code, are no servers', async ({ home }) => {
  home.change(AGENT, (text) => text.replace(/^mcpServers: (.*)$/m, 'mcpServers: [$1]'));
  const session = await home.play(plain(client));
  assert.ok(!session.tools('scanner').includes(TOOL), session.report());
  session.assertOnlyIn(CANARY);
});

onCase(client, 'in a folder that is not trusted nobody gets the document', async ({ home }) => {
  fs.rmSync(path.join(home.home, TRUSTED));
  home.write(home.project, AGENT, fs.readFileSync(path.join(home.home, AGENT), 'utf8'));
  const session = await home.play(plain(client));
  session.answer('scanner', TOOL);
  session.assertOnlyIn(CANARY);
});

// Neither `qwen --help` nor the schema of its settings has such an option.
onCase(client, 'no session is the agent: --agent is refused, and settings of a project, trusted or not, are ignored', async ({ home }) => {
  home.arguments = ['--agent', BINDING];
  const refused = await home.session({ main: [] });
  assert.match(refused.stderr, /Unknown argument: agent/, refused.report());
  assert.deepEqual(refused.requests, []);

  home.arguments = [];
  home.write(home.project, SETTINGS, JSON.stringify({ agent: BINDING, agents: { default: BINDING }, general: { agent: BINDING, defaultAgent: BINDING } }));
  for (const isTrusted of [true, false]) {
    if (!isTrusted) fs.rmSync(path.join(home.home, TRUSTED));
    const session = await home.play({ main: [client.load(), say('Done.')] });
    assert.ok(!session.tools('main').includes(TOOL), session.report());
    session.assertOnlyIn(CANARY);
  }
});
