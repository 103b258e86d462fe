// Qwen Code: an agent's file may name servers that only this agent has.

import path from 'node:path';
import { chat } from '../harness/dialects/chat.mjs';
import { node, pinned } from '../harness/installed.mjs';
import { call, mark } from '../harness/model.mjs';

const { version, root, missing } = pinned('@qwen-code/qwen-code');
const { program, missing: noNode } = node(22);
const TOOL = 'mcp__scanner-catalog__load_context';

export default {
  name: 'qwen-code',
  version,
  missing: missing ?? noNode,
  dialect: chat,
  tool: TOOL,
  load: () => call(TOOL, {}),
  spawn: (actor, agent) =>
    call('agent', {
      description: `start ${actor}`,
      prompt: `${mark(actor)} Do your task.`,
      subagent_type: agent === 'scanner' ? 'identifier-scanner' : agent,
      run_in_background: false,
    }),
  shown: (text) => text,
  finish: (text) => ({ say: text }),
  aside: () => undefined,
  limit: { characters: 25_000 },

  configure(home, options) {
    home.write(home.home, '.qwen/agents/identifier-scanner.md', home.example('qwen-code-agent.md', options));
    home.write(home.home, '.qwen/agents/other.md', '---\nname: other\ndescription: Does something else.\n---\n\nDo your task.\n');
  },

  command: (home, model, prompt) => ({
    program,
    args: [path.join(root, 'cli-entry.js'), '--yolo', '-p', prompt],
    env: { OPENAI_API_KEY: 'dummy', OPENAI_BASE_URL: `${model.url}/v1`, OPENAI_MODEL: 'scripted' },
  }),
};
