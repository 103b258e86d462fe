// The Claude Agent SDK: an agent that a program defines may have servers of its own.
// The SDK brings the client, Claude Code, and starts it; the client starts the server.

import fs from 'node:fs';
import path from 'node:path';
import { messages } from '../../harness/messages.mjs';
import { adapter, named, other, task } from '../harness/adapter.mjs';
import { pinned } from '../harness/installed.mjs';
import { call } from '../../harness/model.mjs';
import { SECOND } from '../harness/namesakes.mjs';

const found = pinned('@anthropic-ai/claude-agent-sdk');
const TOOL = 'mcp__scanner-catalog__load_context';
const PROGRAM = 'scan.mjs';
const EXAMPLE = 'claude-agent-sdk.mjs';

const spawn = (actor, agent, run_in_background = false) =>
  call('Agent', {
    description: `start ${actor}`,
    subagent_type: named(agent),
    prompt: task(actor),
    run_in_background,
  });

/** The program, and what `npm install` puts next to it. */
function install(home, text) {
  home.write(home.project, PROGRAM, text);
  const packages = path.join(home.project, 'node_modules');
  if (!fs.existsSync(packages)) fs.symlinkSync(path.join(found.root, '../..'), packages);
}

export default adapter(found, {
  name: 'agent-sdk',
  dialect: messages,
  tool: TOOL,
  spawn: (actor, agent) => spawn(actor, agent),
  background: (actor, agent) => spawn(actor, agent, true),
  limit: { characters: 500_000 },
  keeps: [/^home\/\.claude\/projects\/[^/]+\/[^/]+\/subagents\/[^/]+\.jsonl$/],

  // Its name is in the list of agents to start. The tool is not offered, and a call of
  // it is an error.
  namesTools: true,

  configure(home) {
    install(home, home.example(EXAMPLE));
    home.write(home.home, '.claude/agents/other.md', other());
  },

  namesakes: {
    wins: 'main',
    agents(home) {
      const agent = / {4}'identifier-scanner': \{\n[^]*?\n {4}\},\n/;
      const [second] = home.example(EXAMPLE, { binding: SECOND }).match(agent);
      install(home, home.example(EXAMPLE).replace(agent, (mine) => mine + second.replace('identifier-scanner', 'other')));
    },
    main(home) {
      const server = { type: 'stdio', command: home.keyhole, args: ['serve', '--bind', SECOND] };
      const option = `  mcpServers: ${JSON.stringify({ 'scanner-catalog': server })},\n`;
      install(home, home.example(EXAMPLE).replace(/^ {2}allowedTools/m, (line) => option + line));
    },
  },

  command: (home, model, prompt) => ({
    program: process.execPath,
    args: [PROGRAM, prompt],
    env: { ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: 'dummy', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', MCP_CONNECT_TIMEOUT_MS: '120000', MCP_TIMEOUT: '120000' },
  }),
});
