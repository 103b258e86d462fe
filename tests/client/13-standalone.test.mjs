// The server without the plugin, added to the client by hand: every conversation then has
// its tool. No page advises it.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { call, say } from './harness/api.mjs';
import { onEachClient } from './harness/case.mjs';
import { DIST } from './harness/home.mjs';

const COMMAND = 'claude mcp add keyhole -- keyhole serve';
const TOOL = 'mcp__keyhole__load_context';
const TEXT = 'Words for whoever has the key.\n';

onEachClient('13: added by hand, the server serves whoever has a key, and none that is bound', async ({ home }) => {
  const servers = path.join(DIST, 'plugin/server');
  const [server] = fs.readdirSync(servers);
  fs.mkdirSync(path.join(home.root, 'shims'));
  fs.symlinkSync(path.join(servers, server), path.join(home.root, 'shims/keyhole'));
  fs.symlinkSync(home.client.binary, path.join(home.root, 'shims/claude'));
  const PATH = `${path.join(home.root, 'shims')}:${process.env.PATH}`;
  home.write(home.home, 'note.md', TEXT);
  home.map({ 'k-open': '~/note.md', 'k-bound': { path: '~/note.md', agents: ['acme:reviewer'] } });

  const added = await home.run('/bin/sh', ['-c', COMMAND], { PATH });
  assert.equal(added.code, 0, added.stderr);
  const listed = await home.claude(['mcp', 'list'], { PATH });
  assert.match(listed.stdout, /^keyhole: .*Connected/m);

  // Newer clients provide a deferred tool to the parent on this request.
  const search = call('ToolSearch', { query: `select:${TOOL}` });
  const script = { parent: [search, call(TOOL, { key: 'k-open' }), call(TOOL, { key: 'k-bound' }), say('Done.')] };
  const session = await home.session(script, ['--allowedTools', TOOL], { PATH });
  session.assertPlayed();
  const answers = session.answers('parent').filter(({ tool }) => tool === TOOL);
  assert.equal(answers[0].text, TEXT);
  assert.match(answers[1].text, /^unknown-key: /);
});
