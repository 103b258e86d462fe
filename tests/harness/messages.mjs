// Anthropic's Messages, answered at once or as a stream of events.

import { randomUUID } from 'node:crypto';

/** Added to a turn's parts: how many tokens the conversation is reported to hold. */
export const used = (tokens) => ({ used: tokens });

/** The same: why the provider, which reviews calls in auto mode, flags those of the turn. */
export const flagged = (why) => ({ flagged: why });

/** A turn that the provider refuses, with these words. */
export const refused = (why) => ({ refused: why });

export const messages = {
  isTurn: ({ method, path }) => method === 'POST' && path === '/v1/messages',

  other({ method, path }) {
    if (path === '/v1/messages/count_tokens') return { chunks: ['{"input_tokens":1}'] };
    // Claude Code looks whether there is anybody.
    return method === 'HEAD' && path === '/' ? { status: 404, chunks: [] } : undefined;
  },

  conversation({ body }) {
    const names = new Map();
    const conversation = body.messages.map(({ role, content }) => {
      const parts = partsOf(content);
      const of = (kind) => parts.filter(({ type }) => type === kind);
      const calls = of('tool_use').map(({ id, name, input }) => ({ id, name, input }));
      for (const { id, name } of calls) names.set(id, name);
      const results = of('tool_result').map(({ tool_use_id: id, content, is_error: error }) => ({
        id,
        name: names.get(id),
        text: textOf(content),
        error: error === true,
      }));
      return { role: role === 'assistant' ? 'model' : 'user', texts: texts(parts), calls, results };
    });
    const tools = (body.tools ?? []).map(({ name }) => name);
    return { system: textOf(body.system), messages: conversation, tools };
  },

  reply({ body: { model, stream } }, parts) {
    const [refusal] = parts.flatMap(({ refused }) => refused ?? []);
    if (refusal) return { status: 400, chunks: [JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message: refusal } })] };
    const content = parts.flatMap((part) => {
      if (part.say !== undefined) return { type: 'text', text: part.say };
      if (part.call === undefined) return [];
      return { type: 'tool_use', id: `toolu_${randomUUID()}`, name: part.call, input: part.input };
    });
    const tokens = parts.find((part) => part.used)?.used ?? 1;
    const message = {
      id: `msg_${randomUUID()}`,
      type: 'message',
      role: 'assistant',
      model,
      content,
      stop_reason: content.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: tokens, output_tokens: 1 },
      ...review(content, parts.find(({ flagged }) => flagged)?.flagged),
    };
    if (!stream) return { chunks: [JSON.stringify(message)] };
    const chunks = [...events(message)].map(
      (event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`,
    );
    return { type: 'text/event-stream', chunks };
  },
};

function review(content, explanation) {
  if (explanation === undefined) return {};
  const calls = content.filter(({ type }) => type === 'tool_use');
  const tool_uses = Object.fromEntries(calls.map(({ id }) => [id, { type: 'evaluated', outcome: 'flagged', explanation }]));
  return { safeguard_results: [{ type: 'dangerous_tool_use', status: { type: 'available', tool_uses } }] };
}

function* events(message) {
  const { stop_reason, safeguard_results } = message;
  yield { type: 'message_start', message: { ...message, content: [], stop_reason: null } };
  for (const [index, part] of message.content.entries()) {
    const [content_block, delta] =
      part.type === 'tool_use'
        ? [{ ...part, input: {} }, { type: 'input_json_delta', partial_json: JSON.stringify(part.input) }]
        : [{ ...part, text: '' }, { type: 'text_delta', text: part.text }];
    yield { type: 'content_block_start', index, content_block };
    yield { type: 'content_block_delta', index, delta };
    yield { type: 'content_block_stop', index };
  }
  yield {
    type: 'message_delta',
    delta: { stop_reason, stop_sequence: null, ...(safeguard_results && { safeguard_results }) },
    usage: { output_tokens: 1 },
  };
  yield { type: 'message_stop' };
}

const partsOf = (content = []) =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : content;
const texts = (parts) => parts.flatMap(({ text }) => text ?? []);
const textOf = (content) => texts(partsOf(content)).join('');
