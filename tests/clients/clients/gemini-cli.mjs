// Gemini CLI: an agent's file may name servers that only this agent has.

import path from 'node:path';
import { gemini } from '../harness/dialects/gemini.mjs';
import { adapter, named, other, task } from '../harness/adapter.mjs';
import { pinned } from '../harness/installed.mjs';
import { call, say } from '../../harness/model.mjs';

const found = pinned('@google/gemini-cli');
const TOOL = 'mcp_scanner-catalog_load_context';

export default adapter(found, {
  name: 'gemini-cli',
  dialect: gemini,
  tool: TOOL,
  spawn: (actor, agent) => call('invoke_agent', { agent_name: named(agent), prompt: task(actor) }),
  shown: (text) => `<untrusted_context>\n${text}\n</untrusted_context>`,
  finish: (text) => call('complete_task', { result: text }),
  // It asks a small model which model to use.
  aside: ({ tools, path }) => (tools.length === 0 && path.endsWith(':generateContent') ? say('{"complexity_reasoning":"","complexity_score":1}') : undefined),
  // 40,000 together with what it puts around a result. For a longer one the agent sees
  // the beginning and the end, and the whole is in a file.
  limit: { characters: 39_959 },
  keeps: [/^home\/\.gemini\/tmp\/project\/chats\/[^/]+\/[^/]+\.jsonl$/],
  // It keeps variables with KEY in their name from its servers.
  keyVariable: 'SCANNER_CATALOG',
  cannot: {
    beyond: {
      seen: 'of a result of more than 40,000 characters the agent gets the first 8,000 and the last 32,000; the whole lies in a file below ~/.gemini/tmp',
      thread: 'https://github.com/google-gemini/gemini-cli/issues/17037',
      fails: /in part: 40\d{3} characters/,
    },
  },

  configure(home) {
    home.write(home.home, '.gemini/agents/identifier-scanner.md', home.example('gemini-cli-agent.md'));
    home.write(home.home, '.gemini/policies/keyhole.toml', home.text('gemini-cli-policy.toml'));
    home.write(home.home, '.gemini/agents/other.md', other());
    home.write(home.home, '.gemini/settings.json', JSON.stringify({ security: { auth: { selectedType: 'gemini-api-key' } } }));
  },

  command: (home, model, prompt) => start(model, '-p', prompt),
  interactive: (home, model, prompt) => start(model, '-i', prompt),
});

const start = (model, ...args) => ({
  program: process.execPath,
  args: [path.join(found.root, 'bundle/gemini.js'), ...args],
  env: { GEMINI_API_KEY: 'dummy', GOOGLE_GEMINI_BASE_URL: model.url, GEMINI_CLI_TRUST_WORKSPACE: 'true', GEMINI_CLI_NO_RELAUNCH: 'true' },
});
