// The plugin's module: its text, and what remains where it fails.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { onEachClient } from './harness/case.mjs';
import { AGENT_FILE, CANARY, CATALOG, KEY, LEAVE, MODULE, OTHER_AGENT, OWN_TOOL, PACKAGED, SCANNER, TOOL, load, say, scan, search, spawn } from './harness/plugin.mjs';

const THROW = "throw new Error('no')";

/** What goes wrong: a file, how it is changed, and whether the module can tell the user. */
const FAILURES = {
  'is not there': [MODULE, null],
  'is no program': [MODULE, () => 'export const register = (on) => {'],
  'throws at once': [MODULE, () => THROW],
  'throws in register': [MODULE, (text) => text.replace('(on) => {', `$& ${THROW}`)],
  'throws when the session starts': [MODULE, (text) => text.replace("on('session.start', async ($, e, next) => {", `$& ${THROW}`)],
  'finds another agent than it knows': [AGENT_FILE, OTHER_AGENT, true],
  'finds an interface without agents': [MODULE, (text) => text.replace('$.agent.register', '($.agent as any).enroll'), true],
};

onEachClient('failed-module-leaves-guard: where the module fails, the guarded way is whole, and the user is told', { modules: true }, async ({ home }) => {
  for (const [how, [name, change, told]] of Object.entries(FAILURES)) {
    const file = home.plugin(name);
    const shipped = fs.readFileSync(file, 'utf8');
    if (change) home.change(file, change);
    else fs.rmSync(file);
    const parent = [search(TOOL), load(KEY), spawn('scanner', SCANNER), say('Done.')];
    const session = await home.play({ parent, scanner: [load(KEY), say('Done.')] }, LEAVE);
    fs.writeFileSync(file, shipped);
    assert.equal(session.answer('scanner', TOOL).text, CATALOG, `the module ${how}`);
    assert.equal(session.answer('parent', TOOL).error, true, `the module ${how}`);
    session.assertOnlyIn(CANARY, 'scanner');
    const logged = session.events.filter(({ subtype }) => subtype === 'ui_log').map(({ text }) => text);
    if (told) assert.match(logged.join('\n'), /behind the guard[^]*update or reinstall the plugin/, how);
    else assert.deepEqual(logged, [], `the module ${how}`);
  }
});

onEachClient('both-ways-one-text: both ways have the one text, but for the call', async ({ home, loads }) => {
  const session = await scan(home);
  const agent = fs.readFileSync(path.join(PACKAGED, AGENT_FILE), 'utf8');
  const [, head, body] = agent.match(/^---\n([^]+?)\n---\n([^]+)$/);
  const withoutKey = body
    .replace(/once, with exactly this argument:\n\n```json\n.*\n```/, 'once, without arguments.')
    .replaceAll(TOOL, OWN_TOOL);
  assert.notEqual(withoutKey, body);
  assert.ok(session.of('scanner')[0].system.includes((loads ? withoutKey : body).trim()));
  const [, description] = head.match(/^description: (.*)$/m);
  assert.ok(session.of('parent')[0].text.includes(JSON.stringify(description).slice(1, -1)));
  assert.match(body, /summarized or cut while you work.*call again/);
});

const bin = (name, ...args) => spawnSync(path.join(import.meta.dirname, 'node_modules/.bin', name), args, { encoding: 'utf8' });

test('module-formatted: the module is formatted', () => {
  const module = path.resolve(import.meta.dirname, '../../plugin', MODULE);
  const config = path.join(import.meta.dirname, '.prettierrc.json');
  const { status, stdout, stderr } = bin('prettier', '--config', config, '--check', module);
  assert.equal(status, 0, `${stdout}${stderr}run: npx prettier --config .prettierrc.json --write ${module}`);
});

// A client writes them next to a module that it loads from a folder.
onEachClient("module-type-checks: the module is right by the client's own declarations", { plugin: 'none', terminal: true, modules: true }, async ({ home, client }) => {
  const folder = path.join(home.root, 'plugin');
  fs.cpSync(PACKAGED, folder, { recursive: true });
  const types = path.join(folder, '.claude-plugin/types');
  const declarations = ['tsconfig.json', 'claude-code/index.d.ts'].map((name) => path.join(types, name));
  const look = () => declarations.map((file) => fs.statSync(file, { throwIfNoEntry: false })?.size).join();
  let before;
  // Whole: both are there, and at the next look they are the same.
  const written = () => declarations.every(fs.existsSync) && before === (before = look());
  const parent = [() => home.until('the declarations', written).then(() => say('Done.'))];
  await home.terminal({ parent }, (session) => session.has('parent') && written(), {}, ['--plugin-dir', folder]);
  const [first] = fs.readFileSync(declarations[1], 'utf8').split('\n', 1);
  assert.ok(first.includes(client.version), first);
  const check = () => bin('tsc', '--project', declarations[0]);
  const { status, stdout, stderr } = check();
  assert.equal(status, 0, `${stdout}${stderr}`);

  // This shows that the check really reads them.
  home.change(path.join(folder, MODULE), (text) => text.replace('$.agent.register({', '$.agent.register({ nome: 1,'));
  assert.match(check().stdout, /nome/);
});
