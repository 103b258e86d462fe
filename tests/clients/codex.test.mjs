// Codex does not start the servers that an agent's file names: see below. Only a session
// can have a server of its own: it gets the servers of its profile. So here `scanner` is a
// session with the profile, and `other` is a session without it. The main session's shell
// starts both, as a user would.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { call, say, task } from '../harness/model.mjs';
import { adapter, carried } from './harness/adapter.mjs';
import { lines, onCase, onClient } from './harness/cases.mjs';
import { responses } from './harness/dialects/responses.mjs';
import { BINDING, CANARY } from './harness/home.mjs';
import { onHook } from './harness/hooked.mjs';

const found = carried('@openai/codex', /(^|\/)bin\/codex(\.exe)?$/);
const SERVER = 'scanner_catalog';
const PROFILE = BINDING;

/** What Codex puts before a result. */
const HEAD = /^Wall time: [\d.]+ seconds\nOutput:/;

const shell = (cmd) => call('exec_command', { cmd, yield_time_ms: 30_000 });

/** A separate session, which writes its last words and keeps nothing. */
const start = (actor, agent) =>
  `'${found.program}' exec --ephemeral --skip-git-repo-check${agent === 'scanner' ? ` -p ${PROFILE}` : ''} '${task(actor)}' </dev/null 2>&1`;

const provider = (name, { url }) => `model = "${name}"
model_provider = "scripted"

[model_providers.scripted]
name = "scripted"
base_url = "${url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
`;

const client = adapter(found, {
  name: 'codex',
  dialect: { ...responses, conversation: bare },
  tool: `mcp__${SERVER}.load_context`,
  spawn: (actor, agent) => shell(start(actor, agent)),
  // Codex waits for a while only. Then the model asks again, and the script does not see it.
  aside: ({ waits }) => waits,
  // The limit for a call in a script, as newer models make them, which is the lowest; a
  // plain call shows some more.
  limit: { characters: 40_000 },
  // Nothing, with --ephemeral.
  keeps: [],

  configure: (home) => home.setUp('codex'),
  // What single cases ask for: the session's profile, the shell's sandbox or what is put at the
  // top of the settings instead, a model that Codex knows, and other arguments.
  command(home, model, prompt) {
    const settings = (home.top ?? '') + provider(home.model ?? 'scripted', model);
    home.write(home.folder ?? path.join(home.home, '.codex'), 'config.toml', settings);
    const profile = home.profile ? ['-p', home.profile] : [];
    const sandbox = home.top ? [] : ['-s', home.sandbox ?? 'danger-full-access'];
    const args = ['--json', '--skip-git-repo-check', ...sandbox, ...profile];
    return { program: found.program, args: ['exec', ...(home.arguments ?? []), ...args, prompt], env: { SCRIPTED_KEY: 'dummy' } };
  },

  setUp: true,
  folder: { variable: 'CODEX_HOME', at: '.codex' },
});

function bare(asked) {
  const told = responses.conversation(asked);
  joinWaits(told);
  for (const result of told.messages.flatMap(({ results }) => results)) result.text = result.text.replace(HEAD, '');
  return told;
}

/** Makes of a call and those that wait on for it one call, with the last result. */
function joinWaits(told) {
  for (let index = 0; index + 1 < told.messages.length; ) {
    const [called, { results }] = told.messages.slice(index, index + 2);
    const [made, result] = [called.calls[0], results[0]];
    told.waits = made && result && onward(made, result.text);
    if (!told.waits || index + 3 >= told.messages.length) index += 1;
    else {
      const [last] = told.messages[index + 3].results;
      result.text = last.name === 'write_stdin' ? result.text + last.text : last.text;
      told.messages.splice(index + 2, 2);
    }
  }
}

function onward({ name, input }, text) {
  const [, id] = text.match(/Process running with session ID (\d+)\s*(?![^]*Process exited)/) ?? [];
  if (name === 'exec_command' && id) return call('write_stdin', { session_id: Number(id), chars: '', yield_time_ms: 30_000 });
  if (/wait_agent$/.test(name) && /"timed_out":\s*true/.test(text)) return call(name, input);
}

onClient(client);

const { load, spawn, tool } = client;

