// Two commands, a map, and the very first session works. Also: in a terminal, by the words of
// the plugin's README, by `keyhole setup`, and after an upgrade.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { onEachClient } from './harness/case.mjs';
import { DIST, marketplace } from './harness/home.mjs';
import { CHECKOUT, ordinary } from './harness/ordinary.mjs';
import { CANARY, CATALOG, KEY, OWN_TOOL, PACKAGED, README, SCANNER, TOOL, assertServed, bash, call, catalog, mark, onceFound, programIn, read, say, scan, spawn } from './harness/plugin.mjs';

const BARE = { plugin: 'none' };

onEachClient('first-session-loads: the first session loads the catalog, for the subagent alone', async ({ home, loads, way }) => {
  const text = `\ufeff# Katalog\r\n\r\n- ${CANARY} – „Ä" 🔑\t \r\nno newline at the end  `;
  catalog(home, { text });
  const session = await scan(home, { scanner: [way.load, say('One finding: src/a.txt, line 1, rule 1, high.')] });
  assert.deepEqual([session.got.error, session.got.text], [false, text], 'the file, byte for byte');
  session.assertOnlyIn(CANARY, 'scanner');
  session.assertOnlyIn(KEY, ...(loads ? [] : ['scanner']));
  if (loads) for (const tool of [TOOL, OWN_TOOL]) assert.ok(!session.tools('parent').includes(tool), tool);
  // An agent's `tools:` gives it the tool at once, and the allow of the plugin's own hook is all
  // the permission that -p needs.
  else assert.ok(session.of('scanner')[0].text.includes(KEY), 'the key is in the body of the agent');
  assert.match(session.answer('parent', 'Agent').text, /One finding/);
  assert.deepEqual(session.result.permission_denials, []);
});

/** The server's place in the output of mcp list, after which a session works. */
async function listFirst(home) {
  const listed = (await home.must('mcp', 'list')).match(/^plugin:keyhole:context: .*$/m)?.[0];
  assert.match(listed, /Connected/);
  assert.equal((await scan(home)).got.text, CATALOG);
  return listed;
}

// It starts the server and runs no hook; the client remembers a failure for later.
onEachClient('mcp-list-first: mcp list as the very first thing connects, and so does the session after it', async ({ home }) => {
  const listed = await listFirst(home);
  // From a repository, a plugin runs in the client's copy of it.
  assert.ok(listed.includes(home.installed('keyhole').root), listed);
});

// As many have it who use WSL.
onEachClient('line-ends: where git changes line ends, the installed plugin works, and says why a program may not be run', BARE, async ({ home, client }) => {
  fs.appendFileSync(path.join(home.home, '.gitconfig'), '[core]\nautocrlf = true\n');
  await home.installFrom(home.publish(DIST));
  catalog(home);
  assert.equal((await scan(home)).got.text, CATALOG);
  // An installer may also take the right to run them from all files.
  for (const file of home.files(home.installed('keyhole').root)) fs.chmodSync(file, 0o644);
  const { text } = (await home.session({ parent: [say('Done.')] }, [], {}, `/keyhole:check ${mark('parent')}`)).of('parent')[0];
  assert.match(text, /run chmod u\+x on it/, client.version);
});

onEachClient('installed-from-folder: mcp list and a session work from the folder of an unpacked release', BARE, async ({ home }) => {
  const folder = path.join(home.root, 'release');
  fs.cpSync(DIST, folder, { recursive: true });
  await home.installFrom(folder);
  catalog(home);
  const listed = await listFirst(home);
  assert.ok(listed.includes(`${folder}/`), `it runs in that folder, which has to stay: ${listed}`);
});

/** README's lines that install the plugin from a checkout. The last one, setup, has a case of its own. */
const LINES = fs.readFileSync(path.join(CHECKOUT, 'README.md'), 'utf8').match(/```sh\n(\.\/x release dist [^]*?)\S*keyhole setup plugin\n```/)[1];

