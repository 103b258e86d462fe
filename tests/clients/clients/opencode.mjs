// opencode: its servers are the whole client's. Which agent is offered a tool is told
// by the permissions: denied to all, allowed in the agent's own file.

import { carried } from '../harness/carried.mjs';
import { chat } from '../harness/dialects/chat.mjs';
import { refuseLonger } from '../harness/longer.mjs';
import { call, mark, say } from '../harness/model.mjs';

const { version, program, missing } = carried('opencode-ai', /^bin\/opencode(\.exe)?$/);
const TOOL = 'scanner-catalog_load_context';

/** What it shows of one result before it cuts it. */
const CHARACTERS = 51_200;

export default {
  name: 'opencode',
  version,
  missing,
  dialect: { ...chat, conversation: asTried },
  tool: TOOL,
  load: () => call(TOOL, {}),
  spawn: (actor, agent) =>
    call('task', {
      description: `start ${actor}`,
      prompt: `${mark(actor)} Do your task.`,
      subagent_type: agent === 'scanner' ? 'identifier-scanner' : agent,
    }),
  shown: (text) => text,
  finish: say,
  // The title of a session, from its first prompt.
  aside: ({ tools }) => (tools.length === 0 ? say('A title') : undefined),
  limit: { characters: CHARACTERS },
  keeps: [/^home\/\.local\/share\/opencode\/opencode\.db(-wal)?$/],

  configure(home, options) {
    home.write(home.home, '.config/opencode/opencode.json', home.example('opencode.json', options));
    home.write(home.home, '.config/opencode/agents/identifier-scanner.md', home.text('opencode-agent.md'));
    home.write(home.home, '.config/opencode/agents/other.md', '---\ndescription: Does something else.\nmode: subagent\n---\n\nDo your task.\n');
    refuseLonger(home, CHARACTERS);
  },

  command: (home, model, prompt) => ({
    program,
    args: ['run', '--format', 'json', prompt],
    env: { OPENCODE_CONFIG_CONTENT: JSON.stringify(provider(model)), ...home.environment },
  }),
};

/** The call of a tool that is not offered is told to the model as one of `invalid`. */
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
