// The guard and its tickets: a caller that is not the agent to which the key is bound gets
// nothing, even with the right key and every permission that the user can give. And what
// remains where something is broken or switched off. It is never more.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { onEachClient } from './harness/case.mjs';
import { CANARY, CATALOG, DONE, KEY, LEAVE, OWN_TOOL, SCANNER, TOOL, agentFile, assertCopyGetsNothing, assertServed, atStart, call, load, plain, projectPlugin, say, scan, search, spawn } from './harness/plugin.mjs';

const GUARDED = { plugin: 'guarded' };

/** The same call by a subagent of that type. */
const by = (agent, ...before) => ({
  parent: [spawn('caller', agent), say('Done.'), say('Done.')],
  caller: [...before, load(KEY), say('Done.')],
});

/** What the client tells a hook about the callers, in its own words. */
const callers = (overheard) => overheard().map(({ agent_id, agent_type }) => [agent_id !== undefined, agent_type]);

/**
 * A case in which the only caller, of which the client tells a hook whether it has an id, and its
 * type, is refused with `code`: it is told nothing about the key, and nobody reads the catalog.
 */
const refused = (code, caller, script, { args = [], env, before = () => {}, after = () => {} } = {}) =>
  async ({ home }) => {
    before(home);
    const overheard = home.overhear(TOOL);
    const session = await home.play(script, [...args, ...LEAVE], env);
    const { text, error } = session.answer(script.caller ? 'caller' : 'parent', TOOL);
    assert.equal(error, true, text);
    assert.ok(text.includes(`${code}: `), text);
    assert.ok(!text.includes(KEY), text);
    session.assertOnlyIn(CANARY);
    assert.deepEqual(callers(overheard), [caller]);
    after(session);
  };

onEachClient('parent-denied: the parent is denied, with the right key and with leave', GUARDED,
  refused('caller-not-verified', [false, undefined], { parent: [search(TOOL), load(KEY), say('Done.')] }));

onEachClient('fork-denied: a fork is denied', GUARDED, refused('caller-not-verified', [true, 'fork'], by('fork', search(TOOL)), {
  // 2.1.290 has forks only if this asks for them.
  env: { CLAUDE_CODE_FORK_SUBAGENT: '1' },
}));

onEachClient('agent-session-denied: a session that runs as the agent is denied', GUARDED,
  refused('caller-not-verified', [false, SCANNER], { parent: [load(KEY), say('Done.')] }, {
    args: ['--agent', SCANNER],
    after: (session) => assert.ok(session.of('parent')[0].text.includes(KEY), 'it has the body of the agent'),
  }));

// A project's settings can start a session as the agent, and have the client copy it.
onEachClient('copy: the copy of a session that runs as the agent, which suggests a prompt, is denied', GUARDED, async ({ home }) => {
  await assertCopyGetsNothing(home, SCANNER, load(KEY));
});

// Here and below as if there were no such key: the answer does not say that there is one.
onEachClient("short-name-denied: a project's agent of the same short name is denied", GUARDED,
  refused('unknown-key', [true, 'privacy-scanner'], by('privacy-scanner'), {
    before: (home) => home.write(home.project, '.claude/agents/privacy-scanner.md', agentFile('privacy-scanner', KEY)),
  }));

onEachClient('unbound-agent-denied: an agent to which the key is not bound is denied', GUARDED,
  refused('unknown-key', [true, 'general-purpose'], by('general-purpose', search(TOOL))));

onEachClient("full-name-not-taken: a project's agent that takes the full name is not run", GUARDED, async ({ home, client }) => {
  home.write(home.project, '.claude/agents/impostor.md', agentFile(SCANNER, 'the-key-of-an-impostor'));
  const session = await home.play(plain(client, { scanner: [say('Done.')] }));
  assert.ok(!session.of('scanner')[0].text.includes('the-key-of-an-impostor'));
});

// A limit, not a promise. With mods, ours starts all the same.
onEachClient("plugins-name-taken: without mods, a project's plugin of our plugin's name takes its agent's place, and gets the catalog", GUARDED, async ({ home, client }) => {
  await projectPlugin(home, 'keyhole', 'privacy-scanner', 'the-text-of-an-impostor');
  const session = await home.play(plain(client, { scanner: [load(KEY), say('Done.')] }));
  assert.ok(session.of('scanner')[0].text.includes('the-text-of-an-impostor'));
  assert.equal(session.answer('scanner', TOOL).text, CATALOG);
});

