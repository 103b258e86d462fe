// One case's world with a client in it: its configuration, the map and document of
// docs/examples, the program, and a model on loopback, which is also a proxy that
// blocks everything.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { mark } from '../../harness/model.mjs';
import { example, recorded } from '../../harness/pages.mjs';
import { CANARY } from '../../harness/session.mjs';
import { World, merged, plainText, processes } from '../../harness/world.mjs';

/**
 * What the map of docs/examples contains. `keyhole setup` gives an agent the name of its
 * binding.
 */
export const BINDING = 'scanner-catalog';

/** The document, as a user names it. */
const NAMED = '~/notes/identifiers.md';

export { CANARY };
export const DOCUMENT = `# Identifiers\n\n- ${CANARY}\n- Zoë "Quote" \\ Example\t\n`;

/** A second document, of a second binding, for servers that have one name. */
export const OTHER_DOCUMENT = '# Others\n\n- ZQ-CANARY-52e8f0\n';
export const SECOND = 'second';

const PROMPT = `${mark('main')} Begin.`;

export class Home extends World {
  constructor(t, client) {
    super(t, client);
    assert.ok(process.env.KEYHOLE_BIN, 'KEYHOLE_BIN names the program');
    // The name belongs to this home, so that its processes can be told from others. A link
    // would not do: `setup` writes where the program really is.
    this.keyhole = path.join(this.root, 'bin/keyhole');
    fs.mkdirSync(path.dirname(this.keyhole));
    fs.copyFileSync(process.env.KEYHOLE_BIN, this.keyhole);
    this.ending.push(() => this.servers().forEach(({ id }) => process.kill(id, 'SIGKILL')));
  }

  /** The map of docs/examples, and the document that it names. */
  document(text = DOCUMENT) {
    this.writeMap(example('context-map.toml'));
    return this.write(this.home, 'notes/identifiers.md', text);
  }

  /**
   * Configures the client by `keyhole setup`, which also writes the map, instead of that of
   * docs/examples. What the home has before that, with what the user pastes, is `unset`;
   * `shown` is all that it showed.
   */
  async setUp(client) {
    fs.rmSync(this.mapFile, { force: true });
    const before = this.bytes();
    this.shown = await this.agreed(this.keyhole, ...recorded(client, BINDING, NAMED));
    const pasted = this.#paste(this.shown).map((file) => [file, fs.readFileSync(file, 'latin1')]);
    this.unset = { ...before, ...Object.fromEntries(pasted) };
  }

  /** Has a variable name another place for the client's folder, which is moved there. */
  move({ variable, at, below = '' }) {
    const place = path.join(this.root, 'moved');
    this.folder = path.join(place, below);
    fs.mkdirSync(path.dirname(this.folder), { recursive: true });
    fs.renameSync(path.join(this.home, at), this.folder);
    this.moved = { [variable]: place };
    // It may be that of our map, too.
    this.mapFile = this.mapFile.replace(path.join(this.home, at, '/'), path.join(this.folder, '/'));
  }

  /** Pastes what `keyhole setup` printed, beside what is there. Returns the files. */
  #paste(shown) {
    return [...shown.matchAll(/^Put this into ([^\s,]+).*\n\n```json\n([^]+?)```$/gm)].map(([, name, text]) => {
      const file = path.resolve(this.home, name.replace(/^~\//, ''));
      return this.write('', file, JSON.stringify(merged(this.json(file), JSON.parse(text))));
    });
  }

  /** Adds the second document and its binding. */
  second() {
    this.write(this.home, 'notes/others.md', OTHER_DOCUMENT);
    const binding = `\n[bindings.${SECOND}]\npath = "~/notes/others.md"\ntitle = "Others"\ndescription = "Other names."\n`;
    this.change(this.mapFile, (map) => map + binding);
  }

  /** Makes the map refuse longer documents, in its second line: the first names its schema. */
  atMost(bytes) {
    this.change(this.mapFile, (map) => map.replace(/\n(max_bytes.*\n)?/, `\nmax_bytes = ${bytes}\n`));
  }

  /** Has `keyhole setup` write or print the hook that hands the document to `agent` alone, and an entry. */
  async inject(client, agent) {
    this.#paste(await this.agreed(this.keyhole, 'setup', client, '--inject', agent, '--file', NAMED));
  }

  /**
   * The text of an example, as a user pastes it, with this home and its program. `binding`
   * replaces the example's own binding as the argument of --bind.
   */
  example(name, { binding = BINDING } = {}) {
    const here = example(name)
      .replaceAll('/home/me/', `${this.home}/`)
      .replace(/(["']?command["']?\s*[:=]\s*\[?\s*)(["']?)keyhole\2(?=[\s,\]}]|$)/gm, (_, field) => field + JSON.stringify(this.keyhole))
      .replace(/(--bind["']?[\s,-]*["']?)scanner-catalog/g, (_, option) => option + binding);
    assert.ok(here.includes(this.keyhole), `${name} names the command keyhole`);
    return here;
  }

  /**
   * Plays `script` to one prompt of the client, and returns what could be observed. It
   * lasts until the client ends, or, if there is `during(child)`, as long as that.
   */
  session(script, { during, env } = {}) {
    const start = (model) => this.#proxied(model, this.client.command(this, model, PROMPT), env);
    return this.playing(script, start, this.run, during);
  }

  /**
   * The same in a terminal, as long as `during(terminal)`: `screen()` is everything
   * written so far, `type(text, holds)` types a line until that holds, and `has(actor,
   * turn)` says whether that request has come.
   */
  terminal(script, during) {
    const start = (model) => this.#proxied(model, this.client.interactive(this, model, PROMPT));
    return this.playing(script, start, this.inTerminal, (child, run, model) => {
      const screen = () => plainText(run.stdout);
      return during({
        screen,
        type: (text, holds) => this.#type(child, text, screen, holds),
        has: (actor, turn) => model.requests.some((one) => one.actor === actor && one.turn === turn),
      });
    });
  }

  /** What wants to reach the network asks the model's server, which notes it and refuses. */
  #proxied({ url }, { program, args, env }, more) {
    const all = {};
    for (const name of ['http_proxy', 'https_proxy', 'all_proxy']) all[name] = all[name.toUpperCase()] = url;
    for (const name of ['no_proxy', 'NO_PROXY']) all[name] = '127.0.0.1,localhost';
    return { program, args, env: { ...all, ...env, ...more } };
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
      await sleep(30);
    }
    await this.until(`${text}, on the screen`, () => screen().slice(before).includes(text));
    let next = Date.now() + 1000;
    await this.until(`what follows ${text}`, () => {
      // The first end of the line may accept a completion that the client offers.
      if (Date.now() >= next) {
        child.stdin.write('\r');
        next = Date.now() + 3000;
      }
      return sleep(200).then(holds);
    });
  }

  /** The processes of this home's program. */
  servers() {
    // A client may be told of it in its own arguments.
    return processes((words) => words.startsWith(`${this.keyhole} `));
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

  /** What the client keeps: the files that contain `text`, as paths below the case's folder. */
  kept(text) {
    return this.holding(text)
      .map((file) => path.relative(this.root, file))
      .filter((file) => file !== 'home/notes/identifiers.md')
      .sort();
  }
}
