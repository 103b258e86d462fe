// Agents that go on, ten at once, and what remains of their server when the client ends; with a
// large catalog, and after a conversation was cut.

import assert from 'node:assert/strict';
import path from 'node:path';
import { processes } from '../harness/world.mjs';
import { onEachClient } from './harness/case.mjs';
import { CANARY, CATALOG, DONE, SCANNER, assertServed, call, catalog, compacted, foreignServer, plain, resume, say, scan, search, spawn, used } from './harness/plugin.mjs';

/** The servers that run from this home's copy of the plugin. */
function servers(home) {
  const program = home.plugin('server/keyhole-');
  return processes((words) => words.startsWith(program) && words.includes(' serve '));
}

const TEN = Array.from({ length: 10 }, (_, index) => `scanner-${index}`);

for (const run_in_background of [false, true]) {
  onEachClient('ten-at-once: ten agents at once have the catalog, in the ' + (run_in_background ? 'background' : 'foreground'), async ({ home, way }) => {
    const session = await home.play({
      // It learns of each end in a separate turn, at most.
      parent: [TEN.map((name) => spawn(name, SCANNER, { run_in_background })), ...DONE, ...DONE],
      ...Object.fromEntries(TEN.map((name) => [name, [way.load, say('Done.')]])),
    });
    assertServed(session, way.tool, ...TEN);
    // The client has just been killed.
    await home.until('the end of the servers', () => servers(home).length === 0);
  });
}

onEachClient('resumed-loads-again: a resumed agent loads the catalog again', async ({ home, client, way }) => {
  const parent = [spawn('scanner', SCANNER), ...resume(home, 'resumed'), ...DONE];
  const session = await home.session(plain(client, { parent, resumed: [way.load, say('Done.')] }));
  assert.deepEqual(session.unscripted, []);
  session.assertResumed();
  assertServed(session, way.tool, 'scanner', 'resumed');
});

onEachClient('whole-or-too-large: what the client would write to a file is refused before, and what it takes is whole', async ({ home, client, loads, way }) => {
  const most = 'ä'.repeat(499_990) + '🔑'.repeat(5);
  catalog(home, { text: most });
  assert.equal((await scan(home)).got.text, most);
  catalog(home, { text: `${most}a` });
  const session = await home.session(plain(client));
  // If modules are loaded, the agent does not start.
  const { text, error } = loads ? session.answer('parent', 'Agent') : session.answer('scanner', way.tool);
  assert.equal(error, true);
  assert.match(text, /too-large: /);
  const kept = home.files(path.join(home.home, '.claude'));
  assert.deepEqual(kept.filter((name) => /tool-results/.test(name)), []);
});

onEachClient('longer-result-becomes-file: one unit more goes into a file, whatever a tool says of itself: that is why', { plugin: 'none' }, async ({ home }) => {
  const _meta = { 'anthropic/maxResultSizeChars': 900_000 };
  const { server } = foreignServer(home, 'long', { text: 'a'.repeat(500_001), _meta });
  const session = await home.play(
    { parent: [search('mcp__long__long'), call('mcp__long__long', {}), say('Done.')] },
    ['--mcp-config', JSON.stringify({ mcpServers: { long: server } }), '--allowedTools', 'mcp__long__long'],
  );
  assert.match(session.answer('parent', 'mcp__long__long').text, /persisted-output/);
});

onEachClient('compacted-loads-again: an agent whose conversation was compacted has lost the catalog, and loads it again', async ({ home, client, way }) => {
  // Long, because otherwise compacting the conversation could save nothing.
  const text = `${CATALOG}${'Something to look for.\n'.repeat(20_000)}`;
  catalog(home, { text });
  home.write(home.project, 'a.txt', 'text\n');
  const grep = [call('Grep', { pattern: 'text' }), used(990_000)];
  const scanner = [way.load, compacted(grep), say('Done.')];
  const session = await home.play(plain(client, { scanner, after: [say('Never.'), way.load, say('Done.')] }));
  const [first, ...rest] = session.of('after');
  assert.equal(first.text.includes(CANARY), false);
  assert.equal(rest.length, 1);
  assert.deepEqual(session.answers('after', way.tool).map((answer) => answer.text), [text]);
});
