import { query } from '@anthropic-ai/claude-agent-sdk';

const LOAD = 'mcp__scanner-catalog__load_context';

const options = {
  agents: {
    'identifier-scanner': {
      description: "Checks whether a text contains one of the user's private identifiers.",
      prompt: `Call \`load_context\`. It returns the list of identifiers. Read the files that you are
named, and say for each whether it contains one of them, and on which line. Never
repeat an identifier. If the list is empty, say so and stop.`,
      tools: ['Read', LOAD],
      // Here, and not among the options: there, the main conversation would have it too.
      mcpServers: [{ 'scanner-catalog': { type: 'stdio', command: 'keyhole', args: ['serve', '--bind', 'scanner-catalog'] } }],
    },
  },
  allowedTools: [LOAD],
};

for await (const message of query({ prompt: process.argv[2], options })) {
  if (message.type === 'result') console.log(message.result);
}
