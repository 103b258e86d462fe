// Which wrong values make a client load nothing of the user's settings, and whether `keyhole check`
// says so. It takes the keys from the client's own program, so that it finds those of a new version.
// `./x client wrong-values` plays it, some ten minutes for each client; it is no part of CI.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { merged } from '../harness/world.mjs';
import { onEachClient } from './harness/case.mjs';
import { Home } from './harness/home.mjs';
import { CANARY, PACKAGED, catalog, programIn, read, say } from './harness/plugin.mjs';

/** Each of these is wrong for a text, a number, a switch, a list of any kind and an object. */
const WRONG = [null, [null]];

/** How the client's program writes a key of its schema, and where that begins. */
const [KEY, BEGIN, LENGTH] = [/[,{]([A-Za-z$]\w*):\(\)=>/g, ',apiKeyHelper:()=>', 150_000];

/** Keys of the sandbox, which stand in an object of their own. */
const SANDBOX = [
  'enabled', 'failIfUnavailable', 'autoAllowBashIfSandboxed', 'allowUnsandboxedCommands', 'excludedCommands', 'ignoreViolations',
  'enableWeakerNestedSandbox', 'allowNestedUserNamespaces', 'enableWeakerNetworkIsolation', 'allowAppleEvents', 'ripgrep',
  'network', 'network.allowedDomains', 'network.deniedDomains', 'network.strictAllowlist', 'network.allowManagedDomainsOnly',
  'network.allowUnixSockets', 'network.allowAllUnixSockets', 'network.allowLocalBinding', 'network.allowMachLookup', 'network.tlsTerminate',
  'filesystem', 'filesystem.allowWrite', 'filesystem.denyWrite', 'filesystem.denyRead', 'filesystem.allowRead',
  'filesystem.allowManagedReadPathsOnly', 'filesystem.disabled', 'credentials', 'credentials.files', 'credentials.envVars',
].map((key) => `sandbox.${key}`);

/** The keys of a settings file that this client knows, and one that none knows. */
function keys({ program }) {
  const bytes = fs.readFileSync(program);
  const schema = bytes.subarray(bytes.indexOf(BEGIN)).subarray(0, LENGTH).toString('latin1');
  const found = [...schema.matchAll(KEY)].map(([, key]) => key);
  assert.ok(found.length > 150, `its schema is written in another way: ${found}`);
  // The rule that is looked at is there.
  return ['nobodyKnowsThis', '$schema', ...found, ...SANDBOX].filter((key) => key !== 'permissions');
}

/** Settings that have this value at each of the keys. */
const settings = (some, value) =>
  some.map((key) => key.split('.').reduceRight((inner, name) => ({ [name]: inner }), value)).reduce(merged, {});

onEachClient('wrong-values: check calls no settings file loaded of which the client loads nothing', { plugin: 'none' }, async ({ t, client }) => {
  /** What a home with this file says: whether the client loads it, and whether check does. */
  const inHome = (more) => {
    const home = new Home(t, client);
    const file = home.write(home.project, 'denied.md', CANARY);
    home.set({ ...more, permissions: { deny: [`Read(/${file})`] } });
    return { home, file };
  };
  const isLoaded = async (...given) => {
    const { home, file } = inHome(settings(...given));
    const session = await home.play({ parent: [read(file), say('Done.')] });
    return !session.answer('parent', 'Read').text.includes(CANARY);
  };
  const { home } = inHome({});
  catalog(home);
  const isCalledLoaded = (key, value) => {
    home.write(home.home, '.claude/settings.json', JSON.stringify(settings([key], value)));
    const { stdout } = spawnSync(programIn(PACKAGED), ['check', '--json'], { cwd: home.project, env: home.env(), encoding: 'utf8' });
    assert.match(stdout, /"entries"/);
    return !stdout.includes('settings-not-loaded');
  };
  /** Those of the keys for which the client loads nothing. */
  const refused = async (some, value) => {
    if (await isLoaded(some, value)) return [];
    if (some.length === 1) return some;
    const half = some.length >> 1;
    return [...(await refused(some.slice(0, half), value)), ...(await refused(some.slice(half), value))];
  };

  for (const value of WRONG) {
    const [called, others] = [[], []];
    for (const key of keys(client)) (isCalledLoaded(key, value) ? called : others).push(key);
    const cautious = [];
    for (const key of others) if (await isLoaded([key], value)) cautious.push(key);
    t.diagnostic(`${JSON.stringify(value)}: check refuses ${others.length} of ${called.length + others.length} keys; the client loads these all the same: ${cautious.join(' ')}`);
    assert.deepEqual(await refused(called, value), [], JSON.stringify(value));
  }
});
