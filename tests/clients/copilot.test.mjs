// GitHub Copilot CLI: the cases of all clients, and what docs/use-from.md says about
// it.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import client from './clients/copilot.mjs';
import { ALONE, alone } from './harness/alone.mjs';
import { onCase, onClient, plain } from './harness/cases.mjs';
import { CANARY, DOCUMENT, KEY } from './harness/home.mjs';
import { onHook } from './harness/hooked.mjs';
import { call, say } from './harness/model.mjs';
import * as namesakes from './harness/namesakes.mjs';
import { HANDED_DOWN, RESUMED, handedDown, projectAgent, resumed } from './harness/reach.mjs';

onClient(client);

const { spawn, background, load, finish, tool } = client;
const AGENT = '.copilot/agents/identifier-scanner.agent.md';

/** A second line of a document. */
const KEPT = 'ZQ-CANARY-08ad41';

/** A document one byte longer than what the client passes on. */
const LONG = `# ${CANARY}\n`.padEnd(client.limit.characters + 1, 'identifier\n');

/** From here on, the client of `home` runs with these arguments and variables as well. */
function also(home, args, env = {}) {
  home.client = {
    ...client,
    command(...given) {
      const command = client.command(...given);
      return { ...command, args: [...command.args, ...args], env: { ...command.env, ...env } };
    },
  };
}

/** The files to which the client has written results that are too long for it. */
const spilled = (home) => fs.readdirSync(path.join(home.root, 'tmp')).filter((name) => name.includes('tool-output'));

onCase(client, 'so it is in the first session of all, for which it unpacks itself', async ({ home }) => {
  home.document();
  client.configure(home);
  also(home, [], { COPILOT_CACHE_HOME: path.join(home.home, '.cache/copilot') });
  const session = await home.session(plain(client));
  session.assertPlayed();
  assert.equal(session.answer('scanner', tool).text, DOCUMENT);
});

onCase(client, 'it asks nobody but the model for anything', async ({ home }) => {
  home.document();
  client.configure(home);
  const session = await home.session(plain(client));
  session.assertPlayed();
  assert.deepEqual(session.outside, []);
});

onCase(client, 'the agent of the example has the two tools that it names, so it can start no other', async ({ home }) => {
  home.document();
  client.configure(home);
  const session = await home.session(plain(client));
  session.assertPlayed();
  assert.deepEqual(session.tools('scanner').sort(), [tool, 'view'].sort());
});

onCase(client, HANDED_DOWN, async ({ home }) => {
  await handedDown(client, home, 'task', () => home.write(home.home, AGENT, home.example('copilot-agent.md').replace(/^tools:.*\n/m, '')));
});

onCase(client, "an agent that names another agent's tool gets nothing by that", async ({ home }) => {
  home.document();
  client.configure(home);
  home.write(home.home, '.copilot/agents/other.agent.md', `---\nname: other\ndescription: Does something else.\ntools: ["*", "scanner-catalog/load_context", "scanner-catalog/*"]\n---\n\nDo your task.\n`);
  let answered;
  const other = new Promise((resolve) => (answered = resolve));
  const session = await home.session({
    main: [[spawn('scanner', 'scanner'), spawn('other', 'other')], say('Done.')],
    scanner: [load(), () => other.then(() => finish('Nothing was found.'))],
    other: [load(), () => (answered(), finish('Nothing was done.'))],
  });
  session.assertPlayed();
  assert.ok(!session.tools('other').includes(tool));
  session.assertOnlyIn(CANARY, 'scanner');
});

onCase(client, 'of an agent in the background, the main conversation reads the last words only', async ({ home }) => {
  home.document();
  client.configure(home);
  const started = ({ messages }) => messages.at(-1).results[0].text.match(/agent_id: ([\w-]+?)\./)[1];
  const session = await home.session({
    main: [
      background('scanner', 'scanner'),
      (request) => call('read_agent', { agent_id: started(request), wait: true, timeout: 180, since_turn: 0 }),
      say('Done.'),
    ],
    scanner: [load(), finish('Nothing was found.')],
  });
  session.assertPlayed();
  assert.match(session.answer('main', 'read_agent').text, /Nothing was found\./);
  session.assertOnlyIn(CANARY, 'scanner');
  session.assertOnlyIn(KEY);
});

