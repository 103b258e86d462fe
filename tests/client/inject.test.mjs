// A hook hands an agent of the user its document when it starts: `keyhole inject`, with
// the settings that `keyhole setup claude-code --inject` prints. No plugin, no server, no
// key, no call.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { recorded } from '../harness/pages.mjs';
import { onEachClient } from './harness/case.mjs';
import { CANARY, CATALOG, DONE, PACKAGED, REACH, SCANNER, authorPlugin, bash, call, compacted, done, given, once, programIn, projectPlugin, reached, resume, say, spawn, used } from './harness/plugin.mjs';

const KEYHOLE = programIn(PACKAGED);
const AGENT = 'scanner';
const ALONE = { parent: [spawn('scanner', AGENT), say('Done.')], ...done('scanner') };
const BARE = { plugin: 'none' };

/** An agent's file, with a mark by which a case tells its owner. */
const agent = (home, owner, tools = 'Read', of = 'user') =>
  home.agent(owner, { name: AGENT, tools }, `File of the ${of}.`);

/** Puts the hook that setup printed into the settings; `change` changes it before. */
function paste(home, printed, change = (hook) => hook) {
  const [{ matcher, hooks: [hook] }] = JSON.parse(printed.match(/```json\n([^]+?)```/)[1]).hooks.SubagentStart;
  home.set({ hooks: { SubagentStart: [{ matcher, hooks: [change(hook)] }] } });
}

