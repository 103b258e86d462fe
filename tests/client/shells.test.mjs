// The client's own sandbox around its shells, with the settings that `keyhole setup` writes: what
// a main conversation whose shell may do anything reads of the document. Each try is also played
// where it has to leak, so that nothing passes for another reason. What is known to leak in some
// version of the client stands in lists, checked both ways, so that a change shows.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { lacking, transcript } from './harness/kept.mjs';
import { CANARY, CATALOG, DONE, KEY, SANDBOX, SCANNER, SKIPPED, assertServed, bash, call, catalog, plain, read, say, spawn, way } from './harness/plugin.mjs';
import { AGENT, BASH, FILE, FOLDER, PROGRAM, READS, bare, leaked, onEachShell, setUp, walled } from './harness/shells.mjs';

const TOOL = `mcp__${AGENT}__load_context`;

/** The same settings without the sandbox. */
const open = (home) => home.set({ sandbox: undefined });

const agent = (actor, more) => spawn(actor, AGENT, more);
const ALONE = [call(TOOL, {}), say('Done.')];

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
  assertServed(first.session, TOOL, 'one');

  for (const [what, play, agents] of [
    ['in a terminal', inTerminal(home, ...BASH, '--permission-mode', 'default')],
    ['without permissions', inSession(home, ...SKIPPED)],
    ...['acceptEdits', 'dontAsk'].map((mode) => [mode, inSession(home, [...BASH, '--permission-mode', mode])]),
    // Whether an agent starts in these, a model decides.
    ...['auto', 'plan'].map((mode) => [mode, inSession(home, ['--allowedTools', 'Bash(./ways/*)', '--permission-mode', mode]), false]),
  ]) {
    const { session, leaks } = await tried(home, few, play, agents);
    assert.deepEqual(leaks, [], what);
    assertServed(session, TOOL, ...(agents === false ? [] : ['one']));
  }

  const plugin = await home.session(plain(client, { parent: [some(), spawn('scanner', SCANNER), some(), ...DONE] }), ...SKIPPED);
  assertServed(plugin, way(client).tool, 'scanner');
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

/**
 * A shell in the background that does these lines again and again: the call that begins it, `begun`
 * waits for a first pass, `end` for two more and then stops it, and `seen` is all that it has added
 * to the file `watched`.
 */
function watching(home, lines) {
  const [stop, passes, watched] = ['stop', 'passes', 'watched'].map((name) => path.join(home.project, name));
  for (const file of [stop, passes, watched]) fs.rmSync(file, { force: true });
  home.write(home.project, 'watch', `while [ ! -e stop ]; do ${lines}; echo >>passes; sleep 0.2; done\n`);
  const done = () => (fs.existsSync(passes) ? fs.statSync(passes).size : 0);
  return {
    begin: bash('sh ./watch', { run_in_background: true }),
    begun: () => home.until('a first pass', () => done() > 0),
    async end() {
      const before = done();
      // One may have begun before.
      await home.until('two more passes', () => done() > before + 1);
      fs.writeFileSync(stop, '');
    },
    seen: () => fs.readFileSync(watched, 'utf8'),
  };
}

/**
 * What shells read of an agent's conversation: one that runs since before the agent began, and two
 * that begin after it, the second a subagent's. They look everywhere but where the document is.
 */
async function searched(home, play) {
  const search = `grep -RIhos --exclude-dir=private 'ZQ-CANARY-[0-9a-f]*' ${home.home} ${home.root}/tmp`;
  const shell = watching(home, `${search} >>watched`);
  const session = await play({
    parent: [
      shell.begin,
      async () => {
        await shell.begun();
        return agent('one');
      },
      async () => {
        await transcript(home);
        await shell.end();
        home.write(home.project, 'search', `${search}\n`);
        return [bash('sh ./search'), spawn('other', 'general-purpose')];
      },
      ...DONE,
    ],
    one: ALONE,
    other: [bash('sh ./search'), say('Done.')],
  });
  assert.deepEqual(session.unscripted, [], session.report());
  return { session, watched: shell.seen().includes(CANARY), after: [...session.answers('parent', 'Bash').slice(-1), session.answer('other', 'Bash')].map(({ text }) => text.includes(CANARY)) };
}

