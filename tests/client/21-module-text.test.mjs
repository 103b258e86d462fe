// The module's text: it is formatted, and correct by the client's own
// declarations, which a client writes next to a module that it loads from a
// folder.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { onEachClient } from './harness/case.mjs';
import { PACKAGED } from './harness/plugin.mjs';
import { say } from './harness/script.mjs';

const bin = (name) => path.join(import.meta.dirname, 'node_modules/.bin', name);

test('21a: the module is formatted', () => {
  const module = path.resolve(import.meta.dirname, '../../plugin/hooks/register.ts');
  const config = path.join(import.meta.dirname, '.prettierrc.json');
  const { status, stdout, stderr } = spawnSync(bin('prettier'), ['--config', config, '--check', module], { encoding: 'utf8' });
  assert.equal(status, 0, `${stdout}${stderr}run: npx prettier --config .prettierrc.json --write ${module}`);
});

onEachClient("21b: the module is right by the client's own declarations", { plugin: 'none', terminal: true, modules: true }, async ({ home, client, seen }) => {
  const folder = path.join(home.root, 'plugin');
  fs.cpSync(PACKAGED, folder, { recursive: true });
  const types = path.join(folder, '.claude-plugin/types');
  const declarations = ['tsconfig.json', 'claude-code/index.d.ts'].map((name) => path.join(types, name));
  const look = () => declarations.map((file) => fs.statSync(file, { throwIfNoEntry: false })?.size).join();
  let before;
  // Whole: both are there, and at the next look they are the same.
  const written = () => declarations.every(fs.existsSync) && before === (before = look());
  const parent = [() => home.until('the declarations', written).then(() => say('Done.'))];
  const done = (session) => session.has('parent') && written();
  await home.terminal({ parent }, done, {}, ['--plugin-dir', folder]);
  const first = fs.readFileSync(path.join(types, 'claude-code/index.d.ts'), 'utf8').split('\n', 1)[0];
  assert.ok(first.includes(client.version), first);
  const check = () => spawnSync(bin('tsc'), ['--project', path.join(types, 'tsconfig.json')], { encoding: 'utf8' });
  const { status, stdout, stderr } = check();
  assert.equal(status, 0, `${stdout}${stderr}`);
  seen('a client writes the declarations of its interface beside a module from a folder');

  // This shows that the check really reads them.
  home.change(path.join(folder, 'hooks/register.ts'), (text) => text.replace('$.agent.register({', '$.agent.register({ nome: 1,'));
  assert.match(check().stdout, /nome/);
});