/** The document of `name`, and the settings as printed; `change` changes the hook. */
function world(home, { text = CATALOG, change, name = AGENT } = {}) {
  const file = home.write(home.home, 'private/catalog.md', text);
  home.map({ 'k-2c1f8a96d0e34b57': { path: file, agents: [name] } });
  agent(home, home.home);
  const { status, stdout, stderr } = spawnSync(KEYHOLE, ['setup', 'claude-code', '--inject', name], { env: home.env(), encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  paste(home, stdout, change);
  return file;
}

/** The command of a hook of somebody else, which adds `text`. */
function adding(home, text) {
  const answer = { hookSpecificOutput: { hookEventName: 'SubagentStart', additionalContext: text } };
  return `cat '${home.write(home.project, 'answer', JSON.stringify(answer))}'`;
}

const isRefused = (text, code) => text?.includes(`was not loaded. ${code}: `) && text.includes('Do not go on without the document');

onEachClient('inject-to-agent-alone: the agent is sent the document, also when it goes on, and nobody else is', { ...BARE, terminal: true }, async ({ home }) => {
  const document = home.write(home.home, 'private/catalog.md', CATALOG);
  agent(home, home.home, 'Read, Agent');
  paste(home, await home.agreed(KEYHOLE, ...recorded('claude-code-inject', AGENT, '~/private/catalog.md')));
  const others = ['fork', 'other', 'nested'];
  const session = await home.session(
    {
      parent: [spawn('scanner', AGENT), spawn('fork', 'fork'), spawn('other', 'general-purpose'), once(others, say('Done.')), ...DONE],
      scanner: [spawn('nested', 'general-purpose'), ...DONE],
      ...done(...others),
    },
    [],
    // 2.1.290 has forks only if this asks for them. With it, every agent runs in the background, so an
    // agent is resumed in a session of its own: see below.
    { CLAUDE_CODE_FORK_SUBAGENT: '1' },
  );
  assert.deepEqual(session.unscripted, []);
  assert.ok(given(session, 'scanner').startsWith(CATALOG));
  for (const actor of others) assert.equal(given(session, actor), undefined, actor);

  const again = await home.session({ parent: [spawn('scanner', AGENT), ...resume(home, 'resumed'), ...DONE], scanner: DONE, resumed: DONE });
  assert.deepEqual(again.unscripted, []);
  again.assertResumed();
  assert.equal(again.of('resumed')[0].text.split(CANARY).length - 1, 1, 'by its transcript, and not by the hook as well');
  session.assertOnlyIn(CANARY, 'scanner');
  again.assertOnlyIn(CANARY, 'scanner', 'resumed');
  for (const { stdout, stderr } of [session, again]) {
    assert.ok(!stdout.includes(CANARY) && !stderr.includes(CANARY));
  }
  const kept = home.holding(CANARY).filter((file) => file !== document);
  assert.deepEqual([...new Set(kept.map((file) => path.basename(path.dirname(file))))], ['subagents']);
});

onEachClient('inject-not-to-teammates: a teammate gets a refusal, whether it has the name or the type', { plugin: 'none', terminal: true }, async ({ home }) => {
  world(home);
  // Without a matcher, so that the hook runs for each.
  const [{ hooks }] = home.settings().hooks.SubagentStart;
  home.set({ hooks: { SubagentStart: [{ hooks }] } });
  const actors = ['agent', 'name', 'type'];
  const started = [spawn('agent', AGENT), spawn('name', 'general-purpose', { name: AGENT }), spawn('type', AGENT, { name: 'bob' })];
  const session = await home.terminal(
    { parent: [started, ...DONE], ...done(...actors) },
    (session) => actors.every((actor) => session.has(actor)),
    { CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS: '1' },
  );
  assert.ok(given(session, 'agent').startsWith(CATALOG));
  for (const actor of ['name', 'type']) assert.ok(session.of(actor)[0].text.includes('not loaded. caller-not-verified: '), actor);
  session.assertOnlyIn(CANARY, 'agent');
});

onEachClient('inject-goes-by-name: another definition that takes the name gets the document, and a session as the agent does not', BARE, async ({ home }) => {
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
});

onEachClient("inject-whole-or-refused: a document at the client's limit is whole, and a longer one is refused", BARE, async ({ home }) => {
  const play = async (text, change) => {
    world(home, { text, change });
    return given(await home.play(ALONE), 'scanner');
  };
  const kept = () => home.files(path.join(home.home, '.claude')).filter((name) => /tool-results/.test(name));
  const most = `"${'ä'.repeat(9_989)}${'🔑'.repeat(5)}`;
  assert.ok((await play(most)).startsWith(most));
  assert.ok(isRefused(await play(`${most}a`), 'too-large'));
  assert.deepEqual(kept(), []);
  const command = adding(home, `${most}a`);
  const shown = await play(most, (hook) => ({ ...hook, command }));
  assert.ok(!shown.includes(most) && shown.includes('persisted'), shown);
  assert.notEqual(kept().length, 0);
});

onEachClient('inject-says-why-not: without a document the agent reads why, and if the hook fails it reads nothing', BARE, async ({ home }) => {
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
});

onEachClient('inject-lost-when-compacted: an agent whose conversation was compacted has lost the document', BARE, async ({ home }) => {
  world(home);
  agent(home, home.home, 'Grep');
  // Long, because otherwise compacting the conversation could save nothing.
  home.write(home.project, 'a.txt', 'text to look for, in many lines\n'.repeat(3_000));
  const grep = call('Grep', { pattern: 'text', output_mode: 'content', head_limit: 400 });
  const scanner = [grep, compacted([grep, used(990_000)]), say('Done.')];
  const session = await home.play({ ...ALONE, scanner, after: [say('Never.'), say('Done.')] });
  assert.ok(session.has('after'));
  session.assertOnlyIn(CANARY, 'scanner');
});

onEachClient('inject-keeps-its-map: a project cannot name another map, but it can add a text of its own, or switch the hook off', BARE, async ({ home }) => {
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
  assert.deepEqual(reached(environment, more), REACH);

  // A path under ~/ is under that home.
  home.change(home.mapFile, (map) => map.replace(`${home.home}/`, '~/'));
  assert.ok((await play({ env })).startsWith(CATALOG));

  const command = adding(home, 'A false document.');
  const both = await play({ hooks: { SubagentStart: [{ hooks: [{ type: 'command', command }] }] } });
  assert.ok(both.includes(CATALOG) && both.includes('A false document.'), both);
  assert.equal(await play({ disableAllHooks: true }), undefined);
});

onEachClient('inject-needs-permission: a conversation needs a permission for the command, and a rule can deny it', BARE, async ({ home }) => {
  world(home);
  const input = { hook_event_name: 'SubagentStart', agent_id: 'a0123456789abcdef', agent_type: AGENT };
  const file = home.write(home.project, 'input.json', JSON.stringify(input));
  const script = { parent: [bash(`'${KEYHOLE}' inject <'${file}'`), say('Done.')] };
  const play = async (...args) => (await home.play(script, args)).answer('parent', 'Bash');
  assert.equal((await play()).error, true);
  assert.ok((await play('--allowedTools', 'Bash')).text.includes(CANARY), 'it reads any file of the user as well');
  home.set({ permissions: { deny: ['Bash(*/keyhole* inject*)'] } });
  const { text, error } = await play('--allowedTools', 'Bash');
  assert.equal(error, true, text);
  assert.ok(!text.includes(CANARY));
});

onEachClient('inject-told-when-debugging: a client that was asked to report hooks, or to debug, tells the document to whoever started it', BARE, async ({ home }) => {
  world(home);
  const log = path.join(home.root, 'debug.log');
  const session = await home.play(ALONE, ['--include-hook-events', '--debug-file', log]);
  session.assertOnlyIn(CANARY, 'scanner');
  const reports = session.stdout.split('\n').filter((line) => line.includes(CANARY)).map((line) => JSON.parse(line).subtype);
  assert.deepEqual(reports, ['hook_response']);
  assert.ok(fs.readFileSync(log, 'utf8').includes(CANARY));
});

onEachClient("inject-for-plugins-agent: for the plugin's agent the hook does as docs/alternatives.md says", async ({ home, loads }) => {
  home.hook('SubagentStart', `'${KEYHOLE}' inject`, SCANNER);
  const parent = [spawn('scanner', SCANNER), spawn('other', 'general-purpose'), say('Done.')];
  const script = { parent, ...done('scanner', 'other') };
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
  assert.deepEqual(await has('An impostor.'), { taken: false, given: true });
  fs.rmSync(file);
  await projectPlugin(home, 'keyhole', 'privacy-scanner', 'An impostor.');
  assert.deepEqual(await has('An impostor.'), { taken: !loads, given: true });
});

onEachClient("inject-needs-whole-name: the hook of a plugin's agent is not run for an agent with a similar name", BARE, async ({ home }) => {
  await home.install(authorPlugin(home, 'acme', { reviewer: 'none', 'reviewer-fast': 'none' }));
  for (const name of ['reviewer', 'reviewer-fast']) {
    home.change(path.join(home.installed('acme').root, `agents/${name}.md`), (text) => text.replace(/^tools: .*$/m, 'tools: Read'));
  }
  world(home, { name: 'acme:reviewer' });
  const session = await home.play({
    parent: [spawn('reviewer', 'acme:reviewer'), spawn('fast', 'acme:reviewer-fast'), say('Done.')],
    ...done('reviewer', 'fast'),
  });
  assert.ok(given(session, 'reviewer').startsWith(CATALOG));
  assert.equal(given(session, 'fast'), undefined);
});
