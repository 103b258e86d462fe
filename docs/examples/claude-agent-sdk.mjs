import { query } from '@anthropic-ai/claude-agent-sdk';

const LOAD = 'mcp__scanner-catalog__load_context';

// Who may call. The hooks leave a ticket for each call of the agent, and the server takes no other.
const caller = ['--bind', 'scanner-catalog', '--agent', 'identifier-scanner'];
const tickets = ['--tickets', '/home/me/.local/state/keyhole/claude-code'];
const guard = (...more) => [
  { matcher: LOAD, hooks: [{ type: 'command', command: 'keyhole', args: ['guard', ...caller, ...tickets, ...more], timeout: 20, onFailure: 'block' }] },
];

const options = {
  agents: {
    'identifier-scanner': {
      description: "Checks whether a text contains one of the user's private identifiers.",
      prompt: `Call \`load_context\`. It returns the list of identifiers. Read the files that you are
named, and say for each whether it contains one of them, and on which line. Never
repeat an identifier. If the list is empty, say so and stop.`,
      tools: ['Read', LOAD],
      // Here, and not among the options: there, the hooks refuse every call.
      mcpServers: [{ 'scanner-catalog': { type: 'stdio', command: 'keyhole', args: ['serve', ...caller, '--require-ticket', ...tickets] } }],
    },
  },
  settings: { hooks: { PreToolUse: guard(), PostToolUse: guard('--after') } },
};

for await (const message of query({ prompt: process.argv[2], options })) {
  if (message.type === 'result') console.log(message.result);
}
