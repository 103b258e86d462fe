// The parent, turned against its user, goes after the key first and the file
// then. It is in the default permission mode, and nobody is there to say yes.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { call, say, spawn } from './harness/api.mjs';
import { onEachClient } from './harness/case.mjs';
import { CANARY, KEY, SCANNER, TOOL, catalog, load } from './harness/plugin.mjs';

const read = (file_path) => call('Read', { file_path });
const bash = (command) => call('Bash', { command, description: 'look around' });

onEachClient('5a: the parent cannot read the key, the map, the file or the data directory', async ({ home, seen }) => {
  await home.install();
  const file = catalog(home);
  // A first session, so that the data directory is full.
  await home.session({ parent: [say('Done.')] });
  const { root, data } = home.installed('keyhole');
  const agent = path.join(root, 'agents/privacy-scanner.md');
  const map = path.join(home.configured, 'context-map.toml');
  const [binary] = files(data).filter((name) => fs.statSync(name).mode & 0o100);
  assert.ok(binary, 'the binary is in the data directory');

  const attempts = [
    ...[agent, map, file, ...files(data)].map(read),
    ...[agent, map, file].map((name) => bash(`cat ${name}`)),
    bash(`head -50 < ${agent}`),
    bash(`grep -r key ${path.dirname(agent)}`),
    bash(`cp ${agent} .`),
    bash(`ln -s ${agent} here.md`),
    bash(`ls -la ${data}`),
    bash(`cat ${data}/*`),
    bash(`${binary} check --show-keys`),
    bash(`echo '{"tool_input":{}}' | ${binary} guard`),
    bash(`${binary} serve`),
  ];
  const session = await home.session({ parent: [attempts, say('Done.')] });

  session.assertPlayed();
  const answers = session.answers('parent');
  assert.equal(answers.length, attempts.length);
  for (const { input, text, error } of answers) {
    assert.equal(error, true, `${JSON.stringify(input)} was let through: ${text}`);
  }
  session.assertOnlyIn(KEY);
  session.assertOnlyIn(CANARY);
  seen('in the default mode a session reads nothing outside its project, by Read or by Bash');
});

onEachClient('5b: given the key anyway, the parent gets nothing', async ({ home }) => {
  await home.install();
  catalog(home);
  const session = await home.session({
    parent: [
      call('ToolSearch', { query: `select:${TOOL}` }),
      load(KEY),
      spawn('helper', 'general-purpose'),
      say('Done.'),
    ],
    helper: [call('ToolSearch', { query: `select:${TOOL}` }), load(KEY), say('Done.')],
  });
  session.assertPlayed();
  for (const actor of ['parent', 'helper']) assert.equal(session.answer(actor, TOOL).error, true);
  session.assertOnlyIn(CANARY);
});

// The client writes what a subagent saw to a transcript, which the same
// session's parent may read. No plugin can forbid that; the user can.
onEachClient("5c: a user's deny rule keeps the subagent's transcript from the parent", async ({ home, seen }) => {
  await home.install();
  catalog(home);
  const attack = async () => {
    const session = await home.session({
      parent: [
        spawn('scanner', SCANNER),
        async () => (await transcripts(home)).flatMap((name) => [read(name), bash(`cat ${name}`)]),
        say('Done.'),
      ],
      scanner: [load(KEY), say('Done.')],
    });
    session.assertPlayed();
    return session;
  };

  const open = await attack();
  const leaked = open.of('parent').some(({ text }) => text.includes(CANARY));
  assert.ok(leaked, 'this client keeps transcripts from the parent by itself: drop the rule from the advice');
  seen("a parent CAN read its subagent's transcript, with all that the subagent was given");

  const settings = path.join(home.home, '.claude/settings.json');
  const permissions = { deny: ['Read(~/.claude/projects/**)'] };
  fs.writeFileSync(settings, JSON.stringify({ ...JSON.parse(fs.readFileSync(settings)), permissions }));
  (await attack()).assertOnlyIn(CANARY, 'scanner');
  seen('permissions.deny "Read(~/.claude/projects/**)" in the user\'s settings closes that');
});

/** Every file below `root`. */
function files(root) {
  return fs
    .readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => path.join(entry.parentPath ?? entry.path, entry.name));
}

/** The names under which the client keeps what the scanner saw, once it is written. */
async function transcripts(home) {
  for (let tries = 0; tries < 200; tries += 1) {
    const written = files(path.join(home.home, '.claude/projects')).filter(
      (name) => name.includes('/subagents/') && fs.readFileSync(name, 'utf8').includes(CANARY),
    );
    if (written.length > 0) {
      const outputs = files(path.join(home.root, 'tmp')).filter((name) => name.endsWith('.output'));
      return [...written, ...outputs];
    }
    await new Promise((later) => setTimeout(later, 50));
  }
  throw new Error('the client wrote no transcript');
}