/** Starts an agent of this session, and waits for its end. */
const agent = (actor, agent_type) => [
  call('multi_agent_v1.spawn_agent', { agent_type, message: task(actor) }),
  ({ messages }) => {
    const { text } = messages.at(-1).results.at(-1);
    return call('multi_agent_v1.wait_agent', { targets: [JSON.parse(text).agent_id], timeout_ms: 60_000 });
  },
];

/** A model that Codex knows calls tools in a script, and learns of most of them only there. */
const NEWER = 'gpt-6.1-sol';
const LOAD = call('exec', `const result = await tools.mcp__${SERVER}__load_context({});
for (const part of result.content) if (part.type === "text") text(part.text);`);
const LIST = call('exec', 'text(ALL_TOOLS.map(({ name }) => name).join(" "));');

// This is checked to notice a Codex that can do it: docs/use-from.md says that it
// cannot.
// https://github.com/openai/codex/issues/40130, https://github.com/openai/codex/issues/20135
onCase(client, "an agent's own server is not started, so nobody gets the document by it", async ({ home }) => {
  // An agent's file, made from the profile's: its other settings count.
  const file = path.join(home.home, `.codex/${PROFILE}.config.toml`);
  const text = `name = "${PROFILE}"\ndescription = "Looks for identifiers."\n${fs.readFileSync(file, 'utf8')}`;
  home.write(home.home, `.codex/agents/${PROFILE}.toml`, text);
  const session = await home.play({
    main: [...agent('scanner', PROFILE), say('Done.')],
    scanner: [load(), say('Nothing was found.')],
  });
  const [{ system, tools }] = session.of('scanner');
  assert.match(system, /Never\s+repeat\s+an\s+identifier/, 'its file counts otherwise');
  assert.ok(!tools.includes(tool), 'Codex can do this now: make the agent its example');
  session.assertOnlyIn(CANARY);

  // Such a model starts agents by another tool.
  home.model = NEWER;
  const newer = await home.play({
    main: [
      call('collaboration.spawn_agent', { agent_type: PROFILE, task_name: 'scan', fork_turns: 'none', message: task('scanner') }),
      call('collaboration.wait_agent', { timeout_ms: 60_000 }),
      say('Done.'),
    ],
    scanner: [LIST, say('Nothing was found.')],
  });
  const { text: list } = newer.answer('scanner', 'exec');
  assert.match(list, /exec_command/, newer.report());
  assert.ok(!list.includes(SERVER), 'Codex can do this now: make the agent its example');
});

onCase(client, 'every agent of a session with the profile gets the document as well', async ({ home, loaded }) => {
  home.profile = PROFILE;
  const session = await home.play({
    main: [...agent('worker', 'worker'), say('Done.')],
    worker: [load(), say('Done.')],
  });
  assert.ok(session.tools('main').includes(tool), session.report());
  loaded(session, 'worker');
});

onCase(client, 'in a script a document at the limit arrives whole, and a session without the profile finds no such tool', async ({ home }) => {
  home.model = NEWER;
  home.profile = PROFILE;
  const text = lines(client.limit.characters);
  home.document(text);
  const session = await home.play({ main: [LIST, LOAD, say('Done.')] });
  const [offered, whole] = session.answers('main');
  assert.ok(offered.text.includes(SERVER), session.report());
  assert.ok(whole.text.endsWith(`\nOutput:\n${text}`), session.report());

  home.document(`${text}.`);
  const cut = await home.play({ main: [LOAD, say('Done.')] });
  assert.match(cut.answer('main', 'exec').text, /truncated output/, 'one byte more; `max_bytes` in the map prevents it');

  home.profile = undefined;
  const other = await home.play({ main: [LIST, LOAD, say('Done.')] });
  const [list, loaded] = other.answers('main');
  assert.ok(!list.text.includes(SERVER), other.report());
  assert.match(loaded.text, /is not a function/, other.report());
  other.assertOnlyIn(CANARY);
});

onCase(client, 'a session that is not ephemeral is kept, and the document in it; what it prints has the document with --json alone', async ({ home }) => {
  home.profile = PROFILE;
  const script = { main: [load(), say('Nothing was found.')] };
  const told = await home.play(script);
  const files = home.kept(CANARY);
  assert.ok(files.some((file) => /^home\/\.codex\/sessions\/.*\/rollout-[^/]*\.jsonl$/.test(file)), files.join());
  assert.ok(told.stdout.includes(CANARY), told.report());

  // As the shell of a main conversation sees it.
  home.profile = undefined;
  const shown = await home.play({ main: [spawn('scanner', 'scanner'), say('Done.')], scanner: script.main });
  assert.match(shown.answer('main', 'exec_command').text, /Nothing was found/);
  shown.assertOnlyIn(CANARY, 'scanner');
  shown.assertOnlyIn(`mcp__${SERVER}`, 'scanner');
});

