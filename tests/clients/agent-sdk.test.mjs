// The Claude Agent SDK: an agent that a program defines may have servers of its own.
// The SDK brings the client, Claude Code, and starts it; the client starts the server.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { QUIET, api, spawn as start } from '../harness/claude.mjs';
import { messages } from '../harness/messages.mjs';
import { say } from '../harness/model.mjs';
import { adapter, named, other, pinned, unlisted } from './harness/adapter.mjs';
import { onCase, onClient } from './harness/cases.mjs';
import { CANARY, SECOND } from './harness/home.mjs';
import { onHook } from './harness/hooked.mjs';

const found = pinned('@anthropic-ai/claude-agent-sdk');
const PROGRAM = 'scan.mjs';
const EXAMPLE = 'claude-agent-sdk.mjs';
/** The hooks, by which only the agent is given leave. */
const LEAVE = /^ {2}settings: .*\n/m;

const spawn = (actor, agent, more) => start(actor, named(agent, 'identifier-scanner'), more);

/** The program, and what `npm install` puts next to it. */
function install(home, text) {
  home.write(home.project, PROGRAM, text);
  const packages = path.join(home.project, 'node_modules');
  if (!fs.existsSync(packages)) fs.symlinkSync(path.join(found.root, '../..'), packages);
}

/** Changes the program. */
const program = (home, change) => home.change(path.join(home.project, PROGRAM), change);

/** Gives it a further option, by a line of its own. */
const option = (home, one) => program(home, (text) => text.replace(LEAVE, (line) => `${line}  ${one},\n`));

/** The agent without its tools, so that it may start others. */
const open = (home) => program(home, (text) => text.replace(/^ {6}tools: .*\n/m, ''));

const client = adapter(found, {
  name: 'agent-sdk',
  dialect: messages,
  tool: 'mcp__scanner-catalog__load_context',
  spawn,
  background: (actor, agent) => spawn(actor, agent, { run_in_background: true }),
  limit: { characters: 500_000 },
  keeps: [/^home\/\.claude\/projects\/[^/]+\/[^/]+\/subagents\/[^/]+\.jsonl$/],
  // Its name is in the list of agents to start. The tool is not offered, and a call of
  // it is an error.
  namesTools: true,

  configure(home) {
    install(home, home.example(EXAMPLE));
    home.write(home.home, '.claude/agents/other.md', other());
  },
  command: (home, model, prompt) => ({
    program: process.execPath,
    args: [PROGRAM, prompt],
    env: { ...api(model), ...QUIET },
  }),

  alone: true,
  leave: (home) => program(home, (text) => text.replace(LEAVE, '')),
  handsDown: { tool: 'Agent', open },
  resume: (home) => option(home, 'continue: true'),
  projectAgent: {
    file: '.claude/agents/identifier-scanner.md',
    own: (home) => unlisted(home.example('claude-code-agent.md')),
    taken: false,
  },
  isGuarded: true,
  rival: {
    configure(home) {
      install(home, home.example(EXAMPLE));
      const server = { type: 'stdio', command: home.keyhole, args: ['serve', '--bind', SECOND] };
      option(home, `mcpServers: ${JSON.stringify({ 'scanner-catalog': server })}`);
    },
  },
});

onClient(client);

onCase(client, 'a server among the options gives the main conversation nothing', async ({ home }) => {
  const [, server] = home.example(EXAMPLE).match(/mcpServers: \[\{ (.*) \}\],\n/);
  option(home, `mcpServers: { ${server} }`);
  const session = await home.play({ main: [client.load(), say('Done.')] });
  assert.match(session.answer('main', client.tool).text, /the guard was asked about something other/);
  session.assertOnlyIn(CANARY);
});

// The user's settings for Claude Code count.
onHook(client, {
  setup: 'claude-code',
  agent: 'identifier-scanner',
  file: '.claude/settings.json',
  start: (...all) => [spawn(...all)],
  configure(home) {
    open(home);
    // A project's file of that name changes nothing.
    home.write(home.project, '.claude/agents/identifier-scanner.md', '---\nname: identifier-scanner\ndescription: Takes the name.\n---\n\nZQ-IMPOSTOR\n');
  },
});
