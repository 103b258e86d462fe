// An agent that goes on: resumed, with a large catalog, with a text that says
// what to do after its conversation was cut. Both ways use the same text.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { onEachClient } from './harness/case.mjs';
import { CANARY, CATALOG, COMPACTS, DONE, OWN_TOOL, PACKAGED, SCANNER, TOOL, catalog, foreignServer, plain, resume, scan } from './harness/plugin.mjs';
import { call, say, search, spawn, used } from './harness/script.mjs';

onEachClient('20a: a resumed agent loads the catalog again', async ({ home, client, way, seen }) => {
  const parent = [spawn('scanner', SCANNER), ...resume(home, 'resumed'), ...DONE];
  const session = await home.session(plain(client, { parent, resumed: [way.load, say('Done.')] }));
  assert.deepEqual(session.unscripted, []);
  session.assertResumed();
  for (const actor of ['scanner', 'resumed']) assert.equal(session.answer(actor, way.tool).text, CATALOG);
  session.assertOnlyIn(CANARY, 'scanner', 'resumed');
  seen('a resumed agent has its tool as before');
});

onEachClient('20b: what the client would write to a file is refused before, and what it takes is whole', async ({ home, seen }) => {
  const play = async (text) => {
    catalog(home, { text });
    return (await scan(home)).got;
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

onEachClient('20c: one unit more goes into a file, whatever a tool says of itself: that is why', { plugin: 'none' }, async ({ home, seen }) => {
  const _meta = { 'anthropic/maxResultSizeChars': 900_000 };
  const { server } = foreignServer(home, 'long', { text: 'a'.repeat(500_001), _meta });
  const session = await home.play(
    { parent: [search('mcp__long__long'), call('mcp__long__long', {}), say('Done.')] },
    ['--mcp-config', JSON.stringify({ mcpServers: { long: server } }), '--allowedTools', 'mcp__long__long'],
  );
  assert.match(session.answer('parent', 'mcp__long__long').text, /persisted-output/);
  seen('a result of 500,001 units goes into a file, whatever the tool says of itself');
});

onEachClient('20d: both ways have the one text, but for the call', async ({ home, loads }) => {
  const session = await scan(home);
  const [, head, body] = fs
    .readFileSync(path.join(PACKAGED, 'agents/privacy-scanner.md'), 'utf8')
    .match(/^---\n([^]+?)\n---\n([^]+)$/);
  const withoutKey = body
    .replace(/once, with exactly this argument:\n\n```json\n.*\n```/, 'once, without arguments.')
    .replaceAll(TOOL, OWN_TOOL);
  assert.notEqual(withoutKey, body);
  assert.ok(session.of('scanner')[0].system.includes((loads ? withoutKey : body).trim()));
  const [, description] = head.match(/^description: (.*)$/m);
  assert.ok(session.of('parent')[0].text.includes(JSON.stringify(description).slice(1, -1)));
  assert.match(body, /summarized or cut while you work.*call again/);
});

onEachClient('20e: an agent whose conversation was compacted has lost the catalog, and loads it again', async ({ home, client, way, seen }) => {
  // Long, because otherwise compacting the conversation could save nothing.
  const text = `${CATALOG}${'Something to look for.\n'.repeat(20_000)}`;
  catalog(home, { text });
  home.write(home.project, 'a.txt', 'text\n');
  const summary = say('<summary>[[actor:after]] The task is to scan a.txt.</summary>');
  let asked = 0;
  // Then the client asks for a summary instead of sending its next request.
  const grep = () => (asked++ ? summary : [call('Grep', { pattern: 'text' }), used(990_000)]);
  const scanner = [way.load, grep, say('Done.')];
  const session = await home.play(plain(client, { scanner, after: [say('Never.'), way.load, say('Done.')] }));
  assert.equal(session.has('after'), COMPACTS.includes(client.version));
  if (!session.has('after')) return seen("a subagent's conversation was not compacted");
  const [first, ...rest] = session.of('after');
  assert.equal(first.text.includes(CANARY), false);
  assert.equal(rest.length, 1);
  const again = session.answers('after').filter(({ tool }) => tool === way.tool);
  assert.deepEqual(again.map(({ text }) => text), [text]);
  seen('an agent whose conversation was compacted goes on without the catalog, and can load it again');
});
