// Two commands, a map, and the very first session works: the subagent has the
// file, byte for byte, nobody was asked for permission, and the parent has
// nothing.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { say, spawn } from './harness/api.mjs';
import { onEachClient } from './harness/case.mjs';
import { CANARY, KEY, OWN_TOOL, SCANNER, TOOL, catalog, loadsModules, way } from './harness/plugin.mjs';

onEachClient('1: the first session loads the catalog, for the subagent alone', async ({ home, client, seen }) => {
  await home.install();
  const file = catalog(home, { text: `\ufeff# Katalog\r\n\r\n- ${CANARY} – „Ä" 🔑\t \r\nno newline at the end  ` });

  const session = await home.session({
    parent: [spawn('scanner', SCANNER), say('Reported.')],
    scanner: [way(client).load, say('One finding: src/a.txt, line 1, rule 1, high.')],
  });

  session.assertPlayed();
  const answer = session.answer('scanner', way(client).tool);
  assert.equal(answer.error, false, answer.text);
  assert.equal(answer.text, fs.readFileSync(file, 'utf8'), 'the file, byte for byte');
  session.assertOnlyIn(CANARY, 'scanner');
  if (loadsModules(client)) {
    session.assertOnlyIn(KEY);
    for (const tool of [TOOL, OWN_TOOL]) assert.equal(offered(session, 'parent', tool), false, tool);
    seen("a plugin's module can register an agent with a server that only this agent has");
  } else {
    session.assertOnlyIn(KEY, 'scanner');
    assert.ok(session.of('scanner')[0].text.includes(KEY), 'the key is in the body of the agent');
    seen(`the parent ${offered(session, 'parent', TOOL) ? 'is offered the tool' : 'has the tool deferred'}`);
  }
  assert.match(session.answer('parent', 'Agent').text, /One finding/);
  assert.deepEqual(session.result.permission_denials, []);
  seen("a plugin's agent names its tool in `tools:` and has it undeferred");
  seen("the allow of a plugin's own PreToolUse hook is all the permission that -p needs");
});

const offered = (session, actor, tool) =>
  session.of(actor).some(({ body }) => body.tools.some(({ name }) => name === tool));
