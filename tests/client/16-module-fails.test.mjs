// Whatever fails in the module, the second way (the shared server behind the
// guard) still works, and the module says what failed if it can.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { onEachClient } from './harness/case.mjs';
import { CANARY, CATALOG, KEY, SCANNER, TOOL, load } from './harness/plugin.mjs';
import { say, search, spawn } from './harness/script.mjs';

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

onEachClient('16a: where the module fails, the guarded way is whole, and the user is told', async ({ home, loads, seen }) => {
  const { root } = home.installed('keyhole');
  const shipped = Object.fromEntries([MODULE, AGENT].map((name) => [name, fs.readFileSync(path.join(root, name), 'utf8')]));

  for (const [how, { told, ...changes }] of Object.entries(FAILURES)) {
    for (const [name, text] of Object.entries(shipped)) {
      const change = changes[name];
      if (change === null) fs.rmSync(path.join(root, name));
      else fs.writeFileSync(path.join(root, name), change ? change(text) : text);
      if (change) assert.notEqual(change(text), text, how);
    }
    const session = await home.play(
      {
        parent: [search(TOOL), load(KEY), spawn('scanner', SCANNER), say('Done.')],
        scanner: [load(KEY), say('Done.')],
      },
      ['--allowedTools', TOOL],
    );
    assert.equal(session.answer('scanner', TOOL).text, CATALOG, `the module ${how}`);
    assert.equal(session.answer('parent', TOOL).error, true, `the module ${how}`);
    session.assertOnlyIn(CANARY, 'scanner');
    const logged = session.events.filter(({ subtype }) => subtype === 'ui_log').map(({ text }) => text);
    if (told && loads) {
      assert.match(logged.join('\n'), /uses the shared one, behind the guard/, `the module ${how}`);
      assert.match(logged.join('\n'), /update or reinstall the plugin/);
    } else {
      assert.deepEqual(logged, [], `the module ${how}`);
    }
  }
  if (loads) seen('$.ui.log tells the user, in the transcript, and in -p as an event');
});

onEachClient('16b: in a terminal the line stands in the conversation', { terminal: true, modules: true }, async ({ home, seen }) => {
  home.change(path.join(home.installed('keyhole').root, AGENT), FAILURES['finds another agent than it knows'][AGENT]);
  const said = ({ drawn }) => drawn.includes('updateorreinstalltheplugin');
  assert.match((await home.terminal({ parent: [say('Done.')] }, said)).drawn, /behindtheguard/);
  seen('$.ui.log draws a line in the conversation');
});
