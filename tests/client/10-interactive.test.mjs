// The same in a terminal, where the client does not wait for servers and could
// ask for permission: it asks nobody, from the very first session.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { say, spawn } from './harness/api.mjs';
import { onEachClient } from './harness/case.mjs';
import { CANARY, CATALOG, KEY, SCANNER, TOOL, catalog, loadsModules, onceFound, way } from './harness/plugin.mjs';

onEachClient('10: the first interactive session loads the catalog and asks for nothing', async ({ t, home, seen }) => {
  // A terminal comes from Python's own library.
  if (spawnSync('python3', ['-c', 'import pty']).status !== 0) return t.skip('python3 is not installed');
  await home.install();
  catalog(home);

  const session = await home.terminal(
    {
      // With a module, the client starts the server with the agent, and waits for it. Newer
      // clients run an agent in the background, and tell the parent when it ends.
      parent: loadsModules(home.client) ? [spawn('scanner', SCANNER), say('Done.'), say('Done.')] : onceFound(TOOL, spawn('scanner', SCANNER)),
      scanner: [way(home.client).load, say('One finding.')],
    },
    // Sent to a parent that has nothing more to do: the scanner's own last words.
    ({ requests }) => requests.some(({ actor, text }) => actor === 'parent' && text.includes('One finding.')),
  );

  assert.equal(session.answer('scanner', way(home.client).tool).text, CATALOG);
  session.assertOnlyIn(CANARY, 'scanner');
  session.assertOnlyIn(KEY, ...(loadsModules(home.client) ? [] : ['scanner']));
  seen('an interactive session asks nobody for a call that the plugin has allowed');
});
