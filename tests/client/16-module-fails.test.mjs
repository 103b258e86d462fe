// Whatever fails in the module, the second way (the shared server behind the
// guard) still works, and the module says what failed if it can.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { call, say, spawn } from './harness/api.mjs';
import { onEachClient } from './harness/case.mjs';
import { CANARY, CATALOG, KEY, SCANNER, TOOL, catalog, load, loadsModules } from './harness/plugin.mjs';

const MODULE = 'hooks/register.ts';
const AGENT = 'agents/privacy-scanner.md';

/** What goes wrong: { file: how it is changed }, and whether the module can tell the user. */
const FAILURES = {
  'is not there': { [MODULE]: null },
  'is no program': { [MODULE]: () => 'export const register = (on) => {' },
  'throws at once': { [MODULE]: () => "throw new Error('no')" },
  'throws in register': { [MODULE]: (text) => text.replace('(on) => {', "(on) => {\n  throw new Error('no')") },
  'finds another agent than it knows': { [AGENT]: (text) => text.replace('once, with exactly', 'once with exactly'), told: true },
  'finds an interface without agents': { [MODULE]: (text) => text.replace('$.agent.register', '($.agent as any).enroll'), told: true },
  'throws when the session starts': {
    [MODULE]: (text) => text.replace("on('session.start', async ($, e, next) => {", "$&\n    throw new Error('no')"),
  },
};

onEachClient('16a: where the module fails, the guarded way is whole, and the user is told', async ({ home, client, seen }) => {
  await home.install();
  catalog(home);
  const { root } = home.installed('keyhole');
  const shipped = Object.fromEntries([MODULE, AGENT].map((name) => [name, fs.readFileSync(path.join(root, name), 'utf8')]));

  for (const [how, { told, ...changes }] of Object.entries(FAILURES)) {
    for (const [name, text] of Object.entries(shipped)) {
      const change = changes[name];
      if (change === null) fs.rmSync(path.join(root, name));
      else fs.writeFileSync(path.join(root, name), change ? change(text) : text);
      if (change) assert.notEqual(change(text), text, how);
    }
    const session = await home.session(
      {
        parent: [call('ToolSearch', { query: `select:${TOOL}` }), load(KEY), spawn('scanner', SCANNER), say('Done.')],
        scanner: [load(KEY), say('Done.')],
      },
      ['--allowedTools', TOOL],
    );
    session.assertPlayed();
    assert.equal(session.answer('scanner', TOOL).text, CATALOG, `the module ${how}`);
    assert.equal(session.answer('parent', TOOL).error, true, `the module ${how}`);
    session.assertOnlyIn(CANARY, 'scanner');
    const logged = session.events.filter(({ subtype }) => subtype === 'ui_log').map(({ text }) => text);
    if (told && loadsModules(client)) {
      assert.match(logged.join('\n'), /uses the shared one, behind the guard/, `the module ${how}`);
      assert.match(logged.join('\n'), /update or reinstall the plugin/);
    } else {
      assert.deepEqual(logged, [], `the module ${how}`);
    }
  }
  if (loadsModules(client)) seen('$.ui.log tells the user, in the transcript, and in -p as an event');
});

onEachClient('16b: in a terminal the line stands in the conversation', async ({ t, home, client, seen }) => {
  // A terminal comes from Python's own library.
  if (spawnSync('python3', ['-c', 'import pty']).status !== 0) return t.skip('python3 is not installed');
  if (!loadsModules(client)) return t.skip('this client loads no modules');
  await home.install();
  catalog(home);
  const file = path.join(home.installed('keyhole').root, AGENT);
  fs.writeFileSync(file, FAILURES['finds another agent than it knows'][AGENT](fs.readFileSync(file, 'utf8')));
  // The terminal draws by moving the cursor, so it contains no blanks.
  const drawn = ({ stdout }) => stdout.replaceAll(/\x1b\[[0-9;?>]*[a-zA-Z]|\s/g, '');
  const session = await home.terminal({ parent: [say('Done.')] }, (session) => drawn(session).includes('updateorreinstalltheplugin'));
  assert.match(drawn(session), /behindtheguard/);
  seen('$.ui.log draws a line in the conversation');
});
