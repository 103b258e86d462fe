// OpenAI's Chat Completions.

import { randomUUID } from 'node:crypto';

export const chat = {
  isTurn: ({ method, path }) => method === 'POST' && path.endsWith('/chat/completions'),

  conversation({ body }) {
    const system = [];
    const messages = [];
    const names = new Map();
    for (const message of body.messages) {
      const texts = textsOf(message.content);
      if (message.role === 'system' || message.role === 'developer') {
        system.push(...texts);
      } else if (message.role === 'tool') {
        // Chat has no mark for a failure: only the client's text says it.
        const result = { id: message.tool_call_id, name: names.get(message.tool_call_id), error: undefined, text: texts.join('') };
        messages.push({ role: 'user', texts: [], calls: [], results: [result] });
      } else {
        const calls = (message.tool_calls ?? []).map(({ id, function: made }) => {
          names.set(id, made.name);
          return { id, name: made.name, input: JSON.parse(made.arguments || '{}') };
        });
        messages.push({ role: message.role === 'assistant' ? 'model' : 'user', texts, calls, results: [] });
      }
    }
    return { system: system.join('\n'), messages, tools: (body.tools ?? []).map((tool) => tool.function.name) };
  },

  reply({ body }, parts) {
    const said = parts.filter((part) => part.call === undefined).map((part) => part.say).join('');
    const calls = parts
      .filter((part) => part.call !== undefined)
      .map((part, index) => ({
        index,
        id: `call_${randomUUID()}`,
        type: 'function',
        function: { name: part.call, arguments: JSON.stringify(part.input) },
      }));
    const message = { role: 'assistant', content: said || null, ...(calls.length > 0 && { tool_calls: calls }) };
    const finish_reason = calls.length > 0 ? 'tool_calls' : 'stop';
    const head = { id: `chatcmpl-${randomUUID()}`, created: Math.floor(Date.now() / 1000), model: body.model };
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    if (!body.stream) {
      const choice = { index: 0, message, finish_reason };
      return { chunks: [JSON.stringify({ ...head, object: 'chat.completion', choices: [choice], usage })] };
    }
    const chunk = (choices, more) => `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices, ...more })}\n\n`;
    return {
      type: 'text/event-stream',
      chunks: [
        chunk([{ index: 0, delta: message, finish_reason: null }]),
        chunk([{ index: 0, delta: {}, finish_reason }]),
        chunk([], { usage }),
        'data: [DONE]\n\n',
      ],
    };
  },
};

const textsOf = (content) =>
  typeof content === 'string' ? [content] : (content ?? []).flatMap(({ text }) => text ?? []);
