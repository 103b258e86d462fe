// opencode: the whole client has its servers. Permissions decide which agent is offered
// a tool: it is denied to all, and allowed in the agent's own file.

import { adapter, named, other, task } from '../harness/adapter.mjs';
import { carried } from '../harness/installed.mjs';
import { chat } from '../harness/dialects/chat.mjs';
import { call, say } from '../../harness/model.mjs';

const found = carried('opencode-ai', /^bin\/opencode(\.exe)?$/);
const TOOL = 'scanner-catalog_load_context';

export default adapter(found, {
  name: 'opencode',
  dialect: { ...chat, conversation: asTried },
  tool: TOOL,
  spawn: (actor, agent) =>
    call('task', {
      description: `start ${actor}`,
      prompt: task(actor),
      subagent_type: named(agent),
    }),
  // It asks for a title of the session, from its first prompt.
  aside: ({ tools }) => (tools.length === 0 ? say('A title') : undefined),
  // For a longer one the agent sees the beginning, and the whole is in a file.
  limit: { characters: 51_200 },
  keeps: [/^home\/\.local\/share\/opencode\/opencode\.db(-wal)?$/],

  cannot: {
    beyond: {
      seen: 'of a result of more than 51,200 bytes (or 2,000 lines, without max_lines) the agent gets the first; the whole lies below ~/.local/share/opencode/tool-output, where every agent may read it',
      thread: 'https://github.com/anomalyco/opencode/pull/7239',
      fails: /in part: 51\d{3} characters/,
    },
  },

  configure(home) {
    home.write(home.home, '.config/opencode/opencode.json', home.example('opencode.json'));
    home.write(home.home, '.config/opencode/agents/identifier-scanner.md', home.text('opencode-agent.md'));
    home.write(home.home, '.config/opencode/agents/other.md', other('mode: subagent\n'));
  },

  command: (home, model, prompt) => ({
    program: found.program,
    args: ['run', '--format', 'json', prompt],
    env: { OPENCODE_CONFIG_CONTENT: JSON.stringify(provider(model)), ...home.environment },
  }),
});

/** A call of a tool that is not offered is shown to the model as a call of `invalid`. */
function asTried(asked) {
  const told = chat.conversation(asked);
  for (const made of told.messages.flatMap(({ calls }) => calls)) {
    if (made.name === 'invalid') Object.assign(made, { name: made.input.tool, input: {} });
  }
  return told;
}

const provider = ({ url }) => ({
  model: 'scripted/scripted',
  small_model: 'scripted/scripted',
  provider: {
    scripted: {
      npm: '@ai-sdk/openai-compatible',
      name: 'scripted',
      options: { baseURL: `${url}/v1`, apiKey: 'dummy' },
      models: { scripted: { name: 'scripted', limit: { context: 400_000, output: 8_000 } } },
    },
  },
});
