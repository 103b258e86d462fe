// A user who has no map yet is told what to do, does it, and continues in the
// same session: the server reads the map again, and nothing has to be restarted.

import assert from 'node:assert/strict';
import { say, spawn } from './harness/api.mjs';
import { onEachClient } from './harness/case.mjs';
import { CATALOG, SCANNER, catalog, way } from './harness/plugin.mjs';

onEachClient('7: without a map the error says what to do, and once it is there the call works', async ({ home }) => {
  await home.install();
  const session = await home.session({
    parent: [spawn('scanner', SCANNER), say('Done.')],
    scanner: [
      way(home.client).load,
      () => {
        catalog(home);
        return way(home.client).load;
      },
      say('Done.'),
    ],
  });

  session.assertPlayed();
  const [before, after] = session.answers('scanner').filter(({ tool }) => tool === way(home.client).tool);
  assert.equal(before.error, true);
  assert.match(before.text, /map-missing/);
  assert.match(before.text, /create it/, 'what to do');
  assert.deepEqual([after.error, after.text], [false, CATALOG]);
});
