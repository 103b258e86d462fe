// A stand-in for the Messages API. It plays a script instead of thinking, and
// keeps every request, so that a test can say what was in whose context.
//
// A script names its actors: { parent: [turn, turn], scanner: [turn] }. An actor
// is a conversation of the client: the session itself, or one subagent. A mark
// that the test puts in the prompt says which of them a request belongs to; the
// number of answers that the conversation already contains says which turn it is.

import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { reply } from './messages.mjs';

/** The text that makes a prompt the prompt of `actor`. */
export const mark = (actor) => `[[actor:${actor}]]`;

/** A turn's parts: words, a tool call, and the call that starts a subagent. */
export const say = (text) => ({ type: 'text', text });
export const call = (name, input) => ({ type: 'tool_use', name, input });
/** Added to these: how many tokens the conversation is reported to hold. */
export const used = (tokens) => ({ type: 'used', tokens });
export const spawn = (actor, subagent_type, more = {}) =>
  call('Agent', {
    description: `start ${actor}`,
    prompt: `${mark(actor)} Do your task.`,
    ...(subagent_type && { subagent_type }),
    run_in_background: false,
    ...more,
  });

/** A turn that is played once all these have asked, so that what they do has begun. */
export const once = (actors, parts, turn = 0) => async (_, api) => {
  for (const actor of actors) await api.asked(actor, turn);
  return parts;
};

/** How long a turn waits for what should come: longer than a busy machine takes. */
const LIMIT_MS = 240_000;

/** One stand-in, serving one script until it is closed. */
export class Api {
  /** Every request for a message, in order: { actor, turn, from, body, text }. */
  requests = [];
  /** Requests that the script has no turn for. A test should find none. */
  unscripted = [];
  #script;
  #played = new Map();
  #server;

  static async start(script) {
    const api = new Api();
    api.#script = script;
    api.#server = http.createServer((request, response) => {
      api.#serve(request, response).catch((error) => {
        api.unscripted.push(`the script failed: ${error.stack}`);
        response.destroy();
      });
    });
    await new Promise((ready) => api.#server.listen(0, '127.0.0.1', ready));
    api.url = `http://127.0.0.1:${api.#server.address().port}`;
    return api;
  }

  async close() {
    this.#server.closeAllConnections();
    await new Promise((closed) => this.#server.close(closed));
  }

  /** Waits, but not for ever, until that request has come, so many times. */
  async asked(actor, turn = 0, times = 1) {
    for (const end = Date.now() + LIMIT_MS; Date.now() < end; await sleep(50)) {
      if (this.requests.filter((request) => request.actor === actor && request.turn === turn).length >= times) return;
    }
    throw new Error(`${actor} did not ask for turn ${turn}`);
  }

  async #serve(request, response) {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const path = request.url.split('?')[0];
    if (request.method !== 'POST' || path !== '/v1/messages') {
      const tokens = path === '/v1/messages/count_tokens';
      response.writeHead(tokens ? 200 : 404, { 'content-type': 'application/json' });
      return response.end(JSON.stringify(tokens ? { input_tokens: 1 } : { type: 'error' }));
    }
    const body = JSON.parse(text);
    const place = placeOf(body.messages);
    this.requests.push({ ...place, body, text });
    const parts = await this.#turn(place, body);
    const content = parts.filter(({ type }) => type !== 'used');
    const { tokens } = parts.find(({ type }) => type === 'used') ?? {};
    const answer = reply(body, content, tokens);
    response.writeHead(200, { 'content-type': answer.type });
    for (const chunk of answer.chunks) response.write(chunk);
    response.end();
  }

  async #turn({ actor, turn }, body) {
    // The client's own small questions, such as one for a title, carry no mark.
    if (actor === undefined) return [say('ok')];
    const step = this.#script[actor]?.[turn];
    if (step === undefined) {
      this.unscripted.push(`${actor}, turn ${turn}`);
      return [say('The script ends here.')];
    }
    // A request that the client sends again gets the same answer, and nothing happens twice.
    const asked = JSON.stringify([actor, turn, body.messages]);
    if (!this.#played.has(asked)) this.#played.set(asked, typeof step === 'function' ? step(body, this) : step);
    const parts = await this.#played.get(asked);
    return Array.isArray(parts) ? parts : [parts];
  }
}

/** The last marked prompt decides: a fork carries its parent's, then its own. */
function placeOf(messages) {
  let actor;
  let turn = 0;
  let from = 0;
  for (const [index, { role, content }] of messages.entries()) {
    if (role === 'assistant') {
      turn += 1;
      continue;
    }
    const parts = typeof content === 'string' ? [say(content)] : content;
    for (const part of parts) {
      const found = part.type === 'text' && part.text.match(/\[\[actor:([\w-]+)\]\]/);
      if (found && found[1] !== actor) [actor, turn, from] = [found[1], 0, index];
    }
  }
  return { actor, turn, from };
}
