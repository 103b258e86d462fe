// One case's world: a home, a project and a temporary directory that nothing
// else uses, and what is run in it. The homes of Claude Code and of the other clients extend it.

import assert from 'node:assert/strict';
import { spawn as start, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readJson } from './installed.mjs';
import { Model } from './model.mjs';
import { Session } from './session.mjs';

/** A run that takes longer has hung. The longest take some 20 s. */
const LIMIT_MS = 480_000;

/** How long to wait for what should come. */
const PATIENCE_MS = 240_000;

// Nobody else may write where the files of a map are.
process.umask(0o077);

// No test finds a `keyhole` of this machine's. A folder that has one may be all of /usr/bin, so
// it is replaced by a folder with links to everything else in it.
process.env.PATH = process.env.PATH.split(path.delimiter).map((folder) => {
  if (!fs.existsSync(path.join(folder, 'keyhole'))) return folder;
  const others = fs.mkdtempSync(path.join(os.tmpdir(), 'keyhole-path-'));
  process.on('exit', () => fs.rmSync(others, { recursive: true, force: true }));
  for (const name of fs.readdirSync(folder)) {
    if (name !== 'keyhole') fs.symlinkSync(path.resolve(folder, name), path.join(others, name));
  }
  return others;
}).join(path.delimiter);

/** Why there is no terminal here, or undefined: it comes from Python's own library. */
export const noTerminal = () =>
  spawnSync('python3', ['-c', 'import pty']).status === 0 ? undefined : 'skipped: a terminal (no python3)';

export class World {
  /** What is done before it is removed. */
  ending = [];

