import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { call, say } from '../harness/model.mjs';
import client, { PROFILE } from './clients/codex.mjs';
import { task } from './harness/adapter.mjs';
import { onCase, onClient } from './harness/cases.mjs';
import { CANARY, DOCUMENT, KEY } from './harness/home.mjs';
import { onHook } from './harness/hooked.mjs';
import { keyInEnvironment } from './harness/reach.mjs';

onClient(client);

const SERVER = 'scanner_catalog';

/** Starts an agent of this session, and waits for its end. */
const agent = (actor, agent_type) => [
  call('multi_agent_v1.spawn_agent', { agent_type, message: task(actor) }),
  ({ messages }) => {
    const { text } = messages.at(-1).results.at(-1);
    return call('multi_agent_v1.wait_agent', { targets: [JSON.parse(text).agent_id], timeout_ms: 60_000 });
  },
];

/** The same with a model that Codex knows: it gets another tool for that. */
const newerAgent = (actor, agent_type) => [
  call('collaboration.spawn_agent', { agent_type, task_name: 'scan', fork_turns: 'none', message: task(actor) }),
  call('collaboration.wait_agent', { timeout_ms: 60_000 }),
];

/** Such a model calls tools in a script, and learns of most of them only there. */
const newer = { ...client, model: 'gpt-6.1-sol' };
const LOAD = `const result = await tools.mcp__${SERVER}__load_context({});
for (const part of result.content) if (part.type === "text") text(part.text);`;
const LIST = 'text(ALL_TOOLS.map(({ name }) => name).join(" "));';

/** An agent's file with a server, made from the profile's: its other settings count. */
function agentWithServer(home) {
  const file = path.join(home.home, `.codex/${PROFILE}.config.toml`);
  const text = `name = "${PROFILE}"\ndescription = "Looks for identifiers."\n${fs.readFileSync(file, 'utf8')}`;
  home.write(home.home, `.codex/agents/${PROFILE}.toml`, text);
}

// This is checked to notice a Codex that can do it: docs/use-from.md says that it
// cannot.
// https://github.com/openai/codex/issues/40130, https://github.com/openai/codex/issues/20135
onCase(client, "an agent's own server is not started, so nobody gets the document by it", async ({ home, seen }) => {
  agentWithServer(home);
  const session = await home.play({
    main: [...agent('scanner', PROFILE), say('Done.')],
    scanner: [client.load(), say('Nothing was found.')],
  });
  const [{ system, tools }] = session.of('scanner');
  assert.match(system, /Never\s+repeat an identifier/, 'its file counts otherwise');
  assert.ok(!tools.includes(client.tool), 'Codex can do this now: make the agent its example');
  session.assertOnlyIn(CANARY);
  seen(`the agent's call of it: ${session.answer('scanner', client.tool).text}`);
});

onCase(newer, "an agent's own server is not started with a model of its own either", async ({ home, seen }) => {
  agentWithServer(home);
  const session = await home.play({
    main: [...newerAgent('scanner', PROFILE), say('Done.')],
    scanner: [call('exec', LIST), say('Nothing was found.')],
  });
  const { text } = session.answer('scanner', 'exec');
  assert.ok(!text.includes(SERVER), 'Codex can do this now: make the agent its example');
  seen(`what the agent finds: ${text}`);
});

onCase(client, 'every agent of a session with the profile gets the document as well', async ({ home }) => {
  home.profile = PROFILE;
  const session = await home.play({
    main: [...agent('worker', 'worker'), say('Done.')],
    worker: [client.load(), say('Done.')],
  });
  assert.ok(session.tools('main').includes(client.tool), session.report());
  assert.equal(session.answer('worker', client.tool).text, DOCUMENT, session.report());
});

