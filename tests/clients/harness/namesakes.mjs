// For clients in which several agents, or an agent and the main conversation, may have
// servers of the same name. `client.namesakes` writes their configurations; the second
// binding, SECOND, means another document.

import assert from 'node:assert/strict';
import { say } from '../../harness/model.mjs';
import { onCase, signal } from './cases.mjs';
import { DOCUMENT } from './home.mjs';

export const SECOND = 'second';
const OTHER_DOCUMENT = '# Others\n\n- ZQ-CANARY-52e8f0\n';

/** The second document, and a map that has both bindings. */
function documents(home) {
  home.write(home.home, 'notes/others.md', OTHER_DOCUMENT);
  const key = 'k-8b5d03f1c9a74e62';
  const entry = `\n[keys.${JSON.stringify(key)}]\npath = "~/notes/others.md"\n`;
  const binding = `\n[bindings.${SECOND}]\nkey = ${JSON.stringify(key)}\ntitle = "Others"\ndescription = "Other names."\n`;
  home.change(home.mapFile, (map) => map + entry + binding);
}

/** Registers both cases. */
export function onNamesakes(client) {
  const bare = { bare: true };
  onCase(client, 'agents whose servers have one name get each its own document, in turn and at once', agents, bare);
  onCase(client, "a server of that name that the main conversation has never gives it the agent's document", main, bare);
}

async function agents({ client, home }) {
  documents(home);
  client.namesakes.agents(home);
  const { spawn, load, finish, tool } = client;
  const inTurn = await home.play({
    main: [spawn('scanner', 'scanner'), spawn('other', 'other'), spawn('again', 'scanner'), say('Done.')],
    scanner: [load(), finish('Nothing was found.')],
    other: [load(), finish('Nothing was done.')],
    again: [load(), finish('Nothing was found.')],
  });
  const [ready, called] = [signal(), signal()];
  const atOnce = await home.play({
    main: [[spawn('scanner', 'scanner'), spawn('other', 'other')], say('Done.')],
    // Both servers run when the first is called.
    scanner: [() => ready.given.then(load), () => (called.give(), finish('Nothing was found.'))],
    other: [() => (ready.give(), called.given.then(load)), finish('Nothing was done.')],
  });
  for (const [session, actor, text] of [
    [inTurn, 'scanner', DOCUMENT],
    [inTurn, 'other', OTHER_DOCUMENT],
    [inTurn, 'again', DOCUMENT],
    [atOnce, 'scanner', DOCUMENT],
    [atOnce, 'other', OTHER_DOCUMENT],
  ]) {
    assert.equal(session.answer(actor, tool).text, client.shown(text), session.report());
  }
}

/** The agent runs, and gets its document or the other one, as `client.namesakes.wins` says. */
async function main({ client, home, seen }) {
  documents(home);
  client.namesakes.main(home);
  const { background, load, finish, tool } = client;
  const [ready, called] = [signal(), signal()];
  const session = await home.session({
    main: [
      load(),
      background('scanner', 'scanner'),
      () => ready.given.then(load),
      () => (called.give(), say('Wait.')),
      // When the agent ends, the client reports it, in one turn or more.
      ...Array(4).fill(say('Done.')),
    ],
    scanner: [load(), () => (ready.give(), called.given.then(load)), finish('Nothing was found.')],
  });
  assert.deepEqual([session.unscripted, session.code], [[], 0], session.report());
  const texts = (actor) => session.answers(actor).filter((answer) => answer.tool === tool).map(({ text }) => text);
  const mine = client.shown(client.namesakes.wins === 'agent' ? DOCUMENT : OTHER_DOCUMENT);
  assert.deepEqual(texts('scanner'), [mine, mine], session.report());
  const theirs = client.shown(OTHER_DOCUMENT);
  assert.deepEqual(texts('main'), [theirs, theirs], session.report());
  seen(`of two servers of one name, the agent has ${client.namesakes.wins === 'agent' ? 'its own' : "the main conversation's"}`);
}
