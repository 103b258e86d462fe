// The Claude Agent SDK: an agent that a program defines may have servers of its own.
// The SDK brings the client, Claude Code, and starts it; that starts the server.

import fs from 'node:fs';
import path from 'node:path';
import { messages } from '../harness/dialects/messages.mjs';
import { pinned } from '../harness/installed.mjs';
import { call, mark, say } from '../harness/model.mjs';

const { version, root, missing } = pinned('@anthropic-ai/claude-agent-sdk');
const TOOL = 'mcp__scanner-catalog__load_context';

export default {
  name: 'claude-agent-sdk',
  version,
  missing,
  dialect: messages,
  tool: TOOL,
  load: () => call(TOOL),
  spawn: (actor, agent) =>
    call('Agent', {
      description: `start ${actor}`,
      subagent_type: agent === 'scanner' ? 'identifier-scanner' : agent,
      prompt: `${mark(actor)} Do your task.`,
      run_in_background: false,
    }),
  finish: say,
  shown: (text) => text,
  limit: { characters: 500_000 },
  keeps: [/^home\/\.claude\/projects\/[^/]+\/[^/]+\/subagents\/[^/]+\.jsonl$/],

  // In the list of agents to start. It is not offered, and a call of it is an error.
  namesTools: true,

  configure(home, options) {
    home.write(home.project, 'scan.mjs', home.example('claude-agent-sdk.mjs', options));
    home.write(home.home, '.claude/agents/other.md', '---\nname: other\ndescription: Does something else.\n---\n\nDo your task.\n');
    // What `npm install` puts there.
    const packages = path.join(home.project, 'node_modules');
    if (!fs.existsSync(packages)) fs.symlinkSync(path.join(root, '../..'), packages);
  },

  command: (home, model, prompt) => ({
    program: process.execPath,
    args: ['scan.mjs', prompt],
    env: { ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: 'dummy', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' },
  }),
};
