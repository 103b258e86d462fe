// "Am I set up?", asked in a session; and what the rules of the README's step 4 keep from
// the main conversation.

import assert from 'node:assert/strict';
import path from 'node:path';
import { onEachClient } from './harness/case.mjs';
import { CANARY, RULES, SCANNER, catalog, scan } from './harness/plugin.mjs';
import { bash, call, mark, say, spawn } from './harness/script.mjs';

const SERVED = /keyhole:privacy-scanner: would be served, line/;

onEachClient('26a: the shell of a session has a keyhole that checks and serves nothing', async ({ home, seen }) => {
  const commands = ['keyhole check', 'keyhole contract', 'keyhole serve', 'keyhole check --map x', 'keyhole guard'];
  const session = await home.play({ parent: [commands.map(bash), say('Done.')] }, ['--allowedTools', 'Bash(keyhole:*)']);
  const [check, contract, ...others] = session.answers('parent').map(({ text }) => text);
  assert.match(check, SERVED);
  assert.doesNotMatch(check, /\.md/);
  assert.match(contract, /sha256:/);
  for (const other of others) assert.match(other, /in a session/);
  seen("a plugin's folder bin is on the path of the session's shell");
});

onEachClient('26b: a session says one line if there is no map, and none if there is one', { map: false }, async ({ home, seen }) => {
  const told = (session) => session.stdout.includes('map-missing');
  const start = () => home.session({ parent: [say('Done.')] });
  assert.ok(told(await start()), 'the line');
  catalog(home);
  const quiet = await start();
  assert.ok(!/keyhole: /.test(quiet.stdout), quiet.stdout);
  seen("a SessionStart hook's systemMessage is told");
});

onEachClient('26c: /keyhole:check runs the check, and needs no other permission', async ({ home, seen }) => {
  const script = { parent: [bash('keyhole check'), say('Done.')] };
  const session = await home.play(script, [], {}, `/keyhole:check ${mark('parent')}`);
  assert.match(session.answer('parent', 'Bash').text, SERVED);
  seen("a plugin's command may bring the permission for what it runs");
});

onEachClient('26d: the line about a missing map is on the screen of a terminal', { map: false, terminal: true }, async ({ home, seen }) => {
  const said = (session) => session.stdout.includes('map-missing');
  const session = await home.terminal({ parent: [say('Done.')] }, said);
  assert.ok(said(session), session.stdout);
  seen("a SessionStart hook's systemMessage is on the screen");
});

onEachClient('26e: the rules of step 4 keep the catalog from the parent, and the agent is served', async ({ home, file, seen }) => {
  const reads = [call('Read', { file_path: file }), bash(`cat ${file}`), call('Grep', { pattern: 'CANARY', path: path.dirname(file), output_mode: 'content' })];
  const parent = [reads, spawn('scanner', SCANNER), say('Done.')];
  const play = () => scan(home, { parent }, ['--add-dir', home.home]);
  const open = await play();
  assert.ok(open.of('parent').some(({ text }) => text.includes(CANARY)), 'with the home as its folder the parent reads it unasked');
  seen('with the home as working directory, the parent reads the catalog unasked');
  home.set(JSON.parse(RULES));
  const closed = await play();
  assert.equal(closed.got.error, false, closed.got.text);
  closed.assertOnlyIn(CANARY, 'scanner');
  seen('permissions.deny of step 4 keeps Read, Grep and cat from the catalog');
});

onEachClient('26f: what a shell may still do in spite of the rules, as the page says', async ({ home, client, file, seen }) => {
  home.set(JSON.parse(RULES));
  const commands = ['grep -Rho "CANARY.*" ~', `cat < ${file}`, `python3 -c "print(open('${file}').read())"`];
  const leaks = async (...args) => {
    const session = await home.play({ parent: [commands.map(bash), say('Done.')] }, args);
    return session.answers('parent').map(({ text }) => /CANARY-7f3d/.test(text));
  };
  const older = client.version === '2.1.197';
  assert.deepEqual(await leaks('--add-dir', home.home), [true, older, false]);
  assert.deepEqual(await leaks(), [false, older, false]);
  assert.deepEqual(await leaks('--allowedTools', 'Bash'), [true, older, true]);
  seen(`unasked, only if the home is the working directory: grep -R over a folder above the catalog${older ? '; in any: a redirection' : ''}`);
});
