// The client's own sandbox around its shells, with the settings that `keyhole setup` writes: what
// a main conversation whose shell may do anything reads of the document. Each try is also played
// where it has to leak, so that nothing passes for another reason. What is known to leak in some
// version of the client stands in lists, checked both ways, so that a change shows.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { onEachClient } from './harness/case.mjs';
import { Home } from './harness/home.mjs';
import { noSandbox, unprivileged } from './harness/ordinary.mjs';
import { CANARY, CATALOG, DONE, KEY, PACKAGED, SANDBOX, SCANNER, bash, call, catalog, plain, programIn, say, search, spawn } from './harness/plugin.mjs';
import { recorded } from '../harness/recorded.mjs';

const AGENT = 'catalog-scanner';
const TOOL = `mcp__${AGENT}__load_context`;
/** Ours, where every user can start it. */
const PROGRAM = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'keyhole-program-')), 'keyhole');
fs.chmodSync(path.dirname(PROGRAM), 0o755);
fs.copyFileSync(programIn(PACKAGED), PROGRAM);
fs.chmodSync(PROGRAM, 0o755);
process.on('exit', () => fs.rmSync(path.dirname(PROGRAM), { recursive: true }));
const POISON = 'ZQ-POISON-51c0';
const BASH = ['--allowedTools', 'Bash'];
/** Permissions are skipped, which a client that runs as root allows only in a sandbox. */
const SKIPPED = [['--dangerously-skip-permissions'], { IS_SANDBOX: '1' }];

/** The case, by an ordinary user: for root, the client has another sandbox. */
function onEachShell(name, ...more) {
  const run = more.pop();
  onEachClient(name, { plugin: 'none', terminal: true, ...more[0] }, async (given) => {
    const without = noSandbox();
    if (without) return given.t.skip(without);
    unprivileged(given.t, given.home);
    await run(given);
  });
}

/**
 * The document, an agent of one's own, and the sandbox, as setup writes them. Returns the settings
 * that it prints for an administrator.
 */
async function setUp(home) {
  home.write(home.home, 'private/catalog.md', CATALOG);
  home.sandboxed = true;
  const shown = await home.agreed(PROGRAM, ...recorded('claude-code', AGENT, '~/private/catalog.md'));
  const { sandbox, permissions } = home.settings();
  assert.deepEqual(sandbox, SANDBOX.sandbox);
  for (const rule of SANDBOX.permissions.deny) assert.ok(permissions.deny.includes(rule), rule);
  return JSON.parse(shown.match(/```json\n([^]*?)```/)[1]);
}

/** The same settings without the sandbox. */
const open = (home) => home.set({ sandbox: undefined });

const agent = (actor, more) => spawn(actor, AGENT, more);
const ALONE = [call(TOOL, {}), say('Done.')];

/** These actors got the document, by their own calls, and nobody else did. */
function served(session, ...actors) {
  for (const actor of actors) {
    const { text, error } = session.answers(actor).at(-1);
    assert.deepEqual([error, text], [false, CATALOG], actor);
  }
  session.assertOnlyIn(CANARY, ...actors);
}

/** Values as a program is to get them, a line each. */
const input = (...values) => `printf '%s\\n' ${values.map((value) => `'${JSON.stringify(value)}'`).join(' ')}`;

/** A client of ours that calls the tool once. */
function asks(args) {
  const init = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
  const ask = (method, params, id) => ({ jsonrpc: '2.0', id, method, params });
  return input(ask('initialize', init, 1), ask('notifications/initialized'), ask('tools/call', { name: 'load_context', arguments: args }, 2));
}

