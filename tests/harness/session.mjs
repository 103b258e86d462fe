// What one session showed: every context that the client sent, and what it wrote.

import assert from 'node:assert/strict';

/** A line of a private file: only its owner's context may contain it. */
export const CANARY = 'ZQ-CANARY-7f3d91';

export class Session {
  constructor(run, model, script) {
    Object.assign(this, run); // code, stdout, stderr
    this.requests = model.requests;
    this.unscripted = model.unscripted;
    this.script = script;
  }

  /** Every request of `actor`; there must be at least one. */
  of(actor) {
    const found = this.requests.filter((request) => request.actor === actor);
    assert.ok(found.length > 0, `${actor} asked nothing\n${this.report()}`);
    return found;
  }

  /** Whether `actor` asked for that turn, or for any. */
  has(actor, turn) {
    return this.requests.some((request) => request.actor === actor && [undefined, request.turn].includes(turn));
  }

  /** The names of the tools that `actor` was ever offered. */
  tools(actor) {
    return [...new Set(this.of(actor).flatMap(({ tools }) => tools))];
  }

  /** What `actor` got as answers, from these tools or from all: [{ tool, input, text, error }]. */
  answers(actor, ...tools) {
    const request = this.of(actor).at(-1);
    const messages = request.messages.slice(request.from);
    const results = messages.flatMap(({ results }) => results);
    return messages
      .flatMap(({ calls }) => calls)
      .map(({ id, name, input }) => {
        const result = results.find((one) => (id === undefined ? one.name === name : one.id === id));
        assert.ok(result, `${actor}'s call of ${name} was not answered\n${this.report()}`);
        return { tool: name, input, text: result.text, error: result.error };
      })
      .filter(({ tool }) => tools.length === 0 || tools.includes(tool));
  }

  /** The one answer that `actor` got from `tool`. */
  answer(actor, tool) {
    const found = this.answers(actor, tool);
    assert.equal(found.length, 1, `${actor}'s calls of ${tool}\n${this.report()}`);
    return found[0];
  }

  /** The whole script was played, nothing else was asked, and the client reports no error. */
  assertPlayed() {
    assert.deepEqual(this.unscripted, [], `requests that no script has\n${this.report()}`);
    assert.equal(this.code, 0, this.report());
    for (const [actor, turns] of Object.entries(this.script)) {
      const played = new Set(this.of(actor).map(({ turn }) => turn));
      assert.equal(played.size, turns.length, `${actor}'s turns\n${this.report()}`);
    }
  }

  /** Only the named actors' contexts contain `secret`. Without names: none does. */
  assertOnlyIn(secret, ...actors) {
    for (const [index, { actor, text }] of this.requests.entries()) {
      if (actors.includes(actor)) continue;
      assert.ok(!text.includes(secret), `request ${index}, of ${actor}, holds ${secret}`);
    }
  }

  /** For a failure's message: what the client wrote, and who asked what. */
  report() {
    const asked = this.requests.map(({ actor, turn, path, tools, messages }) =>
      `${actor} ${turn} ${path} [${tools.join(' ')}] ${JSON.stringify(messages.at(-1))?.slice(0, 600)}`,
    );
    return [`code ${this.code}`, this.stdout.slice(-3000), this.stderr.slice(-3000), ...asked, ...this.unscripted].join('\n');
  }
}
