// A stand-in for a model's API on loopback. It plays a script instead of thinking, and
// keeps every request, so that a test can say what was in whose context. The API's
// format is in its dialect; see tests/clients/README.md.
//
// A script names its actors: { main: [turn, turn], scanner: [turn] }. An actor is a
// conversation of the client: the session itself, or one agent. A mark in the prompt
// says which of them a request belongs to; the number of the model's turns since then
// says which turn it is.

import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/** The text that makes a prompt the prompt of `actor`. */
export const mark = (actor) => `[[actor:${actor}]]`;

/** The prompt of an agent. */
export const task = (actor) => `${mark(actor)} Do your task.`;

/** A turn's parts: words, and a tool call. */
export const say = (text) => ({ say: text });
export const call = (name, input = {}) => ({ call: name, input });

/** A turn that is played once all these have asked, so that what they do has begun. */
export const once = (actors, parts, turn = 0) => async (_, model) => {
  for (const actor of actors) await model.asked(actor, turn);
  return parts;
};

/** How long a turn may wait for what should come: longer than a busy machine takes. */
const LIMIT_MS = 240_000;

export class Model {
  /** Every request for a turn, in order; see `Request` in README.md. */
  requests = [];
  /** Requests that no script has a turn for, or that no dialect knows. A test should find none. */
  unscripted = [];
  #script;
  #dialect;
  #aside;
  #played = new Map();
  #server;

  /**
   * `aside(request)` answers what the client asks apart from its conversations, such as
   * which model to take: one part or several, or nothing. Its actor is then 'aside'.
   */
  static async start(dialect, script, aside = () => undefined) {
    const model = new Model();
    model.#dialect = dialect;
    model.#script = script;
    model.#aside = aside;
    model.#server = http.createServer((request, response) => {
      model.#serve(request, response).catch((error) => model.#refuse(response, `the script failed: ${error.stack}`));
    });
    // As a proxy, it blocks everything.
    model.#server.on('connect', (_, socket) => {
      socket.on('error', () => {});
      socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    });
    await new Promise((ready) => model.#server.listen(0, '127.0.0.1', ready));
    model.url = `http://127.0.0.1:${model.#server.address().port}`;
    return model;
  }

  async close() {
    this.#server.closeAllConnections();
    await new Promise((closed) => this.#server.close(closed));
  }

  /** Waits, but not for ever, until that request has come, so many times. */
  async asked(actor, turn = 0, times = 1) {
    for (const end = Date.now() + LIMIT_MS; Date.now() < end; await sleep(50)) {
      const came = this.requests.filter((one) => one.actor === actor && one.turn === turn);
      if (came.length >= times) return;
    }
    throw new Error(`${actor} did not ask for turn ${turn}`);
  }

  #refuse(response, why) {
    this.unscripted.push(why);
    if (!response.headersSent) response.writeHead(400, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: { type: 'invalid_request_error', code: 400, message: why } }));
  }

  async #serve(request, response) {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    if (/^https?:/.test(request.url) && !request.url.startsWith(this.url)) {
      response.writeHead(403);
      return response.end();
    }
    const url = new URL(request.url, this.url);
    const asked = { method: request.method, path: url.pathname, url, headers: request.headers, text };
    try {
      asked.body = text === '' ? undefined : JSON.parse(text);
    } catch {
      return this.#refuse(response, `not JSON: ${request.method} ${request.url}`);
    }
    if (!this.#dialect.isTurn(asked)) {
      const other = this.#dialect.other?.(asked);
      if (other === undefined) return this.#refuse(response, `unknown: ${request.method} ${request.url}`);
      return send(response, other);
    }
    const conversation = this.#dialect.conversation(asked);
    const full = { ...asked, ...conversation, ...placeOf(conversation) };
    const aside = this.#aside(full);
    if (aside !== undefined) full.actor = 'aside';
    this.requests.push(full);
    const parts = aside ?? (await this.#turn(full));
    if (parts === undefined) {
      const who = full.actor === undefined ? 'a request that no prompt marks' : `${full.actor}, turn ${full.turn}`;
      return this.#refuse(response, `no turn for ${who}: ${excerpt(full)}`);
    }
    send(response, this.#dialect.reply(asked, Array.isArray(parts) ? parts : [parts]));
  }

  async #turn(request) {
    const { actor, turn, messages } = request;
    const step = this.#script[actor]?.[turn];
    if (typeof step !== 'function') return step;
    // A request that the client sends again gets the same answer, and nothing happens twice.
    const asked = JSON.stringify([actor, turn, messages]);
    if (!this.#played.has(asked)) this.#played.set(asked, withTimeout(step(request, this)));
    return this.#played.get(asked);
  }
}

/** The last mark decides: an agent may see its parent's prompt, then its own. */
function placeOf({ system, messages }) {
  const last = (text) => [...text.matchAll(/\[\[actor:([\w-]+)\]\]/g)].at(-1)?.[1];
  let actor = last(system);
  let turn = 0;
  let from = 0;
  for (const [index, { role, texts }] of messages.entries()) {
    if (role === 'model') {
      // Some dialects have an item for each part: items that follow directly belong to
      // the same turn.
      if (messages[index - 1]?.role !== 'model') turn += 1;
      continue;
    }
    const found = last(texts.join('\n'));
    if (found !== undefined && found !== actor) [actor, turn, from] = [found, 0, index];
  }
  return { actor, turn, from };
}

const excerpt = ({ system, messages }) =>
  JSON.stringify({ system: system.slice(0, 200), last: messages.at(-1) }).slice(0, 800);

function send(response, { status = 200, type = 'application/json', chunks }) {
  response.writeHead(status, { 'content-type': type });
  for (const chunk of chunks) response.write(chunk);
  response.end();
}

function withTimeout(promise) {
  let timer;
  const late = new Promise((_, failed) => {
    timer = setTimeout(() => failed(new Error(`a turn took more than ${LIMIT_MS} ms`)), LIMIT_MS);
    // If the client is killed, its turn never ends; that must not keep the tests waiting.
    timer.unref();
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
