import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { call, say } from '../harness/model.mjs';
import client from './clients/qwen-code.mjs';
import { onCase, onClient, plain } from './harness/cases.mjs';
import { CANARY, DOCUMENT } from './harness/home.mjs';
import { TEXT, hookOf } from './harness/hooked.mjs';
import { HANDED_DOWN, LISTED, handedDown, listed, projectAgent, readBack } from './harness/reach.mjs';

onClient(client);

const SETTINGS = '.qwen/settings.json';
const AGENT = '.qwen/agents/identifier-scanner.md';

const READ = (file) => call('read_file', { file_path: file });
const GREP = (path) => call('grep_search', { pattern: CANARY, path });

onCase(client, 'the permissions deny the main conversation what the client keeps of the agent\'s', async ({ home, seen }) => {
  const { document, kept } = await readBack(client, home, READ);
  for (const text of [document, kept]) assert.ok(!text.includes(CANARY), text);
  seen(`its read_file, of the document: ${document}; of what is kept: ${kept}`);

  const [start] = plain(client).main;
  const places = ['', '/.qwen', '/.qwen/.', '/.qwen/projects', '/./.qwen/projects/..'];
  const session = await home.play({ ...plain(client), main: [start, ...places.map((place) => GREP(home.home + place)), say('Done.')] });
  const found = session.answers('main').filter(({ text }) => /Found \d+ match/.test(text));
  assert.deepEqual(found, []);
});

onCase(client, 'without its deny the main conversation reads what the client keeps without asking', async ({ home }) => {
  home.change(SETTINGS, (text) => text.replace('Read(~/.qwen/**)', 'Read(~/none/**)'));
  const { document, kept } = await readBack(client, home, READ);
  assert.ok(!document.includes(CANARY), document);
  assert.ok(kept.includes(CANARY), 'the client asks by now: the deny is not needed');
});

onCase(client, 'servers as a list, as in Claude Code, are no servers', async ({ home, seen }) => {
  home.change(AGENT, (text) => text.replace(/^mcpServers: (.*)$/m, 'mcpServers: [$1]'));
  const session = await home.play(plain(client));
  assert.ok(!session.tools('scanner').includes(client.tool), session.report());
  session.assertOnlyIn(CANARY);
  seen(`a list of servers is dropped: ${session.answer('scanner', client.tool).text}`);
});

onCase(client, LISTED, ({ home }) =>
  listed(client, home, '.qwen/agents/other.md', ['read_file', 'mcp__scanner-catalog'], /read_file/));

onCase(client, 'without the two permissions the call is declined where nobody can be asked', async ({ home, seen }) => {
  home.change(SETTINGS, (text) => text.replace(`"${client.tool}"`, '"read_file"'));
  const session = await home.play(plain(client));
  session.assertOnlyIn(CANARY);
  seen(`without the tool among the permissions: ${session.answer('scanner', client.tool).text}`);
});

onCase(client, HANDED_DOWN, async ({ home, seen }) => {
  const text = await handedDown(client, home, 'agent', () => home.change(AGENT, (text) => text.replace(/^tools: .*\n/m, '')), 'other');
  assert.match(text, /not found/);
  seen(`its call of agent, which its tools do not name: ${text}`);
});

/** As in Claude Code. Such an agent may tell the main conversation what it is given. */
onCase(client, "an agent of a trusted project takes the place of the user's of the same name", async ({ home, seen }) => {
  const { taken, text } = await projectAgent(client, home, AGENT);
  assert.ok(taken, 'the client does not take it by now: say so');
  assert.equal(text, DOCUMENT);
  seen('with that server in its file it gets the document, and no question is asked');
});

onCase(client, 'in a folder that is not trusted nobody gets the document', async ({ home, seen }) => {
  fs.rmSync(path.join(home.home, '.qwen/trustedFolders.json'));
  const { text } = await projectAgent(client, home, AGENT);
  assert.ok(!text.includes(CANARY), text);
  seen(`no agent's server is started there: ${text}`);
});

onCase(client, 'of a SubagentStart hook only an agent whose own text has ${hook_context} reads the text', async ({ home, seen }) => {
  (await hookOf(client, home, SETTINGS)).assertOnlyIn(TEXT);
  home.change(AGENT, (text) => `${text}\n\${hook_context}\n`);
  const session = await hookOf(client, home, SETTINGS);
  assert.ok(session.of('scanner')[0].text.includes(TEXT), 'it reads none any more: say so in docs/use-from.md');
  session.assertOnlyIn(TEXT, 'scanner');
  seen('by its documentation any agent would read it');
});
