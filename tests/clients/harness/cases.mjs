// The cases that every client must pass, with one binding for one agent. Its adapter
// says what a client cannot do, and the case must fail exactly as the adapter says.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from 'node:test';
import { say } from '../../harness/model.mjs';
import { CANARY, DOCUMENT, Home, KEY } from './home.mjs';
import { keyInEnvironment } from './reach.mjs';

const LIMIT_MS = 1_200_000;

/** A line of a second document in the same home. It is as long as the canary. */
const ALIEN = 'ZQ-CANARY-90b2c4';

/** Each case: its promise, and the function that tests it. */
const CASES = {
  main: ['the agent gets the document byte for byte, and the main conversation neither tool nor key nor document', main],
  other: ['another agent has neither, not even while the first one runs', other],
  mapless: ['without a map the call is refused in words, with its code', mapless],
  killed: ['no server is left when the client is killed', killed],
  ended: ['no server is left when the client has ended', ended],
  beyond: ['a document beyond that limit arrives whole or is refused', beyond],
  capped: ['with max_bytes in the map, a document beyond that limit is refused, and lies in no file', capped],
  environment: ['a key in the environment reaches the server', environment],
  kept: ['what the client keeps of the document lies where its adapter says', kept],
};

/** Registers all cases for `client`, which is an adapter; see README.md. */
export function onClient(client) {
  for (const [id, [promise, run]] of Object.entries(CASES)) {
    onCase(client, promise, async (world) => {
      const limit = client.cannot?.[id];
      if (limit === undefined) return run(world);
      // Checked both ways: the case must fail, and fail as the adapter says.
      await assert.rejects(run(world), limit.fails, `${client.name} can do this now: take "${id}" out of its adapter's "cannot"`);
      world.seen(`it cannot: ${limit.seen} (${limit.thread ?? 'no thread'})`);
    });
  }
}

/**
 * Registers a case for one client only: `run({ t, client, home, seen })`, with the document
 * there and the client configured, unless it is `bare`.
 */
export function onCase(client, promise, run, { bare } = {}) {
  test(`${client.name} ${client.version}: ${promise}`, { timeout: LIMIT_MS }, async (t) => {
    if (client.missing) return t.skip(`skipped: ${client.name} (${client.missing})`);
    const seen = (text) => t.diagnostic(`seen with ${client.name} ${client.version}: ${text}`);
    const home = new Home(t, client);
    home.document();
    if (!bare) client.configure(home);
    await run({ t, client, seen, home });
  });
}

/** A promise, and the function that keeps it. */
export function signal() {
  let give;
  const given = new Promise((resolve) => (give = resolve));
  return { give, given };
}

/** The shortest session: main starts the agent, which loads its document. */
export const plain = ({ spawn, load, finish }) => ({
  main: [spawn('scanner', 'scanner'), say('Done.')],
  scanner: [load(), finish('Nothing was found.')],
});

/** By what the client sends to it, and by the call that it may try nevertheless. */
async function main({ client, home, seen }) {
  const session = await home.play(plain(client));
  assert.equal(session.answer('scanner', client.tool).text, client.shown(DOCUMENT), session.report());
  assert.ok(!session.tools('main').includes(client.tool), session.report());
  const named = session.of('main').some(({ text }) => text.includes(client.tool));
  assert.equal(named, client.namesTools ?? false, 'whether the main conversation is told what an agent has');
  session.assertOnlyIn(CANARY, 'scanner');
  session.assertOnlyIn(KEY);
  if (session.outside.length > 0) seen(`it asks the way to ${session.outside.join(', ')}, and is shown none`);

  for (const script of [
    { main: [client.load(), say('Done.')] },
    // After the agent, whose server runs by then.
    { ...plain(client), main: [plain(client).main[0], client.load(), say('Done.')] },
  ]) {
    const tried = await home.play(script);
    tried.assertOnlyIn(CANARY, 'scanner');
    seen(`the main conversation's call of it: ${tried.answer('main', client.tool).text}`);
  }
}

/** The other agent runs after the first one, and while the first one lives. */
async function other({ client, home, seen }) {
  const { spawn, load, finish } = client;
  const after = await home.play({
    ...plain(client),
    main: [spawn('scanner', 'scanner'), spawn('other', 'other'), say('Done.')],
    other: [load(), finish('Nothing was done.')],
  });
  assertNothing(after);
  seen(`another agent's call of it: ${after.answer('other', client.tool).text}`);

  if (client.atOnce === false) return;
  // The first one has the document and waits until the other has been answered.
  assertNothing(await atOnce(client, home));

  function assertNothing(session) {
    assert.equal(session.answer('scanner', client.tool).text, client.shown(DOCUMENT), session.report());
    assert.ok(!session.tools('other').includes(client.tool), session.report());
    session.assertOnlyIn(CANARY, 'scanner');
    session.assertOnlyIn(KEY);
  }
}

