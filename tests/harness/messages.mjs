// Anthropic's Messages. The stand-in for Claude Code writes its answers with the same
// code.

import { reply } from '../../../client/harness/messages.mjs';

export const messages = {
  name: 'messages',

  isTurn: ({ method, path }) => method === 'POST' && path === '/v1/messages',

  other: ({ path }) => (path === '/v1/messages/count_tokens' ? { chunks: ['{"input_tokens":1}'] } : undefined),

  conversation({ body }) {
    const names = new Map();
    const conversation = body.messages.map(({ role, content }) => {
      const parts = partsOf(content);
      const calls = parts.filter(({ type }) => type === 'tool_use').map(({ id, name, input }) => ({ id, name, input }));
      for (const { id, name } of calls) names.set(id, name);
      const results = parts
        .filter(({ type }) => type === 'tool_result')
        .map(({ tool_use_id: id, content: result, is_error: error }) => ({ id, name: names.get(id), text: textOf(result), error: error === true }));
      return { role: role === 'assistant' ? 'model' : 'user', texts: texts(parts), calls, results };
    });
    return { system: textOf(body.system), messages: conversation, tools: (body.tools ?? []).map(({ name }) => name) };
  },

  reply: ({ body }, parts) =>
    reply(body, parts.map((part) => (part.call ? { type: 'tool_use', name: part.call, input: part.input } : { type: 'text', text: part.say }))),
};

const partsOf = (content = []) => (typeof content === 'string' ? [{ type: 'text', text: content }] : content);
const texts = (parts) => parts.flatMap(({ text }) => text ?? []);
const textOf = (content) => texts(partsOf(content)).join('');