onCase(client, 'with max_bytes = 20480 in the map, a longer document lies in no file while the session runs', async ({ home }) => {
  home.document(LONG);
  home.atMost(client.limit.characters);
  client.configure(home);
  let files;
  const session = await home.session({
    main: [spawn('scanner', 'scanner'), () => ((files = spilled(home)), say('Done.'))],
    scanner: [load(), finish('It is too large.')],
  });
  session.assertPlayed();
  assert.match(session.answer('scanner', tool).text, /too-large: [a-z]+ [a-z]+ [a-z]+/);
  session.assertOnlyIn(CANARY);
  assert.deepEqual(files, []);
});

onCase(client, 'without it, the main conversation may read the file to which the result was written', async ({ home, seen }) => {
  home.document(LONG);
  client.configure(home);
  const session = await home.session({
    main: [
      spawn('scanner', 'scanner'),
      () => call('view', { path: path.join(home.root, 'tmp', spilled(home)[0]), view_range: [1, 1] }),
      say('Done.'),
    ],
    scanner: [load(), finish('It is in a file.')],
  });
  session.assertPlayed();
  assert.ok(session.answers('main').at(-1).text.includes(CANARY), session.report());
  assert.deepEqual(spilled(home), []);
  seen('a result that is too long lies in the temporary directory, for all that the client runs, until the session ends');
});

onCase(client, 'without it, a client that is killed leaves that file behind', async ({ home, seen }) => {
  home.document(LONG);
  client.configure(home);
  let told;
  const called = new Promise((resolve) => (told = resolve));
  await home.session(
    { ...plain(client), scanner: [load(), () => (told(), new Promise(() => {}))] },
    {
      during: async (child) => {
        await called;
        home.kill(child);
        await home.until('the end of the server', () => home.servers().length === 0);
      },
    },
  );
  const [file] = spilled(home);
  assert.ok(file, 'it leaves no file any more: tell so in docs/use-from.md');
  const mode = fs.statSync(path.join(home.root, 'tmp', file)).mode & 0o777;
  seen(`killed, it leaves the whole document in the temporary directory, mode ${mode.toString(8)}`);
});

onCase(client, 'COPILOT_LARGE_OUTPUT_THRESHOLD_BYTES moves the limit', async ({ home }) => {
  home.document(LONG);
  client.configure(home);
  also(home, [], { COPILOT_LARGE_OUTPUT_THRESHOLD_BYTES: '1000000' });
  const session = await home.session(plain(client));
  session.assertPlayed();
  assert.ok(session.answer('scanner', tool).text === LONG);
});

onCase(client, 'the call needs no leave, and the user may deny it', async ({ home, seen }) => {
  home.document();
  client.configure(home);
  also(home, ['--deny-tool=scanner-catalog']);
  const session = await home.session(plain(client));
  session.assertPlayed();
  session.assertOnlyIn(CANARY);
  seen(`a denied call is answered: ${session.answer('scanner', tool).text}`);
});

onCase(client, "a repository's agent starts its server in a folder that nobody trusted", async ({ home, seen }) => {
  home.document();
  home.write(home.project, '.github/agents/identifier-scanner.agent.md', home.example('copilot-agent.md'));
  const session = await home.session(plain(client));
  session.assertPlayed();
  assert.equal(session.answer('scanner', tool).text, DOCUMENT, 'it asks for trust now: tell so in docs/use-from.md');
  session.assertOnlyIn(CANARY, 'scanner');
  seen('with -p, an agent in .github/agents starts its server without a question');
});

onCase(client, 'who starts a session as the agent gives the document to the main conversation', async ({ home, seen }) => {
  home.document();
  client.configure(home);
  also(home, ['--agent', 'identifier-scanner']);
  const session = await home.session({ main: [load(), say('Done.')] });
  session.assertPlayed();
  assert.equal(session.answer('main', tool).text, DOCUMENT);
  seen('--agent makes the agent the main conversation, with its server');
});

onCase(client, 'an agent whose server lists no tools is not there at all', async ({ home, seen }) => {
  home.document();
  client.configure(home);
  home.write(home.home, AGENT, home.example('copilot-agent.md').replace(/^ {4}tools:.*\n/m, ''));
  const session = await home.session({ main: [spawn('scanner', 'scanner'), say('Done.')] });
  session.assertPlayed();
  assert.match(session.answer('main', 'task').text, /Unknown agent_type/, session.report());
  seen('`tools:` of a server is required');
});

