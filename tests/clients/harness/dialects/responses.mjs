// OpenAI's Responses. A tool may be in a namespace, `server.tool` here, and newer
// models learn of their tools in the conversation. If a call has a text instead
// of an object, it is a call of a custom tool.

import { randomUUID } from 'node:crypto';

const CALLS = new Set(['function_call', 'custom_tool_call']);
const RESULTS = new Set(['function_call_output', 'custom_tool_call_output']);

export const responses = {
  isTurn: ({ method, path }) => method === 'POST' && path.endsWith('/responses'),

  conversation({ body }) {
    const system = [body.instructions ?? ''];
    const tools = namesOf(body.tools);
    const messages = [];
    const names = new Map();
    for (const item of body.input) {
      const message = { role: 'user', texts: [], calls: [], results: [] };
      if (item.tools) {
        tools.push(...namesOf(item.tools));
        continue;
      }
      if (item.role === 'developer' || item.role === 'system') {
        system.push(...textsOf(item.content));
        continue;
      }
      if (CALLS.has(item.type)) {
        const name = item.namespace ? `${item.namespace}.${item.name}` : item.name;
        names.set(item.call_id, name);
        const input = item.type === 'function_call' ? JSON.parse(item.arguments || '{}') : item.input;
        Object.assign(message, { role: 'model', calls: [{ id: item.call_id, name, input }] });
      } else if (RESULTS.has(item.type)) {
        // Only the text says that a call failed.
        const result = { id: item.call_id, name: names.get(item.call_id), error: undefined };
        message.results = [{ ...result, text: textsOf(item.output).join('') }];
      } else {
        message.role = item.role === 'assistant' || item.type === 'reasoning' ? 'model' : 'user';
        message.texts = textsOf(item.content);
      }
      messages.push(message);
    }
    return { system: system.join('\n'), messages, tools };
  },

  reply(_, parts) {
    const id = `resp_${randomUUID()}`;
    const output = parts.map(itemOf);
    const usage = { input_tokens: 1, input_tokens_details: null, output_tokens: 1, output_tokens_details: null, total_tokens: 2 };
    const event = (type, more) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
    return {
      type: 'text/event-stream',
      chunks: [
        event('response.created', { response: { id } }),
        ...output.flatMap((item, output_index) => [
          event('response.output_item.added', { output_index, item }),
          event('response.output_item.done', { output_index, item }),
        ]),
        event('response.completed', { response: { id, output, usage } }),
      ],
    };
  },
};

function itemOf(part) {
  const id = randomUUID();
  if (part.call === undefined) {
    const content = [{ type: 'output_text', text: part.say, annotations: [] }];
    return { type: 'message', id: `msg_${id}`, role: 'assistant', status: 'completed', content };
  }
  const dot = part.call.lastIndexOf('.');
  const tool = { name: part.call.slice(dot + 1), ...(dot > 0 && { namespace: part.call.slice(0, dot) }) };
  const made = { id: `item_${id}`, call_id: `call_${id}`, ...tool, status: 'completed' };
  if (typeof part.input === 'string') return { type: 'custom_tool_call', ...made, input: part.input };
  return { type: 'function_call', ...made, arguments: JSON.stringify(part.input) };
}

const namesOf = (tools = []) =>
  tools.flatMap((tool) =>
    tool.type === 'namespace' ? tool.tools.map(({ name }) => `${tool.name}.${name}`) : [tool.name ?? tool.type],
  );

const textsOf = (content) =>
  typeof content === 'string' ? [content] : (content ?? []).flatMap(({ text, encrypted_content }) => text ?? encrypted_content ?? []);
