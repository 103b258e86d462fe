// `claude mcp list` starts the server and runs no hook. Where it comes first,
// the server has to install itself, or its failure is remembered for later.

import assert from 'node:assert/strict';
import { say, spawn } from './harness/api.mjs';
import { onEachClient } from './harness/case.mjs';
import { CATALOG, KEY, SCANNER, TOOL, catalog, load } from './harness/plugin.mjs';

onEachClient('2: mcp list as the very first thing connects, and so does the session after it', async ({ home, seen }) => {
  await home.install();
  catalog(home);

  assert.match(await home.must('mcp', 'list'), /^plugin:keyhole:context: .*Connected/m);
  seen('mcp list starts the server of a plugin that has run no hook yet');

  const session = await home.session({
    parent: [spawn('scanner', SCANNER), say('Done.')],
    scanner: [load(KEY), say('Done.')],
  });
  session.assertPlayed();
  assert.equal(session.answer('scanner', TOOL).text, CATALOG);
});
