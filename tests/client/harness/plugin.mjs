// What a case writes its script with, see tests/clients/README.md; the plugin under test: its
// names and its key; and plugins and servers of others.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { spawn } from '../../harness/claude.mjs';
import { call, mark, once, say, task } from '../../harness/model.mjs';
import { CANARY } from '../../harness/session.mjs';
import { DIST, marketplace } from './home.mjs';

export { flagged, refused, used } from '../../harness/messages.mjs';
export { CANARY, call, mark, once, say, spawn, task };

/** The client provides a deferred tool to a conversation on this request. */
export const search = (...tools) => call('ToolSearch', { query: `select:${tools}` });

export const read = (file_path) => call('Read', { file_path });

export const bash = (command, more) => call('Bash', { command, description: 'look around', ...more });

export const TOOL = 'mcp__plugin_keyhole_context__load_context';
export const SCANNER = 'keyhole:privacy-scanner';

/** The tool of the bundled agent's own server, which the module registers. */
export const OWN_TOOL = 'mcp__keyhole_privacy_scanner__load_context';

/** Permissions are skipped, which a client that runs as root allows only in a sandbox. */
export const SKIPPED = [['--dangerously-skip-permissions'], { IS_SANDBOX: '1' }];

/** All that a user's settings can give. */
export const LEAVE = ['--allowedTools', `${TOOL},${OWN_TOOL}`];

/** Turns of somebody who has nothing to do, and learns of what runs in the background when it comes. */
export const DONE = Array.from({ length: 12 }, () => say('Done.'));

/** These actors, who do nothing. */
export const done = (...actors) => Object.fromEntries(actors.map((actor) => [actor, DONE]));

/** The first version that has all that the plugin's module needs. Those before it refuse the module. */
const LOADS_SINCE = '2.1.329';
export const loadsModules = ({ version }) => version.localeCompare(LOADS_SINCE, 'en', { numeric: true }) >= 0;

/** How the bundled agent gets its catalog in this client: tool, and call. */
export const way = (client) =>
  loadsModules(client) ? { tool: OWN_TOOL, load: call(OWN_TOOL, {}) } : { tool: TOOL, load: load(KEY) };

/** The plugin's folder in the marketplace, before it is installed. */
export const PACKAGED = marketplace(DIST).plugin;

/** The key that the bundled agent carries in its body. */
export const KEY = keyIn(fs.readFileSync(path.join(PACKAGED, 'agents/privacy-scanner.md'), 'utf8'));

export const CATALOG = `# Catalog\n\n- ${CANARY}\n`;

/** What somebody says who wants to be taken for ours. */
export const POISON = 'ZQ-POISON-51c0';

/**
 * The shortest session: the parent starts the bundled agent, which makes its call. Of the
 * `script`, the actors that it names are replaced or added.
 */
export const plain = (client, script = {}) => ({
  parent: [spawn('scanner', SCANNER), say('Done.')],
  scanner: [way(client).load, say('Done.')],
  ...script,
});

/** Plays it; returns the session, with the agent's answer as `got`. */
export async function scan(home, script, ...more) {
  const session = await home.play(plain(home.client, script), ...more);
  return Object.assign(session, { got: session.answer('scanner', way(home.client).tool) });
}

/** The text that hooks add to the first request of `actor`, if any. */
export function given(session, actor) {
  const [first] = session.of(actor);
  const texts = first.messages.flatMap((message, index) =>
    first.body.messages[index].role === 'system' ? message.texts : [],
  );
  return texts.join('\n').match(/SubagentStart hook additional context: ([^]*)/)?.[1];
}

/** These actors got the catalog by one call of `tool` each, and nobody else did. */
export function assertServed(session, tool, ...actors) {
  for (const actor of actors) {
    const { text, error } = session.answer(actor, tool);
    assert.deepEqual([error, text], [false, CATALOG], actor);
  }
  session.assertOnlyIn(CANARY, ...actors);
}

/** Whether a conversation has `tool`, or has just found it. */
const has = ({ tools, body }, tool) =>
  tools.includes(tool) || JSON.stringify(body.messages.at(-1).content).includes(`"tool_name":"${tool}"`);

/**
 * The parent's turns in a terminal: it searches for `tool` until the client has it, which is
 * a while after the server has connected, then plays `parts`, then has nothing more to do.
 */