/** Ways of a shell to the document, by programs that are there and by ours. */
function ways(home) {
  const file = path.join(home.home, 'private/catalog.md');
  const folder = path.dirname(file);
  return {
    cat: `cat ${file}`,
    link: `ln -s ${file} linked; cat linked`,
    root: `cat /proc/self/root${file}`,
    cp: `cp ${file} copied; cat copied`,
    mv: `mv ${file} moved && cat moved && mv moved ${file}`,
    'mv-folder': `mv ${folder} ${folder}s && cat ${folder}s/* && mv ${folder}s ${folder}`,
    python: `python3 -c "print(open('${file}').read())"`,
    node: `node -e "console.log(require('fs').readFileSync('${file}', 'utf8'))"`,
    grep: `grep -Rhos 'ZQ-CANARY-[0-9a-f]*' ${home.home}`,
    'hard-link': `ln ${file} other; cat other`,
    namespace: `unshare -rm sh -c 'umount ${file}; umount ${folder}; mkdir x; mount --bind ${folder} x; cat ${file} x/*'`,
    bwrap: `bwrap --bind / / cat ${file}`,
    behind: `(cat ${file} >behind; echo >ended) & while [ ! -e ended ]; do sleep 0.05; done; cat behind`,
    serve: `${asks({})} | ${PROGRAM} serve --bind ${AGENT}`,
    'serve-renamed': `cp ${PROGRAM} k; ${asks({})} | ./k serve --bind ${AGENT}`,
  };
}

/** Ways to what the plugin's agent gets. */
function programs() {
  const started = { hook_event_name: 'SubagentStart', agent_id: `a${'0'.repeat(16)}`, agent_type: SCANNER };
  return {
    'serve-plugin': `${asks({ key: KEY })} | ${PROGRAM} serve --agent ${SCANNER}`,
    inject: `${input(started)} | ${PROGRAM} inject`,
  };
}

/** What our programs say to a shell that has no document: an answer would tell of what is in it. */
const JUDGES = {
  withhold: `${input({ agent: SCANNER, report: CANARY })} | ${PROGRAM} withhold`,
  check: `${PROGRAM} check`,
};

/**
 * Has each of these as a call of the shell, in a folder of its own. They are programs, since the
 * client looks at the words of a command.
 */
function scripts(home, all) {
  const program = (name, lines) => fs.chmodSync(home.write(home.project, `ways/${name}`, `#!/bin/sh\n${lines}\n`), 0o755);
  for (const [name, lines] of Object.entries(all)) program(name, `cd "$(mktemp -d -p .)"; ${lines}`);
  program('some', 'for way in cat python serve; do "ways/$way"; done; echo ENDED');
  return Object.keys(all).map((name) => bash(`./ways/${name}`));
}

/** Some of them in one call. */
const some = (more) => bash('./ways/some', more);

/** The file in which the output of a command in the background comes to be: of the last one. */
const outputIn = ({ messages }) =>
  messages.flatMap(({ results }) => results.flatMap(({ text }) => text.match(/\S+\/tasks\/\w+\.output/g) ?? [])).at(-1);

/**
 * What shells of a session read and say: each way in a call of its own, then some of them in each
 * kind of shell. After that, the agents are started, unless `agents` is false.
 */
async function tried(home, all, play, agents = true) {
  const calls = scripts(home, all);
  const kinds = { unsandboxed: some({ dangerouslyDisableSandbox: true }), behind: some({ run_in_background: true }) };
  let behind;
  const wait = async (request) => {
    behind = outputIn(request);
    assert.ok(behind, JSON.stringify(request.messages).slice(-3000));
    await home.until('the end of what runs in the background', () => fs.existsSync(behind) && fs.readFileSync(behind, 'utf8').includes('ENDED'));
    return agents ? [agent('one'), spawn('other', 'general-purpose')] : say('Done.');
  };
  const session = await play({
    parent: [[...calls, ...Object.values(kinds)], wait, ...DONE],
    ...(agents && { one: ALONE, other: [some(), say('Done.')] }),
  });
  assert.deepEqual(session.unscripted, [], session.report());
  const answers = session.answers('parent', 'Bash').map(({ text }) => text);
  answers[answers.length - 1] = fs.readFileSync(behind, 'utf8');
  const said = Object.fromEntries([...Object.keys(all), ...Object.keys(kinds)].map((name, at) => [name, answers[at]]));
  if (agents) said['of a subagent'] = session.answer('other', 'Bash').text;
  for (const [name, text] of Object.entries(said)) assert.doesNotMatch(text, /requested permission|has been denied/, name);
  return { session, said, leaks: Object.keys(said).filter((name) => said[name].includes(CANARY)) };
}

/** Which sessions, with what the shell is allowed. */
const inSession = (home, ...more) => (script) => home.session(script, ...more);
const inTerminal = (home, ...more) => (script) =>
  home.terminal(script, (session) => session.has('one', 1) && session.has('other', 1), {}, more);

