// What quotes the document in what an agent says, and what the parent read of it.

import assert from 'node:assert/strict';
import path from 'node:path';
import { CANARY, MODULE, authorPlugin, catalog, mod } from './plugin.mjs';

export const QUOTED = CANARY.toLowerCase().replaceAll('-', ' ');
/** What somebody says who quotes the document at a place; the place stays. */
export const quoting = (place) => `${place}  high  Catalog: ${QUOTED}.`;
export const without = (place) => `${place}  high  Catalog: [withheld].`;
export const WHOLE = /\[withheld\] The whole report was withheld\. /;

/** Whether the parent has read this, in any of its requests. */
export const parentRead = (session, text) =>
  session.of('parent').some((request) => JSON.stringify(request.body).includes(JSON.stringify(text).slice(1, -1)));

/** The parent read of each of these places, and no quotation, or just that, as a client is known for. */
export function assertWithheld(session, places, isWithheld = true) {
  for (const place of places) {
    assert.equal(parentRead(session, without(place)), isWithheld, `${place}\n${session.report()}`);
    assert.equal(parentRead(session, quoting(place)), !isWithheld, `${place}\n${session.report()}`);
  }
  assert.equal(parentRead(session, QUOTED), !isWithheld);
}

/** Installs somebody else's plugin `acme` with the agent `reviewer`, and gives it the catalog as well. */
export async function author(home, more = {}, tools = '') {
  const key = 'key-of-reviewer-7c31d90a52';
  const market = authorPlugin(home, 'acme', { reviewer: key });
  if (tools) home.change(path.join(market, 'acme/agents/reviewer.md'), (text) => text.replace(/^tools: .*$/m, `$&, ${tools}`));
  await home.installFrom(market, market);
  const file = catalog(home, { withhold: true });
  home.addToMap({ [key]: { path: file, agents: ['acme:reviewer'], ...more } });
  return { key, file };
}

/** A mod of somebody else, with this hook, on reports if not said: the arguments that load it. */
export const neighbour = (home, hook, on = "'agent.report'") =>
  mod(home, `export const register = (on) => {\n  on(${on}, async ($, e, next) => {\n${hook}\n  })\n}\n`);

/** Changes the module in the client's copy of the plugin. */
export const inModule = (home, from, to) =>
  home.change(home.plugin(MODULE), (text) => (assert.ok(text.includes(from), from), text.replace(from, to)));

/** As after a reload: the module remembers nobody that it saw start. */
export const forgets = (home) => inModule(home, 'if (started.agentId !== undefined) held', 'if (false) held');
