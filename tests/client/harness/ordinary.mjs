// A user who is not root, and has no more than Rust, a C compiler and the client.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

export const CHECKOUT = path.resolve(import.meta.dirname, '../../..');

/** No user of the machine has this number. */
const USER = '54320';

/** To read cargo's crates where only root may. They cannot be elsewhere: then all would be built again. */
const READS = ['--inh-caps=+dac_read_search', '--ambient-caps=+dac_read_search'];

/**
 * Gives the world `home` to such a user, whose project is a copy of this checkout. If we are
 * root, that is another user, else it is us. Returns `PATH`, and `type`, which runs lines of a
 * shell that have to succeed. Where that is impossible, it skips the test `t`.
 */
export function ordinary(t, home) {
  const CARGO_HOME = process.env.CARGO_HOME ?? path.join(os.homedir(), '.cargo');
  const isRoot = process.getuid() === 0;
  const as = (more) => (...words) =>
    isRoot ? ['setpriv', [...more, '--reuid', USER, '--regid', USER, '--clear-groups', ...words]] : [words[0], words.slice(1)];
  const builder = [[], READS].map(as).find((user) => spawnSync(...user('ls', path.join(CARGO_HOME, 'registry'))).status === 0);
  if (process.platform !== 'linux' || !builder || spawnSync('flock', ['--version']).error) {
    return t.skip(`skipped: ${t.name} (needs Linux, flock, and as root setpriv and a user who can read cargo's crates)`);
  }
  const machine = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'keyhole-machine-')));
  t.after(() => fs.rmSync(machine, { recursive: true, force: true }));
  const PATH = path.join(machine, 'bin');
  must('sh', path.join(import.meta.dirname, 'ordinary.sh'), machine, home.project, home.client.program, ...(isRoot ? [USER] : []));
  home.client = { ...home.client, program: path.join(PATH, 'claude') };
  /** With what we have written there since then. */
  const given = (user) => (...words) => {
    if (isRoot) must('chown', '-hR', `${USER}:${USER}`, home.root);
    return user(...words);
  };
  home.command = given(as([]));
  const env = { PATH, CARGO_HOME, CARGO_TARGET_DIR: path.join(machine, 'target'), CARGO_NET_OFFLINE: 'true' };
  // What has been built was built with these.
  for (const name of ['CARGO_INCREMENTAL', 'CARGO_PROFILE_DEV_DEBUG']) {
    if (process.env[name]) env[name] = process.env[name];
  }
  const type = async (lines) => {
    const ran = await home.run(...given(builder)('sh', '-ec', lines), env);
    assert.equal(ran.code, 0, `${lines}\n${ran.stdout}\n${ran.stderr}`);
    return ran;
  };
  return { PATH, type };
}

function must(program, ...args) {
  const { status, stderr, error } = spawnSync(program, args, { encoding: 'utf8' });
  assert.equal(status, 0, `${program} ${args.join(' ')}\n${stderr}${error ?? ''}`);
}
