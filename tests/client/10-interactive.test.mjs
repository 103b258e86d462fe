// The same in a terminal, where the client does not wait for servers and could
// ask for permission: it asks nobody, from the very first session.

import assert from 'node:assert/strict';
import { onEachClient } from './harness/case.mjs';
import { CANARY, CATALOG, KEY, SCANNER, TOOL, onceFound } from './harness/plugin.mjs';
import { say, spawn } from './harness/script.mjs';

onEachClient('10: the first interactive session loads the catalog and asks for nothing', { terminal: true }, async ({ home, loads, way, seen }) => {
  const start = spawn('scanner', SCANNER);
  const session = await home.terminal(
    {
      // With a module, the client starts the server with the agent, and waits for it. Newer
      // clients run an agent in the background, and tell the parent when it ends.
      parent: loads ? [start, say('Done.'), say('Done.')] : onceFound(TOOL, start),
      scanner: [way.load, say('One finding.')],
    },
    // Sent to a parent that has nothing more to do: the scanner's own last words.
    ({ requests }) => requests.some(({ actor, text }) => actor === 'parent' && text.includes('One finding.')),
  );

  assert.equal(session.answer('scanner', way.tool).text, CATALOG);
  session.assertOnlyIn(CANARY, 'scanner');
  session.assertOnlyIn(KEY, ...(loads ? [] : ['scanner']));
  seen('an interactive session asks nobody for a call that the plugin has allowed');
});
