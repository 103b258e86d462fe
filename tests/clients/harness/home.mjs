// One case's world with a client in it: its configuration, the map and document of
// docs/examples, the program, and a model on loopback, which is also a proxy that
// blocks everything.

import assert from 'node:assert/strict';
import { spawn as start, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { World, stop } from '../../client/harness/world.mjs';
import { Model, mark } from './model.mjs';
import { Session } from './session.mjs';

const EXAMPLES = path.resolve(import.meta.dirname, '../../../docs/examples');

/** What the map of docs/examples contains. */
export const BINDING = 'scanner-catalog';
export const KEY = 'k-2c1f8a96d0e34b57';

/** A line of the document: only its owner's context may contain it. */
export const CANARY = 'ZQ-CANARY-7f3d91';
export const DOCUMENT = `# Identifiers\n\n- ${CANARY}\n- Zoë "Quote" \\ Example\t\n`;

export class Home extends World {
  constructor(t, client) {
    super(t);
    this.client = client;
    assert.ok(process.env.KEYHOLE_BIN, 'KEYHOLE_BIN names the program');
    // The name belongs to this home, so that its processes can be told from others.
    this.keyhole = path.join(this.root, 'bin/keyhole');
    fs.mkdirSync(path.dirname(this.keyhole));
    fs.symlinkSync(path.resolve(process.env.KEYHOLE_BIN), this.keyhole);
    t.after(() => this.servers().forEach(({ id }) => process.kill(id, 'SIGKILL')));
  }

  /** The map of docs/examples, and the document that it names. */
  document(text = DOCUMENT) {
    this.write(this.configured, 'context-map.toml', this.text('context-map.toml'));
    return this.write(this.home, 'notes/identifiers.md', text);
  }

  /** Changes the text of a file under the home. The text must really change. */
  change(name, by) {
    const file = path.join(this.home, name);
    const old = fs.readFileSync(file, 'utf8');
    const changed = by(old);
    assert.notEqual(changed, old, name);
    fs.writeFileSync(file, changed);
  }

  /** Makes the map refuse longer documents, in its second line: the first names its schema. */
  atMost(bytes) {
    const map = path.join(this.configured, 'context-map.toml');
    const [schema, ...rest] = fs.readFileSync(map, 'utf8').split('\n').filter((line) => !line.startsWith('max_bytes'));
    fs.writeFileSync(map, [schema, `max_bytes = ${bytes}`, ...rest].join('\n'));
  }

  /** Makes the document that of `agent` alone, and returns the settings of the hook that hands it over. */
  inject(client, agent) {
    this.change('.config/keyhole/context-map.toml', (map) =>
      map.replace('path = "~/notes/identifiers.md"\n', (path) => `${path}agents = ["${agent}"]\n`),
    );
    const { stdout, stderr } = spawnSync(this.keyhole, ['setup', client, '--inject', agent], { env: this.env(), encoding: 'utf8' });
    assert.equal(stderr, '');
    return stdout.match(/```json\n([^]+?)```/)[1];
  }

  /** The text of a file in docs/examples, unchanged. */
  text(name) {
    return fs.readFileSync(path.join(EXAMPLES, name), 'utf8');
  }

  /**
   * The text of an example, as a user pastes it, with this home's program. `binding`
   * replaces the example's own binding as the argument of --bind.
   */
  example(name, { binding = BINDING } = {}) {
    const here = this.text(name)
      .replace(/(["']?command["']?\s*[:=]\s*\[?\s*)(["']?)keyhole\2(?=[\s,\]}]|$)/gm, (_, field) => field + JSON.stringify(this.keyhole))
      .replace(/(--bind["']?[\s,-]*["']?)scanner-catalog/g, (_, option) => option + binding);
    assert.ok(here.includes(this.keyhole), `${name} names the command keyhole`);
    return here;
  }

  /**
   * Plays `script` to one prompt of the client, and returns what could be observed. It
   * lasts until the client ends, or, if there is `during(child)`, as long as that.
   */
  async session(script, { prompt = 'Begin.', during, env: more } = {}) {
    const model = await Model.start(this.client.dialect, script, this.client.aside);
    try {
      const { program, args, env = {} } = this.client.command(this, model, `${mark('main')} ${prompt}`);
      const proxied = { ...proxy(model), ...env, ...more };
      const run = during
        ? await this.#attended(program, args, proxied, during, 'ignore')
        : await this.run(program, args, proxied);
      return new Session(run, model, script);
    } finally {
      await model.close();
    }
  }

  /**
   * The same in a terminal, as long as `during(terminal)`: `screen()` is everything
   * written so far, `type(text, holds)` types a line until that holds, and `has(actor,
   * turn)` says whether that request has come.
   */
  async terminal(script, prompt, during) {
    const model = await Model.start(this.client.dialect, script, this.client.aside);
    const group = path.join(this.root, 'group');
    try {
      const { program, args, env = {} } = this.client.interactive(this, model, `${mark('main')} ${prompt}`);
      // The process in a terminal is in a process group of its own.
      const begin = 'echo $$ >"$0"; stty cols 120 rows 40; exec "$@"';
      const words = ['-c', 'import pty, sys; pty.spawn(sys.argv[1:])', 'sh', '-c', begin, group, program, ...args];
      const run = await this.#attended('python3', words, { ...proxy(model), TERM: 'xterm-256color', ...env }, (child, run) =>
        during({
          screen: () => plainText(run.stdout),
          type: (text, holds) => this.#type(child, text, () => plainText(run.stdout), holds),
          has: (actor, turn) => model.requests.some((one) => one.actor === actor && one.turn === turn),
        }),
      );
      return new Session(run, model, script);
    } finally {
      if (fs.existsSync(group)) stop(Number(fs.readFileSync(group, 'utf8')));
      await model.close();
    }
  }

  /**
   * Types by hand, letter by letter: the client treats text that comes at once as
   * pasted, and its end as a new line. So the end of the line is typed again until
   * `holds()`.
   */
  async #type(child, text, screen, holds) {
    const before = screen().length;
    for (const letter of text) {
      child.stdin.write(letter);
      await new Promise((later) => setTimeout(later, 30));
    }
    await this.until(`${text}, on the screen`, () => screen().slice(before).includes(text));
    let next = Date.now() + 1000;
    await this.until(`what follows ${text}`, () => {
      // The first end of the line may accept a completion that the client offers.
      if (Date.now() >= next) {
        child.stdin.write('\r');
        next = Date.now() + 3000;
      }
      return new Promise((later) => setTimeout(later, 200)).then(holds);
    });
  }

  /** Runs the client while `during(child)` watches, and then stops it and what it left running. */
  async #attended(program, args, env, during, stdin = 'pipe') {
    const child = start(program, args, {
      cwd: this.project,
      env: { ...this.env(), ...env },
      // Some clients read all that is piped to them before they begin.
      stdio: [stdin, 'pipe', 'pipe'],
      detached: true,
    });
    child.stdin?.on('error', () => {});
    const run = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr']) child[name].setEncoding('utf8').on('data', (text) => (run[name] += text));
    try {
      await during(child, run);
    } catch (error) {
      error.stack += `\n${plainText(run.stdout).slice(-3000)}\n${run.stderr.slice(-3000)}`;
      throw error;
    } finally {
      stop(child.pid);
    }
    return { code: child.exitCode ?? child.signalCode, ...run };
  }

  /** The processes of this home's program: [{ id, parent, group, words }]. */
  servers() {
    return processes().filter(({ words, state }) => words.includes(this.keyhole) && !state.startsWith('Z'));
  }

  /** Kills all processes of the client `child`, except this home's program. */
  kill(child) {
    const all = processes();
    const servers = new Set(this.servers().map(({ id }) => id));
    const own = new Set([child.pid]);
    for (let grown = -1; grown !== own.size; ) {
      grown = own.size;
      for (const { id, parent } of all) if (own.has(parent)) own.add(id);
    }
    for (const id of own) {
      if (servers.has(id)) continue;
      try {
        process.kill(id, 'SIGKILL');
      } catch {
        // It has ended.
      }
    }
  }

  /** The files under the home that contain `text`, as paths from there: what the client keeps. */
  holding(text) {
    return this.files()
      .filter((file) => fs.lstatSync(file, { throwIfNoEntry: false })?.isFile() && fs.readFileSync(file).includes(text))
      .map((file) => path.relative(this.root, file))
      .filter((file) => file !== 'home/notes/identifiers.md')
      .sort();
  }
}

/** What a terminal got, without colours and cursor moves. */
const plainText = (text) => text.replace(/\x1b\[[0-9;?]*[a-zA-Z]/g, '');

/** A program that wants to reach the network asks the model's server, which notes it and refuses. */
function proxy({ url }) {
  const all = {};
  for (const name of ['http_proxy', 'https_proxy', 'all_proxy']) all[name] = all[name.toUpperCase()] = url;
  for (const name of ['no_proxy', 'NO_PROXY']) all[name] = '127.0.0.1,localhost';
  return all;
}

function processes() {
  const { stdout } = spawnSync('ps', ['-A', '-ww', '-o', 'pid=,ppid=,pgid=,stat=,args='], { encoding: 'utf8', maxBuffer: 1 << 26 });
  return stdout.split('\n').filter(Boolean).map((line) => {
    const [, id, parent, group, state, words] = line.match(/^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/);
    return { id: Number(id), parent: Number(parent), group: Number(group), state, words };
  });
}
