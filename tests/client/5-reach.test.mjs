// What a parent that turns against its user may read by other ways, in the default permission
// mode, and with the rules that setup writes; and "am I set up?", asked in a session.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { onEachClient } from './harness/case.mjs';
import { CANARY, CATALOG, DONE, KEY, RULES, SCANNER, bash, call, catalog, mark, plain, programIn, say, scan, spawn } from './harness/plugin.mjs';

const read = (file_path) => call('Read', { file_path });
const grep = (pattern, path) => call('Grep', { pattern, path, output_mode: 'content' });

onEachClient('5a: the parent cannot read the key, the map, the file or the data directory', async ({ home, file }) => {
  // A first session, so that the data directory has its content.
  await home.session({ parent: [say('Done.')] });
  const { root, data } = home.installed('keyhole');
  const agent = path.join(root, 'agents/privacy-scanner.md');
  const map = home.mapFile;
  const binary = programIn(root);
  assert.deepEqual(home.files(data).filter((name) => fs.statSync(name).mode & 0o100), [], 'no program is in the data directory');

  const attempts = [
    ...[agent, map, file, ...home.files(data)].map(read),
    ...[agent, map, file].map((name) => bash(`cat ${name}`)),
    bash(`grep -r key ${path.dirname(agent)}`),
    bash(`cp ${agent} .`),
    bash(`ln -s ${agent} here.md`),
    bash(`ls -la ${data}`),
    bash(`cat ${data}/*`),
    bash(`${binary} check`),
    bash(`echo '{"tool_input":{}}' | ${binary} guard`),
    bash(`${binary} serve`),
  ];
  const session = await home.play({ parent: [attempts, say('Done.')] });
  const answers = session.answers('parent');
  assert.equal(answers.length, attempts.length);
  for (const { input, text, error } of answers) {
    assert.equal(error, true, `${JSON.stringify(input)} was let through: ${text}`);
  }
  session.assertOnlyIn(KEY);
  session.assertOnlyIn(CANARY);
});

/** The clients in which a shell's redirection reads a file that the same command may not read by name. */
const REDIRECTS_OUT = ['2.1.197'];

// A client's idea of what a command reads is its own, and has had gaps. Users who
// must not depend on it remove Bash from the session, or keep the files
// elsewhere.
onEachClient('5b: a redirection does not read outside the project either, or the client is known for it', async ({ home, client, file }) => {
  const session = await home.play({ parent: [bash(`head -5 < ${file}`), say('Done.')] });
  const reads = session.answer('parent', 'Bash').text.includes(CANARY);
  assert.equal(reads, REDIRECTS_OUT.includes(client.version));
});

// The client writes what a subagent saw to a transcript, which the parent of the
// same session may read. No plugin can prevent that; the user can, by a rule, or
// by having no transcripts written.
onEachClient("5d: a user can keep the subagent's transcript from the parent", async ({ home, client }) => {
  /** Whether anybody else than the scanner has the catalog, by this turn of the parent. */
  const leaks = async (turn, more) => {
    // Of what runs in the background it learns in turns of their own.
    const session = await home.play(plain(client, { parent: [spawn('scanner', SCANNER, more), turn, ...DONE] }));
    return session.requests.some(({ actor, text }) => actor !== 'scanner' && text.includes(CANARY));
  };
  const byName = async () => (await transcripts(home)).flatMap((name) => [read(name), bash(`cat ${name}`)]);

  const unwritten = await scan(home, {}, ['--no-session-persistence']);
  assert.equal(unwritten.got.error, false);
  assert.deepEqual(written(home), []);

  assert.ok(await leaks(byName), 'this client keeps transcripts from the parent by itself: drop the rule from the advice');
  const rule = 'Read(~/.claude/projects/**)';
  home.set({ permissions: { deny: [rule] } });
  assert.ok(!(await leaks(byName)));

  // The client has a folder for each session's tasks, with links to the transcripts.
  const tasks = path.join(home.root, 'tmp/claude-*');
  const bySearch = async (_, model) => {
    await model.asked('scanner', 1);
    return [...(await transcripts(home)).slice(0, 1).map(read), ...searches(home, tasks)];
  };
  assert.ok(await leaks(bySearch), 'the second rule is not needed any more: drop it from the advice');
  home.set({ permissions: { deny: [rule, `Read(/${tasks}/**)`] } });
  for (const run_in_background of [false, true]) assert.ok(!(await leaks(bySearch, { run_in_background })));
});