onEachShell("shells-kept: no shell reads an agent's conversation, not even one that runs since before it began, and the main conversation keeps its own, but for long outputs in a shell", async ({ home }) => {
  await setUp(home);
  const play = (...more) => (script) => home.session(script, BASH, ...more);
  for (const each of [play(), inSession(home, ...SKIPPED)]) {
    const { session, ...kept } = await searched(home, each);
    assert.deepEqual(kept, { watched: false, after: [false, false] });
    assertServed(session, TOOL, 'one');
  }

  // By its repository, the client knows a project.
  assert.equal(spawnSync('git', ['init', '--quiet', home.project]).status, 0);
  for (const mode of ['default', 'auto']) {
    const own = (script, ...more) => home.session(script, [...more, '--permission-mode', mode]);
    assert.deepEqual(await lacking(home, 2, own), ['long, by the shell'], mode);
  }

  // With the rules alone, what a shell may read is decided when it begins.
  home.set({ sandbox: { ...SANDBOX.sandbox, filesystem: undefined } });
  const { session: _, ...rules } = await searched(home, play());
  assert.deepEqual(rules, { watched: true, after: [false, false] });
  open(home);
  const { session: __, ...without } = await searched(home, play());
  assert.deepEqual(without, { watched: true, after: [true, true] });
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
  const shell = watching(home, each(' >>watched'));
  const session = await home.play({
    parent: [
      shell.begin,
      async () => {
        await shell.begun();
        write('later');
        for (const name of ['saved', 'alone']) {
          fs.writeFileSync(`${at(name)}.new`, CATALOG);
          fs.renameSync(`${at(name)}.new`, at(name));
        }
        // They are the user's.
        spawnSync(...home.command('true'));
        await shell.end();
        return [bash('mkdir -p now; cd now; sh ../look'), bash(`cat ${home.mapFile}`)];
      },
      ...DONE,
    ],
  }, BASH);
  const [, looked, map] = session.answers('parent', 'Bash').map(({ text }) => text);
  const found = (text) => names.filter((name) => text.split('\n').includes(name));
  assert.deepEqual({ always: found(looked), since: found(shell.seen()).sort() }, READ);
  // No rule is for the map, which has paths, and keys that are bound to their agents.
  assert.ok(map.includes(KEY), map);
});

// bubblewrap takes no more than some 9,000 words; the client then reads them from a file.
onEachShell('shells-constant: in a home where the client has kept much for a year, a shell starts with as many words as in a fresh one', async ({ home }) => {
  await setUp(home);
  const bin = path.join(home.root, 'bin');
  const counts = path.join(home.root, 'counts');
  home.write(bin, 'bwrap', `#!/bin/sh\necho $# >>${counts}\nPATH=\${PATH#*:} exec bwrap "$@"\n`);
  fs.chmodSync(path.join(bin, 'bwrap'), 0o755);
  /** With how many words bubblewrap is started for a command: at the most, since the client also asks for its version. */
  const words = async () => {
    fs.rmSync(counts, { force: true });
    const session = await home.play({ parent: [bash('echo ZQ-WORKS'), say('Done.')] }, [...BASH], { PATH: `${bin}:${home.env().PATH}` });
    assert.match(session.answer('parent', 'Bash').text, /ZQ-WORKS/);
    return Math.max(...fs.readFileSync(counts, 'utf8').split('\n').map(Number));
  };
  const fresh = await words();
  const own = fs.readdirSync(path.join(home.root, 'tmp')).find((name) => /^claude-\d+$/.test(name));
  for (let at = 0; at < 10_000; at += 1) {
    const kept = path.join(home.home, `.claude/projects/p${at % 40}/s${at % 4_000}`);
    const tasks = path.join(home.root, 'tmp', own, `p${at % 40}/s${at % 4_000}/tasks`);
    for (const folder of [`${kept}/tool-results`, `${kept}/subagents`, tasks]) fs.mkdirSync(folder, { recursive: true });
    fs.writeFileSync(`${kept}/tool-results/${at}.txt`, '');
    fs.writeFileSync(`${kept}/subagents/agent-a${at}.jsonl`, '');
    if (at < 1_000) fs.symlinkSync(`${kept}/subagents/agent-a${at}.jsonl`, `${tasks}/a${at}.output`);
  }
  assert.equal(await words(), fresh);
});

onEachShell('shells-odd-path: a path with characters that mean something else in a rule is kept from tools and shells', async ({ home }) => {
  const names = ['a (b)', 'c*d', 'e[f]{g},!', 'h?i', 'j\\k', 'l '];
  const files = names.map((name) => path.join(home.home, name, 'catalog.md'));
  for (const [at, name] of names.entries()) await setUp(home, { file: `~/${name}/catalog.md`, agent: `scanner-${at}` });
  home.write(home.project, 'reads', files.map((file) => `cat '${file}'\n`).join(''));
  const parent = [[...files.map(read), bash('sh ./reads')], say('Done.')];
  const held = await home.play({ parent }, BASH);
  held.assertOnlyIn(CANARY);
  home.set({ permissions: {}, sandbox: undefined });
  const open = await home.play({ parent }, [...BASH, ...SKIPPED[0]], SKIPPED[1]);
  const found = open.answers('parent').map(({ text }) => text.split(CANARY).length - 1);
  // The client's own tool may read no path with a backslash.
  const closed = names.filter((name, at) => found[at] !== 1 && !name.includes('\\'));
  assert.deepEqual([closed, found.at(-1)], [[], files.length], open.report());
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