onCase(client, ALONE, alone);

onCase(client, RESUMED, ({ home }) => resumed(client, home, () => also(home, ['--continue'])));

onCase(client, 'what it prints shows the first line of the document, and nothing of it with --silent', async ({ home, seen }) => {
  home.document(`${CANARY}\n${KEPT}\n`);
  client.configure(home);
  const loud = await home.session(plain(client));
  loud.assertPlayed();
  assert.ok(loud.stdout.includes(CANARY) && !loud.stdout.includes(KEPT), loud.report());
  also(home, ['--silent']);
  const silent = await home.session(plain(client));
  silent.assertPlayed();
  assert.ok(!silent.stdout.includes(CANARY), silent.report());
  seen('the first line of a result is printed, also where the output is a program\'s');
});

onCase(client, namesakes.AGENTS, namesakes.agents);
onCase(client, namesakes.MAIN, namesakes.main);

onCase(client, 'in a terminal it is the same: the agent alone has it, and nobody is asked', async ({ t, home, seen }) => {
  if (spawnSync('python3', ['-c', 'import pty']).status !== 0) return t.skip('skipped: a terminal (no python3)');
  home.document();
  client.configure(home);
  // The user's trust in the folder, as the client notes it.
  home.write(home.home, '.copilot/config.json', JSON.stringify({ trusted_folders: [home.project] }));
  const session = await home.terminal(plain(client), 'Begin.', ({ has }) => home.until('the last turn', () => has('main', 1)));
  assert.deepEqual(session.unscripted, []);
  assert.equal(session.answer('scanner', tool).text, DOCUMENT);
  assert.ok(!session.tools('main').includes(tool));
  session.assertOnlyIn(CANARY, 'scanner');
  session.assertOnlyIn(KEY);
  seen('in a terminal too, the call is not asked for');
});

onCase(client, "an agent of Claude Code's that a project has is an agent here, without its server", async ({ home }) => {
  home.document();
  home.write(home.project, '.claude/agents/identifier-scanner.md', home.example('claude-code-agent.md'));
  const session = await home.session(plain(client));
  session.assertPlayed();
  assert.deepEqual(session.tools('scanner'), ['view']);
  session.assertOnlyIn(CANARY);
});

onCase(client, "an agent of a project does not take the place of the user's of the same name", async ({ home }) => {
  const file = '.github/agents/identifier-scanner.agent.md';
  const { taken, text } = await projectAgent(client, home, file, () => home.example('copilot-agent.md').replace(/^tools:.*\n/m, ''));
  assert.deepEqual([taken, text], [false, DOCUMENT]);
});

onHook(client, {
  agent: 'identifier-scanner',
  file: '.copilot/hooks/keyhole.json',
  start: (...all) => [spawn(...all)],
  configure(home) {
    client.configure(home);
    home.write(home.home, AGENT, home.example('copilot-agent.md').replace(/^tools:.*\n/m, ''));
  },
});

onCase(client, "a hook is not run for what has the agent's name and not its type, and a project's is not run", async ({ home, seen }) => {
  home.document();
  client.configure(home);
  home.write(home.home, '.copilot/hooks/keyhole.json', home.inject('copilot-cli', 'identifier-scanner'));
  const answer = home.write(home.project, 'answer', JSON.stringify({ additionalContext: 'ZQ-FALSE' }));
  const hooks = { SubagentStart: [{ type: 'command', command: `cat '${answer}'` }] };
  home.write(home.project, '.github/hooks/hook.json', JSON.stringify({ version: 1, hooks }));
  const named = spawn('named', 'general-purpose');
  named.input.name = 'identifier-scanner';
  const session = await home.session({
    main: [spawn('scanner', 'scanner'), named, say('Done.')],
    scanner: [finish('Done.')],
    named: [finish('Done.')],
  });
  session.assertPlayed();
  assert.ok(session.of('scanner')[0].text.includes(CANARY));
  session.assertOnlyIn(CANARY, 'scanner');
  session.assertOnlyIn('ZQ-FALSE');
  seen('the hook is told the type, and ids in a form that Codex has too');
});