/** Ways to search the folders of tasks and of transcripts, without naming the file. */
function searches(home, tasks) {
  const [name] = fs.readdirSync(path.dirname(tasks)).filter((name) => name.startsWith('claude-'));
  const task = path.join(path.dirname(tasks), name);
  const outputs = home.files(task).filter((name) => name.endsWith('.output'));
  const inner = [...new Set(outputs.map((name) => path.dirname(name)))];
  const search = (folder) => `grep -Rho 'ZQ-CANARY[^"]*' ${folder}`;
  return [
    ...[task, ...inner, tasks].map((folder) => bash(search(folder))),
    bash(search(task), { run_in_background: true }),
    ...inner.flatMap((folder) => [bash(`cat ${folder}/*`), bash(`cd ${folder} && cat *.output`)]),
    bash(`find -L ${task} -type f -exec cat {} +`),
    ...outputs.slice(0, 1).map(read),
    ...[task, ...inner].map((folder) => grep('ZQ-CANARY.*', folder)),
    bash("grep -rho 'ZQ-CANARY[^\"]*' ~/.claude/projects"),
    bash('cat ~/.claude/projects/*/*/subagents/*'),
  ];
}

/** What the client wrote that contains the catalog: transcripts of subagents. */
const written = (home) => home.holding(CANARY, path.join(home.home, '.claude'));

/** These files, and their other names, once the client has written them. */
async function transcripts(home) {
  await home.until('a transcript', () => written(home).length > 0);
  return [...written(home), ...home.files(path.join(home.root, 'tmp')).filter((name) => name.endsWith('.output'))];
}

const SERVED = /keyhole:privacy-scanner: would be served, line/;

onEachClient('26a: the shell of a session has a keyhole that checks and serves nothing', async ({ home }) => {
  const commands = ['keyhole check', 'keyhole contract', 'keyhole serve', 'keyhole check --map x', 'keyhole guard'];
  const parent = [commands.map((command) => bash(command)), say('Done.')];
  const session = await home.play({ parent }, ['--allowedTools', 'Bash(keyhole:*)']);
  const [check, contract, ...others] = session.answers('parent').map(({ text }) => text);
  assert.match(check, SERVED);
  assert.doesNotMatch(check, /\.md/);
  assert.match(contract, /sha256:/);
  for (const other of others) assert.match(other, /in a session/);
});

onEachClient('26b: a session says one line if there is no map, and none if there is one', { map: false }, async ({ home }) => {
  const start = async () => (await home.session({ parent: [say('Done.')] })).stdout;
  assert.match(await start(), /map-missing/);
  catalog(home);
  assert.doesNotMatch(await start(), /keyhole: /);
});

onEachClient('26c: /keyhole:check runs the check, and needs no other permission', async ({ home }) => {
  // The command of the page, as the model reads it there. A user's own `keyhole` is not run.
  const foreign = home.write(home.root, 'foreign/keyhole', '#!/bin/sh\necho /a/path.md\n');
  fs.chmodSync(foreign, 0o755);
  const typed = ({ messages }) => /Run `(.*?)` with/.exec(messages.flatMap(({ texts }) => texts).join('\n'))[1];
  const script = { parent: [(request) => bash(typed(request)), say('Done.')] };
  const variables = { PATH: `${path.dirname(foreign)}:${process.env.PATH}` };
  const session = await home.play(script, [], variables, `/keyhole:check ${mark('parent')}`);
  assert.match(session.answer('parent', 'Bash').text, SERVED);
});

onEachClient('26e: the rules that setup writes keep the catalog from the parent, and the agent is served', async ({ home, file }) => {
  const reads = [read(file), bash(`cat ${file}`), grep('CANARY', path.dirname(file))];
  const parent = [reads, spawn('scanner', SCANNER), say('Done.')];
  const play = () => scan(home, { parent }, ['--add-dir', home.home]);
  const open = await play();
  assert.ok(open.of('parent').some(({ text }) => text.includes(CANARY)), 'with the home as its folder the parent reads it unasked');
  home.set(RULES);
  const closed = await play();
  assert.equal(closed.got.error, false, closed.got.text);
  closed.assertOnlyIn(CANARY, 'scanner');
});

onEachClient('26f: what a shell may still do in spite of the rules, as the page says', async ({ home, client, file }) => {
  home.set(RULES);
  const commands = ['grep -Rho "CANARY.*" ~', `cat < ${file}`, `python3 -c "print(open('${file}').read())"`];
  const leaks = async (...args) => {
    const session = await home.play({ parent: [commands.map((command) => bash(command)), say('Done.')] }, args);
    return session.answers('parent').map(({ text }) => /CANARY-7f3d/.test(text));
  };
  const redirects = REDIRECTS_OUT.includes(client.version);
  assert.deepEqual(await leaks('--add-dir', home.home), [true, redirects, false]);
  assert.deepEqual(await leaks(), [false, redirects, false]);
  assert.deepEqual(await leaks('--allowedTools', 'Bash'), [true, redirects, true]);
});

