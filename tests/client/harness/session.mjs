// What one session showed: its events, and every context that it sent.

import assert from 'node:assert/strict';

export class Session {
  constructor(run, api) {
    Object.assign(this, run); // code, stdout, stderr
    this.requests = api.requests;
    this.unscripted = api.unscripted;
  }

  /** The client's own report of the session, one event per line. */
  get events() {
    return this.stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line));
  }

  get result() {
    return this.events.find(({ type }) => type === 'result');
  }

  /** Every request of `actor`. */
  of(actor) {
    return this.requests.filter((request) => request.actor === actor);
  }

  /** What `actor` got as answers: [{ tool, input, text, error }], call by call. */
  answers(actor) {
    const request = this.of(actor).at(-1);
    assert.ok(request, `${actor} asked nothing\n${this.stdout}\n${this.stderr}`);
    const parts = request.body.messages
      .slice(request.from)
      .flatMap(({ content }) => (typeof content === 'string' ? [] : content));
    return parts
      .filter(({ type }) => type === 'tool_use')
      .map(({ id, name, input }) => {
        const result = parts.find(({ tool_use_id }) => tool_use_id === id);
        assert.ok(result, `${actor}'s call of ${name} was not answered`);
        const { content, is_error } = result;
        const text =
          typeof content === 'string' ? content : content.map((part) => part.text ?? '').join('');
        return { tool: name, input, text, error: is_error === true };
      });
  }

  /** The one answer that `actor` got from `tool`. */
  answer(actor, tool) {
    const found = this.answers(actor).filter((answer) => answer.tool === tool);
    assert.equal(found.length, 1, `${actor}'s calls of ${tool}`);
    return found[0];
  }

  /** The whole script was played, and nothing else was asked. */
  assertPlayed() {
    assert.deepEqual(this.unscripted, [], 'requests that no script has');
    assert.equal(this.code, 0, `${this.stdout}\n${this.stderr}`);
    assert.equal(this.result?.is_error, false, this.stdout);
  }

  /** The parent's message resumed an agent. One that reaches a running agent may be lost. */
  assertResumed() {
    const { text, error } = this.answer('parent', 'SendMessage');
    assert.equal(error, false, text);
    assert.match(text, /resum/i);
    assert.doesNotMatch(text, /queued/i);
  }

  /** Only the named actors' contexts contain `secret`. Without names: none does. */
  assertOnlyIn(secret, ...actors) {
    for (const [index, { actor, text }] of this.requests.entries()) {
      if (actors.includes(actor)) continue;
      assert.ok(!text.includes(secret), `request ${index}, of ${actor}, holds ${secret}`);
    }
  }
}
