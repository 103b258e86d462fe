// docs/company.md: an administrator's whole file, as docs/examples has it, with the release in a
// folder of root's, and a user who has run `keyhole setup plugin`.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { example } from '../harness/pages.mjs';
import { onEachClient } from './harness/case.mjs';
import { DIST } from './harness/home.mjs';
import { unprivileged } from './harness/ordinary.mjs';
import { CANARY, CATALOG, foreignServer, plain, say } from './harness/plugin.mjs';
import { BASH, READS, onEachShell } from './harness/shells.mjs';

/** Where the page has the release, and a folder for it here. */
const PLACE = '/opt/keyhole';
const FOLDER = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'keyhole-company-')), 'keyhole');
fs.cpSync(DIST, FOLDER, { recursive: true });
spawnSync('chmod', ['-R', 'a+rX', path.dirname(FOLDER)]);
process.on('exit', () => fs.rmSync(path.dirname(FOLDER), { recursive: true }));

/** The file as the page has it, for the release here. */
const settings = () => JSON.parse(example('company-settings.json').replaceAll(PLACE, FOLDER));

/** The probe's exit code, and the ids of what it finds. */
async function probe(home) {
  const [program, args] = home.command(`${FOLDER}/plugin/bin/keyhole`, 'check', '--json');
  // The file's rules are for /tmp, and this world has a TMPDIR of its own.
  const { code, stdout } = await home.run(program, args, { TMPDIR: '' });
  return { code, ids: JSON.parse(stdout).warnings.map(({ id }) => id) };
}

const served = (session, way) => session.answers('scanner', way.tool).some(({ text }) => text.includes(CANARY));

onEachShell("company-file: with this file, a user's first session has the agent, which is served; no shell reads the list, and no other server runs", async ({ t, home, client, way }) => {
  const machine = settings();
  if (!home.manage(machine)) return t.skip("skipped: company-file (an administrator's settings cannot be played here)");
  const file = home.write(home.home, 'private/identifiers.md', CATALOG);
  fs.chmodSync(home.write(home.project, 'read', `#!/bin/sh\ncat ${file}\n`), 0o755);
  const other = foreignServer(home, 'other', { text: 'x' });
  home.trust({ mcpServers: { other: other.server } });
  await home.agreed(`${FOLDER}/plugin/bin/keyhole`, 'setup', 'plugin', '--file', '~/private/identifiers.md');

  const script = plain(client, { parent: [READS, ...plain(client).parent] });
  const session = await home.play(script, BASH);
  session.assertOnlyIn(CANARY, 'scanner');
  assert.ok(served(session, way), session.report());
  assert.equal(other.sent(), '');
  assert.deepEqual(await probe(home), { code: 0, ids: ['servers-by-command', 'managed-elsewhere'] });

  // Without the list, that server does run.
  delete machine.allowedMcpServers;
  await home.play(plain(client));
  assert.notEqual(other.sent(), '');
});

const names = (...all) => all.map((serverName) => ({ serverName }));
const OWN = 'keyhole_privacy_scanner';
const MODS_ONLY = { 'cc-plugin-sec-default@builtin': { options: { allowManagedModsOnly: true } } };

/**
 * What an administrator's or the user's settings say of servers, and where the agent is served then:
 * with mods, and without them.
 */
const LISTS = ([own, shared]) => ({
  'no list': [{}, true, true],
  'its own name': [{ allowedMcpServers: names(OWN) }, true, false],
  'its own name, and a url': [{ allowedMcpServers: [...names(OWN), { serverUrl: 'https://x.test/*' }] }, true, false],
  'other names': [{ allowedMcpServers: names('context', 'plugin_keyhole_context', 'keyhole') }, false, false],
  'both commands': [{ allowedMcpServers: [own, shared] }, true, true],
  'its own command': [{ allowedMcpServers: [own] }, true, false],
  "the shared server's command": [{ allowedMcpServers: [shared] }, false, true],
  "its own name, and the shared server's command": [{ allowedMcpServers: [...names(OWN), shared] }, false, true],
  'its own name, and another command': [{ allowedMcpServers: [...names(OWN), { serverCommand: ['x'] }] }, false, false],
  'its own name, and no mods of the user': [{ allowedMcpServers: names(OWN), pluginConfigs: MODS_ONLY }, false, false],
  "no mods of the user, and the administrator's plugin": [{ allowedMcpServers: names(OWN), pluginConfigs: MODS_ONLY, ...THEIRS }, true, false],
  "no hooks of the user, and the administrator's plugin": [{ allowManagedHooksOnly: true, ...THEIRS }, true, true],
  'its own name denied': [{ deniedMcpServers: names(OWN) }, false, true],
  'its own command denied': [{ deniedMcpServers: [own] }, false, true],
});

/** The plugin, as an administrator's settings install it. */
const { enabledPlugins, extraKnownMarketplaces } = settings();
const THEIRS = { enabledPlugins, extraKnownMarketplaces };

/** What the probe finds if the agent gets nothing, or nothing where mods do not load. */
const STOPPED = ['servers-not-allowed', 'plugin-denied'];
const NEEDS_MODS = 'servers-need-mods';

onEachClient('company-lists: the agent is served with a list of servers if the probe says so', { plugin: 'none', map: true }, async ({ t, home, client, loads, way }) => {
  unprivileged(t, home);
  const managed = {};
  if (!home.manage(managed)) return t.skip("skipped: company-lists (an administrator's settings cannot be played here)");
  await home.installFrom(FOLDER);
  for (const [what, [list, withMods, without]] of Object.entries(LISTS(settings().allowedMcpServers))) {
    for (const key of Object.keys(managed)) delete managed[key];
    Object.assign(managed, list);
    const session = await home.play(plain(client));
    assert.equal(served(session, way), loads ? withMods : without, what);
    const { code, ids } = await probe(home);
    assert.deepEqual([code, ids.some((id) => STOPPED.includes(id))], [withMods ? 0 : 1, !withMods], what);
    assert.equal(ids.includes(NEEDS_MODS), withMods && !without, what);
  }
});
