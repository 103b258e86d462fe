// One case's world with the plugin installed in it, and the client run in it.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { QUIET, api } from '../../harness/claude.mjs';
import { readJson } from '../../harness/installed.mjs';
import { mark } from '../../harness/model.mjs';
import { Session as Any } from '../../harness/session.mjs';
import { World, hasEnded } from '../../harness/world.mjs';

/** The packaged plugin and its marketplace: what `./x client` built, or another. */
export const DIST = path.resolve(
  process.env.KEYHOLE_DIST ?? path.join(import.meta.dirname, '../../../target/client'),
);

/** The marketplace in the folder `dist`: its name, its one plugin's id and folder. */
export function marketplace(dist) {
  const { name, plugins } = readJson(path.join(dist, '.claude-plugin/marketplace.json'));
  assert.equal(plugins.length, 1, 'plugins in the marketplace');
  return { name, id: `${plugins[0].name}@${name}`, plugin: path.join(dist, plugins[0].source) };
}

/** The provider's address, as an administrator's settings have it. The stand-in takes its place. */
const PROVIDER = 'https://api.anthropic.com';
const started = (program, words, model, env) => ({
  program,
  args: words.map((word) => word.replaceAll(PROVIDER, model.url)),
  env: { ...api(model), ...env },
});

/** The mode of a session, unless another one follows. */
const MODE = ['--permission-mode', 'default'];

/** What one session of the client showed. */
class Session extends Any {
  /** The client's own report of the session, one event per line. */
  get events() {
    return this.stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line));
  }

  get result() {
    return this.events.find(({ type }) => type === 'result');
  }

  /** What a terminal shows; it draws by moving the cursor, so it contains no blanks. */
  get drawn() {
    return this.stdout.replaceAll(/\x1b\[[0-9;?>]*[a-zA-Z]|\s/g, '');
  }

  /** The script was long enough, nothing else was asked, and the client reports no error. */
  assertPlayed() {
    assert.deepEqual(this.unscripted, [], 'requests that no script has');
    assert.equal(this.code, 0, `${this.stdout}\n${this.stderr}`);
    assert.equal(this.result?.is_error, false, this.stdout);
  }

  /** The parent's message resumed an agent. One that reaches a running agent may be lost. */
  assertResumed() {
    const { text, error } = this.answer('parent', 'SendMessage');
    assert.equal(error, false, text);
    assert.match(text, /resum/i);
    assert.doesNotMatch(text, /queued/i);
  }
}

/** For each client version, a copy of a home made right after DIST was installed in it. */
const INSTALLED = new Map();
process.on('exit', () => INSTALLED.forEach(({ copy }) => fs.rmSync(copy, { recursive: true, force: true })));

export class Home extends World {
  constructor(t, client) {
    super(t, client);
    this.plugins = path.join(this.home, '.claude/plugins');
  }