/** Both agents run at once; the other makes its call while the first one has the document. */
export async function atOnce({ spawn, load, finish }, home) {
  const other = signal();
  return home.play({
    main: [[spawn('scanner', 'scanner'), spawn('other', 'other')], say('Done.')],
    scanner: [load(), () => other.given.then(() => finish('Nothing was found.'))],
    other: [load(), () => (other.give(), finish('Nothing was done.'))],
  });
}

/** The model gets the code and the advice, and the client goes on. */
async function mapless({ client, home, seen }) {
  const script = plain(client);
  const [load, finish] = script.scanner;
  const removed = () => (fs.rmSync(home.mapFile), load);
  const session = await home.play({ ...script, scanner: [removed, finish] });
  const { text, error } = session.answer('scanner', client.tool);
  assert.match(text, /map-missing/, session.report());
  assert.match(text, /[a-z]+ [a-z]+ [a-z]+/, 'advice, in words');
  // Undefined in a dialect that cannot mark a failure.
  if (error !== undefined) assert.equal(error, client.marksErrors ?? true, session.report());
  seen(`a refusal, as the model reads it: ${text}`);
}

/** At once, without a warning: as the system does when memory is short. */
async function killed({ client, home }) {
  await whileCalled(client, home, async (child) => {
    assert.ok(home.servers().length > 0, 'the server runs');
    home.kill(child);
    await home.until('the end of the server', () => home.servers().length === 0);
  });
}

/** Plays a session in which `during(child)` runs when the agent has made its call, and waits. */
export async function whileCalled(client, home, during) {
  const [called, answer] = [signal(), signal()];
  const { main, scanner: [load, finish] } = plain(client);
  const wait = () => (called.give(), answer.given.then(() => finish));
  return home.session(
    { main, scanner: [load, wait] },
    { during: (child) => called.given.then(() => during(child, answer.give)) },
  );
}

async function ended({ client, home }) {
  const session = await home.session(plain(client), {
    during: async (child) => {
      await home.until('the end of the client', () => child.exitCode !== null || child.signalCode !== null);
      await home.until('the end of the server', () => home.servers().length === 0);
    },
  });
  session.assertPlayed();
}

/** A document of so many characters, of which each line is different. */
const lines = (characters) => {
  let text = `# ${CANARY}\n`;
  for (let line = 1; text.length < characters; line += 1) text += `${String(line).padStart(9, '0')} identifier\n`;
  return text.slice(0, characters - 1) + '\n';
};

async function beyond({ client, home, seen }) {
  const text = lines(client.limit.characters + 1);
  home.document(text);
  client.configure(home);
  const session = await home.play(plain(client));
  session.assertOnlyIn(CANARY, 'scanner');
  const answer = session.answer('scanner', client.tool).text;
  seen(`one character more: ${answer.slice(0, 200)}`);
  assert.ok(answer === client.shown(text) || !answer.includes('identifier'), `in part: ${answer.length} characters`);
}

async function capped({ client, home }) {
  const bytes = client.limit.characters;
  home.document(lines(bytes));
  home.atMost(bytes);
  const whole = await home.play(plain(client));
  assert.ok(whole.answer('scanner', client.tool).text === client.shown(lines(bytes)), 'a document at the limit arrives whole');

  home.document(lines(bytes + 1).replaceAll(CANARY, ALIEN));
  home.atMost(bytes);
  // While the session runs: when it ends, a client may remove what it wrote.
  const { main, scanner: [load, finish] } = plain(client);
  let running;
  const session = await home.play({ main, scanner: [load, () => ((running = home.kept(ALIEN)), finish)] });
  assert.match(session.answer('scanner', client.tool).text, /too-large.*[a-z]+ [a-z]+ [a-z]+/, session.report());
  session.assertOnlyIn(ALIEN);
  assert.deepEqual([running, home.kept(ALIEN)], [[], []]);
}

async function environment({ client, home }) {
  const text = await keyInEnvironment(client, home, client.keyVariable ?? 'SCANNER_CATALOG_KEY');
  assert.equal(text, client.shown(DOCUMENT));
}

/** `client.keeps` are patterns of paths under the case's folder. */
async function kept({ client, home, seen }) {
  await home.play(plain(client));
  const files = home.kept(CANARY);
  seen(`the document is kept in ${files.join(', ') || 'no file'}`);
  const patterns = client.keeps ?? [];
  for (const file of files) assert.ok(patterns.some((pattern) => pattern.test(file)), `kept, and not told: ${file}`);
  for (const pattern of patterns) assert.ok(files.some((file) => pattern.test(file)), `told, and not kept: ${pattern}`);
  assert.deepEqual(home.kept(KEY).filter((file) => !file.endsWith('context-map.toml')), [], 'the key is kept nowhere');
}