onEachClient("ticket-of-this-client: hooks are told the process that starts the plugin's servers, so another client's server redeems no ticket", async ({ home }) => {
  const file = home.write(home.root, 'noted', '');
  atStart(home, 'serve', `echo "serve $PPID" >>'${file}'`);
  atStart(home, 'guard', `echo "guard $CLAUDE_PID" >>'${file}'`);
  assert.equal((await scan(home)).got.error, false);
  const noted = fs.readFileSync(file, 'utf8').trim().split('\n').map((line) => line.split(' '));
  assert.deepEqual([...new Set(noted.map(([word]) => word))].sort(), ['guard', 'serve']);
  assert.equal(new Set(noted.map(([, process]) => process)).size, 1, String(noted));
});

onEachClient('bound-agent-served: the agent to which it is bound is served', GUARDED, async ({ home, client }) => {
  const overheard = home.overhear(TOOL);
  const session = await home.play(plain(client, { scanner: [load(KEY), say('Done.')] }), LEAVE);
  assert.equal(session.answer('scanner', TOOL).text, CATALOG);
  assert.deepEqual(callers(overheard), [[true, SCANNER]]);
});

const ALLOW = JSON.stringify({ hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'allow' } });

/** What replaces the guard; null removes the hook. */
const GUARDS = {
  'crashes': { command: 'kill -SEGV $$', fails: true },
  'exits 1': { command: 'exit 1', fails: true },
  'times out': { command: 'exec sleep 60', timeout: 5, fails: true },
  'is not there': { command: '/nonexistent/guard', fails: true },
  'answers rubbish': { command: 'echo "{"' },
  'allows all': { command: `echo '${ALLOW}'` },
  'is taken out': null,
};

/** The clients that refuse the call if a hook fails that has `onFailure: "block"`. */
const FAILS_CLOSED = ['2.1.332'];

// 2.1.290 goes on if a hook fails, and any client if a hook is gone. So the server does
// not trust the guard alone: without the ticket that only an approval by the guard leaves, there
// is no content.
onEachClient('broken-guard-no-content: no content where the guard is broken, slow, replaced or gone', GUARDED, async ({ home, client }) => {
  const script = plain(client, { scanner: [load(KEY), say('Done.')] });
  const file = home.plugin('hooks/hooks.json');
  const shipped = fs.readFileSync(file, 'utf8');
  const [ours, own, gate] = JSON.parse(shipped).hooks.PreToolUse.map(({ hooks }) => hooks[0].onFailure);
  // A gate that fails stops no call.
  assert.deepEqual([ours, own, gate], ['block', 'block', undefined]);

  for (const [how, guard] of Object.entries(GUARDS)) {
    const config = JSON.parse(shipped);
    const ran = path.join(home.root, `ran: ${how}`);
    const { fails, ...hook } = { ...config.hooks.PreToolUse[0].hooks[0], ...guard };
    if (guard) config.hooks.PreToolUse[0].hooks = [{ ...hook, command: `touch '${ran}'; ${guard.command}` }];
    else delete config.hooks.PreToolUse;
    fs.writeFileSync(file, JSON.stringify(config));

    const session = await home.play(script, LEAVE);
    assert.equal(fs.existsSync(ran), guard !== null, `the guard ${how}: the client ran the one put there`);
    const { text, error } = session.answer('scanner', TOOL);
    // Else these are the server's own words: the call reached it, and it refused.
    const isBlocked = fails && FAILS_CLOSED.includes(client.version);
    assert.equal(text.includes('caller-not-verified'), !isBlocked, `the guard ${how}: ${text}`);
    assert.equal(error, true, `the guard ${how}`);
    session.assertOnlyIn(CANARY);
  }

  fs.writeFileSync(file, shipped);
  const session = await home.play(script, LEAVE);
  assert.equal(session.answer('scanner', TOOL).text, CATALOG, 'and with the guard it works');
});

const BOUND = 'key-of-reader-7c31d90a52';
const UNBOUND = 'key-of-anyone-0b8e6f1d44';

/** Waits until the server runs, so that the agents that are started may have its tool. */
const CONNECTED = `until grep -rqs 'Successfully connected' "$HOME/.cache"; do sleep 0.1; done`;

