// Two commands, a map, and the very first session works: the subagent has the
// file, byte for byte, nobody was asked for permission, and the parent has
// nothing.

import assert from 'node:assert/strict';
import { onEachClient } from './harness/case.mjs';
import { CANARY, KEY, OWN_TOOL, TOOL, catalog, scan, way } from './harness/plugin.mjs';
import { say } from './harness/script.mjs';

onEachClient('1: the first session loads the catalog, for the subagent alone', async ({ home, client, loads, seen }) => {
  const text = `\ufeff# Katalog\r\n\r\n- ${CANARY} – „Ä" 🔑\t \r\nno newline at the end  `;
  catalog(home, { text });

  const found = say('One finding: src/a.txt, line 1, rule 1, high.');
  const session = await scan(home, { scanner: [way(client).load, found] });

  assert.deepEqual([session.got.error, session.got.text], [false, text], 'the file, byte for byte');
  session.assertOnlyIn(CANARY, 'scanner');
  const offered = session.tools('parent');
  if (loads) {
    session.assertOnlyIn(KEY);
    for (const tool of [TOOL, OWN_TOOL]) assert.ok(!offered.includes(tool), tool);
    seen("a plugin's module can register an agent with a server that only this agent has");
  } else {
    session.assertOnlyIn(KEY, 'scanner');
    assert.ok(session.of('scanner')[0].text.includes(KEY), 'the key is in the body of the agent');
    seen(`the parent ${offered.includes(TOOL) ? 'is offered the tool' : 'has the tool deferred'}`);
  }
  assert.match(session.answer('parent', 'Agent').text, /One finding/);
  assert.deepEqual(session.result.permission_denials, []);
  seen("a plugin's agent names its tool in `tools:` and has it undeferred");
  seen("the allow of a plugin's own PreToolUse hook is all the permission that -p needs");
});
