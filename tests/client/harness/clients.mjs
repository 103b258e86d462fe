// The pinned versions of the client, as package.json names them.

import path from 'node:path';
import { carriedIn, readJson } from '../../harness/installed.mjs';
import { messages } from '../../harness/messages.mjs';
import { say } from '../../harness/model.mjs';

const here = path.resolve(import.meta.dirname, '..');
const only = process.env.KEYHOLE_CLIENT;

// The client's own small questions, such as one for a title, carry no mark.
const aside = ({ actor }) => (actor === undefined ? say('ok') : undefined);

/** [{ version, program, … }], oldest first; KEYHOLE_CLIENT=VERSION takes just one. */
export const clients = Object.keys(readJson(path.join(here, 'package.json')).dependencies)
  .map((alias) => ({ ...carriedIn(here, alias, /^claude$/), dialect: messages, aside }))
  .filter(({ version }) => !only || version === only);

if (clients.length === 0) throw new Error(`no pinned client has the version ${only}`);
for (const { version, missing } of clients) {
  if (missing) throw new Error(`${version}: ${missing}; run ./x client`);
}