// The sandbox of its shell prevents writing and network access, not reading.
onCase(client, "a main conversation's shell may read the document where it lies, and asks nobody", async ({ home }) => {
  const file = home.document();
  home.sandbox = 'read-only';
  const session = await home.play({ main: [shell(`cat '${file}'`), say('Done.')] });
  const { text } = session.answer('main', 'exec_command');
  assert.ok(text.includes(CANARY), `Codex asks by now: say so in docs/use-from.md; ${text}`);
});

/**
 * A case that needs the sandbox of Codex, which does not start on every system. The user has
 * pasted the permissions that `setup` printed. Two more lines keep its shells out of the
 * system's /tmp, where Codex would make folders for them, and let them write in the home.
 */
const onSandbox = (promise, run) =>
  onCase(client, promise, async ({ t, home, ...all }) => {
    const [, printed] = home.shown.match(/put this at the top of ~\/\.codex\/config\.toml[^]*?\n\n```toml\n([^]+?)```$/m);
    const [, name] = printed.match(/^default_permissions = "(.*)"$/m);
    const more = { ':slash_tmp': 'read', '~': 'write' };
    home.top = printed + Object.entries(more).map(([place, may]) => `permissions.${name}.filesystem."${place}" = "${may}"\n`).join('');
    home.write(home.home, '.codex/config.toml', home.top);
    // Codex makes it in its first session; where a shell may write, its sandbox would make a file.
    fs.mkdirSync(path.join(home.home, '.codex/sessions'));
    const { code, stderr } = await home.run(found.program, ['sandbox', '--', 'true']);
    if (code !== 0) return t.skip(`skipped: the sandbox of codex (${stderr.trim().split('\n').at(-1)})`);
    await run({ home, ...all });
  });

/** As Codex notes that its user trusts the project. */
const trusted = (home) => `projects.${JSON.stringify(home.project)}.trust_level = "trusted"\n`;

/** Calls the tool of the server, as a shell can. */
const CALL = ['initialize', 'tools/call']
  .map((method, id) => JSON.stringify({ jsonrpc: '2.0', id, method, params: { name: 'load_context', protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'sh', version: '1' } } }))
  .join('\n');

/** What a shell can try; the last takes the file from its place. */
const tries = (home) => [
  'cat ~/notes/identifiers.md',
  `python3 -c 'import os; print(open(os.path.expanduser("~/notes/identifiers.md")).read())'`,
  // Also what Codex keeps of the agent's session.
  "grep -rah '^- ZQ' ~/notes ~",
  "grep -raho 'ZQ-C[A-Z0-9a-z-]*' ~/.codex",
  'ln -s ~/notes link; cat link/identifiers.md',
  'cp ~/notes/identifiers.md copy; cat copy',
  'cat /proc/self/root$HOME/notes/identifiers.md',
  'mv ~/notes ~/moved; cat ~/moved/identifiers.md',
];

onSandbox('with the permissions that `setup` prints no shell reads the file, or what is kept of it, and the session is served', async ({ home, loaded }) => {
  home.profile = PROFILE;
  loaded(await home.play({ main: [load(), say('Done.')] }), 'main');
  home.profile = undefined;
  const [kept] = home.kept(CANARY).filter((file) => file.startsWith('home/.codex/sessions/'));
  home.write(home.home, '.codex/archived_sessions/rollout.jsonl', fs.readFileSync(path.join(home.root, kept), 'utf8'));

  const serve = `printf '%s\\n' '${CALL}' | '${home.keyhole}' serve --bind ${BINDING} 2>&1`;
  const session = await home.play({
    main: [...agent('worker', 'worker'), ...tries(home).map(shell), shell(serve), say('Done.')],
    worker: [shell('cat ~/notes/identifiers.md'), say('Done.')],
  });
  session.assertOnlyIn(CANARY);
  for (const actor of ['main', 'worker']) assert.match(session.answers(actor, 'exec_command')[0].text, /denied|not permitted/);
  assert.match(session.answers('main').at(-1).text, /map-\w+: /, session.report());

  // Without the denied paths, each try reads it.
  home.top = home.top.replace(/^.* = "deny"\n/gm, '');
  const open = await home.play({ main: [...tries(home).map(shell), say('Done.')] });
  for (const { input, text } of open.answers('main')) assert.ok(text.includes(CANARY), `${input.cmd}: ${text}`);
});

