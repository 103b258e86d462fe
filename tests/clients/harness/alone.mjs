// For clients whose command only starts another process, the client itself.

import assert from 'node:assert/strict';
import { whileCalled } from './cases.mjs';

export const ALONE = 'when the command alone is killed, the server ends with the session that goes on';

/** The command is killed while the agent's model thinks; then the model answers. */
export const alone = ({ client, home, seen }) =>
  whileCalled(client, home, async (child, answer) => {
    assert.ok(home.servers().length > 0, 'the server runs');
    process.kill(child.pid, 'SIGKILL');
    await home.until('the end of the command', () => child.signalCode !== null);
    const left = home.servers().length;
    answer();
    await home.until('the end of the server', () => home.servers().length === 0);
    seen(`${left} server was there when the command was gone, and none after the session`);
  });