// Interactive sessions start in it since 2.1.283; 2.1.197 has it, too.
onEachClient('26g: in auto mode the parent reads all of it unasked, and with the rules that setup writes only the map', async ({ home, file }) => {
  // A first session, whose transcript and tasks stay.
  assert.equal((await scan(home)).got.error, false);
  const kept = await transcripts(home);
  const places = { catalog: [file], map: [home.mapFile], transcript: kept.filter((name) => name.endsWith('.jsonl')), task: kept.filter((name) => name.endsWith('.output')) };
  const script = { parent: [Object.values(places).flat().map(read), ...DONE] };
  const isTold = ({ text }) => text.includes(CANARY) || text.includes(KEY);
  const told = async (mode) => {
    const session = await home.session(script, ['--permission-mode', mode]);
    const read = session.answers('parent', 'Read').filter(isTold).map(({ input }) => input.file_path);
    return Object.keys(places).filter((place) => places[place].some((name) => read.includes(name)));
  };
  assert.deepEqual(await told('auto'), Object.keys(places));
  assert.deepEqual(await told('default'), ['transcript', 'task']);
  const deny = [...RULES.permissions.deny, `Read(/${home.root}/tmp/claude-*/**)`];
  home.set({ permissions: { deny } });
  assert.deepEqual(await told('auto'), ['map']);
  assert.deepEqual(await told('default'), []);
  // Not in auto mode: whether an agent starts there, a model decides.
  assert.equal((await scan(home)).got.error, false, 'the agent is served');
});

onEachClient('26h: the rules that setup writes keep a shell that may do anything from our programs', async ({ home }) => {
  home.set(RULES);
  const { root, data } = home.installed('keyhole');
  const command = (program, ask) => bash(`printf '%s' '${JSON.stringify(ask)}' | ${program}`);
  const ask = { hook_event_name: 'SubagentStart', agent_id: `a${'0'.repeat(16)}`, agent_type: SCANNER };
  const parent = [
    [
      command(`${programIn(root)} inject`, ask),
      command(`sh ${root}/start.sh ${data} inject`, ask),
      command(`${programIn(root)} withhold`, { agent: SCANNER, report: CANARY }),
      command(`${programIn(root)} serve --agent ${SCANNER}`, {}),
      command(`${programIn(root)} setup`, {}),
    ],
    say('Done.'),
  ];
  const session = await home.play({ parent }, ['--allowedTools', 'Bash']);
  for (const { input, text, error } of session.answers('parent', 'Bash')) {
    assert.equal(error, true, `${input.command}: ${text}`);
    assert.match(text, /denied/, input.command);
  }
});

/** The clients that ask in a terminal before the first read outside the project in auto mode. */
const ASKS_ONCE = ['2.1.332'];

onEachClient('26i: in a terminal in auto mode, such a read is asked about once, or not at all, and with the rules it is denied', { terminal: true }, async ({ home, client, file }) => {
  const asks = ({ drawn }) => drawn.includes('Yes,andkeepallowinganyreadsoutside');
  const play = () => home.terminal(
    { parent: [read(file), ...DONE] },
    (session) => session.has('parent', 1) || asks(session),
    {},
    ['--permission-mode', 'auto'],
  );
  const open = await play();
  assert.equal(asks(open), ASKS_ONCE.includes(client.version));
  if (!asks(open)) assert.ok(open.answer('parent', 'Read').text.includes(CANARY));
  home.set(RULES);
  const closed = await play();
  assert.equal(closed.answer('parent', 'Read').error, true);
  closed.assertOnlyIn(CANARY);
});

onEachClient("26j: the first session after setup is served, its rules hold, and remove restores the map and the settings", { map: false, terminal: true }, async ({ home }) => {
  const file = home.write(home.home, 'private/catalog.md', CATALOG);
  const settings = path.join(home.home, '.claude/settings.json');
  const before = fs.readFileSync(settings, 'latin1');
  // As a user who has no other program.
  const setup = (...words) => home.agreed(home.plugin('bin/keyhole'), 'setup', ...words);
  const shown = await setup('plugin', '--file', '~/private/catalog.md');
  assert.match(shown, SERVED);
  const reads = [read(file), bash(`cat ${file}`), grep('CANARY', path.dirname(file))];
  const session = await scan(home, { parent: [reads, spawn('scanner', SCANNER), say('Done.')] }, ['--add-dir', home.home]);
  assert.deepEqual([session.got.error, session.got.text], [false, CATALOG]);
  session.assertOnlyIn(CANARY, 'scanner');
  await setup('remove', 'plugin');
  assert.equal(fs.readFileSync(settings, 'latin1'), before);
  assert.equal(fs.existsSync(home.mapFile), false);
});