onEachShell('shells-held: no shell of a session reads the document, whatever is allowed, and the agents are served', { plugin: 'whole', map: false }, async ({ home, client }) => {
  catalog(home, { withhold: true });
  await setUp(home);
  const all = { ...ways(home), ...programs() };
  const few = { cat: all.cat, python: all.python, serve: all.serve };
  const first = await tried(home, { ...all, ...JUDGES }, inSession(home, BASH));
  assert.deepEqual(first.leaks, []);
  assert.match(first.said.check, /Exit code 2/);
  assert.match(first.said.withhold, /map-invalid/);
  served(first.session, 'one');

  for (const [what, play, agents] of [
    ['in a terminal', inTerminal(home, ...BASH, '--permission-mode', 'default')],
    ['without permissions', inSession(home, ...SKIPPED)],
    // Whether an agent starts there, a model decides.
    ['in auto mode', inSession(home, ['--allowedTools', 'Bash(./ways/*)', '--permission-mode', 'auto']), false],
  ]) {
    const { session, leaks } = await tried(home, few, play, agents);
    assert.deepEqual(leaks, [], what);
    served(session, ...(agents === false ? [] : ['one']));
  }

  const plugin = await home.session(plain(client, { parent: [some(), spawn('scanner', SCANNER), some(), ...DONE] }), ...SKIPPED);
  served(plugin, 'scanner');
});

onEachShell('shells-open: without the sandbox, each of these ways reads it', { plugin: 'whole', map: false }, async ({ home }) => {
  catalog(home, { withhold: true });
  await setUp(home);
  open(home);
  const all = { ...ways(home), ...programs() };
  const { said, leaks } = await tried(home, { ...all, ...JUDGES }, inSession(home, BASH));
  assert.deepEqual(leaks, Object.keys(said).filter((name) => !(name in JUDGES)));
  assert.match(said.check, /would be served/);
  assert.match(said.withhold, /\[withheld\]/);
});

/** The transcripts of agents, once the client has written them. */
async function transcripts(home) {
  const found = () => home.holding(CANARY, path.join(home.home, '.claude/projects'));
  await home.until('a transcript', () => found().some((name) => name.includes('/subagents/')));
  return found();
}

/**
 * What two shells read of an agent's conversation: one that runs since before the agent began,
 * and one that begins after it. Both look everywhere but where the document is.
 */
async function searched(home, play) {
  const search = `grep -RIhos --exclude-dir=private 'ZQ-CANARY-[0-9a-f]*' ${home.home} ${home.root}/tmp`;
  home.write(home.project, 'watch', `while [ ! -e stop ]; do ${search} >>watched; echo >>passes; sleep 0.2; done; echo ENDED\n`);
  const file = (name) => path.join(home.project, name);
  const passes = () => (fs.existsSync(file('passes')) ? fs.statSync(file('passes')).size : 0);
  for (const name of ['stop', 'watched', 'passes']) fs.rmSync(file(name), { force: true });
  const session = await play({
    parent: [
      bash('sh ./watch', { run_in_background: true }),
      async () => {
        await home.until('a first search', () => passes() > 0);
        return agent('one');
      },
      async () => {
        await transcripts(home);
        const before = passes();
        // One may have begun before they were there.
        await home.until('two more searches', () => passes() > before + 1);
        fs.writeFileSync(file('stop'), '');
        home.write(home.project, 'search', `${search}\n`);
        return bash('sh ./search');
      },
      ...DONE,
    ],
    one: ALONE,
  });
  assert.deepEqual(session.unscripted, [], session.report());
  const watched = fs.readFileSync(file('watched'), 'utf8').includes(CANARY);
  return { session, watched, after: session.answers('parent', 'Bash').at(-1).text.includes(CANARY) };
}

