// The Claude Agent SDK: the cases of all clients, and what docs/use-from.md says about
// it.

import assert from 'node:assert/strict';
import path from 'node:path';
import { say } from '../harness/model.mjs';
import client from './clients/agent-sdk.mjs';
import { ALONE, alone } from './harness/alone.mjs';
import { onCase, onClient, plain } from './harness/cases.mjs';
import { CANARY, DOCUMENT } from './harness/home.mjs';
import { onHook } from './harness/hooked.mjs';
import { onNamesakes } from './harness/namesakes.mjs';
import { HANDED_DOWN, RESUMED, handedDown, projectAgent, resumed } from './harness/reach.mjs';

onClient(client);

const { spawn, load, finish, tool } = client;

const LEAVE = /^ {2}allowedTools: .*\n/m;
const AGENTS_TOOLS = /^ {6}tools: .*\n/m;

/** Changes the example's program. */
const program = (home, change) => home.change(path.join(home.project, 'scan.mjs'), change);

/** Gives it further options, by lines of its own. */
const options = (home, ...more) =>
  program(home, (text) => text.replace(LEAVE, (line) => line + more.map((one) => `  ${one},\n`).join('')));

onCase(client, 'without leave the call is refused, and nothing is read', async ({ home, seen }) => {
  program(home, (text) => text.replace(LEAVE, ''));
  const session = await home.play(plain(client));
  const { text, error } = session.answer('scanner', tool);
  assert.equal(error, true);
  session.assertOnlyIn(CANARY);
  seen(`without leave the agent is told: ${text}`);
});

onCase(client, 'a program that streams its prompts may give the leave call by call', async ({ home }) => {
  program(home, (text) =>
    text
      .replace(LEAVE, `  canUseTool: async (name, input) => (console.log('asked for', name), { behavior: 'allow', updatedInput: input }),\n`)
      .replace('for await', `async function* prompts() {\n  yield { type: 'user', message: { role: 'user', content: process.argv[2] }, parent_tool_use_id: null };\n}\n\nfor await`)
      .replace('prompt: process.argv[2]', 'prompt: prompts()'),
  );
  const session = await home.play(plain(client));
  assert.equal(session.answer('scanner', tool).text, DOCUMENT);
  assert.ok(session.stdout.includes(`asked for ${tool}`), session.report());
  session.assertOnlyIn(CANARY, 'scanner');
});

onCase(client, 'a program that takes no settings and no other servers has the agent all the same', async ({ home }) => {
  options(home, 'settingSources: []', 'strictMcpConfig: true');
  const session = await home.play(plain(client));
  assert.equal(session.answer('scanner', tool).text, DOCUMENT);
  session.assertOnlyIn(CANARY, 'scanner');
});

onCase(client, 'a server among the options is also the main conversation\'s', async ({ home, seen }) => {
  const [, server] = home.example('claude-agent-sdk.mjs').match(/mcpServers: \[\{ (.*) \}\],\n/);
  options(home, `mcpServers: { ${server} }`);
  const session = await home.play({ main: [load(), say('Done.')] });
  assert.equal(session.answer('main', tool).text, DOCUMENT, 'it has it no more: tell so in docs/use-from.md');
  seen("the option `mcpServers` gives a server to the main conversation");
});

onCase(client, 'with persistSession: false the client keeps the document in no file', async ({ home }) => {
  options(home, 'persistSession: false');
  const session = await home.play(plain(client));
  assert.equal(session.answer('scanner', tool).text, DOCUMENT);
  assert.deepEqual(home.kept(CANARY), []);
});

onCase(client, ALONE, alone);

onCase(client, HANDED_DOWN, async ({ home, seen }) => {
  const text = await handedDown(client, home, 'Agent', () => program(home, (text) => text.replace(AGENTS_TOOLS, '')));
  seen(`without a tool for it the agent is told: ${text}`);
});

onCase(client, RESUMED, ({ home }) => resumed(client, home, () => options(home, 'continue: true')));

onNamesakes(client);

onCase(client, "an agent of a project does not take the place of the program's of the same name", async ({ home }) => {
  const file = '.claude/agents/identifier-scanner.md';
  const { taken, text } = await projectAgent(client, home, file, () => home.example('claude-code-agent.md').replace(/^tools:.*\n/m, ''));
  assert.deepEqual([taken, text], [false, DOCUMENT]);
});

// The user's settings for Claude Code count.
onHook(client, {
  setup: 'claude-code',
  agent: 'identifier-scanner',
  file: '.claude/settings.json',
  start: (...all) => [spawn(...all)],
  configure: (home) => {
    program(home, (text) => text.replace(AGENTS_TOOLS, ''));
    // A project's file of that name changes nothing.
    home.write(home.project, '.claude/agents/identifier-scanner.md', '---\nname: identifier-scanner\ndescription: Takes the name.\n---\n\nZQ-IMPOSTOR\n');
  },
});
