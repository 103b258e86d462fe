// A user who is not root: one who runs the client, and one who has no more than Rust, a C
// compiler and the client.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

export const CHECKOUT = path.resolve(import.meta.dirname, '../../..');

/** No user of the machine has this number. */
const USER = '54320';

const isRoot = process.getuid?.() === 0;

/** A command as such a user runs it, with these options of setpriv: another one if we are root, else us. */
const as = (...more) => (...words) =>
  isRoot ? ['setpriv', [...more, '--reuid', USER, '--regid', USER, '--clear-groups', ...words]] : [words[0], words.slice(1)];

/** The same command, by whom the world `home` then belongs to, with what we have written there since then. */
const given = (home, user) => (...words) => {
  if (isRoot) must('chown', '-hR', `${USER}:${USER}`, home.root);
  return user(...words);
};

/**
 * From here on, an ordinary user runs the client in the world `home`. If we are one, nothing
 * changes. The client is copied if it is in a folder that only root may enter.
 */
export function unprivileged(t, home) {
  if (!isRoot) return;
  const user = as();
  if (spawnSync(...user('test', '-x', home.client.program)).status !== 0) {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'keyhole-claude-'));
    t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
    fs.chmodSync(folder, 0o755);
    const program = path.join(folder, 'claude');
    fs.copyFileSync(home.client.program, program);
    fs.chmodSync(program, 0o755);
    home.client = { ...home.client, program };
  }
  home.command = given(home, user);
}

let sandbox;

/** Why the client's sandbox cannot run here, or undefined: it is tried once, as the client nests it. */
export function noSandbox() {
  sandbox ??= { without: tried() };
  return sandbox.without;
}

function tried() {
  const skipped = (why) => `skipped: the client's sandbox (${why})`;
  if (process.platform !== 'linux') return skipped('played on Linux only');
  const outer = ['--new-session', '--die-with-parent', '--unshare-net', '--ro-bind', '/', '/', '--dev', '/dev', '--unshare-pid', '--unshare-user', '--proc', '/proc'];
  const inner = ['--unshare-user', '--bind', '/', '/', 'true'];
  const { status, stderr, error } = spawnSync(...as()('bwrap', ...outer, '--', 'bwrap', ...inner), { encoding: 'utf8' });
  if (error || status !== 0) return skipped(`bubblewrap: ${error?.code ?? stderr.trim()}`);
  return spawnSync('socat', ['-V']).error ? skipped('no socat') : undefined;
}

/** To read cargo's crates where only root may. They cannot be elsewhere: then all would be built again. */
const READS = ['--inh-caps=+dac_read_search', '--ambient-caps=+dac_read_search'];

/**
 * Gives the world `home` to such a user, whose project is a copy of this checkout. If we are
 * root, that is another user, else it is us. Returns `PATH`, and `type`, which runs lines of a
 * shell that have to succeed. Where that is impossible, it skips the test `t`.
 */
export function ordinary(t, home) {
  const CARGO_HOME = process.env.CARGO_HOME ?? path.join(os.homedir(), '.cargo');
  const builder = [as(), as(...READS)].find((user) => spawnSync(...user('ls', path.join(CARGO_HOME, 'registry'))).status === 0);
  if (process.platform !== 'linux' || !builder || spawnSync('flock', ['--version']).error) {
    return t.skip(`skipped: ${t.name} (needs Linux, flock, and as root setpriv and a user who can read cargo's crates)`);
  }
  const machine = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'keyhole-machine-')));
  t.after(() => fs.rmSync(machine, { recursive: true, force: true }));
  const PATH = path.join(machine, 'bin');
  must('sh', path.join(import.meta.dirname, 'ordinary.sh'), machine, home.project, home.client.program, ...(isRoot ? [USER] : []));
  home.client = { ...home.client, program: path.join(PATH, 'claude') };
  home.command = given(home, as());
  const env = { PATH, CARGO_HOME, CARGO_TARGET_DIR: path.join(machine, 'target'), CARGO_NET_OFFLINE: 'true' };
  // What has been built was built with these.
  for (const name of ['CARGO_INCREMENTAL', 'CARGO_PROFILE_DEV_DEBUG']) {
    if (process.env[name]) env[name] = process.env[name];
  }
  return { PATH, type: (lines) => home.succeed(...given(home, builder)('sh', '-ec', lines), env) };
}

function must(program, ...args) {
  const { status, stderr, error } = spawnSync(program, args, { encoding: 'utf8' });
  assert.equal(status, 0, `${program} ${args.join(' ')}\n${stderr}${error ?? ''}`);
}