  /**
   * The two commands that README gives, for the marketplace in the folder `dist`. What they
   * leave is copied for the next cases of a file: they take longer than most sessions.
   */
  async install(dist = DIST) {
    const { version } = this.client;
    if (dist !== DIST) return this.installFrom(this.publish(dist), dist);
    const all = { recursive: true, preserveTimestamps: true, verbatimSymlinks: true };
    if (!INSTALLED.has(version)) {
      await this.installFrom(this.publish(dist), dist);
      const copy = fs.mkdtempSync(path.join(os.tmpdir(), 'keyhole-installed-'));
      fs.cpSync(this.root, copy, all);
      INSTALLED.set(version, { copy, root: this.root });
      return;
    }
    const { copy, root } = INSTALLED.get(version);
    fs.cpSync(copy, this.root, all);
    for (const file of this.holding(root, this.home)) {
      fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replaceAll(root, this.root));
    }
  }

  /**
   * The same, but then as in a client that loads no modules: only the second way
   * remains, the guard and its tickets.
   */
  async installGuarded() {
    await this.install();
    this.change(this.plugin('hooks/hooks.json'), (text) => {
      const { modules, ...classic } = JSON.parse(text);
      return JSON.stringify(classic);
    });
  }

  /** The same, from another source, such as a folder. */
  async installFrom(source, dist = DIST) {
    await this.must('plugin', 'marketplace', 'add', source);
    await this.must('plugin', 'install', marketplace(dist).id);
  }

  /**
   * Commits the folder `dist` to a repository of its own, again if it has
   * changed, and returns `address`. That address need not exist: git is told to
   * look here instead. So the client does everything that it does with a real
   * one.
   */
  publish(dist, address = `https://marketplace.test/${marketplace(dist).name}.git`, branch = 'main') {
    const repository = path.join(this.root, `${marketplace(dist).name}.git`);
    const git = (...args) => {
      const run = spawnSync(
        'git',
        ['-C', dist, `--git-dir=${repository}`, `--work-tree=${dist}`, '-c', 'core.compression=0', ...args],
        { env: this.env(), encoding: 'utf8' },
      );
      assert.equal(run.status, 0, `git ${args.join(' ')}\n${run.stderr}${run.error ?? ''}`);
    };
    if (!fs.existsSync(repository)) {
      git('init', '--quiet', `--initial-branch=${branch}`);
      const config = ['[user]', 'name = tests', 'email = tests@localhost'];
      const rewrite = [`[url "file://${repository}"]`, `insteadOf = ${address}`];
      fs.appendFileSync(path.join(this.home, '.gitconfig'), [...config, ...rewrite, ''].join('\n'));
    }
    // What is published has the plugin's programs only.
    git('add', '--all', '--force', '.', ':!keyhole');
    git('commit', '--quiet', '--message', 'a version');
    return address;
  }

  /** The client's own copy of an installed plugin, which it runs from. */
  installed(plugin) {
    const { plugins } = readJson(path.join(this.plugins, 'installed_plugins.json'));
    const [id, [{ installPath }]] = Object.entries(plugins).find(([id]) => id.startsWith(`${plugin}@`));
    return { root: installPath, data: path.join(this.plugins, 'data', id.replace(/[^\w-]/g, '-')) };
  }

  /** The place of a file of our plugin in that copy. */
  plugin(file) {
    return path.join(this.installed('keyhole').root, file);
  }

  /**
   * Has the client report each call of `tool` to a hook of the user's, before it or
   * after it, in addition to the plugin's. Returns a function that reads the hook's
   * inputs so far.
   */
  overhear(tool, event = 'PreToolUse') {
    const file = this.write(this.root, 'overheard', '');
    // Each input is written at once: hooks of several calls may run at the same time.
    this.hook(event, `printf '%s\\n' "$(tr -d '\\n')" >>'${file}'`, tool);
    const lines = () => fs.readFileSync(file, 'utf8').split('\n').filter(Boolean);
    return () => lines().map((line) => JSON.parse(line));
  }

  /** Adds a hook of the user's, in addition to the plugin's. */
  hook(event, command, matcher) {
    const { hooks = {} } = this.settings();
    const hook = { ...(matcher && { matcher }), hooks: [{ type: 'command', command }] };
    this.set({ hooks: { ...hooks, [event]: [...(hooks[event] ?? []), hook] } });
  }

  /** Adds to the user's settings. The client keeps a part of them itself. */
  set(settings) {
    const all = { ...this.settings(), ...settings };
    this.write(this.home, '.claude/settings.json', JSON.stringify(all));
  }

  settings() {
    return this.json('.claude/settings.json');
  }

  /** Adds to what the client notes: by itself, that the user trusts the project's folder. */
  trust(more = {}) {
    const trusted = { projects: { [this.project]: { hasTrustDialogAccepted: true } } };
    const all = { ...this.json('.claude.json'), ...trusted, ...more };
    this.write(this.home, '.claude.json', JSON.stringify(all));
  }

  /** Writes an agent's file of whoever has the folder `owner`. */
  agent(owner, fields, text = 'Work.', file = fields.name) {
    const head = Object.entries({ description: 'Works.', ...fields }).map(
      ([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
    );
    const all = ['---', ...head, '---', '', text, ''].join('\n');
    return this.write(owner, `.claude/agents/${file}.md`, all);
  }

  /** Writes the user's map; `keys` is { key: path or { path, agents, withhold } }. */
  map(keys) {
    this.writeMap('[keys]\n');
    this.addToMap(keys);
  }

  addToMap(keys) {
    const inline = (entry) =>
      typeof entry === 'string'
        ? JSON.stringify(entry)
        : `{ ${Object.entries(entry).map(([field, value]) => `${field} = ${JSON.stringify(value)}`).join(', ')} }`;
    const lines = Object.entries(keys).map(([key, entry]) => `${JSON.stringify(key)} = ${inline(entry)}\n`);
    fs.appendFileSync(this.mapFile, lines.join(''));
  }

  get Session() {
    return Session;
  }

  /**
   * Plays `script` to `claude -p`, and returns what could be observed. 2.1.290 starts in auto
   * mode, in which it asks a model about each action: so the mode is `default`, unless `args`
   * has another one.
   */
  async session(script, args = [], env = {}, prompt = `${mark('parent')} Begin.`) {
    const asked = ['-p', prompt, '--output-format', 'stream-json', '--verbose', ...MODE, ...args];
    const [program, words] = this.command(this.client.program, ...asked);
    const start = (model) => started(program, words, model, env);
    return this.playing(script, start, this.run);
  }

  /**
   * Plays `script` to an interactive session, in a terminal of its own, with `env` as well. It
   * ends as soon as `done(session, keys)` holds, or by itself. Who types writes to `keys`.
   */
  terminal(script, done, env = {}, more = []) {
    // What the client asks in a first session, before it shows a prompt.
    this.trust({
      hasCompletedOnboarding: true,
      customApiKeyResponses: { approved: ['dummy'], rejected: [] },
    });
    const asked = [...MODE, ...more, `${mark('parent')} Begin.`];
    const [program, args] = this.command(this.client.program, ...asked);
    const start = (model) => started(program, args, model, env);
    return this.playing(script, start, this.inTerminal, async (child, run, model) => {
      const enough = () => done(new Session(run, model), child.stdin) || hasEnded(child);
      await this.until('what should end the session', enough);
    });
  }

  /** Runs a command of the client that has to succeed; returns its output. */
  async must(...args) {
    return (await this.succeed(...this.command(this.client.program, ...args))).stdout;
  }

  /**
   * From here on, the client finds these settings where an administrator's are.
   * Only the client does: it has a mount namespace of its own. Returns false if
   * that is impossible.
   */
  manage(settings) {
    const mounts = path.join(this.root, 'mounts');
    fs.mkdirSync(mounts, { recursive: true });
    const layers = 'lowerdir=/etc,upperdir="$1/upper",workdir="$1/work"';
    const script = [
      'set -e; umask 022; mount -t tmpfs none "$1"; mkdir -p "$1/upper/claude-code" "$1/work"',
      'printf %s "$2" >"$1/upper/claude-code/managed-settings.json"',
      `mount -t overlay -o ${layers} overlay /etc; shift 2; exec "$@"`,
    ].join('\n');
    const before = this.command;
    this.command = (...words) => ['unshare', ['--mount', 'sh', '-c', script, 'sh', mounts, JSON.stringify(settings), ...before(...words).flat()]];
    const [program, args] = this.command('true');
    return spawnSync(program, args).status === 0;
  }

  /** None of the tester's own settings, and nothing that leaves this machine. */
  env() {
    return { ...super.env(), ...QUIET, GIT_ALLOW_PROTOCOL: 'file' };
  }
}