onSandbox('those permissions fall with an option, and with the file of a project that is trusted; other projects have no say', async ({ home }) => {
  const [pasted, main] = [home.top, [shell('cat ~/notes/identifiers.md'), say('Done.')]];
  const reads = async () => (await home.play({ main })).answer('main', 'exec_command').text.includes(CANARY);
  for (const options of [
    ['-s', 'read-only'],
    ['-c', 'sandbox_mode="read-only"'],
    ['--dangerously-bypass-approvals-and-sandbox'],
    ['--approve-for-me', '-c', 'sandbox_workspace_write.exclude_slash_tmp=true'],
  ]) {
    home.arguments = options;
    assert.ok(await reads(), `${options} no longer undoes them: say so`);
  }
  home.arguments = ['--add-dir', path.join(home.home, 'notes')];
  assert.ok(!await reads(), '--add-dir');
  home.arguments = [];
  for (const text of ['sandbox_mode = "read-only"\n', 'default_permissions = ":read-only"\n']) {
    home.write(home.project, '.codex/config.toml', text);
    home.top = pasted;
    assert.ok(!await reads(), `untrusted: ${text}`);
    home.top += trusted(home);
    assert.ok(await reads(), `a trusted project no longer undoes them: say so; ${text}`);
  }
});

onSandbox('what they cost: no session in the denied folder, none from a shell, and a .git that is read-only', async ({ home }) => {
  fs.mkdirSync(path.join(home.project, '.git'));
  const session = await home.play({ main: [shell('touch new && touch .git/new'), shell(start('scanner', 'scanner')), say('Done.')] });
  const [git, started] = session.answers('main');
  assert.match(git.text, /\.git\/new.*(Read-only|not permitted)/);
  assert.ok(fs.existsSync(path.join(home.project, 'new')));
  assert.ok(!session.has('scanner'), `a shell starts it by now: say so; ${started.text}`);

  home.project = path.join(home.home, 'notes');
  const denied = await home.session({ main: [say('Done.')] });
  assert.deepEqual([denied.code, denied.requests], [1, []], denied.report());
});

// `-p` is the way that is meant.
onCase(client, "a project's file cannot choose the profile; if the project is trusted, it can name the server itself", async ({ home, loaded }) => {
  const script = { main: [load(), say('Done.')] };
  const choice = `profile = "${PROFILE}"\n`;
  const own = fs.readFileSync(path.join(home.home, `.codex/${PROFILE}.config.toml`), 'utf8');
  for (const [top, text] of [['\n', choice + own], [trusted(home), choice]]) {
    home.top = top;
    home.write(home.project, '.codex/config.toml', text);
    const session = await home.play(script);
    assert.ok(!session.tools('main').includes(tool), session.report());
    session.assertOnlyIn(CANARY);
  }
  home.write(home.project, '.codex/config.toml', own);
  loaded(await home.play(script), 'main');
});

const define = (home, name) =>
  home.write(home.home, `.codex/agents/${name}.toml`, `name = "${name}"\ndescription = "Scans."\ndeveloper_instructions = "Scan."\n`);

onHook(client, {
  agent: 'scanner',
  file: '.codex/hooks.json',
  start: agent,
  nests: false,
  configure(home) {
    // Hooks run without their user's review, which nobody gives in a script.
    home.arguments = ['--dangerously-bypass-hook-trust'];
    for (const name of ['scanner', 'other']) define(home, name);
  },
});

onCase(client, 'a hook that nobody has trusted is left out without a word, and the agent starts', async ({ home }) => {
  define(home, 'scanner');
  await home.inject('codex', 'scanner');
  const session = await home.play({ main: [...agent('scanner', 'scanner'), say('Done.')], scanner: [say('Done.')] });
  session.assertOnlyIn(CANARY);
});
