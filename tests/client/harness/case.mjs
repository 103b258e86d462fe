// A case is one test on each pinned version of the client.

import { test } from 'node:test';
import { noTerminal } from '../../harness/world.mjs';
import { clients } from './clients.mjs';
import { Home } from './home.mjs';
import { catalog, loadsModules, way } from './plugin.mjs';

/** A case hangs if its sessions do not end; none takes two minutes. */
const LIMIT_MS = 1_800_000;

/**
 * Registers the case: `run({ t, client, home, file, seen, loads, way })` for each client,
 * in a home of its own. Before it,
 *
 *   plugin    is installed: 'whole'; 'guarded', as in a client that loads no modules; or 'none'
 *   map       is written, with the catalog's entry, if the plugin is; `file` is the catalog
 *   terminal  and
 *   modules   say that it needs one, or a client that loads modules (`loads`)
 *
 * `seen` prints a behaviour of the client that the plugin relies on, or has to live with,
 * once the case has observed it.
 */
export function onEachClient(name, ...more) {
  const run = more.pop();
  const [{ plugin = 'whole', map = plugin !== 'none', terminal, modules } = {}] = more;
  for (const client of clients) {
    test(`${name} (${client.version})`, { timeout: LIMIT_MS }, async (t) => {
      const loads = loadsModules(client);
      if (modules && !loads) return t.skip('this client loads no modules');
      const without = terminal && noTerminal();
      if (without) return t.skip(without);
      const home = new Home(t, client);
      const seen = (text) => t.diagnostic(`seen with ${client.version}: ${text}`);
      if (plugin === 'whole') await home.install();
      if (plugin === 'guarded') await home.installGuarded();
      const file = map ? catalog(home) : undefined;
      await run({ t, client, home, file, seen, loads, way: way(client) });
    });
  }
}
