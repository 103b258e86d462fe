// What a parent that turns against its user may read by other ways, in the default permission
// mode, and with the rules that setup writes.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { onEachClient } from './harness/case.mjs';
import { lacking, transcript, transcripts } from './harness/kept.mjs';
import { CANARY, DONE, KEY, RULES, SCANNER, bash, call, plain, programIn, read, say, scan, spawn } from './harness/plugin.mjs';

const grep = (pattern, path) => call('Grep', { pattern, path, output_mode: 'content' });

onEachClient('parent-cannot-read: the parent cannot read the key, the map, the file or the data directory', async ({ home, file }) => {
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

// A client's idea of what a command reads is its own, and has had gaps. Users who
// must not depend on it remove Bash from the session, or keep the files
// elsewhere.
onEachClient('redirection-stays-inside: a redirection does not read outside the project either', async ({ home, file }) => {
  const session = await home.play({ parent: [bash(`head -5 < ${file}`), say('Done.')] });
  assert.ok(!session.answer('parent', 'Bash').text.includes(CANARY));
});

// The client writes what a subagent saw to a transcript, which the parent of the
// same session may read. No plugin can prevent that; the user can, by a rule, or
// by having no transcripts written.
onEachClient("transcript-can-be-kept: a user can keep the subagent's transcript from the parent", async ({ home, client }) => {
  /** Whether anybody else than the scanner has the catalog, by this turn of the parent. */
  const leaks = async (turn, more) => {
    // Of what runs in the background it learns in turns of their own.
    const session = await home.play(plain(client, { parent: [spawn('scanner', SCANNER, more), turn, ...DONE] }));
    return session.requests.some(({ actor, text }) => actor !== 'scanner' && text.includes(CANARY));
  };
  const byName = async () => (await written(home)).flatMap((name) => [read(name), bash(`cat ${name}`)]);

  const unwritten = await scan(home, {}, ['--no-session-persistence']);
  assert.equal(unwritten.got.error, false);
  assert.deepEqual(home.holding(CANARY, path.join(home.home, '.claude')), []);

  assert.ok(await leaks(byName), 'this client keeps transcripts from the parent by itself: drop the rule from the advice');
  home.set({ permissions: { deny: ['Read(~/.claude/projects/**/subagents/**)'] } });
  assert.ok(!(await leaks(byName)));
  const byLinks = async () => {
    await transcript(home);
    const { all, grep } = ways(home);
    return [all, grep];
  };
  assert.ok(await leaks(byLinks), 'the rules for tasks are not needed any more: drop them from the advice');
});

/** The rules that setup writes, for the folder of tasks that this home has. */
function rules(home) {
  const deny = RULES.permissions.deny.map((rule) => rule.replace('//tmp/', `/${home.root}/tmp/`));
  return { permissions: { deny } };
}

/** Of these rules, the document's own. */
const document = { permissions: { deny: RULES.permissions.deny.filter((rule) => rule.startsWith('Read(~/private/')) } };

/** What the client's tasks have printed, the newest last. */
function outputs(home) {
  const all = home.files(path.join(home.root, 'tmp')).filter((name) => name.endsWith('.output'));
  const time = (name) => fs.lstatSync(name).mtimeMs;
  return all.sort((one, other) => time(one) - time(other));
}

/**
 * A command that prints a part: of whole files, not the beginning, where the client keeps the
 * agent's text, so that what the agent read is in it. Of more, the client shows only the beginning, which tells
 * nothing; and it may read what other commands print, and what it prints itself, without end.
 */
const bounded = (command, more) =>
  bash(`${command}${command.includes('cat ') ? ' | tail -c +9001' : ''} | head -c 29000`, more);

/**
 * Ways to what a subagent read, by its transcript and by the link to that among the tasks. Each
 * passes in some version of the client if no rule is in its way.
 */
function ways(home) {
  const [transcript] = transcripts(home);
  // A shell gets further among the tasks of its own session.
  const tasksNow = path.dirname(outputs(home).at(-1));
  const link = path.join(tasksNow, path.basename(outputs(home).findLast((name) => fs.lstatSync(name).isSymbolicLink())));
  // A session that started no agent has none yet.
  if (!fs.existsSync(link)) fs.symlinkSync(transcript, link);
  const [subagents, tasks] = [transcript, link].map(path.dirname);
  const [session, kept] = [tasks, subagents].map(path.dirname);
  const search = (folder) => `grep -Rho 'ZQ-CANARY[^"]*' ${folder}`;
  const shell = {
    cat: `cat ${link}`,
    a: `cat ${tasks}/a*`,
    all: `cat ${tasks}/*`,
    ending: `cat ${tasks}/*.output`,
    set: `cat ${tasks}/[a]*`,
    marks: `cat ${tasks}/?????????????????.output`,
    sets: `cat ${tasks}/[a-z]${'[0-9a-f]'.repeat(16)}.output`,
    above: `cat ${session}/*/*.output`,
    'mark above': `cat ${session}/task?/${path.basename(link)}`,
    'a letter': `cat ${session}/t*/*`,
    grep: search(tasks),
    'grep above': search(session),
    'grep in quotes': search(`"${session}"`),
    'grep of a glob': `grep -h ZQ ${session}/*/*`,
    'option last': `grep ZQ ${session} -Rh`,
    rg: `rg -L ZQ ${session}`,
    'rg, option last': `rg ZQ ${session} -L`,
    redirect: `cat < ${link}`,
    'redirect, glob': `cat < ${tasks}/a*`,
    'cd, all': `cd ${tasks} && cat *.output`,
    'cd, a': `cd ${tasks} && cat a*`,
    'cd above': `cd ${session} && cat tasks/a*`,
    transcript: `cat ${transcript}`,
    'transcript, redirect': `cat < ${transcript}`,
    'transcript, mark': `cat ${transcript.replace('/subagents/', '/subagent?/')}`,
    'transcripts, all': `cat ${subagents}/*`,
    'transcripts, globs': `cat ${kept}/*/*`,
    'transcripts, grep': search(kept),
    'transcripts, rg': `rg ZQ ${kept}`,
    'transcripts, cd': `cd ${subagents} && cat *`,
    'transcripts, cd above': `cd ${kept} && cat subagents/*`,
    'transcripts, cd and globs': `cd ${kept} && cat */*`,
    'transcripts, cd and grep': `cd ${kept} && grep -rh CANARY .`,
  };
  return {
    ...Object.fromEntries(Object.entries(shell).map(([name, command]) => [name, bounded(command)])),
    'grep behind': bounded(search(session), { run_in_background: true }),
    Read: read(link),
    'Read of the transcript': read(transcript),
  };
}

/** Those that the client itself keeps back: they say nothing about the rules. */
const KEPT = [
  'redirect, glob', 'cd, all', 'cd, a', 'cd above',
  'transcripts, cd', 'transcripts, cd above', 'transcripts, cd and globs', 'transcripts, cd and grep',
];

/** What a command printed: of one in the background, the answer only says where. */
function printed({ text }) {
  const [, file] = text.match(/is being written to: (\S+\.output)/) ?? [];
  return file ? fs.readFileSync(file, 'utf8') : text;
}

onEachClient('rules-keep: the rules that setup writes keep what a subagent read from the parent', async ({ home, client }) => {
  let tried;
  /** The ways by which the parent reads it. */
  const passes = async (mode, settings, begins = []) => {
    home.set(settings);
    const turn = async () => {
      await transcript(home);
      tried = ways(home);
      return Object.values(tried);
    };
    const script = plain(client, { parent: [...begins, turn, ...DONE] });
    const session = await home.session(script, ['--permission-mode', mode]);
    assert.deepEqual(session.unscripted, []);
    const answers = session.answers('parent').slice(begins.length);
    const passed = Object.keys(tried).filter((_, at) => printed(answers[at]).includes(CANARY));
    // What runs in the background is told later.
    const told = session.requests.some(({ actor, text }) => actor !== 'scanner' && text.includes(CANARY));
    assert.equal(told, passed.length > 0);
    return passed;
  };
  assert.deepEqual(await passes('default', rules(home), [spawn('scanner', SCANNER)]), []);
  // Not in auto mode: whether an agent starts there, a model decides.
  const task = bash('echo', { run_in_background: true });
  assert.deepEqual(await passes('auto', rules(home), [task]), []);
  // Last: from here on, more files tell what the subagent read.
  // On a busy machine, what a way prints may be something else at first.
  const open = new Set();
  const can = () => Object.keys(tried).filter((name) => !KEPT.includes(name));
  for (let tries = 3; tries > 0 && (tries === 3 || can().some((name) => !open.has(name))); tries -= 1) {
    for (const name of await passes('default', document, [spawn('scanner', SCANNER)])) open.add(name);
  }
  assert.deepEqual(Object.keys(tried).filter((name) => open.has(name)), can());
});

onEachClient('rules-let: under the rules that setup writes the parent has its background output, its long outputs and its memory, and under wider ones it has not', { terminal: true }, async ({ home }) => {
  const play = (mode) => (script, ...more) => home.session(script, ['--permission-mode', mode, ...more]);
  const inTerminal = (script, ...more) =>
    home.terminal(script, (session) => session.has('parent', 4), {}, [...more, '--permission-mode', 'default']);
  home.set(rules(home));
  for (const mode of ['default', 'auto']) assert.deepEqual(await lacking(home, 1, play(mode)), [], mode);
  assert.deepEqual(await lacking(home, 1, inTerminal), [], 'in a terminal');
  // Rules for whole folders would take all of it away.
  home.set({ permissions: { deny: ['Read(~/.claude/projects/**)', `Read(/${home.root}/tmp/claude-*/**)`] } });
  assert.deepEqual(await lacking(home, 1, play('default')), ['behind', 'long', 'behind, by the shell', 'memory']);
});

/** The transcripts, and their other names, once the client has written them. */
async function written(home) {
  await transcript(home);
  return [...transcripts(home), ...home.files(path.join(home.root, 'tmp')).filter((name) => name.endsWith('.output'))];
}

onEachClient('rules-keep-catalog: the rules that setup writes keep the catalog from the parent, and the agent is served', async ({ home, file }) => {
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

onEachClient('rules-do-not-bind-shells: what a shell may still do in spite of the rules, as the page says', async ({ home, file }) => {
  home.set(RULES);
  const commands = ['grep -Rho "CANARY.*" ~', `cat < ${file}`, `python3 -c "print(open('${file}').read())"`];
  const leaks = async (...args) => {
    const session = await home.play({ parent: [commands.map((command) => bash(command)), say('Done.')] }, args);
    return session.answers('parent').map(({ text }) => /CANARY-7f3d/.test(text));
  };
  assert.deepEqual(await leaks('--add-dir', home.home), [true, false, false]);
  assert.deepEqual(await leaks(), [false, false, false]);
  assert.deepEqual(await leaks('--allowedTools', 'Bash'), [true, false, true]);
});

// Sessions start in it.
onEachClient('auto-mode-reads-unasked: in auto mode the parent reads all of it unasked, and with the rules that setup writes only the map', async ({ home, file }) => {
  // A first session, whose transcript and tasks stay.
  assert.equal((await scan(home)).got.error, false);
  const kept = await written(home);
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
  home.set(rules(home));
  assert.deepEqual(await told('auto'), ['map']);
  assert.deepEqual(await told('default'), []);
  // Not in auto mode: whether an agent starts there, a model decides.
  assert.equal((await scan(home)).got.error, false, 'the agent is served');
});

onEachClient('rules-stop-our-programs: the rules that setup writes keep a shell that may do anything from our programs', async ({ home }) => {
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
      command(`cd ${root} && keyhole serve`, {}),
    ],
    say('Done.'),
  ];
  const session = await home.play({ parent }, ['--allowedTools', 'Bash']);
  for (const { input, text, error } of session.answers('parent', 'Bash')) {
    assert.equal(error, true, `${input.command}: ${text}`);
    assert.match(text, /denied/, input.command);
  }
});

onEachClient('auto-mode-asks-once: in a terminal in auto mode, a read outside the project is asked about once, and with the rules it is denied', { terminal: true }, async ({ home, file }) => {
  const asks = ({ drawn }) => drawn.includes('Yes,andkeepallowinganyreadsoutside');
  const play = () => home.terminal(
    { parent: [read(file), ...DONE] },
    (session) => session.has('parent', 1) || asks(session),
    {},
    ['--permission-mode', 'auto'],
  );
  assert.ok(asks(await play()));
  home.set(RULES);
  const closed = await play();
  assert.equal(closed.answer('parent', 'Read').error, true);
  closed.assertOnlyIn(CANARY);
});

// Why a file needs a tool of its own: the client can give an agent no wider reach for its own tools.
onEachClient("no-wider-read: an agent's Read reaches no more than that of the session that starts it, whatever its file and the rules say", async ({ home, file }) => {
  const permissions = JSON.stringify({ allow: [`Read(/${file})`] });
  home.agent(home.home, { name: 'reader', tools: 'Read', permissionMode: 'bypassPermissions', permissions });
  const inside = home.write(home.project, 'inside.txt', 'inside\n');
  const beside = home.write(home.root, 'beside/beside.txt', 'beside\n');
  const reads = [inside, beside, file].map(read);
  for (const settings of [{}, { allow: [`Read(/${beside})`] }, { deny: [`Read(/${inside})`], allow: ['Read'] }]) {
    home.set({ permissions: settings });
    const session = await home.play({
      parent: [reads, spawn('scanner', SCANNER), spawn('reader', 'reader'), say('Done.')],
      scanner: [reads, say('Done.')],
      reader: [reads, say('Done.')],
    });
    const refused = (actor) => session.answers(actor, 'Read').map(({ error }) => error);
    const own = refused('parent');
    assert.equal(own.length, reads.length);
    for (const actor of ['scanner', 'reader']) {
      const isWithin = refused(actor).every((isRefused, at) => isRefused || !own[at]);
      assert.ok(isWithin, `${actor}, ${JSON.stringify(settings)}`);
    }
    // It is no wonder if nobody may read anything.
    assert.ok(own.includes(false) && refused('reader').includes(false), JSON.stringify(settings));
  }
});
