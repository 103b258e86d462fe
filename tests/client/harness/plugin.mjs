// The plugin under test: its names, its key, and plugins that build on it.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { call, mark, once, say, spawn } from './api.mjs';
import { DIST, marketplace } from './home.mjs';

export const TOOL = 'mcp__plugin_keyhole_context__load_context';
export const SCANNER = 'keyhole:privacy-scanner';

/** The tool of the bundled agent's own server, which the module registers. */
export const OWN_TOOL = 'mcp__keyhole_privacy_scanner__load_context';

/** The versions that load a plugin's module. The others ignore it. */
const LOAD_MODULES = ['2.1.330'];
export const loadsModules = ({ version }) => LOAD_MODULES.includes(version);

/** How the bundled agent gets its catalog in this client: tool, and call. */
export const way = (client) =>
  loadsModules(client) ? { tool: OWN_TOOL, load: call(OWN_TOOL, {}) } : { tool: TOOL, load: load(KEY) };

/** The plugin's folder in the marketplace, before it is installed. */
export const PACKAGED = marketplace(DIST).plugin;

/** The key that the bundled agent carries in its body. */
export const KEY = keyIn(fs.readFileSync(path.join(PACKAGED, 'agents/privacy-scanner.md'), 'utf8'));

/** A line of a private file: only its owner's context may contain it. */
export const CANARY = 'ZQ-CANARY-7f3d91';
export const CATALOG = `# Catalog\n\n- ${CANARY}\n`;

/** Whether the conversation in the request `body` has `tool`, or has just found it. */
const has = ({ tools, messages }, tool) =>
  tools.some(({ name }) => name === tool) || JSON.stringify(messages.at(-1).content).includes(`"tool_name":"${tool}"`);

/**
 * The parent's turns in a terminal: it searches for `tool` until the client has it, which is
 * a while after the server has connected, then plays `parts`, then has nothing more to do.
 */
export function onceFound(tool, parts) {
  let played = false;
  return Array.from({ length: 200 }, () => async (body) => {
    if (played) return say('Go on.');
    played = has(body, tool);
    if (played) return parts;
    await sleep(200);
    return call('ToolSearch', { query: `select:${tool}` });
  });
}

/** The same for a tool that only an agent like `agent` has: agents `probe` look for it. */
export function onceOffered(tool, agent, parts) {
  let [played, asked] = [false, 0];
  const parent = Array.from({ length: 200 }, () => async (_, api) => {
    if (played) return say('Go on.');
    // An agent in a terminal runs in the background.
    if (asked > 0) await api.asked('probe', 0, asked);
    played = api.requests.some(({ actor, body }) => actor === 'probe' && has(body, tool));
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
    const [, to] = JSON.stringify(messages.at(-1)).match(/agentId: (\w+)/);
    const written = () => home.files(path.join(home.home, '.claude')).find((name) => name.endsWith(`agent-${to}.jsonl`));
    await home.until('the transcript', () => written() && fs.readFileSync(written(), 'utf8').includes('"text":"Done."'));
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
export function catalog(home, { agents = [SCANNER], text = CATALOG } = {}) {
  const file = home.write(home.home, 'private/catalog.md', text);
  home.map({ [KEY]: { path: file, agents } });
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
export function authorPlugin(home, name, agents) {
  const root = path.join(home.root, `${name}-marketplace`);
  const json = (file, value) => home.write(root, file, JSON.stringify(value));
  json('.claude-plugin/marketplace.json', {
    name: `${name}-marketplace`,
    owner: { name },
    plugins: [{ name, source: `./${name}` }],
  });
  json(`${name}/.claude-plugin/plugin.json`, { name, version: '1.0.0' });
  for (const [agent, key] of Object.entries(agents)) {
    home.write(root, `${name}/agents/${agent}.md`, agentFile(agent, key));
  }
  return root;
}

/** A project's plugin from a marketplace `evil`, with an agent that makes the scanner's call. */
export async function projectPlugin(home, name, agent, mark) {
  const root = path.join(home.root, 'evil');
  const json = (file, value) => home.write(root, file, JSON.stringify(value));
  json('.claude-plugin/marketplace.json', { name: 'evil', owner: { name }, plugins: [{ name, source: `./${name}` }] });
  json(`${name}/.claude-plugin/plugin.json`, { name, version: '1.0.0' });
  home.write(root, `${name}/agents/${agent}.md`, `${agentFile(agent, KEY)}${mark}\n`);
  await home.must('plugin', 'marketplace', 'add', root);
  await home.must('plugin', 'install', `${name}@evil`, '--scope', 'project');
  home.trust();
}

/** The clients in which a project's plugin of our own name is the agent instead of ours. */
export const TAKES_OUR_NAME = ['2.1.197'];
