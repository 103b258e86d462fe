// One case's world: a home, a project and a temporary directory that nothing
// else uses, and what is run in it.

import { spawn as start } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** A run that takes longer has hung. The longest take some 20 s. */
const LIMIT_MS = 480_000;

/** How long to wait for what should come. */
const PATIENCE_MS = 240_000;

export class World {
  /** Removed, with all that is in it, when the test `t` ends. */
  constructor(t) {
    this.root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'keyhole-client-')));
    t.after(() => fs.rmSync(this.root, { recursive: true, force: true, maxRetries: 5 }));
    for (const name of ['home', 'project', 'tmp']) fs.mkdirSync(path.join(this.root, name));
    this.home = path.join(this.root, 'home');
    this.project = path.join(this.root, 'project');
    this.configured = path.join(this.home, '.config/keyhole');
  }

  /** Writes a file at `name` under `root`, with the directories it needs. */
  write(root, name, text) {
    const file = path.join(root, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, text);
    return file;
  }

  /** Writes the user's map; `keys` is { key: path or { path, agents } }. */
  map(keys) {
    const value = (entry) =>
      typeof entry === 'string'
        ? JSON.stringify(entry)
        : `{ path = ${JSON.stringify(entry.path)}, agents = ${JSON.stringify(entry.agents)} }`;
    const lines = Object.entries(keys).map(([key, entry]) => `${JSON.stringify(key)} = ${value(entry)}`);
    return this.write(this.configured, 'context-map.toml', ['[keys]', ...lines, ''].join('\n'));
  }

  /** Every file under `root`, or under this world. Programs rename their files meanwhile. */
  files(root = this.root) {
    for (let tries = 0; ; tries += 1) {
      try {
        const found = fs.existsSync(root) ? fs.readdirSync(root, { recursive: true, withFileTypes: true }) : [];
        return found.filter((entry) => !entry.isDirectory()).map((entry) => path.join(entry.parentPath ?? entry.path, entry.name));
      } catch (error) {
        if (error.code !== 'ENOENT' || tries === 100) throw error;
      }
    }
  }

  /** Waits, but not for ever, until `holds()` is true. */
  async until(what, holds) {
    for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await new Promise((later) => setTimeout(later, 50))) {
      if (await holds()) return;
    }
    throw new Error(`not seen: ${what}`);
  }

  /**
   * Runs a program in this world, and stops it and what it left running, by their
   * ids: when it ends, as soon as `enough(output)` holds, or when it takes too
   * long.
   */
  run(program, args, env = {}, enough = () => false) {
    const child = start(program, args, {
      cwd: this.project,
      env: { ...this.env(), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr']) {
      child[name].setEncoding('utf8').on('data', (text) => {
        output[name] += text;
        if (enough(output)) stop(child.pid);
      });
    }
    return new Promise((done, failed) => {
      const limit = setTimeout(() => {
        stop(child.pid);
        failed(new Error(`${path.basename(program)} ${args.join(' ')}: still running after ${LIMIT_MS} ms\n${output.stdout}\n${output.stderr}`));
      }, LIMIT_MS);
      child.on('error', failed);
      child.on('exit', () => clearTimeout(limit));
      child.on('exit', () => stop(child.pid));
      child.on('close', (code, signal) => done({ code: code ?? signal, ...output }));
    });
  }

  /** None of the tester's own settings. */
  env() {
    return {
      HOME: this.home,
      PATH: process.env.PATH,
      TMPDIR: path.join(this.root, 'tmp'),
      LANG: 'C.UTF-8',
    };
  }
}

/** Stops a whole process group that was started here. */
export function stop(group) {
  try {
    process.kill(-group, 'SIGKILL');
  } catch {
    // Nothing of it is running any more.
  }
}
