// GitHub Copilot CLI: an agent's file may name servers that only this agent has.

import path from 'node:path';
import { messages } from '../../harness/messages.mjs';
import { adapter, named, other, task } from '../harness/adapter.mjs';
import { pinned } from '../harness/installed.mjs';
import { call } from '../../harness/model.mjs';
import { SECOND } from '../harness/namesakes.mjs';

const found = pinned('@github/copilot');
const TOOL = 'scanner-catalog-load_context';
const AGENTS = '.copilot/agents';

const spawn = (actor, agent, mode = 'sync') =>
  call('task', {
    name: actor,
    description: `start ${actor}`,
    agent_type: named(agent),
    prompt: task(actor),
    mode,
  });

const start = (model, ...args) => ({
  program: process.execPath,
  args: [path.join(found.root, 'npm-loader.js'), ...args],
  env: {
    // Its program unpacks itself once, some 200 MB.
    COPILOT_CACHE_HOME: path.join(found.root, '../../.cache/copilot'),
    COPILOT_AUTO_UPDATE: 'false',
    COPILOT_OFFLINE: 'true',
    COPILOT_PROVIDER_TYPE: 'anthropic',
    COPILOT_PROVIDER_BASE_URL: model.url,
    COPILOT_PROVIDER_API_KEY: 'dummy',
    COPILOT_MODEL: 'claude-sonnet-5',
  },
});

export default adapter(found, {
  name: 'copilot-cli',
  dialect: messages,
  tool: TOOL,
  spawn: (actor, agent) => spawn(actor, agent),
  background: (actor, agent) => spawn(actor, agent, 'background'),
  limit: { characters: 20_480 },
  keeps: [/^home\/\.copilot\/session-state\/[^/]+\/events\.jsonl$/],
  marksErrors: false,

  cannot: {
    beyond: {
      seen: 'one byte over 20,480, the agent gets the first 500 characters and the path of a file in the temporary directory that holds all, which the main conversation may read',
      thread: 'https://github.com/github/copilot-cli/issues/3008',
      fails: /in part: \d+ characters/,
    },
  },

  configure(home) {
    home.write(home.home, `${AGENTS}/identifier-scanner.agent.md`, home.example('copilot-agent.md'));
    home.write(home.home, `${AGENTS}/other.agent.md`, other());
  },

  namesakes: {
    wins: 'agent',
    agents(home) {
      home.write(home.home, `${AGENTS}/identifier-scanner.agent.md`, home.example('copilot-agent.md'));
      const second = home.example('copilot-agent.md', { binding: SECOND }).replace('name: identifier-scanner', 'name: other');
      home.write(home.home, `${AGENTS}/other.agent.md`, second);
    },
    main(home) {
      home.write(home.home, `${AGENTS}/identifier-scanner.agent.md`, home.example('copilot-agent.md'));
      const server = { type: 'local', command: home.keyhole, args: ['serve', '--bind', SECOND], tools: ['*'] };
      home.write(home.home, '.copilot/mcp-config.json', JSON.stringify({ mcpServers: { 'scanner-catalog': server } }));
    },
  },

  command: (home, model, prompt) => start(model, '-p', prompt),
  interactive: (home, model, prompt) => start(model, '-i', prompt),
});
