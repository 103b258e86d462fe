// A hook hands an agent of the user its document when it starts: `keyhole inject`, with
// the settings that `keyhole setup claude-code --inject` prints. No plugin, no server, no
// key, no call.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { onEachClient } from './harness/case.mjs';
import { CANARY, CATALOG, COMPACTS, DONE, PACKAGED, REACH, SCANNER, TAKES_OUR_NAME, authorPlugin, programIn, projectPlugin, resume } from './harness/plugin.mjs';
import { bash, call, once, say, spawn, used } from './harness/script.mjs';

const KEYHOLE = programIn(PACKAGED);
const AGENT = 'scanner';
const ALONE = { parent: [spawn('scanner', AGENT), say('Done.')], scanner: [say('Done.')] };
const BARE = { plugin: 'none' };

/** An agent's file, with a mark by which a case tells its owner. */
const agent = (home, owner, tools = 'Read', of = 'user') =>
  home.agent(owner, { name: AGENT, tools }, `File of the ${of}.`);

/** The document of `name`, and the settings as printed; `change` changes the hook. */
function world(home, { text = CATALOG, change = (hook) => hook, name = AGENT } = {}) {
  const file = home.write(home.home, 'private/catalog.md', text);
  home.map({ 'k-2c1f8a96d0e34b57': { path: file, agents: [name] } });
  agent(home, home.home);
  const { status, stdout, stderr } = spawnSync(KEYHOLE, ['setup', 'claude-code', '--inject', name], { env: home.env(), encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  const [{ matcher, hooks: [hook] }] = JSON.parse(stdout.match(/```json\n([^]+?)```/)[1]).hooks.SubagentStart;
  home.set({ hooks: { SubagentStart: [{ matcher, hooks: [change(hook)] }] } });
  return file;
}

/** The text that hooks add to the first request of `actor`, if any. */
function given(session, actor) {
  const [first] = session.of(actor);
  const texts = first.messages.flatMap((message, index) =>
    first.body.messages[index].role === 'system' ? message.texts : [],
  );
  return texts.join('\n').match(/SubagentStart hook additional context: ([^]*)/)?.[1];
}

const isRefused = (text, code) => text?.includes(`was not loaded. ${code}: `) && text.includes('Do not go on without the document');

/** The clients in which the hook is run again when an agent is resumed. */
const RUNS_AGAIN = ['2.1.197'];

onEachClient('23a: the agent is sent the document, also when it goes on, and nobody else is', BARE, async ({ home, client, seen }) => {
  const document = world(home);
  agent(home, home.home, 'Read, Agent');
  const others = ['fork', 'other', 'nested'];
  const session = await home.session(
    {
      parent: [spawn('scanner', AGENT), spawn('fork', 'fork'), spawn('other', 'general-purpose'), once(others, say('Done.')), ...DONE],
      scanner: [spawn('nested', 'general-purpose'), ...DONE],
      ...Object.fromEntries(others.map((actor) => [actor, DONE])),
    },
    [],
    // Older clients have forks only if this asks for them. With it, 2.1.197 runs every agent in
    // the background, so an agent is resumed in a session of its own: see below.
    { CLAUDE_CODE_FORK_SUBAGENT: '1' },
  );
  assert.deepEqual(session.unscripted, []);
  assert.ok(given(session, 'scanner').startsWith(CATALOG));
  for (const actor of others) assert.equal(given(session, actor), undefined, actor);

  const again = await home.session({ parent: [spawn('scanner', AGENT), ...resume(home, 'resumed'), ...DONE], scanner: DONE, resumed: DONE });
  assert.deepEqual(again.unscripted, []);
  again.assertResumed();
  // By its transcript, and in the older client by the hook as well.
  const copies = again.of('resumed')[0].text.split(CANARY).length - 1;
  assert.equal(copies, RUNS_AGAIN.includes(client.version) ? 2 : 1);
  session.assertOnlyIn(CANARY, 'scanner');
  again.assertOnlyIn(CANARY, 'scanner', 'resumed');
  for (const { stdout, stderr } of [session, again]) {
    assert.ok(!stdout.includes(CANARY) && !stderr.includes(CANARY));
  }
  const kept = home
    .holding(CANARY)
    .filter((file) => file !== document)
    .map((file) => path.basename(path.dirname(file)));
  assert.deepEqual([...new Set(kept)], ['subagents']);
  seen('only the agent of the hook has its text, and only its own transcript keeps it; a resumed agent still has it');
});

onEachClient('23b: a teammate gets a refusal, whether it has the name or the type', { plugin: 'none', terminal: true }, async ({ home, seen }) => {
  world(home);
  // Without a matcher, so that the hook runs for each.
  const [{ hooks }] = home.settings().hooks.SubagentStart;
  home.set({ hooks: { SubagentStart: [{ hooks }] } });
  const actors = ['agent', 'name', 'type'];
  const session = await home.terminal(
    {
      parent: [
        [spawn('agent', AGENT), spawn('name', 'general-purpose', { name: AGENT }), spawn('type', AGENT, { name: 'bob' })],
        ...DONE,
      ],
      ...Object.fromEntries(actors.map((actor) => [actor, DONE])),
    },
    (session) => actors.every((actor) => session.has(actor)),
    { CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS: '1' },
  );
  assert.ok(given(session, 'agent').startsWith(CATALOG));
  for (const actor of ['name', 'type']) assert.ok(session.of(actor)[0].text.includes('not loaded. caller-not-verified: '), actor);
  session.assertOnlyIn(CANARY, 'agent');
  seen("a teammate's start is told to the hook, with its name as the type and an id of another form");
});

onEachClient('23c: another definition that takes the name gets the document, and a session as the agent does not', BARE, async ({ home, seen }) => {
  world(home);
  const impostor = { description: 'An impostor.', prompt: 'File of the impostor.', tools: ['Read'] };
  const taken = async (of, args = []) => {
    const session = await home.play(ALONE, args);
    assert.ok(session.of('scanner')[0].text.includes(`File of the ${of}.`), of);
    assert.ok(given(session, 'scanner').startsWith(CATALOG), of);
    session.assertOnlyIn(CANARY, 'scanner');
  };
  await taken('impostor', ['--agents', JSON.stringify({ [AGENT]: impostor })]);
  agent(home, home.project, 'Read', 'project');
  await taken('project');
  const session = await home.play({ parent: [say('Done.')] }, ['--agent', AGENT]);
  session.assertOnlyIn(CANARY);
  seen("--agents, and a file of any project, can take a bare name, and with it the hook's text");
});

onEachClient("23d: a document at the client's limit is whole, and a longer one is refused", BARE, async ({ home, seen }) => {
  const play = async (text, change) => {
    world(home, { text, change });
    const session = await home.play(ALONE);
    return given(session, 'scanner');
  };
  const kept = () => home.files(path.join(home.home, '.claude')).filter((name) => /tool-results/.test(name));
  const most = `"${'ä'.repeat(9_989)}${'🔑'.repeat(5)}`;
  assert.ok((await play(most)).startsWith(most));
  assert.ok(isRefused(await play(`${most}a`), 'too-large'));
  assert.deepEqual(kept(), []);
  const answer = { hookSpecificOutput: { hookEventName: 'SubagentStart', additionalContext: `${most}a` } };
  const file = home.write(home.root, 'answer', JSON.stringify(answer));
  const shown = await play(most, (hook) => ({ ...hook, command: `cat '${file}'` }));
  assert.ok(!shown.includes(most) && shown.includes('persisted'), shown);
  assert.notEqual(kept().length, 0);
  seen('of 10,001 UTF-16 units from a hook the agent sees a part, and the whole is in a file: that is why');
});

onEachClient('23e: without a document the agent reads why, and if the hook fails it reads nothing', BARE, async ({ home, seen }) => {
  const play = async (change) => {
    fs.unlinkSync(world(home, { change }));
    const session = await home.play(ALONE);
    session.assertOnlyIn(CANARY);
    return given(session, 'scanner');
  };
  assert.ok(isRefused(await play(), 'not-found'));
  const elsewhere = (hook) => ({ ...hook, command: hook.command.replace(/ --map .*/, ` --map ${home.root}/none.toml`) });
  assert.ok(isRefused(await play(elsewhere), 'map-missing'));
  for (const command of ['exit 1', `${home.root}/none inject`, `'${KEYHOLE}' inject --nonsense`]) {
    assert.equal(await play((hook) => ({ ...hook, command })), undefined, command);
  }
  assert.equal(await play((hook) => ({ ...hook, command: `sleep 60; ${hook.command}`, timeout: 5 })), undefined);
  seen('an agent starts even if its SubagentStart hook fails or is late, and has no word of it');
});

onEachClient('23f: an agent whose conversation was compacted has lost the document', BARE, async ({ home, client, seen }) => {
  world(home);
  agent(home, home.home, 'Grep');
  // Long, because otherwise compacting the conversation could save nothing.
  home.write(home.project, 'a.txt', 'text to look for, in many lines\n'.repeat(3_000));
  const grep = call('Grep', { pattern: 'text', output_mode: 'content', head_limit: 400 });
  const summary = say('<summary>[[actor:after]] The task is to scan a.txt.</summary>');
  let asked = 0;
  const session = await home.play({
    ...ALONE,
    scanner: [grep, () => (asked++ ? summary : [grep, used(990_000)]), say('Done.')],
    after: [say('Never.'), say('Done.')],
  });
  assert.equal(session.has('after'), COMPACTS.includes(client.version));
  session.assertOnlyIn(CANARY, 'scanner');
  if (session.has('after')) seen('an agent whose conversation was compacted goes on without what a hook gave it');
});

/** The clients in which a project's settings set variables of the user's hooks. */
const SETS_VARIABLES = ['2.1.197'];

onEachClient('23g: a project cannot name another map, but it can add a text of its own, or switch the hook off', BARE, async ({ home, client, seen }) => {
  const environment = path.join(home.root, 'environment');
  world(home, { change: (hook) => ({ ...hook, command: `env >'${environment}'; ${hook.command}` }) });
  const evil = home.write(home.project, 'evil/private/catalog.md', 'A false document.\n');
  const map = `[keys]\nk-1 = { path = ${JSON.stringify(evil)}, agents = ["${AGENT}"] }\n`;
  for (const under of ['evil/keyhole', 'evil/.config/keyhole']) home.write(home.project, `${under}/context-map.toml`, map);
  const play = async (settings) => {
    home.write(home.project, '.claude/settings.json', JSON.stringify(settings));
    const session = await home.play(ALONE);
    session.assertOnlyIn(CANARY, 'scanner');
    return given(session, 'scanner');
  };
  const place = path.join(home.project, 'evil');
  const env = { XDG_CONFIG_HOME: place, HOME: place };
  assert.ok((await play({ env })).startsWith(CATALOG));
  const more = { ...env, LD_PRELOAD: path.join(place, 'none.so'), PATH: `${process.env.PATH}:${place}` };
  assert.ok((await play({ env: more })).startsWith(CATALOG));
  const lines = fs.readFileSync(environment, 'utf8').split('\n');
  const reach = Object.keys(more).filter((name) => lines.includes(`${name}=${more[name]}`));
  seen(`these variables of such a project reach the user's hook: ${reach.join(', ')}`);
  assert.deepEqual(reach.sort(), REACH[client.version]);

  // A path under ~/ is under that home.
  home.change(home.mapFile, (map) => map.replace(`${home.home}/`, '~/'));
  assert.equal((await play({ env })).startsWith('A false'), SETS_VARIABLES.includes(client.version));

  const answer = { hookSpecificOutput: { hookEventName: 'SubagentStart', additionalContext: 'A false document.' } };
  const file = home.write(home.project, 'answer', JSON.stringify(answer));
  const both = await play({ hooks: { SubagentStart: [{ hooks: [{ type: 'command', command: `cat '${file}'` }] }] } });
  assert.ok(both.includes(CATALOG) && both.includes('A false document.'), both);
  assert.equal(await play({ disableAllHooks: true }), undefined);
  seen("a project's own SubagentStart hook can add a text beside, and its settings can switch all hooks off, also if nobody trusts the folder");
});

onEachClient('23h: a conversation needs a permission for the command, and a rule can deny it', BARE, async ({ home, seen }) => {
  world(home);
  const input = { hook_event_name: 'SubagentStart', agent_id: 'a0123456789abcdef', agent_type: AGENT };
  const file = home.write(home.project, 'input.json', JSON.stringify(input));
  const script = { parent: [bash(`'${KEYHOLE}' inject <'${file}'`), say('Done.')] };
  const play = async (...args) => {
    const session = await home.play(script, args);
    return session.answer('parent', 'Bash');
  };
  assert.equal((await play()).error, true);
  assert.ok((await play('--allowedTools', 'Bash')).text.includes(CANARY), 'it reads any file of the user as well');
  home.set({ permissions: { deny: ['Bash(*keyhole* inject*)'] } });
  const { text, error } = await play('--allowedTools', 'Bash');
  assert.equal(error, true, text);
  assert.ok(!text.includes(CANARY));
  seen('a rule `Bash(*keyhole* inject*)` denies the command even to a conversation that may run any other');
});

onEachClient('23i: a client that was asked to report hooks, or to debug, tells the document to whoever started it', BARE, async ({ home, seen }) => {
  world(home);
  const log = path.join(home.root, 'debug.log');
  const session = await home.play(ALONE, ['--include-hook-events', '--debug-file', log]);
  session.assertOnlyIn(CANARY, 'scanner');
  const reports = session.stdout.split('\n').filter((line) => line.includes(CANARY)).map((line) => JSON.parse(line).subtype);
  assert.deepEqual(reports, ['hook_response']);
  assert.ok(fs.readFileSync(log, 'utf8').includes(CANARY));
  seen('--include-hook-events prints what a hook says, and --debug writes it to a file');
});

onEachClient("23j: for the plugin's agent the hook does as the last column of plugin/README.md says", async ({ home, client, loads, seen }) => {
  home.hook('SubagentStart', `'${KEYHOLE}' inject`, SCANNER);
  const parent = [spawn('scanner', SCANNER), spawn('other', 'general-purpose'), say('Done.')];
  const script = { parent, scanner: [say('Done.')], other: [say('Done.')] };
  const has = async (mark, args = []) => {
    const session = await home.play(script, args);
    session.assertOnlyIn(CANARY, 'scanner');
    if (!session.has('scanner')) return 'not started';
    const [{ text }] = session.of('scanner');
    return { taken: text.includes(mark), given: text.includes(CANARY) };
  };
  assert.deepEqual(await has('An impostor.'), { taken: false, given: true });
  const impostor = { description: 'Takes the name.', prompt: 'An impostor.', tools: ['Read'] };
  const byOption = await has('An impostor.', ['--agents', JSON.stringify({ [SCANNER]: impostor })]);
  assert.deepEqual(byOption, loads ? 'not started' : { taken: true, given: true });
  const file = home.agent(home.project, { name: SCANNER, tools: 'Read' }, 'An impostor.', 'impostor');
  assert.deepEqual(await has('An impostor.'), { taken: !loads, given: true });
  fs.rmSync(file);
  await projectPlugin(home, 'keyhole', 'privacy-scanner', 'An impostor.');
  assert.deepEqual(await has('An impostor.'), { taken: TAKES_OUR_NAME.includes(client.version), given: true });
  seen("the hook is told a plugin's agent by its full name, and not from which marketplace or file it comes");
});

onEachClient("23k: the hook of a plugin's agent is not run for an agent with a similar name", BARE, async ({ home, seen }) => {
  await home.install(authorPlugin(home, 'acme', { reviewer: 'none', 'reviewer-fast': 'none' }));
  for (const name of ['reviewer', 'reviewer-fast']) {
    home.change(path.join(home.installed('acme').root, `agents/${name}.md`), (text) => text.replace(/^tools: .*$/m, 'tools: Read'));
  }
  world(home, { name: 'acme:reviewer' });
  const session = await home.play({
    parent: [spawn('reviewer', 'acme:reviewer'), spawn('fast', 'acme:reviewer-fast'), say('Done.')],
    reviewer: [say('Done.')],
    fast: [say('Done.')],
  });
  assert.ok(given(session, 'reviewer').startsWith(CATALOG));
  assert.equal(given(session, 'fast'), undefined);
  seen('a matcher from ^ to $ is for that name alone, with a colon or without');
});
