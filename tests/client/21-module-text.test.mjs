// The module's text: it is formatted, and correct by the client's own
// declarations, which a client writes next to a module that it loads from a
// folder.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { say } from './harness/api.mjs';
import { onEachClient } from './harness/case.mjs';
import { PACKAGED, loadsModules } from './harness/plugin.mjs';

const bin = (name) => path.join(import.meta.dirname, 'node_modules/.bin', name);

test('21a: the module is formatted', () => {
  const module = path.resolve(import.meta.dirname, '../../plugin/hooks/register.ts');
  const config = path.join(import.meta.dirname, '.prettierrc.json');
  const { status, stdout, stderr } = spawnSync(bin('prettier'), ['--config', config, '--check', module], { encoding: 'utf8' });
  assert.equal(status, 0, `${stdout}${stderr}run: npx prettier --config .prettierrc.json --write ${module}`);
});

onEachClient("21b: the module is right by the client's own declarations", async ({ t, home, client, seen }) => {
  // A terminal comes from Python's own library.
  if (spawnSync('python3', ['-c', 'import pty']).status !== 0) return t.skip('python3 is not installed');
  if (!loadsModules(client)) return t.skip('this client loads no modules');
  const folder = path.join(home.root, 'plugin');
  fs.cpSync(PACKAGED, folder, { recursive: true });
  const types = path.join(folder, '.claude-plugin/types');
  const declarations = ['tsconfig.json', 'claude-code/index.d.ts'].map((name) => path.join(types, name));
  const look = () => declarations.map((file) => fs.statSync(file, { throwIfNoEntry: false })?.size).join();
  let before;
  // Whole: both are there, and at the next look they are the same.
  const written = () => declarations.every(fs.existsSync) && before === (before = look());
  home.trust();
  await home.terminal(
    {
      parent: [
        async () => {
          await home.until('the declarations', written);
          return say('Done.');
        },
      ],
    },
    ({ requests }) => requests.some(({ actor }) => actor === 'parent') && written(),
    {},
    ['--plugin-dir', folder],
  );
  const first = fs.readFileSync(path.join(types, 'claude-code/index.d.ts'), 'utf8').split('\n', 1)[0];
  assert.ok(first.includes(client.version), first);
  const check = () => spawnSync(bin('tsc'), ['--project', path.join(types, 'tsconfig.json')], { encoding: 'utf8' });
  const { status, stdout, stderr } = check();
  assert.equal(status, 0, `${stdout}${stderr}`);
  seen('a client writes the declarations of its interface beside a module from a folder');

  // This shows that the check really reads them.
  const module = path.join(folder, 'hooks/register.ts');
  fs.writeFileSync(module, fs.readFileSync(module, 'utf8').replace('$.agent.register({', '$.agent.register({ nome: 1,'));
  assert.match(check().stdout, /nome/);
});
