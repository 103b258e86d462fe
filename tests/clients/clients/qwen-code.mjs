// Qwen Code: an agent's file may name servers that only this agent has.

import path from 'node:path';
import { chat } from '../harness/dialects/chat.mjs';
import { adapter, named, other, task } from '../harness/adapter.mjs';
import { node, pinned } from '../harness/installed.mjs';
import { call } from '../../harness/model.mjs';

const found = pinned('@qwen-code/qwen-code');
const { program, missing } = node(22);
const TOOL = 'mcp__scanner-catalog__load_context';

export default adapter(found, {
  name: 'qwen-code',
  missing: found.missing ?? missing,
  dialect: chat,
  tool: TOOL,
  spawn: (actor, agent) =>
    call('agent', {
      description: `start ${actor}`,
      prompt: task(actor),
      subagent_type: named(agent),
      run_in_background: false,
    }),
  keeps: [/^home\/\.qwen\/projects\/[^/]+\/subagents\/[^/]+\/agent-identifier-scanner-[^/]+\.jsonl$/],
  // Its threshold of 25,000, and 3,000 more. For a longer one the agent sees the
  // beginning, and the whole is in a file.
  limit: { characters: 28_000 },
  cannot: {
    beyond: {
      seen: 'of a result of more than 28,000 characters the agent gets the first 2,000; the whole lies in a file below ~/.qwen/tmp',
      thread: 'https://github.com/QwenLM/qwen-code/pull/2446',
      fails: /in part: 2\d{3} characters/,
    },
  },

  configure(home) {
    home.write(home.home, '.qwen/agents/identifier-scanner.md', home.example('qwen-code-agent.md'));
    const settings = JSON.parse(home.text('qwen-code-settings.json'));
    settings.permissions.allow.push('agent(other)');
    home.write(home.home, '.qwen/settings.json', JSON.stringify(settings));
    // As the client notes that its user trusts the folder.
    home.write(home.home, '.qwen/trustedFolders.json', JSON.stringify({ [home.project]: 'TRUST_FOLDER' }));
    home.write(home.home, '.qwen/agents/other.md', other());
  },

  command: (home, model, prompt) => ({
    program,
    args: [path.join(found.root, 'cli-entry.js'), '--approval-mode', 'default', '-p', prompt],
    env: { OPENAI_API_KEY: 'dummy', OPENAI_BASE_URL: `${model.url}/v1`, OPENAI_MODEL: 'scripted' },
  }),
});