// With agent teams, the main conversation gives a teammate a name of its choice, and the client
// tells that name to hooks as the type of the agent that calls. If a module is loaded, a teammate
// has no such tool at all: see `teammates-have-no-tool`.
onEachClient('teammate-denied: a teammate named as an agent is denied, and the agent of that name is not', { ...GUARDED, terminal: true }, async ({ home, file }) => {
  const overheard = home.overhear(TOOL);
  home.hook('SessionStart', CONNECTED);
  const other = home.write(home.home, 'private/other.md', `# Other ${CANARY}\n`);
  home.map({ [BOUND]: { path: file, agents: ['reader'] }, [UNBOUND]: other });
  home.write(home.home, '.claude/agents/reader.md', agentFile('reader', BOUND));

  const play = () => home.terminal(
    {
      parent: [spawn('agent', 'reader'), spawn('teammate', 'general-purpose', { name: 'reader' }), ...DONE],
      agent: [load(BOUND), ...DONE],
      // The client defers the tool for it.
      teammate: [search(TOOL), [load(BOUND), load(UNBOUND)], ...DONE],
    },
    (session) => session.has('agent', 1) && session.has('teammate', 2),
    { CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS: '1' },
  );
  // The client knows the server's tools a moment after it has connected: an agent that starts before
  // that lacks them.
  const told = (session) => ['agent', 'teammate'].flatMap((actor) => session.answers(actor, TOOL));
  const lacks = (session) => told(session).some(({ text }) => text.includes('No such tool'));
  let [session, before] = [await play(), 0];
  for (let tries = 0; tries < 5 && lacks(session); tries += 1) {
    before = overheard().length;
    fs.rmSync(path.join(home.home, '.cache'), { recursive: true, force: true });
    session = await play();
  }

  assertServed(session, TOOL, 'agent');
  const answers = session.answers('teammate', TOOL);
  assert.equal(answers.length, 2);
  for (const { text, error } of answers) {
    assert.equal(error, true, text);
    assert.ok(text.includes('caller-not-verified: '), text);
  }

  // They may run at the same time, and call in any order. Only a teammate's id holds its name.
  const calls = overheard().slice(before);
  assert.deepEqual(calls.map(({ agent_type }) => agent_type), ['reader', 'reader', 'reader']);
  const ids = calls.map(({ agent_id }) => agent_id.replace(/[0-9a-f]{16}$/, ''));
  assert.deepEqual(ids.sort(), ['a', 'areader-', 'areader-']);
});

/** The tools that give content, in a client that loads modules; in others, only TOOL does. */
const SWITCHES = {
  'nothing is switched off': { left: [OWN_TOOL] },
  'disableAllHooks': { user: { disableAllHooks: true }, args: LEAVE, left: [], says: 'caller-not-verified' },
  'allowedMcpServers: []': { user: { allowedMcpServers: [] }, left: [] },
  '--strict-mcp-config': { args: ['--strict-mcp-config'], left: [] },
  '--safe-mode': { args: ['--safe-mode'], left: [], gone: true },
  '--bare': { args: ['--bare'], left: [], gone: true },
  // What keeps users' own modules out, by the client's page for administrators.
  'allowManagedModsOnly': { managed: { pluginConfigs: { 'cc-plugin-sec-default@builtin': { options: { allowManagedModsOnly: true } } } }, left: [TOOL] },
  'allowManagedHooksOnly': { managed: { allowManagedHooksOnly: true }, args: LEAVE, left: [], says: 'caller-not-verified' },
};

for (const [how, { user, managed, args, left, says, gone }] of Object.entries(SWITCHES)) {
  onEachClient('off-switches: ' + how, async ({ t, home, client, loads }) => {
    if (user) home.set(user);
    if (managed && !home.manage(managed)) return t.skip(`skipped: off-switches: ${how} (an administrator's settings cannot be played here)`);
    const both = [load(KEY), call(OWN_TOOL, {})];
    const session = await home.play(plain(client, { scanner: [both, say('Done.')] }), args);
    session.assertOnlyIn(CANARY, 'scanner');
    assert.equal(session.has('scanner'), !gone, 'whether there is such an agent');
    if (gone) return;
    const got = session.answers('scanner').filter(({ error }) => !error).map(({ tool }) => tool);
    assert.deepEqual(got, loads || left.length === 0 ? left : [TOOL]);
    if (says) assert.ok(session.answers('scanner').some(({ text }) => text.includes(says)));
  });
}
