// How the Messages API writes an answer: at once, or as a stream of events.

import { randomUUID } from 'node:crypto';

/**
 * The answer to the request `body` with these parts, `text` and `tool_use`; it
 * reports that the conversation holds so many tokens. Returns { type, chunks }.
 */
export function reply({ model, stream }, parts, tokens = 1) {
  const content = parts.map((part) => (part.type === 'tool_use' ? { ...part, id: `toolu_${randomUUID()}` } : part));
  const message = {
    id: `msg_${randomUUID()}`,
    type: 'message',
    role: 'assistant',
    model,
    content,
    stop_reason: content.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: tokens, output_tokens: 1 },
  };
  if (!stream) return { type: 'application/json', chunks: [JSON.stringify(message)] };
  const chunks = [...events(message)].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  return { type: 'text/event-stream', chunks };
}

function* events(message) {
  yield { type: 'message_start', message: { ...message, content: [], stop_reason: null } };
  for (const [index, part] of message.content.entries()) {
    const tool = part.type === 'tool_use';
    yield {
      type: 'content_block_start',
      index,
      content_block: tool ? { ...part, input: {} } : { type: 'text', text: '' },
    };
    yield {
      type: 'content_block_delta',
      index,
      delta: tool
        ? { type: 'input_json_delta', partial_json: JSON.stringify(part.input) }
        : { type: 'text_delta', text: part.text },
    };
    yield { type: 'content_block_stop', index };
  }
  yield {
    type: 'message_delta',
    delta: { stop_reason: message.stop_reason, stop_sequence: null },
    usage: { output_tokens: 1 },
  };
  yield { type: 'message_stop' };
}
