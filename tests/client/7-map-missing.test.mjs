// A user who has no map yet is told what to do, does it, and continues in the
// same session: the server reads the map again, and nothing has to be restarted.

import assert from 'node:assert/strict';
import { onEachClient } from './harness/case.mjs';
import { CATALOG, catalog, plain } from './harness/plugin.mjs';
import { say } from './harness/script.mjs';

onEachClient('7: without a map the error says what to do, and once it is there the call works', { map: false }, async ({ home, client, way }) => {
  const mapped = () => (catalog(home), way.load);
  const session = await home.play(plain(client, { scanner: [way.load, mapped, say('Done.')] }));
  const [before, after] = session.answers('scanner').filter(({ tool }) => tool === way.tool);
  assert.equal(before.error, true);
  assert.match(before.text, /map-missing/);
  assert.match(before.text, /create it/, 'what to do');
  assert.deepEqual([after.error, after.text], [false, CATALOG]);
});