  /**
   * Removed, with all that is in it, when the test `t` ends. A client that plays scripts in it has a
   * `dialect`, and may have `aside`.
   */
  constructor(t, client) {
    this.client = client;
    this.root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'keyhole-client-')));
    t.after(async () => {
      for (const end of this.ending) await end();
      await this.until('its removal', () => this.#remove());
    });
    for (const name of ['home', 'project', 'tmp']) fs.mkdirSync(path.join(this.root, name));
    this.home = path.join(this.root, 'home');
    this.project = path.join(this.root, 'project');
    this.mapFile = path.join(this.home, '.config/keyhole/context-map.toml');
  }

  /** Whether it is gone now: what a client has left running may still write a file. */
  #remove() {
    try {
      fs.rmSync(this.root, { recursive: true, force: true });
      return true;
    } catch (error) {
      if (error.code !== 'ENOTEMPTY') throw error;
    }
  }

  /** Writes a file at `name` under `root`, with the directories it needs. */
  write(root, name, text) {
    const file = path.join(root, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, text);
    return file;
  }

  /** Writes the user's map. */
  writeMap(text) {
    return this.write('', this.mapFile, text);
  }

  /** Changes the text of a file, in the home if no place is named. It must really change. */
  change(name, by) {
    const file = path.resolve(this.home, name);
    const old = fs.readFileSync(file, 'utf8');
    const changed = by(old);
    assert.notEqual(changed, old, name);
    fs.writeFileSync(file, changed);
  }

  /** What the JSON file `name` in the home has; nothing if it is not there. */
  json(name) {
    const file = path.resolve(this.home, name);
    return fs.existsSync(file) ? readJson(file) : {};
  }

  /** Every file under `root`, or under this world. Programs rename their files meanwhile. */
  files(root = this.root) {
    for (let tries = 0; ; tries += 1) {
      try {
        const all = { recursive: true, withFileTypes: true };
        return (fs.existsSync(root) ? fs.readdirSync(root, all) : [])
          .filter((entry) => !entry.isDirectory())
          .map((entry) => path.join(entry.parentPath ?? entry.path, entry.name));
      } catch (error) {
        if (error.code !== 'ENOENT' || tries === 100) throw error;
      }
    }
  }

  /** Those of them that contain `text`, and are no links. */
  holding(text, root) {
    return this.files(root).filter((file) => {
      if (!fs.lstatSync(file, { throwIfNoEntry: false })?.isFile()) return false;
      try {
        return fs.readFileSync(file).includes(text);
      } catch (error) {
        if (error.code === 'ENOENT') return false;
        throw error;
      }
    });
  }

  /** Waits, but not for ever, until `holds()` is true. */
  async until(what, holds) {
    for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await sleep(50)) {
      if (await holds()) return;
    }
    throw new Error(`not seen: ${what}`);
  }

  /**
   * Runs a program until it ends, or, if there is `attend`, until that returns; at most
   * LIMIT_MS. Then kills its process group. Some programs read all that is piped to them
   * before they begin, so only a terminal has an input.
   */
  async run(program, args, env = {}, attend, stdin = 'ignore') {
    const child = start(program, args, {
      cwd: this.project,
      env: { ...this.env(), ...env },
      stdio: [stdin, 'pipe', 'pipe'],
      detached: true,
    });
    child.stdin?.on('error', () => {});
    const run = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr']) {
      child[name].setEncoding('utf8').on('data', (text) => (run[name] += text));
    }
    const ended = new Promise((resolve) => child.on('close', resolve));
    if (!attend) child.on('exit', () => stop(child.pid));
    let limit;
    const failed = new Promise((_, reject) => {
      const why = new Error(`${path.basename(program)} ${args.join(' ')}: still running`);
      limit = setTimeout(() => reject(why), LIMIT_MS);
      child.on('error', reject);
    });
    try {
      await Promise.race([attend?.(child, run) ?? ended, failed]);
      return { code: child.exitCode ?? child.signalCode, ...run };
    } catch (error) {
      error.stack += `\n${plainText(run.stdout).slice(-3000)}\n${run.stderr.slice(-3000)}`;
      throw error;
    } finally {
      clearTimeout(limit);
      stop(child.pid);
    }
  }

  /** The same in a terminal. */
  async inTerminal(program, args, env, attend) {
    const group = path.join(this.root, 'group');
    // The process in a terminal is in a process group of its own.
    const begin = 'echo $$ >"$0"; stty cols 120 rows 40; exec "$@"';
    const pty = ['-c', 'import pty, sys; pty.spawn(sys.argv[1:])', 'sh', '-c', begin, group];
    try {
      const all = { TERM: 'xterm-256color', ...env };
      return await this.run('python3', [...pty, program, ...args], all, attend, 'pipe');
    } finally {
      if (fs.existsSync(group)) stop(Number(fs.readFileSync(group, 'utf8')));
    }
  }

  /** Runs a program that has to succeed. */
  async succeed(program, args, env) {
    const run = await this.run(program, args, env);
    assert.equal(run.code, 0, `${path.basename(program)} ${args.join(' ')}\n${run.stdout}\n${run.stderr}`);
    return run;
  }

  /** A command as it should run: program, and arguments. */
  command(program, ...args) {
    return [program, args];
  }

  /**
   * Runs `keyhole setup` in a terminal whose user says yes to each of its questions, but to the one
   * about the client's sandbox only if `sandboxed`: not every machine has what that needs. It has
   * to do it; returns what it showed.
   */
  async agreed(...words) {
    const { stdout } = await this.inTerminal(...this.command(...words), {}, (child, run) => {
      let seen = 0;
      child.stdout.on('data', () => {
        if (!run.stdout.includes('? [y/N] ', seen)) return;
        const isSandbox = run.stdout.includes('this sandbox on? [y/N] ', seen);
        seen = run.stdout.length;
        child.stdin.write(isSandbox && !this.sandboxed ? 'n\n' : 'y\n');
      });
      return new Promise((resolve) => child.on('close', resolve));
    });
    const shown = plainText(stdout).replaceAll('\r\n', '\n');
    assert.match(shown, /^Done\.$/m, shown);
    return shown;
  }

  /** Each file under `root`, or in the home, with its bytes. */
  bytes(root = this.home) {
    return Object.fromEntries(this.files(root).sort().map((file) => [file, fs.readFileSync(file, 'latin1')]));
  }

  /** The class of what is shown of a session. */
  get Session() {
    return Session;
  }

  /**
   * Plays `script` to the client, and returns what could be observed. `start(model)` says
   * what to run, { program, args, env }, and `run` how, as `run` or `inTerminal` here do;
   * `attend(child, run, model)` as there.
   */
  async playing(script, start, run, attend) {
    const model = await Model.start(this.client.dialect, script, this.client.aside);
    try {
      const { program, args, env } = start(model);
      const attended = attend && ((child, run) => attend(child, run, model));
      return new this.Session(await run.call(this, program, args, env, attended), model, script);
    } finally {
      await model.close();
    }
  }

  /** Plays a session, all of which must be played. */
  async play(...all) {
    const session = await this.session(...all);
    session.assertPlayed();
    return session;
  }

  /** None of the tester's own settings; `moved` are variables that name folders. */
  env() {
    return {
      HOME: this.home,
      PATH: process.env.PATH,
      TMPDIR: path.join(this.root, 'tmp'),
      LANG: 'C.UTF-8',
      ...this.moved,
    };
  }
}

/** Two settings in one: what both lists have, and the fields of both. */
export function merged(one, other) {
  if (Array.isArray(one)) return [...new Set([...one, ...other])];
  if (typeof one !== 'object') return other;
  const both = Object.entries(other).map(([name, value]) => [name, name in one ? merged(one[name], value) : value]);
  return { ...one, ...Object.fromEntries(both) };
}

/** What a terminal got, without colours and cursor moves. */
export const plainText = (text) => text.replace(/\x1b\[[0-9;?>]*[a-zA-Z]/g, '');

/** Whether the process `child` has ended. */
export const hasEnded = (child) => child.exitCode !== null || child.signalCode !== null;

/** Stops a whole process group that was started here. */
export function stop(group) {
  try {
    process.kill(-group, 'SIGKILL');
  } catch {
    // Nothing of it is running any more.
  }
}

/** The processes whose command `matches`: [{ id, parent, words }]. */
export function processes(matches = () => true) {
  const { stdout } = spawnSync('ps', ['-A', '-ww', '-o', 'pid=,ppid=,stat=,args='], {
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  });
  return [...stdout.matchAll(/^\s*(\d+)\s+(\d+)\s+([^Z\s]\S*)\s+(.*)$/gm)]
    .map(([, id, parent, , words]) => ({ id: Number(id), parent: Number(parent), words }))
    .filter(({ words }) => matches(words));
}
