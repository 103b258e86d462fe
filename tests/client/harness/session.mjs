// What one session of the client showed.

import assert from 'node:assert/strict';
import { Session as Any } from '../../harness/session.mjs';

export class Session extends Any {
  /** The client's own report of the session, one event per line. */
  get events() {
    return this.stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line));
  }

  get result() {
    return this.events.find(({ type }) => type === 'result');
  }

  /** What a terminal shows; it draws by moving the cursor, so it contains no blanks. */
  get drawn() {
    return this.stdout.replaceAll(/\x1b\[[0-9;?>]*[a-zA-Z]|\s/g, '');
  }

  /** The script was long enough, nothing else was asked, and the client reports no error. */
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
}
