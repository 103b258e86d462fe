// An agent that goes on: resumed, with a large catalog, with a text that says
// what to do after its conversation was cut. Both ways use the same text.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { call, say, spawn, used } from './harness/api.mjs';
import { onEachClient } from './harness/case.mjs';
import { CANARY, CATALOG, OWN_TOOL, PACKAGED, SCANNER, TOOL, catalog, loadsModules, resume, way } from './harness/plugin.mjs';

onEachClient('20a: a resumed agent loads the catalog again', async ({ home, client, seen }) => {
  await home.install();
  catalog(home);
  const session = await home.session({
    parent: [
      spawn('scanner', SCANNER),
      ...resume(home, 'resumed'),
      // It learns of the end when it comes.
      ...Array.from({ length: 8 }, () => say('Done.')),
    ],
    scanner: [way(client).load, say('Done.')],
    resumed: [way(client).load, say('Done.')],
  });
  assert.deepEqual(session.unscripted, []);
  session.assertResumed();
  for (const actor of ['scanner', 'resumed']) assert.equal(session.answer(actor, way(client).tool).text, CATALOG);
  session.assertOnlyIn(CANARY, 'scanner', 'resumed');
  seen('a resumed agent has its tool as before');
});

onEachClient('20b: what the client would write to a file is refused before, and what it takes is whole', async ({ home, client, seen }) => {
  await home.install();
  const play = async (text) => {
    catalog(home, { text });
    const session = await home.session({
      parent: [spawn('scanner', SCANNER), say('Done.')],
      scanner: [way(client).load, say('Done.')],
    });
    session.assertPlayed();
    return session.answer('scanner', way(client).tool);
  };
  const most = 'ä'.repeat(499_990) + '🔑'.repeat(5);
  assert.equal((await play(most)).text, most);
  seen('a result of 500,000 UTF-16 units reaches the agent whole');
  const { text, error } = await play(`${most}a`);
  assert.equal(error, true);
  assert.match(text, /^too-large: /);
  const kept = home.files(path.join(home.home, '.claude'));
  assert.deepEqual(kept.filter((name) => /tool-results/.test(name)), []);
});

onEachClient('20c: one unit more goes into a file, whatever a tool says of itself: that is why', async ({ home, client, seen }) => {
  const script = `
    const answer = (id, result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
    require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method, params } = JSON.parse(line);
      if (method === 'initialize') answer(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'long', version: '1' } });
      else if (method === 'tools/list') answer(id, { tools: [{ name: 'long', inputSchema: { type: 'object' }, _meta: { 'anthropic/maxResultSizeChars': 900000 } }] });
      else if (method === 'tools/call') answer(id, { content: [{ type: 'text', text: 'a'.repeat(500001) }] });
      else if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } }));
    });`;
  const server = { command: process.execPath, args: ['-e', script] };
  const session = await home.session(
    { parent: [call('ToolSearch', { query: 'select:mcp__long__long' }), call('mcp__long__long', {}), say('Done.')] },
    ['--mcp-config', JSON.stringify({ mcpServers: { long: server } }), '--allowedTools', 'mcp__long__long'],
  );
  session.assertPlayed();
  assert.match(session.answer('parent', 'mcp__long__long').text, /persisted-output/);
  seen('a result of 500,001 units goes into a file, whatever the tool says of itself');
});

onEachClient('20d: both ways have the one text, but for the call', async ({ home, client }) => {
  await home.install();
  catalog(home);
  const session = await home.session({
    parent: [spawn('scanner', SCANNER), say('Done.')],
    scanner: [way(client).load, say('Done.')],
  });
  session.assertPlayed();
  const [, head, body] = fs
    .readFileSync(path.join(PACKAGED, 'agents/privacy-scanner.md'), 'utf8')
    .match(/^---\n([^]+?)\n---\n([^]+)$/);
  const withoutKey = body
    .replace(/once, with exactly this argument:\n\n```json\n.*\n```/, 'once, without arguments.')
    .replaceAll(TOOL, OWN_TOOL);
  assert.notEqual(withoutKey, body);
  const { system } = session.of('scanner')[0].body;
  const prompt = typeof system === 'string' ? system : system.map(({ text }) => text).join('\n');
  assert.ok(prompt.includes((loadsModules(client) ? withoutKey : body).trim()));
  const [, description] = head.match(/^description: (.*)$/m);
  assert.ok(session.of('parent')[0].text.includes(JSON.stringify(description).slice(1, -1)));
  assert.match(body, /summarized or cut while you work.*call again/);
});

/** The clients in which we saw that a subagent's conversation was compacted. */
const COMPACTS = ['2.1.330'];

onEachClient('20e: an agent whose conversation was compacted has lost the catalog, and loads it again', async ({ home, client, seen }) => {
  await home.install();
  // Long, because otherwise compacting the conversation could save nothing.
  const text = `${CATALOG}${'Something to look for.\n'.repeat(20_000)}`;
  catalog(home, { text });
  home.write(home.project, 'a.txt', 'text\n');
  const summary = say('<summary>[[actor:after]] The task is to scan a.txt.</summary>');
  let asked = 0;
  const session = await home.session({
    parent: [spawn('scanner', SCANNER), say('Done.')],
    // Then the client asks for a summary instead of sending its next request.
    scanner: [way(client).load, () => (asked++ ? summary : [call('Grep', { pattern: 'text' }), used(990_000)]), say('Done.')],
    after: [say('Never.'), way(client).load, say('Done.')],
  });
  session.assertPlayed();
  const [first, ...rest] = session.of('after');
  assert.equal(first !== undefined, COMPACTS.includes(client.version));
  if (!first) return seen("a subagent's conversation was not compacted");
  assert.equal(first.text.includes(CANARY), false);
  assert.equal(rest.length, 1);
  const again = session.answers('after').filter(({ tool }) => tool === way(client).tool);
  assert.deepEqual(again.map(({ text }) => text), [text]);
  seen('an agent whose conversation was compacted goes on without the catalog, and can load it again');
});
