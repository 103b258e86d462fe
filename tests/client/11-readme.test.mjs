// The plugin's README, word for word, in a fresh home: its two commands, its
// catalog, its map, its rules and its check. Only the repository differs: it is this
// package.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { onEachClient } from './harness/case.mjs';
import { DIST } from './harness/home.mjs';
import { PACKAGED, scan } from './harness/plugin.mjs';

const README = fs.readFileSync(path.join(PACKAGED, 'README.md'), 'utf8');

/** The first block of README in the given language, without its indent. */
function block(language) {
  const found = README.match(new RegExp(`^( *)\`\`\`${language}\\n([^]*?)^ *\`\`\`$`, 'm'));
  assert.ok(found, `README has a block of ${language || 'commands'}`);
  return found[2].replaceAll(new RegExp(`^${found[1]}`, 'gm'), '');
}

onEachClient("11: the plugin's README works word for word", { plugin: 'none' }, async ({ home }) => {
  const commands = block('').trim().split('\n');
  const [, repository, branch] = commands[0].match(/ ([\w-]+\/[\w-]+)@(\w+)$/);
  home.publish(DIST, `https://github.com/${repository}.git`, branch);
  // Otherwise the client would ask that host by SSH first.
  fs.chmodSync(home.write(home.root, 'shims/ssh', '#!/bin/sh\nexit 1\n'), 0o755);
  fs.symlinkSync(home.client.program, path.join(home.root, 'shims/claude'));
  const PATH = `${path.join(home.root, 'shims')}:${process.env.PATH}`;
  for (const command of commands) {
    const { code, stdout, stderr } = await home.run('/bin/sh', ['-c', command], { PATH });
    assert.equal(code, 0, `${command}\n${stdout}\n${stderr}`);
  }
  const catalog = block('markdown');
  home.write(home.configured, 'context-map.toml', block('toml'));
  const [, place] = block('toml').match(/"~\/(.*?)"/);
  home.write(home.home, place, catalog);

  assert.equal((await scan(home)).got.text, catalog);

  // Its rules, of step 4, as `check` wants them, and its command for a failure.
  // TMPDIR is set here, so its path stands for /tmp, as the step says.
  home.set(JSON.parse(block('json').replace('//tmp/claude-', `/${path.join(home.root, 'tmp')}/claude-`)));
  const keyhole = path.join(home.installed('keyhole').root, 'bin/keyhole');
  const check = await home.run('/bin/sh', ['-c', `'${keyhole}' check`]);
  assert.equal(check.code, 0, check.stdout + check.stderr);
  assert.match(check.stdout, /\nkeyhole:privacy-scanner: would be served, /);
  assert.doesNotMatch(check.stdout, /permissions\.deny/);
});
