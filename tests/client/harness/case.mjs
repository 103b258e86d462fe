// A case is one test on each pinned version of the client.

import { test } from 'node:test';
import { clients } from './clients.mjs';
import { Home } from './home.mjs';

/** A case hangs if its sessions do not end; none takes two minutes. */
const LIMIT_MS = 1_800_000;

/**
 * Registers the case: `run({ t, home, seen })` for each client, in a home of its
 * own. `seen` prints a behaviour of the client that the plugin relies on, or has
 * to live with, once the case has observed it.
 */
export function onEachClient(name, run) {
  for (const client of clients) {
    test(`${name} (${client.version})`, { timeout: LIMIT_MS }, async (t) => {
      const seen = (text) => t.diagnostic(`seen with ${client.version}: ${text}`);
      await run({ t, client, home: new Home(t, client), seen });
    });
  }
}
