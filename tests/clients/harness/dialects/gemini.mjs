// Gemini's generateContent and streamGenerateContent.

export const gemini = {
  isTurn: ({ method, path }) => method === 'POST' && /:(streamG|g)enerateContent$/.test(path),

  other: ({ path }) => (path.endsWith(':countTokens') ? { chunks: ['{"totalTokens":1}'] } : undefined),

  conversation({ body }) {
    const messages = (body.contents ?? []).map(({ role, parts }) => ({
      role: role === 'model' ? 'model' : 'user',
      texts: parts.flatMap(({ text }) => text ?? []),
      calls: parts.flatMap(({ functionCall: call }) => (call ? { id: call.id, name: call.name, input: call.args ?? {} } : [])),
      results: parts.flatMap(({ functionResponse: result }) => (result ? resultOf(result) : [])),
    }));
    const system = (body.systemInstruction?.parts ?? []).map(({ text }) => text ?? '').join('\n');
    const tools = (body.tools ?? []).flatMap(({ functionDeclarations }) => functionDeclarations ?? []).map(({ name }) => name);
    return { system, messages, tools };
  },

  reply({ path }, parts) {
    const message = {
      candidates: [
        {
          index: 0,
          finishReason: 'STOP',
          content: { role: 'model', parts: parts.map((part) => (part.call ? { functionCall: { name: part.call, args: part.input } } : { text: part.say })) },
        },
      ],
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
      modelVersion: path.match(/models\/([^:]+)/)?.[1],
    };
    const text = JSON.stringify(message);
    return path.endsWith(':streamGenerateContent')
      ? { type: 'text/event-stream', chunks: [`data: ${text}\r\n\r\n`] }
      : { chunks: [text] };
  },
};

/** A failure is in `error`; what a tool returned, in `output`. */
function resultOf({ id, name, response }) {
  const error = response.error !== undefined;
  const value = response.error ?? response.output ?? response;
  return { id, name, error, text: typeof value === 'string' ? value : JSON.stringify(value) };
}