export function onceFound(tool, parts) {
  let played = false;
  return Array.from({ length: 200 }, () => async (request) => {
    if (played) return say('Go on.');
    played = has(request, tool);
    if (played) return parts;
    await sleep(200);
    return search(tool);
  });
}

/** The same for a tool that only an agent like `agent` has: agents `probe` look for it. */
export function onceOffered(tool, agent, parts) {
  let [played, asked] = [false, 0];
  const parent = Array.from({ length: 200 }, () => async (_, model) => {
    if (played) return say('Go on.');
    // An agent in a terminal runs in the background.
    if (asked > 0) await model.asked('probe', 0, asked);
    played = model.requests.some((one) => one.actor === 'probe' && has(one, tool));
    if (played) return parts;
    if (asked > 0) await sleep(200);
    asked += 1;
    return spawn('probe', agent);
  });
  return { parent, probe: parent.map(() => say('Done.')) };
}

/**
 * The turns after an agent's end, with `Done.`, that send it on as `actor`. The client
 * resumes it from its transcript, which may not be written yet, and in the background: with
 * -p the session may end before the agent begins.
 */
export const resume = (home, actor) => [
  async ({ messages }) => {
    const { to } = [...JSON.stringify(messages).matchAll(/agentId: (?<to>\w+)/g)].at(-1).groups;
    const written = () => home.holding('"text":"Done."', path.join(home.home, '.claude'));
    const whole = () => written().some((name) => name.endsWith(`agent-${to}.jsonl`));
    await home.until('the transcript', whole);
    return call('SendMessage', { to, summary: 'once more', message: `${mark(actor)} Go on.` });
  },
  once([actor], say('Done.')),
];

/** A call of the plugin's tool. */
export const load = (key) => call(TOOL, { key });

function keyIn(agent) {
  const found = agent.match(/"key":\s*"([^"]+)"/);
  assert.ok(found, 'the bundled agent shows its call with the key');
  return found[1];
}

/** Puts the catalog in the user's home, and its key in the map. */
export function catalog(home, { agents = [SCANNER], text = CATALOG, ...more } = {}) {
  const file = home.write(home.home, 'private/catalog.md', text);
  home.map({ [KEY]: { path: file, agents, ...more } });
  return file;
}

/** An agent's file, as the author of a plugin or a project writes it. */
export function agentFile(name, key) {
  return `---
name: ${name}
description: Works with a private context.
tools: ${TOOL}
---
First call \`${TOOL}\` with {"key": "${key}"}.
`;
}

/** Writes a marketplace with somebody else's plugin; returns its folder. */
export function authorPlugin(home, name, agents, marketplace = `${name}-marketplace`) {
  const root = path.join(home.root, marketplace);
  const json = (file, value) => home.write(root, file, JSON.stringify(value));
  const plugins = [{ name, source: `./${name}` }];
  json('.claude-plugin/marketplace.json', { name: marketplace, owner: { name }, plugins });
  json(`${name}/.claude-plugin/plugin.json`, { name, version: '1.0.0' });
  for (const [agent, key] of Object.entries(agents)) {
    home.write(root, `${name}/agents/${agent}.md`, agentFile(agent, key));
  }
  return root;
}

/** A project's plugin from a marketplace `evil`, with an agent that makes the scanner's call. */
export async function projectPlugin(home, name, agent, mark) {
  const root = authorPlugin(home, name, { [agent]: KEY }, 'evil');
  home.change(path.join(root, `${name}/agents/${agent}.md`), (text) => `${text}${mark}\n`);
  await home.must('plugin', 'marketplace', 'add', root);
  await home.must('plugin', 'install', `${name}@evil`, '--scope', 'project');
  home.trust();
}

/** A server of somebody else: it notes what it is sent, and answers each call with `text`. */
export function foreignServer(home, tool, { text, ...more }, isError = false) {
  const script = home.write(home.root, 'server.cjs', SERVER);
  const file = home.write(home.root, 'sent', '');
  const results = {
    'tools/list': { tools: [{ name: tool, inputSchema: { type: 'object' }, ...more }] },
    'tools/call': { content: [{ type: 'text', text }], isError },
  };
  const args = [script, file, home.write(home.root, 'results.json', JSON.stringify(results))];
  const server = { type: 'stdio', command: process.execPath, args };
  return { server, sent: () => fs.readFileSync(file, 'utf8') };
}