onEachClient("installed-from-checkout: README's lines, typed in a checkout by a user who has Rust and a C compiler, end in a served agent", { ...BARE, modules: true }, async ({ t, home }) => {
  const user = ordinary(t, home);
  if (!user) return;
  const typed = await user.type(LINES);
  assert.match(typed.stderr, /uses this system's C library/);
  assert.deepEqual(fs.readdirSync(home.project).filter((name) => name.startsWith('dist')), ['dist']);
  assert.match((await user.type('./dist/keyhole --version')).stdout, /^keyhole /);
  catalog(home);
  assert.equal((await scan(home, {}, [], { PATH: user.PATH })).got.text, CATALOG);
});

onEachClient('upgraded-in-next-session: a session goes on with the version that it began with, and the next one runs the upgraded plugin', BARE, async ({ home, loads }) => {
  const market = path.join(home.root, 'market');
  fs.cpSync(DIST, market, { recursive: true });
  await home.install(market);
  catalog(home);
  const before = home.installed('keyhole').root;
  const ran = path.join(home.root, 'ran');
  const { name, plugin } = marketplace(market);
  const upgraded = async () => {
    upgrade(plugin, `#!/bin/sh\necho "$1" >>"${ran}"\nexec "${programIn(PACKAGED)}" "$@"\n`);
    home.publish(market);
    await home.must('plugin', 'marketplace', 'update', name);
    await home.must('plugin', 'update', `keyhole@${name}`);
    return spawn('scanner', SCANNER);
  };
  assert.equal((await scan(home, { parent: [upgraded, say('Done.')] })).got.text, CATALOG);
  assert.ok(!fs.existsSync(ran), 'a program of the new version ran');

  assert.notEqual(home.installed('keyhole').root, before);
  assert.equal((await scan(home)).got.text, CATALOG);
  const commands = new Set(fs.readFileSync(ran, 'utf8').trim().split('\n'));
  assert.deepEqual([...commands].sort(), [...(loads ? ['agents'] : []), 'check', 'gate', 'guard', 'hand-over', 'serve', 'tickets', 'withhold']);
});

/** Makes the plugin in the folder `plugin` the next version, with `server` as its program. */
function upgrade(plugin, server) {
  const manifest = path.join(plugin, 'manifest.sha256');
  const lines = fs.readFileSync(manifest, 'utf8').replace(/^\w+(?=\s+\*?(server\/.*))/gm, (_, file) => {
    fs.writeFileSync(path.join(plugin, file), server);
    return createHash('sha256').update(server).digest('hex');
  });
  fs.writeFileSync(manifest, lines);
  const described = path.join(plugin, '.claude-plugin/plugin.json');
  fs.writeFileSync(described, JSON.stringify({ ...JSON.parse(fs.readFileSync(described)), version: '99.0.0' }));
}

// It overlooks much (a missing script, an unknown variable, a wrong tool name); the Rust tests
// of the package find these.
onEachClient('plugin-validates: plugin validate --strict passes on the marketplace and on the plugin, also as the directory of plugins asks, or tells what the client lacks', BARE, async ({ home, client, loads }) => {
  if (!loads) {
    const { code, stdout, stderr } = await home.run(...home.command(client.program, 'plugin', 'validate', PACKAGED));
    assert.equal(code, 1, stdout);
    assert.match(stdout + stderr, /Found 1 warning:\s+.*network: Unknown field[^]*Found 1 error:\s+.*"agent\.report" is not an event/);
    return;
  }
  for (const [folder, ...more] of [[DIST], [PACKAGED, '--profile', 'directory']]) {
    const said = await home.must('plugin', 'validate', '--strict', ...more, folder);
    assert.match(said, /gating hook with \.catch: agent\.spawn/);
    assert.doesNotMatch(said, /gating hook without|Hosts not declared/);
  }
});

// There the client does not wait for servers and could ask for permission.
onEachClient('first-terminal-session-loads: the first interactive session loads the catalog and asks for nothing', { terminal: true }, async ({ home, loads, way }) => {
  const start = spawn('scanner', SCANNER);
  const session = await home.terminal(
    {
      // With a module, the client starts the server with the agent, and waits for it. The agent
      // runs in the background, and the client tells the parent when it ends.
      parent: loads ? [start, say('Done.'), say('Done.')] : onceFound(TOOL, start),
      scanner: [way.load, say('One finding.')],
    },
    // Sent to a parent that has nothing more to do: the scanner's own last words.
    ({ requests }) => requests.some(({ actor, text }) => actor === 'parent' && text.includes('One finding.')),
  );
  assertServed(session, way.tool, 'scanner');
  session.assertOnlyIn(KEY, ...(loads ? [] : ['scanner']));
});

/** The first block of README in the given language, without its indent. */
function block(language) {
  const found = README.match(new RegExp(`^( *)\`\`\`${language}\\n([^]*?)^ *\`\`\`$`, 'm'));
  assert.ok(found, `README has a block of ${language || 'commands'}`);
  return found[2].replaceAll(new RegExp(`^${found[1]}`, 'gm'), '');
}

// Its two commands, its catalog, its map, its rules and its check. Only the repository
// differs: it is this package.
onEachClient("readme-word-for-word: the plugin's README works word for word", BARE, async ({ home }) => {
  // What FOLDER can be, by the page.
  const [name, repository, branch] = README.match(/([\w-]+\/[\w-]+)@(\w+)/);
  const commands = block('').replace('FOLDER', name).trim().split('\n');
  home.publish(DIST, `https://github.com/${repository}.git`, branch);
  // Otherwise the client would ask that host by SSH first.
  fs.chmodSync(home.write(home.root, 'shims/ssh', '#!/bin/sh\nexit 1\n'), 0o755);
  fs.symlinkSync(home.client.program, path.join(home.root, 'shims/claude'));
  const PATH = `${path.join(home.root, 'shims')}:${process.env.PATH}`;
  for (const command of commands) await home.succeed('/bin/sh', ['-c', command], { PATH });
  const text = block('markdown');
  home.writeMap(block('toml'));
  home.write(home.home, block('toml').match(/path = "~\/(.*?)"/)[1], text);
  assert.equal((await scan(home)).got.text, text);

  // Its rules, as `check` wants them, and its command for a failure.
  // TMPDIR is set here, so they are there once more with its path, as the page says.
  const { deny } = JSON.parse(block('json')).permissions;
  const more = deny.map((rule) => rule.replace('//tmp/claude-', `/${path.join(home.root, 'tmp')}/claude-`));
  home.set({ permissions: { deny: [...new Set([...deny, ...more])] } });
  const check = await home.succeed('/bin/sh', ['-c', `'${home.plugin('bin/keyhole')}' check`]);
  assert.match(check.stdout, /\nkeyhole:privacy-scanner: would be served, /);
  assert.doesNotMatch(check.stdout, /permissions\.deny/);
});

onEachClient("setup-served-and-removed: the first session after setup is served, its rules hold, and remove restores the settings and leaves the map its roots", { map: false, terminal: true }, async ({ home, way }) => {
  const file = home.write(home.home, 'private/catalog.md', CATALOG);
  const settings = path.join(home.home, '.claude/settings.json');
  const before = fs.readFileSync(settings, 'latin1');
  // As a user who has no other program.
  const setup = (...words) => home.agreed(home.plugin('bin/keyhole'), 'setup', ...words);
  const shown = await setup('plugin', '--file', '~/private/catalog.md');
  assert.match(shown, /keyhole:privacy-scanner: would be served, line/);
  const reads = [read(file), bash(`cat ${file}`), call('Grep', { pattern: 'CANARY', path: path.dirname(file), output_mode: 'content' })];
  const session = await scan(home, { parent: [reads, spawn('scanner', SCANNER), say('Done.')] }, ['--add-dir', home.home]);
  assertServed(session, way.tool, 'scanner');
  // While conversations of agents are there, their rules stay.
  fs.rmSync(path.join(home.home, '.claude/projects'), { recursive: true });
  await setup('remove', 'plugin');
  assert.equal(fs.readFileSync(settings, 'latin1'), before);
  assert.equal(fs.readFileSync(home.mapFile, 'utf8'), 'roots = ["~/private"]\n');
});