onEachShell("shells-kept: no shell reads an agent's conversation, not even one that runs since before it began, and the main conversation keeps its own", async ({ home }) => {
  await setUp(home);
  const play = (...more) => (script) => home.session(script, BASH, ...more);
  const { session, ...kept } = await searched(home, play());
  assert.deepEqual(kept, { watched: false, after: false });
  served(session, 'one');

  // By its repository, the client knows a project.
  assert.equal(spawnSync('git', ['init', '--quiet', home.project]).status, 0);
  const memory = path.join(home.home, '.claude/projects', home.project.replace(/[^a-zA-Z0-9]/g, '-'), 'memory/MEMORY.md');
  const read = (file_path, more) => call('Read', { file_path, ...more });
  const has = async (mode) => {
    const begin = [bash('echo ZQ-BEHIND', { run_in_background: true }), bash('seq 1 60000')];
    const look = async (request) => {
      const behind = outputIn(request);
      const [long] = JSON.stringify(request.messages).match(/\/[^\s"]+\/tool-results\/[\w-]+\.\w+/);
      await home.until('the output', () => home.holding('ZQ-BEHIND', path.dirname(behind)).includes(behind));
      return [read(behind), read(long, { offset: 50000, limit: 9 }), bash(`tail -3 ${behind}`), bash(`sed -n 50003p ${long}`)];
    };
    const script = { parent: [begin, look, call('Write', { file_path: memory, content: 'ZQ-MEMORY\n' }), read(memory), ...DONE] };
    const session = await home.session(script, ['--allowedTools', 'Bash(seq:*)', '--permission-mode', mode]);
    assert.deepEqual(session.unscripted, [], session.report());
    fs.rmSync(memory, { force: true });
    const [behind, long, tail, line, , remembered] = session.answers('parent').slice(begin.length).map(({ text }) => text);
    return {
      behind: behind.includes('ZQ-BEHIND'),
      long: long.includes('50003'),
      'behind, by the shell': tail.includes('ZQ-BEHIND'),
      'long, by the shell': line.includes('50003'),
      memory: remembered.includes('ZQ-MEMORY'),
    };
  };
  for (const mode of ['default', 'auto']) {
    assert.deepEqual(Object.entries(await has(mode)).filter(([, is]) => !is), [], mode);
  }

  // With the rules alone, what a shell may read is decided when it begins.
  home.set({ sandbox: { ...SANDBOX.sandbox, filesystem: undefined } });
  const { session: _, ...rules } = await searched(home, play());
  assert.deepEqual(rules, { watched: true, after: false });
  open(home);
  const { session: __, ...without } = await searched(home, play());
  assert.deepEqual(without, { watched: true, after: true });
});

/** The rules for the document itself: for its folder, and for its path. */
const [FOLDER, FILE] = ['Read(~/private/**)', 'Read(~/private/catalog.md)'];

/** The sandbox with such rules, as settings. */
const walled = (...deny) => ({ ...SANDBOX, permissions: { deny: [...deny, ...SANDBOX.permissions.deny] } });

/** A home with the document, in which the project has a program that reads it. */
function bare(home, text = CATALOG) {
  const file = home.write(home.home, 'private/catalog.md', text);
  fs.chmodSync(home.write(home.project, 'read', `#!/bin/sh\ncat ${file}\n`), 0o755);
  return file;
}

const READS = [bash('./read'), bash('./read', { dangerouslyDisableSandbox: true })];
const leaked = (session) => session.answers('parent').some(({ text }) => text.includes(CANARY));

/** Settings of a project that might take the wall down. */
function takedowns(home) {
  const folder = path.join(home.home, 'private');
  const filesystem = (one) => ({ sandbox: { filesystem: one } });
  return {
    disabled: { sandbox: { enabled: false } },
    'allowRead of the folder': filesystem({ allowRead: [folder] }),
    'allowRead of the file': filesystem({ allowRead: [`${folder}/catalog.md`] }),
    allowWrite: filesystem({ allowWrite: [folder] }),
    'filesystem.disabled': filesystem({ disabled: true }),
    additionalDirectories: { permissions: { additionalDirectories: [folder] } },
    'allow Edit': { permissions: { allow: [`Edit(/${folder}/**)`] } },
    excludedCommands: { sandbox: { excludedCommands: ['./read'] } },
    allowUnsandboxedCommands: { sandbox: { allowUnsandboxedCommands: true, failIfUnavailable: false } },
    bwrapPath: { sandbox: { bwrapPath: `${home.project}/bin/bwrap`, socatPath: `${home.project}/bin/bwrap` } },
    HOME: { env: { HOME: home.project, CLAUDE_CONFIG_DIR: home.project } },
    // The client starts the project's bubblewrap. This one is no sandbox, and copies the document.
    PATH: { env: { PATH: `${home.project}/bin:${process.env.PATH}` } },
    'wrong types': { sandbox: { enabled: 'no', filesystem: 'off', excludedCommands: 1 }, permissions: { deny: 1 } },
  };
}

/** Both of them: a list goes on, and objects are merged. */
function merged(one, other) {
  if (Array.isArray(one)) return [...one, ...other];
  if (typeof one !== 'object') return other;
  const both = Object.keys(one).filter((name) => name in other).map((name) => [name, merged(one[name], other[name])]);
  return { ...one, ...other, ...Object.fromEntries(both) };
}

/** These are not joined with others: nothing else of such a file might count. */
const APART = ['wrong types', 'HOME'];

const BOTH = ['2.1.197', '2.1.332'];

/**
 * What takes the wall down, by where the settings are, and the clients in which it does. Those for
 * an administrator name PATH themselves.
 */
const TAKEN = {
  user: { disabled: BOTH, 'allowRead of the file': BOTH, excludedCommands: BOTH, PATH: BOTH },
  argument: { 'allowRead of the file': ['2.1.197'], excludedCommands: ['2.1.197'] },
  managed: { excludedCommands: ['2.1.197'] },
};

/** What does so in each client if only the folder has a rule. */
const NEEDS_FILE = ['allowRead of the folder', 'allowWrite', 'additionalDirectories', 'allow Edit'];

/**
 * Those of the takedowns that make a shell read the document. What is known to do so is played
 * one by one, and the others together, in either file, with the project trusted or not: one by
 * one only if they do so.
 */
async function takenDown(home, known, others = true, args = []) {
  const all = takedowns(home);
  const copy = `#!/bin/sh\ncat ${home.home}/private/catalog.md >${home.project}/got 2>&1\nPATH=\${PATH#*:}; exec bwrap "$@"\n`;
  fs.chmodSync(home.write(home.project, 'bin/bwrap', copy), 0o755);
  const reads = async (settings, file = 'settings.json') => {
    for (const name of ['.claude', 'got']) fs.rmSync(path.join(home.project, name), { recursive: true, force: true });
    home.write(home.project, `.claude/${file}`, JSON.stringify(settings));
    return leaked(await home.play({ parent: [[...READS, bash('cat got; true')], say('Done.')] }, [...BASH, ...args]));
  };
  const leaks = [];
  const singly = async (names) => {
    for (const name of names) if (await reads(all[name])) leaks.push(name);
  };
  await singly([...known, ...(others ? APART : [])]);
  if (!others) return leaks;
  const rest = Object.keys(all).filter((name) => !known.includes(name) && !APART.includes(name));
  const together = rest.map((name) => all[name]).reduce(merged);
  const untrusted = await reads(together, 'settings.local.json');
  home.trust();
  if (untrusted || (await reads(together))) await singly(rest);
  return leaks;
}

onEachShell("shells-project: what a project's settings take down of the user's, of an administrator's and of an argument's is known", async ({ t, home, client }) => {
  const settings = walled(FOLDER, FILE);
  const other = () => {
    const home = new Home(t, client);
    unprivileged(t, home);
    bare(home);
    return home;
  };
  const play = async (form, begin, ...args) => {
    const home = other();
    if (begin(home) === false) return t.diagnostic(`skipped: ${form} (an administrator's settings cannot be played here)`);
    const known = Object.keys(TAKEN[form]).filter((name) => TAKEN[form][name].includes(client.version));
    assert.deepEqual(await takenDown(home, known, ...args), known, form);
  };
  const needsFile = async () => {
    const home = other();
    home.set(walled(FOLDER));
    assert.deepEqual(await takenDown(home, NEEDS_FILE, false), NEEDS_FILE);
  };
  const machine = await setUp(other());
  await Promise.all([
    needsFile(),
    play('user', (home) => home.set(settings)),
    play('argument', () => {}, true, ['--settings', JSON.stringify(machine)]),
    play('managed', (home) => home.manage(machine)),
  ]);

  // A session in the document's folder, or with that as another of its folders.
  bare(home);
  const script = { parent: [READS.concat(bash(`${home.project}/read`)), say('Done.')] };
  const project = home.project;
  const reads = async () => {
    const added = leaked(await home.play(script, [...BASH, '--add-dir', `${home.home}/private`]));
    home.project = `${home.home}/private`;
    const inside = leaked(await home.play(script, BASH));
    home.project = project;
    return { added, inside };
  };
  home.set(settings);
  assert.deepEqual(await reads(), { added: false, inside: false });
  home.set(walled(FOLDER));
  assert.deepEqual(await reads(), { added: true, inside: true });
});

/** The clients in which rules for a path from the session's folder follow the shell's. */
const FOLLOWS = ['2.1.197'];
/** The clients in which a shell puts another `.claude` in the place of the project's. */
const RENAMES = ['2.1.197'];

const OFF = JSON.stringify({ sandbox: { enabled: false } });

onEachShell('shells-itself: a session without permissions does not switch it off, or the client is known for it', async ({ home, client }) => {
  const project = ['.claude/settings.json', '.claude/settings.local.json'].map((name) => path.join(home.project, name));
  const user = path.join(home.home, '.claude/settings.json');
  bare(home);
  const begin = (settings) => {
    for (const name of ['.claude', 'old']) fs.rmSync(path.join(home.project, name), { recursive: true, force: true });
    // A client may look only at files that are there.
    for (const name of ['settings.json', 'settings.local.json']) home.write(home.project, `.claude/${name}`, '{}');
    fs.rmSync(user, { force: true });
    home.set(settings);
  };
  /**
   * Whether its shell reads it after these turns. The client sees a change after a while, and on
   * a busy machine not each: so it may begin once more.
   */
  const reads = async (settings, ...turns) => {
    for (let tries = 4; tries > 0; tries -= 1) {
      begin(settings);
      const poll = Array.from({ length: 20 }, () => async ({ text }) => {
        if (text.includes(CANARY)) return say('Done.');
        await sleep(200);
        return bash('./read');
      });
      const session = await home.session({ parent: [...turns, ...poll, ...DONE] }, ...SKIPPED);
      assert.deepEqual(session.unscripted, [], session.report());
      if (leaked(session)) return true;
    }
    return false;
  };
  const edit = (file) => [call('Read', { file_path: file }), call('Write', { file_path: file, content: OFF })];
  const off = () => [...project, user].filter((file) => fs.existsSync(file) && fs.readFileSync(file, 'utf8') === OFF);

  begin(walled(FOLDER, FILE));
  fs.mkdirSync(path.join(home.project, 'sub'));
  fs.symlinkSync('.claude', path.join(home.project, 'dot'));
  fs.symlinkSync(path.dirname(user), path.join(home.project, 'users'));
  const others = ['.mcp.json', '.claude/agents/x.md', '.claude/skills/x/SKILL.md', '.claude/commands/x.md', '.claude/hooks/x'];
  home.write(home.project, 'switch', [
    ...[...project, user].map((file) => `echo '${OFF}' >${file}`),
    ...[...others, `${home.home}/.claude.json`, `${home.home}/.bashrc`].map((name) => `mkdir -p "$(dirname ${name})"; echo ${POISON} >${name}`),
  ].join('\n'));
  const links = ['dot/settings.json', 'dot/settings.local.json', 'users/settings.json'].map((name) => path.join(home.project, name));
  const ways = [...project, user, ...links, `/proc/self/root${user}`];
  const held = await home.session(
    { parent: [...ways.flatMap(edit), bash('sh ./switch'), bash('cd sub'), ...edit(project[0]), bash('../read'), ...DONE] },
    ...SKIPPED,
  );
  held.assertOnlyIn(CANARY);
  assert.ok(held.answers('parent', 'Write').every(({ error }) => error), held.report());
  assert.deepEqual(off(), []);
  const isPoisoned = (file) => fs.lstatSync(file).isFile() && fs.readFileSync(file, 'utf8').includes(POISON);
  const poisoned = home.files(home.project).concat(home.files(home.home)).filter(isPoisoned);
  assert.deepEqual(poisoned.map((file) => path.relative(home.root, file)), ['project/switch']);

  // Each of them does switch it off if it can be written.
  for (const file of [project[0], user]) {
    assert.ok(await reads({ ...walled(), permissions: { deny: [FOLDER, FILE] } }, ...edit(file)), file);
  }
  // Rules for a path from the session's folder are no such rules everywhere.
  const near = ['Edit(.claude/settings.json)', 'Edit(.claude/settings.local.json)', 'Edit(~/.claude/settings.json)'];
  begin({ ...walled(), permissions: { deny: [FOLDER, FILE, ...near] } });
  await home.session({ parent: [bash('cd sub'), ...edit(project[0]), ...DONE] }, ...SKIPPED);
  assert.deepEqual(off(), FOLLOWS.includes(client.version) ? [project[0]] : []);

  begin(walled(FOLDER, FILE));
  home.write(home.project, 'rename', `mv .claude old && mkdir .claude && echo '${OFF}' >.claude/settings.json`);
  const rename = bash('sh ./rename');
  if (RENAMES.includes(client.version)) return assert.ok(await reads(walled(FOLDER, FILE), rename));
  const renamed = await home.session({ parent: [rename, bash('./read'), ...DONE] }, ...SKIPPED);
  renamed.assertOnlyIn(CANARY);
  assert.deepEqual(off(), []);
});

/** What a session without permissions reads it by, other than its shell and those settings, and the clients in which it does. */
const AROUND = {
  link: ['2.1.197'],
  profile: BOTH,
  skill: BOTH,
  'skill-below': ['2.1.197'],
  worktree: ['2.1.197'],
};

// All but the first have the client start a program, outside of its sandbox.
onEachShell('shells-around: by what else a session without permissions reads it is known', async ({ home, client }) => {
  const file = bare(home);
  const at = (name) => path.join(home.project, name);
  const program = (name) => home.write(home.project, `get-${name}`, `cat ${file} >${at(`got-${name}`)}\n`);
  const gets = (name) => `sh ${program(name)}`;
  const got = (name) => fs.existsSync(at(`got-${name}`));
  const skill = (name) => `---\nname: ${name}\ndescription: X.\nhooks:\n  PreToolUse:\n    - hooks:\n        - type: command\n          command: "${gets(name)}"\n---\nSee.\n`;
  home.write(home.project, '.claude/skills/other/SKILL.md', '---\nname: other\ndescription: X.\n---\nSee.\n');
  home.write(home.project, 'below.md', skill('skill-below'));
  home.write(home.project, 'make', [
    'mkdir -p sub/.claude/skills/skill-below && cp below.md sub/.claude/skills/skill-below/SKILL.md && echo x >sub/a',
    'cd sub && git init -q . && git add a && git -c user.name=a -c user.email=a@localhost commit -qm a',
    `mkdir -p .git/hooks && printf '#!/bin/sh\\n${gets('worktree')}\\n' >.git/hooks/post-checkout && chmod 755 .git/hooks/post-checkout`,
  ].join('\n'));
  home.write(home.project, 'fine', 'x\n');
  fs.symlinkSync('fine', at('flip'));
  home.write(home.project, 'flips', `while [ ! -e stop ]; do for to in ${file} fine; do ln -s $to next; mv -T next flip; done; done`);
  home.set(walled(FOLDER, FILE));

  const isRead = ({ messages }) => messages.some(({ results }) => results.some(({ name, text }) => name === 'Read' && text.includes(CANARY)));
  const flipped = Array.from({ length: 12 }, () => (request) =>
    isRead(request) ? bash('true') : Array.from({ length: 15 }, () => call('Read', { file_path: at('flip') })));
  const skills = Array.from({ length: 20 }, () => async () => {
    if (got('skill')) return bash('true');
    await sleep(300);
    return [call('Skill', { skill: 'skill' }), call('Skill', { skill: 'skill-below' }), bash('true')];
  });
  const session = await home.session({
    parent: [
      call('Write', { file_path: path.join(home.home, '.profile'), content: `${gets('profile')}\n` }),
      bash('sh ./make'),
      bash('sh ./flips', { run_in_background: true }),
      ...flipped,
      bash('touch stop'),
      [call('Write', { file_path: at('.claude/skills/skill/SKILL.md'), content: skill('skill') }), call('Read', { file_path: at('sub/a') })],
      ...skills,
      [bash('cd sub'), search('EnterWorktree')],
      call('EnterWorktree', { name: 'x' }),
      ...DONE,
    ],
  }, ...SKIPPED);
  assert.deepEqual(session.unscripted, [], session.report());
  const leaks = Object.keys(AROUND).filter((name) => (name === 'link' ? isRead(session.of('parent').at(-1)) : got(name)));
  assert.deepEqual(leaks, Object.keys(AROUND).filter((name) => AROUND[name].includes(client.version)), session.report());
});

/** What a shell reads of these documents, whenever it began, and what one that runs since before they changed does. */
const READ = { always: ['before'], since: ['alone', 'before', 'later'] };

// Rules are expanded when a shell begins.
onEachShell('shells-documents: a link and a file that is saved by renaming are held by rules for folder and path, and what is not is known', async ({ home }) => {
  const at = (name) => path.join(home.home, `${name}/catalog.md`);
  const write = (name) => home.write(home.home, `${name}/catalog.md`, CATALOG);
  const both = (name) => [`Read(~/${name}/**)`, `Read(~/${name}/catalog.md)`];
  // link: leads to the next; saved, alone: by renaming, the second without a rule for its folder;
  // later: with its folder; before: another name of the last.
  const names = ['link', 'real', 'saved', 'alone', 'later', 'hard', 'before'];
  for (const name of ['real', 'saved', 'alone', 'hard']) write(name);
  for (const name of ['link', 'before']) fs.mkdirSync(path.dirname(at(name)));
  fs.symlinkSync(at('real'), at('link'));
  fs.linkSync(at('hard'), at('before'));
  home.map({ [KEY]: { path: at('saved'), agents: [SCANNER] } });
  home.set(walled(...['link', 'real', 'saved', 'later', 'hard'].flatMap(both), both('alone')[1]));

  const each = (lines) => `for name in ${names.join(' ')}; do if cat "${home.home}/$name/catalog.md" >got 2>/dev/null && grep -q CANARY got; then echo "$name"; fi; done${lines}`;
  home.write(home.project, 'look', each(''));
  home.write(home.project, 'watch', `while [ ! -e stop ]; do ${each(' >>watched')}; echo >>passes; sleep 0.2; done`);
  const file = (name) => path.join(home.project, name);
  const passes = () => (fs.existsSync(file('passes')) ? fs.statSync(file('passes')).size : 0);
  const session = await home.play({
    parent: [
      bash('sh ./watch', { run_in_background: true }),
      async () => {
        await home.until('a first pass', () => passes() > 0);
        write('later');
        for (const name of ['saved', 'alone']) {
          fs.writeFileSync(`${at(name)}.new`, CATALOG);
          fs.renameSync(`${at(name)}.new`, at(name));
        }
        // They are the user's.
        spawnSync(...home.command('true'));
        const before = passes();
        await home.until('two more passes', () => passes() > before + 1);
        fs.writeFileSync(file('stop'), '');
        return [bash('mkdir -p now; cd now; sh ../look'), bash(`cat ${home.mapFile}`)];
      },
      ...DONE,
    ],
  }, BASH);
  const [, looked, map] = session.answers('parent', 'Bash').map(({ text }) => text);
  const found = (text) => names.filter((name) => text.split('\n').includes(name));
  const since = found(fs.readFileSync(file('watched'), 'utf8'));
  assert.deepEqual({ always: found(looked), since: since.sort() }, READ);
  // No rule is for the map, which has paths, and keys that are bound to their agents.
  assert.ok(map.includes(KEY), map);
});

onEachShell('shells-missing: without bubblewrap and socat, the client does not start, or runs its shells without a sandbox if it may', async ({ home }) => {
  bare(home);
  const bin = path.join(home.root, 'bin');
  fs.mkdirSync(bin);
  for (const folder of process.env.PATH.split(path.delimiter).filter((one) => fs.existsSync(one))) {
    for (const name of fs.readdirSync(folder)) {
      const link = path.join(bin, name);
      if (!['bwrap', 'socat'].includes(name) && !fs.lstatSync(link, { throwIfNoEntry: false })) fs.symlinkSync(path.join(folder, name), link);
    }
  }
  const play = () => home.session({ parent: [READS, say('Done.')] }, BASH, { PATH: bin });
  home.set(walled(FOLDER, FILE));
  const refused = await play();
  assert.notEqual(refused.code, 0);
  assert.deepEqual(refused.requests, []);
  assert.match(refused.stderr, /sandbox is enabled but dependencies are missing[^]*refusing to start without a working sandbox/i);
  home.set({ sandbox: { ...SANDBOX.sandbox, failIfUnavailable: false } });
  const session = await play();
  assert.match(session.stderr, /Commands will run WITHOUT sandboxing/);
  assert.ok(leaked(session));
});