onCase(newer, 'in a script a document at the limit arrives whole, and a session without the profile finds no such tool', async ({ home, client }) => {
  const text = `# ${CANARY}\n`.padEnd(client.limit.characters - 1, 'identifier\n') + '\n';
  home.document(text);
  home.profile = PROFILE;
  const session = await home.play({ main: [call('exec', LOAD), say('Done.')] });
  assert.ok(session.answer('main', 'exec').text.endsWith(`\nOutput:\n${text}`), session.report());

  home.document(`${text}.`);
  const cut = await home.play({ main: [call('exec', LOAD), say('Done.')] });
  assert.match(cut.answer('main', 'exec').text, /truncated output/, 'one byte more; `max_bytes` in the map prevents it');

  home.profile = undefined;
  const other = await home.play({ main: [call('exec', LIST), call('exec', LOAD), say('Done.')] });
  const [list, load] = other.answers('main');
  assert.ok(!list.text.includes(SERVER), other.report());
  assert.match(load.text, /is not a function/, other.report());
  other.assertOnlyIn(CANARY);
  other.assertOnlyIn(KEY);
});

onCase(client, 'a session that is not ephemeral is kept, and the document in it', async ({ home, seen }) => {
  home.profile = PROFILE;
  await home.play({ main: [client.load(), say('Done.')] });
  const files = home.kept(CANARY);
  assert.ok(files.some((file) => /^home\/\.codex\/sessions\/.*\/rollout-[^/]*\.jsonl$/.test(file)), files.join());
  seen(files.join(', '));
});

onCase(client, 'what it prints has the document with --json alone', async ({ home }) => {
  home.profile = PROFILE;
  const script = { main: [client.load(), say('Nothing was found.')] };
  const told = await home.session(script);
  assert.ok(told.stdout.includes(CANARY), told.report());

  // As the shell of a main conversation sees it.
  home.profile = undefined;
  const shown = await home.play({ main: [client.spawn('scanner', 'scanner'), say('Done.')], scanner: script.main });
  assert.match(shown.answer('main', 'exec_command').text, /Nothing was found/);
  shown.assertOnlyIn(CANARY, 'scanner');
  shown.assertOnlyIn(`mcp__${SERVER}`, 'scanner');
});

// The sandbox of its shell prevents writing and network access, not reading.
onCase(client, "a main conversation's shell may read the document where it lies, and asks nobody", async ({ home, seen }) => {
  const file = home.document();
  home.sandbox = 'read-only';
  const session = await home.play({ main: [call('exec_command', { cmd: `cat '${file}'`, yield_time_ms: 30_000 }), say('Done.')] });
  const { text } = session.answer('main', 'exec_command');
  assert.ok(text.includes(CANARY), `Codex asks by now: say so in docs/use-from.md; ${text}`);
  seen('its default sandbox lets every file be read');
});

onCase(client, 'a key in a variable that env_vars names reaches the server', async ({ home }) => {
  // As a user adds it, at the end of the server's table.
  home.change(`.codex/${PROFILE}.config.toml`, (text) => `${text}env_vars = ["SCANNER_KEY"]\n`);
  assert.equal(await keyInEnvironment(client, home, 'SCANNER_KEY'), DOCUMENT);
});

/** Hooks run without their user's review, which nobody gives in a script. */
const trusting = {
  ...client,
  command(home, model, prompt) {
    const { program, args, env } = client.command(home, model, prompt);
    return { program, args: home.trusts ? [args[0], '--dangerously-bypass-hook-trust', ...args.slice(1)] : args, env };
  },
};

onHook(trusting, {
  agent: 'scanner',
  file: '.codex/hooks.json',
  start: agent,
  nests: false,
  configure(home) {
    home.trusts = true;
    for (const name of ['scanner', 'other']) {
      home.write(home.home, `.codex/agents/${name}.toml`, `name = "${name}"\ndescription = "Scans."\ndeveloper_instructions = "Scan."\n`);
    }
  },
});

onCase(trusting, 'a hook that nobody has trusted is left out without a word, and the agent starts', async ({ home }) => {
  home.write(home.home, '.codex/hooks.json', home.inject('codex', 'worker'));
  const session = await home.play({ main: [...agent('worker', 'worker'), say('Done.')], worker: [say('Done.')] });
  session.assertOnlyIn(CANARY);
});