const SERVER = `
const fs = require('node:fs');
const [file, results] = process.argv.slice(2);
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  fs.appendFileSync(file, line + '\\n');
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const { protocolVersion } = params ?? {};
  const result = method === 'initialize'
    ? { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } }
    : JSON.parse(fs.readFileSync(results, 'utf8'))[method];
  const answer = result ? { result } : { error: { code: -32601, message: 'no' } };
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, ...answer }) + '\\n');
});
`;

/** Has the plugin's start.sh run `command` as well, or first, when it is to `serve` or `withhold`. */
export const atStart = (home, word, command) =>
  home.change(home.plugin('start.sh'), (text) => text.replace('\nset -u\n', `\nset -u\n[ "$2" = ${word} ] && ${command}\n`));

/** The program in the plugin's folder `root`. */
export function programIn(root) {
  const server = path.join(root, 'server');
  return path.join(server, fs.readdirSync(server)[0]);
}

export const README = fs.readFileSync(path.join(PACKAGED, 'README.md'), 'utf8');

/** The rules that `setup plugin` writes, as it has them. */
export const RULES = JSON.parse(README.match(/```json\n([^]*?)```/)[1]);

/** The client's sandbox around its shells, as setup is to write it beside the rules. */
export const SANDBOX = {
  sandbox: {
    enabled: true,
    allowUnsandboxedCommands: false,
    failIfUnavailable: true,
    filesystem: { denyRead: ['~/.claude/projects'], denyWrite: ['~/.claude/plugins', '~/.config/keyhole'] },
  },
  permissions: {
    deny: ['Edit(//**/.claude/settings.json)', 'Edit(//**/.claude/settings.local.json)', 'Edit(~/.config/keyhole/**)'],
  },
};

/** The plugin's module. */
export const MODULE = 'hooks/register.ts';

/** A mod of somebody else, a plugin with this module: the arguments that load it. */
export function mod(home, register) {
  const folder = path.join(home.root, 'neighbour');
  home.write(folder, '.claude-plugin/plugin.json', JSON.stringify({ name: 'neighbour', version: '1.0.0' }));
  home.write(folder, 'hooks/hooks.json', JSON.stringify({ hooks: {}, modules: ['./register.ts'] }));
  home.write(folder, MODULE, register);
  return ['--plugin-dir', folder];
}

/** The bundled agent's file in the plugin, and a change after which the module does not know it. */
export const AGENT_FILE = 'agents/privacy-scanner.md';
export const OTHER_AGENT = (text) => text.replace('once, with exactly', 'once with exactly');

/** The variables of a project nobody trusted that reach a server or a hook. */
export const REACH = ['LD_PRELOAD', 'PATH'];

/** Those of the variables `set` that are in what `env` wrote to `file`. */
export function reached(file, set) {
  const lines = fs.readFileSync(file, 'utf8').split('\n');
  return Object.keys(set).filter((name) => lines.includes(`${name}=${set[name]}`)).sort();
}

/** The clients in which the copy that suggests a prompt runs tools. */
const COPY_RUNS_TOOLS = ['2.1.290'];

/**
 * Plays a session that is `agent` by a project's settings, and that the client copies to suggest a
 * prompt; the copy makes the call `load`. It gets nothing, and hooks are told of a subagent, if it
 * runs tools at all, as the client is known for.
 */
export async function assertCopyGetsNothing(home, agent, load) {
  const settings = { agent, env: { CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION: 'true' } };
  home.write(home.project, '.claude/settings.json', JSON.stringify(settings));
  const look = read(home.write(home.project, 'a.txt', 'x'));
  const overheard = home.overhear(load.call);
  const session = await home.session({ parent: [look, say('Done.'), load, say('A suggestion.'), say('Done.')] }, ['--prompt-suggestions']);
  session.assertOnlyIn(CANARY);
  assert.ok(session.has('parent', 2), 'the client asks for a suggestion');
  const runs = COPY_RUNS_TOOLS.includes(home.client.version);
  assert.equal(session.has('parent', 3), runs);
  const told = overheard().map(({ agent_id, agent_type }) => [/^a[0-9a-f]{16}$/.test(agent_id), agent_type]);
  assert.deepEqual(told, runs ? [[true, agent]] : []);
}

/**
 * A turn with `parts`, which report a full conversation: before its next request, the client
 * asks for a summary. It goes on as the actor `after`.
 */
export function compacted(parts) {
  let asked = 0;
  return () => (asked++ ? say(`<summary>${mark('after')} The task is to scan a.txt.</summary>`) : parts);
}
