// A case is one test on each pinned version of the client.

import path from 'node:path';
import { test } from 'node:test';
import { carriedIn, readJson } from '../../harness/installed.mjs';
import { messages } from '../../harness/messages.mjs';
import { say } from '../../harness/model.mjs';
import { noTerminal } from '../../harness/world.mjs';
import { Home } from './home.mjs';
import { catalog, loadsModules, way } from './plugin.mjs';

/** A case hangs if its sessions do not end; none takes two minutes. */
const LIMIT_MS = 1_800_000;

// The client's own small questions, such as one for a title, carry no mark.
const aside = ({ actor }) => (actor === undefined ? say('ok') : undefined);

const here = path.resolve(import.meta.dirname, '..');
const pinned = (folder) =>
  Object.keys(readJson(path.join(folder, 'package.json')).dependencies).map((alias) => carriedIn(folder, alias, /^claude$/));

/**
 * The versions that package.json names, oldest first. KEYHOLE_CLIENT=VERSION takes just one, also
 * of those that only `./x client versions` installs.
 */
const only = process.env.KEYHOLE_CLIENT;
const clients = (only ? [...pinned(here), ...pinned(path.join(here, 'versions'))] : pinned(here))
  .filter(({ version }) => !only || version === only)
  .map((client) => ({ ...client, dialect: messages, aside }));
if (clients.length === 0) throw new Error(`no pinned client has the version ${only}`);
for (const { version, missing } of clients) {
  if (missing) throw new Error(`${version}: ${missing}; run ./x client, or ./x client versions`);
}

/**
 * Registers the case: `run({ t, client, home, file, loads, way })` for each client, in a home
 * of its own. Before it,
 *
 *   plugin    is installed: 'whole'; 'guarded', as in a client that loads no modules; or 'none'
 *   map       is written, with the catalog's entry, if the plugin is; `file` is the catalog
 *   terminal  and
 *   modules   say that it needs one, or a client that loads modules (`loads`)
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
      if (plugin === 'whole') await home.install();
      if (plugin === 'guarded') await home.installGuarded();
      const file = map ? catalog(home) : undefined;
      await run({ t, client, home, file, loads, way: way(client) });
    });
  }
}
