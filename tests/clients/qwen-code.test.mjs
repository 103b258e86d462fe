import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import client from './clients/qwen-code.mjs';
import { onCase, onClient, plain, readBack } from './harness/cases.mjs';
import { CANARY } from './harness/home.mjs';
import { call, say } from './harness/model.mjs';

onClient(client);

const SETTINGS = '.qwen/settings.json';
const AGENT = '.qwen/agents/identifier-scanner.md';

function change(home, name, by) {
  const file = path.join(home.home, name);
  const old = fs.readFileSync(file, 'utf8');
  assert.notEqual(by(old), old, name);
  fs.writeFileSync(file, by(old));
}

const GREP = (path) => call('grep_search', { pattern: CANARY, path });

onCase(client, 'the permissions deny the main conversation what the client keeps of the agent\'s', async ({ home, seen }) => {
  const { document, kept } = await readBack(client, home, (file) => call('read_file', { file_path: file }));
  for (const text of [document, kept]) assert.ok(!text.includes(CANARY), text);
  seen(`its read_file, of the document: ${document}; of what is kept: ${kept}`);

  const [start] = plain(client).main;
  const places = [home.home, `${home.home}/.qwen`, `${home.home}/.qwen/.`, `${home.home}/.qwen/projects`, `${home.home}/./.qwen/projects/..`];
  for (const place of places) {
    const session = await home.session({ ...plain(client), main: [start, GREP(place), say('Done.')] });
    session.assertPlayed();
    assert.doesNotMatch(session.answer('main', 'grep_search').text, /Found \d+ match/, place);
  }
});

onCase(client, 'without its deny the main conversation reads what the client keeps without asking', async ({ home }) => {
  const open = {
    ...client,
    configure(...all) {
      client.configure(...all);
      change(home, SETTINGS, (text) => JSON.stringify({ permissions: { allow: JSON.parse(text).permissions.allow } }));
    },
  };
  const { document, kept } = await readBack(open, home, (file) => call('read_file', { file_path: file }));
  assert.ok(!document.includes(CANARY), document);
  assert.ok(kept.includes(CANARY), 'the client asks by now: the deny is not needed');
});

onCase(client, 'servers as a list, as in Claude Code, are no servers', async ({ home, seen }) => {
  home.document();
  client.configure(home);
  change(home, AGENT, (text) => text.replace(/^mcpServers: (.*)$/m, 'mcpServers: [$1]'));
  const session = await home.session(plain(client));
  session.assertPlayed();
  assert.ok(!session.tools('scanner').includes(client.tool), session.report());
  session.assertOnlyIn(CANARY);
  seen(`a list of servers is dropped: ${session.answer('scanner', client.tool).text}`);
});

onCase(client, 'an agent that lists the tool has none of it', async ({ home }) => {
  home.document();
  client.configure(home);
  change(home, '.qwen/agents/other.md', (text) => text.replace('\n---\n\n', `\ntools: [read_file, ${client.tool}, mcp__scanner-catalog]\n---\n\n`));
  const { spawn, load, finish } = client;
  const session = await home.session({
    ...plain(client),
    main: [spawn('scanner', 'scanner'), spawn('other', 'other'), say('Done.')],
    other: [load(), finish('Nothing was done.')],
  });
  session.assertPlayed();
  assert.ok(!session.tools('other').includes(client.tool), session.report());
  session.assertOnlyIn(CANARY, 'scanner');
});

onCase(client, 'without the two permissions the call is declined where nobody can be asked', async ({ home, seen }) => {
  home.document();
  client.configure(home);
  change(home, SETTINGS, () => JSON.stringify({ permissions: { allow: ['agent(identifier-scanner)'] } }));
  const session = await home.session(plain(client));
  session.assertPlayed();
  session.assertOnlyIn(CANARY);
  seen(`without the tool among the permissions: ${session.answer('scanner', client.tool).text}`);
});

onCase(client, 'an agent that the agent starts has the tool only where the agent may start one', async ({ home, seen }) => {
  home.document();
  client.configure(home);
  const { spawn, load, finish } = client;
  const nested = {
    main: [spawn('scanner', 'scanner'), say('Done.')],
    scanner: [spawn('other', 'other'), finish('Nothing was found.')],
  };
  const kept = await home.session(nested);
  kept.assertPlayed();
  seen(`its call of agent, which its tools do not name: ${kept.answer('scanner', 'agent').text}`);

  change(home, AGENT, (text) => text.replace(/^tools: .*\n/m, ''));
  const open = await home.session({ ...nested, other: [load(), finish('Nothing was done.')] });
  open.assertPlayed();
  seen(`with all tools, the agent that it starts is answered: ${open.answer('other', client.tool).text.slice(0, 40)}`);
});
