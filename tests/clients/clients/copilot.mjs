// GitHub Copilot CLI: an agent's file may name servers that only this agent has.

import path from 'node:path';
import { messages } from '../harness/dialects/messages.mjs';
import { pinned } from '../harness/installed.mjs';
import { call, mark, say } from '../harness/model.mjs';
import { SECOND } from '../harness/namesakes.mjs';

const { version, root, missing } = pinned('@github/copilot');
const TOOL = 'scanner-catalog-load_context';
const AGENTS = '.copilot/agents';

const spawn = (actor, agent, mode = 'sync') =>
  call('task', {
    name: actor,
    description: `start ${actor}`,
    agent_type: agent === 'scanner' ? 'identifier-scanner' : agent,
    prompt: `${mark(actor)} Do your task.`,
    mode,
  });

const start = (model, ...args) => ({
  program: process.execPath,
  args: [path.join(root, 'npm-loader.js'), ...args],
  env: {
    // Its program unpacks itself once, some 200 MB.
    COPILOT_CACHE_HOME: path.join(root, '../../.cache/copilot'),
    COPILOT_AUTO_UPDATE: 'false',
    COPILOT_OFFLINE: 'true',
    COPILOT_PROVIDER_TYPE: 'anthropic',
    COPILOT_PROVIDER_BASE_URL: model.url,
    COPILOT_PROVIDER_API_KEY: 'dummy',
    COPILOT_MODEL: 'claude-sonnet-5',
  },
});

export default {
  name: 'copilot-cli',
  version,
  missing,
  dialect: messages,
  tool: TOOL,
  load: () => call(TOOL),
  spawn: (actor, agent) => spawn(actor, agent),
  background: (actor, agent) => spawn(actor, agent, 'background'),
  finish: say,
  shown: (text) => text,
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
    home.write(home.home, `${AGENTS}/other.agent.md`, '---\nname: other\ndescription: Does something else.\n---\n\nDo your task.\n');
  },

  namesakes: {
    wins: 'agent',
    agents(home) {
      home.write(home.home, `${AGENTS}/identifier-scanner.agent.md`, home.example('copilot-agent.md'));
      const other = home.example('copilot-agent.md', { binding: SECOND }).replace('name: identifier-scanner', 'name: other');
      home.write(home.home, `${AGENTS}/other.agent.md`, other);
    },
    main(home) {
      home.write(home.home, `${AGENTS}/identifier-scanner.agent.md`, home.example('copilot-agent.md'));
      const server = { type: 'local', command: home.keyhole, args: ['serve', '--bind', SECOND], tools: ['*'] };
      home.write(home.home, '.copilot/mcp-config.json', JSON.stringify({ mcpServers: { 'scanner-catalog': server } }));
    },
  },

  command: (home, model, prompt) => start(model, '-p', prompt),
  interactive: (home, model, prompt) => start(model, '-i', prompt),
};
