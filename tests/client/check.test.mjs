// What a user is told where something is missing or broken, and "am I set up?", asked in a session.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { onEachClient } from './harness/case.mjs';
import { noSandbox } from './harness/ordinary.mjs';
import { AGENT_FILE, CANARY, CATALOG, KEY, OTHER_AGENT, RULES, SANDBOX, SCANNER, bash, catalog, mark, plain, programIn, say, scan, spawn } from './harness/plugin.mjs';

// The server reads the map again, and nothing has to be restarted.
onEachClient('missing-map-told: without a map the error says what to do, and once it is there the call works', { map: false }, async ({ home, client, loads, way }) => {
  const mapped = (part) => () => (catalog(home), part);
  // If modules are loaded, the agent starts only then.
  const again = spawn('scanner', SCANNER);
  const script = loads
    ? { parent: [again, mapped(again), say('Done.')] }
    : { scanner: [way.load, mapped(way.load), say('Done.')] };
  const session = await home.play(plain(client, script));
  const [before] = loads ? session.answers('parent', 'Agent') : session.answers('scanner', way.tool);
  const after = session.answers('scanner', way.tool).at(-1);
  assert.equal(before.error, true);
  assert.match(before.text, /map-missing/);
  assert.match(before.text, /`keyhole setup plugin`, which \/keyhole:check prints/, 'what a user of the plugin alone can do');
  assert.deepEqual([after.error, after.text], [false, CATALOG]);
});

const unexecutable = (home) => fs.chmodSync(programIn(home.installed('keyhole').root), 0o644);

onEachClient('unexecutable-program-told: a program that lost its execute bit gives no document, and its line says what to do', async ({ home, client, loads, way }) => {
  unexecutable(home);
  const session = await home.session(plain(client));
  // If modules are loaded, the agent does not start.
  const { text, error } = loads ? session.answer('parent', 'Agent') : session.answer('scanner', way.tool);
  assert.equal(error, true, text);
  session.assertOnlyIn(CANARY);
  assert.match(session.stdout, /run chmod u\+x on it/);
  fs.chmodSync(programIn(home.installed('keyhole').root), 0o755);
  if (!loads) {
    // The client notes a server of all that did not start, and starts it again after a quarter of an hour.
    assert.match((await scan(home)).got.text, /No such tool/);
    const earlier = (_, time) => `"timestamp":${time - 900_000}`;
    home.change('.claude/mcp-needs-auth-cache.json', (noted) => noted.replace(/"timestamp":(\d+)/g, earlier));
  }
  assert.equal((await scan(home)).got.text, CATALOG);
});

for (const [name, prepare, words, options] of [
  ['unexecutable-program-shown: the line about such a program', unexecutable, ['maynotberun', 'chmodu+x']],
  ["unknown-agent-shown: the module's line about an agent that it does not know", (home) => home.change(home.plugin(AGENT_FILE), OTHER_AGENT), ['behindtheguard', 'updateorreinstalltheplugin'], { modules: true }],
  ['missing-map-shown: the line about a missing map', () => {}, ['map-missing'], { map: false }],
]) {
  onEachClient(`${name} is on the screen of a terminal`, { terminal: true, ...options }, async ({ home }) => {
    prepare(home);
    const said = ({ drawn }) => words.every((word) => drawn.includes(word));
    const session = await home.terminal({ parent: [say('Done.')] }, said);
    assert.ok(said(session), session.drawn);
  });
}

const SERVED = /keyhole:privacy-scanner: would be served, line/;

onEachClient('shell-keyhole-only-checks: the shell of a session has a keyhole that checks and serves nothing', async ({ home }) => {
  const commands = ['keyhole check', 'keyhole contract', 'keyhole serve', 'keyhole check --map x', 'keyhole guard', 'keyhole --help', 'keyhole --version'];
  const parent = [commands.map((command) => bash(command)), say('Done.')];
  const session = await home.play({ parent }, ['--allowedTools', 'Bash(keyhole:*)']);
  const [check, contract, ...others] = session.answers('parent').map(({ text }) => text);
  assert.match(check, SERVED);
  assert.doesNotMatch(check, /\.md/);
  assert.match(contract, /sha256:/);
  for (const other of others) assert.match(other, /the user runs keyhole in a terminal of their own/);
  for (const refused of others.slice(0, 3)) assert.match(refused, /in a session/);
  for (const told of others.slice(3)) assert.ok(!told.includes(home.root), told);
});

onEachClient('session-says-missing-map: a session says one line if there is no map, and none if there is one', { map: false }, async ({ home }) => {
  const start = async () => (await home.session({ parent: [say('Done.')] })).stdout;
  assert.match(await start(), /map-missing/);
  catalog(home);
  assert.doesNotMatch(await start(), /keyhole: /);
});

/** Plays `/keyhole:check` to a model that does what the command's page says where no hook has answered. */
function typeCheck(home, env = {}) {
  // The command of the page, as the model reads it there.
  const typed = ({ messages }) => / run `([^`]*)` with/.exec(messages.flatMap(({ texts }) => texts).join('\n'))[1];
  const script = { parent: [(request) => bash(typed(request)), say('Done.')] };
  return home.play(script, [], env, `/keyhole:check ${mark('parent')}`);
}

/** What the client's hook has added to the command. */
const added = (session) => session.of('parent')[0].messages.flatMap(({ texts }) => texts).join('\n');

onEachClient('check-runs-unasked: /keyhole:check runs the check, and needs no other permission', async ({ home }) => {
  // A user's own `keyhole` is not run.
  const foreign = home.write(home.root, 'foreign/keyhole', '#!/bin/sh\necho /a/path.md\n');
  fs.chmodSync(foreign, 0o755);
  const session = await typeCheck(home, { PATH: `${path.dirname(foreign)}:${process.env.PATH}` });
  assert.match(added(session), SERVED);
  assert.match(session.answer('parent', 'Bash').text, SERVED);
});

onEachClient("check-tickets-open: /keyhole:check says that each call is refused if others may write to the plugin's data folder", async ({ home }) => {
  await home.session({ parent: [say('Done.')] });
  const folders = path.join(home.plugins, 'data');
  for (const name of fs.readdirSync(folders)) fs.chmodSync(path.join(folders, name), 0o777);
  assert.match(added(await typeCheck(home)), /refuses each call/);
});

onEachClient("check-sandboxed: with the client's sandbox around its shells, /keyhole:check tells the same as outside, and no path", async ({ t, home, file }) => {
  const without = noSandbox();
  if (without) return t.skip(without);
  home.set({ ...RULES, sandbox: SANDBOX.sandbox });
  const session = await typeCheck(home);
  const outside = await home.run(home.plugin('bin/keyhole'), ['check'], { CLAUDECODE: '1' });
  assert.match(outside.stdout, SERVED);
  assert.ok(added(session).includes(outside.stdout.trim()), added(session));
  // There, the page says what is to be told.
  const inside = session.answer('parent', 'Bash').text;
  assert.doesNotMatch(inside, SERVED, 'the shell sees the files: drop the hook');
  assert.match(inside, /In a terminal of your own: \S+\/bin\/keyhole check/);
  for (const secret of [KEY, CANARY, file]) session.assertOnlyIn(secret);
});
