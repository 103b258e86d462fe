// GitHub Copilot CLI: the cases of all clients, and what docs/use-from.md says about
// it.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { call, say } from '../harness/model.mjs';
import { noTerminal } from '../harness/world.mjs';
import client from './clients/copilot.mjs';
import { ALONE, alone } from './harness/alone.mjs';
import { onCase, onClient, plain, whileCalled } from './harness/cases.mjs';
import { CANARY, DOCUMENT, KEY } from './harness/home.mjs';
import { onHook } from './harness/hooked.mjs';
import { onNamesakes } from './harness/namesakes.mjs';
import { HANDED_DOWN, LISTED, RESUMED, handedDown, listed, projectAgent, resumed } from './harness/reach.mjs';

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
  also(home, [], { COPILOT_CACHE_HOME: path.join(home.home, '.cache/copilot') });
  const session = await home.play(plain(client));
  assert.equal(session.answer('scanner', tool).text, DOCUMENT);
});

onCase(client, 'the agent of the example has the two tools that it names, and only the model is asked for anything', async ({ home }) => {
  const session = await home.play(plain(client));
  assert.deepEqual(session.tools('scanner').sort(), [tool, 'view'].sort());
  assert.deepEqual(session.outside, []);
});

/** The example's agent without its list of tools, so that it may start others. */
const unlisted = (home) => home.change(AGENT, (text) => text.replace(/^tools:.*\n/m, ''));

onCase(client, HANDED_DOWN, ({ home }) => handedDown(client, home, 'task', unlisted));

onCase(client, LISTED, ({ home }) =>
  listed(client, home, '.copilot/agents/other.agent.md', ['*', 'scanner-catalog/load_context', 'scanner-catalog/*'], /view/));

onCase(client, 'of an agent in the background, the main conversation reads the last words only', async ({ home }) => {
  const started = ({ messages }) => messages.at(-1).results[0].text.match(/agent_id: ([\w-]+?)\./)[1];
  const session = await home.play({
    main: [
      background('scanner', 'scanner'),
      (request) => call('read_agent', { agent_id: started(request), wait: true, timeout: 180, since_turn: 0 }),
      say('Done.'),
    ],
    scanner: [load(), finish('Nothing was found.')],
  });
  assert.match(session.answer('main', 'read_agent').text, /Nothing was found\./);
  session.assertOnlyIn(CANARY, 'scanner');
  session.assertOnlyIn(KEY);
});

onCase(client, 'without max_bytes in the map, the main conversation may read the file to which the result was written', async ({ home, seen }) => {
  home.document(LONG);
  const session = await home.play({
    main: [
      spawn('scanner', 'scanner'),
      () => call('view', { path: path.join(home.root, 'tmp', spilled(home)[0]), view_range: [1, 1] }),
      say('Done.'),
    ],
    scanner: [load(), finish('It is in a file.')],
  });
  assert.ok(session.answers('main').at(-1).text.includes(CANARY), session.report());
  assert.deepEqual(spilled(home), []);
  seen('a result that is too long lies in the temporary directory, for all that the client runs, until the session ends');
});

onCase(client, 'without max_bytes in the map, a client that is killed leaves that file behind', async ({ home, seen }) => {
  home.document(LONG);
  await whileCalled(client, home, async (child) => {
    home.kill(child);
    await home.until('the end of the server', () => home.servers().length === 0);
  });
  const [file] = spilled(home);
  assert.ok(file, 'it leaves no file any more: tell so in docs/use-from.md');
  const mode = fs.statSync(path.join(home.root, 'tmp', file)).mode & 0o777;
  seen(`killed, it leaves the whole document in the temporary directory, mode ${mode.toString(8)}`);
});

onCase(client, 'COPILOT_LARGE_OUTPUT_THRESHOLD_BYTES moves the limit', async ({ home }) => {
  home.document(LONG);
  also(home, [], { COPILOT_LARGE_OUTPUT_THRESHOLD_BYTES: '1000000' });
  const session = await home.play(plain(client));
  assert.ok(session.answer('scanner', tool).text === LONG);
});

onCase(client, 'the call needs no leave, and the user may deny it', async ({ home, seen }) => {
  also(home, ['--deny-tool=scanner-catalog']);
  const session = await home.play(plain(client));
  session.assertOnlyIn(CANARY);
  seen(`a denied call is answered: ${session.answer('scanner', tool).text}`);
});

onCase(client, "a repository's agent starts its server in a folder that nobody trusted", async ({ home, seen }) => {
  home.write(home.project, '.github/agents/identifier-scanner.agent.md', home.example('copilot-agent.md'));
  const session = await home.play(plain(client));
  assert.equal(session.answer('scanner', tool).text, DOCUMENT, 'it asks for trust now: tell so in docs/use-from.md');
  session.assertOnlyIn(CANARY, 'scanner');
  seen('with -p, an agent in .github/agents starts its server without a question');
}, { bare: true });

onCase(client, 'who starts a session as the agent gives the document to the main conversation', async ({ home, seen }) => {
  also(home, ['--agent', 'identifier-scanner']);
  const session = await home.play({ main: [load(), say('Done.')] });
  assert.equal(session.answer('main', tool).text, DOCUMENT);
  seen('--agent makes the agent the main conversation, with its server');
});

onCase(client, 'an agent whose server lists no tools is not there at all', async ({ home, seen }) => {
  home.change(AGENT, (text) => text.replace(/^ {4}tools:.*\n/m, ''));
  const session = await home.play({ main: [spawn('scanner', 'scanner'), say('Done.')] });
  assert.match(session.answer('main', 'task').text, /Unknown agent_type/, session.report());
  seen('`tools:` of a server is required');
});

onCase(client, ALONE, alone);

onCase(client, RESUMED, ({ home }) => resumed(client, home, () => also(home, ['--continue'])));

onCase(client, 'what it prints shows the first line of the document, and nothing of it with --silent', async ({ home, seen }) => {
  home.document(`${CANARY}\n${KEPT}\n`);
  const loud = await home.play(plain(client));
  assert.ok(loud.stdout.includes(CANARY) && !loud.stdout.includes(KEPT), loud.report());
  also(home, ['--silent']);
  const silent = await home.play(plain(client));
  assert.ok(!silent.stdout.includes(CANARY), silent.report());
  seen('the first line of a result is printed, also where the output is a program\'s');
});

onNamesakes(client);

onCase(client, 'in a terminal it is the same: the agent alone has it, and nobody is asked', async ({ t, home, seen }) => {
  if (noTerminal()) return t.skip(noTerminal());
  // The user's trust in the folder, as the client notes it.
  home.write(home.home, '.copilot/config.json', JSON.stringify({ trusted_folders: [home.project] }));
  const session = await home.terminal(plain(client), ({ has }) => home.until('the last turn', () => has('main', 1)));
  assert.deepEqual(session.unscripted, []);
  assert.equal(session.answer('scanner', tool).text, DOCUMENT);
  assert.ok(!session.tools('main').includes(tool));
  session.assertOnlyIn(CANARY, 'scanner');
  session.assertOnlyIn(KEY);
  seen('in a terminal too, the call is not asked for');
});

onCase(client, "an agent of Claude Code's that a project has is an agent here, without its server", async ({ home }) => {
  home.write(home.project, '.claude/agents/identifier-scanner.md', home.example('claude-code-agent.md'));
  const session = await home.play(plain(client));
  assert.deepEqual(session.tools('scanner'), ['view']);
  session.assertOnlyIn(CANARY);
}, { bare: true });

onCase(client, "an agent of a project does not take the place of the user's of the same name", async ({ home }) => {
  const file = '.github/agents/identifier-scanner.agent.md';
  const { taken, text } = await projectAgent(client, home, file, () => home.example('copilot-agent.md').replace(/^tools:.*\n/m, ''));
  assert.deepEqual([taken, text], [false, DOCUMENT]);
});

onHook(client, {
  agent: 'identifier-scanner',
  file: '.copilot/hooks/keyhole.json',
  start: (...all) => [spawn(...all)],
  configure: unlisted,
});

onCase(client, "a hook is not run for what has the agent's name and not its type, and a project's is not run", async ({ home, seen }) => {
  home.write(home.home, '.copilot/hooks/keyhole.json', home.inject('copilot-cli', 'identifier-scanner'));
  const answer = home.write(home.project, 'answer', JSON.stringify({ additionalContext: 'ZQ-FALSE' }));
  const hooks = { SubagentStart: [{ type: 'command', command: `cat '${answer}'` }] };
  home.write(home.project, '.github/hooks/hook.json', JSON.stringify({ version: 1, hooks }));
  const named = spawn('named', 'general-purpose');
  named.input.name = 'identifier-scanner';
  const session = await home.play({
    main: [spawn('scanner', 'scanner'), named, say('Done.')],
    scanner: [finish('Done.')],
    named: [finish('Done.')],
  });
  assert.ok(session.of('scanner')[0].text.includes(CANARY));
  session.assertOnlyIn(CANARY, 'scanner');
  session.assertOnlyIn('ZQ-FALSE');
  seen('the hook is told the type, and ids in a form that Codex has too');
});
