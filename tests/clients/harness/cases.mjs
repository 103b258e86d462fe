// The cases that every client must pass, with one binding for one agent. Its adapter
// says what a client cannot do, and the case must fail exactly as the adapter says.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { once, say } from '../../harness/model.mjs';
import { hasEnded } from '../../harness/world.mjs';
import { BINDING, CANARY, DOCUMENT, Home, OTHER_DOCUMENT } from './home.mjs';

const LIMIT_MS = 1_200_000;

/** A line of a second document in the same home. It is as long as the canary. */
const ALIEN = 'ZQ-CANARY-90b2c4';

/** Each case: its promise, and the function that tests it. */
const CASES = {
  main: ['the agent gets the document byte for byte, the main conversation neither tool nor document, and no file but those of the adapter keeps it', main],
  other: ['another agent has neither, not even while the first one runs', other],
  mapless: ['without a map the call is refused in words, with its code', mapless],
  killed: ['no server is left when the client is killed', killed],
  ended: ['no server is left when the client has ended', ended],
  beyond: ['a document beyond that limit arrives whole or is refused', beyond],
  capped: ['with max_bytes in the map, a document beyond that limit is refused, and lies in no file', capped],
};

/** The same for each client whose adapter has such a field. */
const MORE = {
  alone: ['when the command alone is killed, the server ends with the session that goes on', alone],
  setUp: ['`setup remove` takes away what `setup` has written, except the roots', setUp],
  folder: ['with the folder that its variable names, `setup` gives the agent the document', moved],
  leave: ["without the user's leave the call is refused, and nothing is read", leave],
  handsDown: ['the agent of the example can start no other; one that may hands its server down, in vain if there is a guard', handsDown],
  listed: ['an agent that lists the tool, the server or all of them has none of it', listed],
  resume: ['a session that is resumed holds nothing of the document', resumed],
  readBack: ["the main conversation may not read what the client keeps of the agent's, and without the user's rules may", readBack],
  projectAgent: ["whether a project's agent takes the place of the user's of the same name", projectAgent],
  namesakes: ['agents whose servers have one name get each its own document, in turn and at once', namesakes, { bare: true }],
  rival: ["a server of that name that the main conversation has never gives it the agent's document", rival, { bare: true }],
};

/** Registers all cases for `client`, which is an adapter; see README.md. */
export function onClient(client) {
  const cases = [...Object.entries(CASES), ...Object.entries(MORE).filter(([id]) => client[id])];
  for (const [id, [promise, run, more]] of cases) {
    const play = async (world) => {
      const fails = client.cannot?.[id];
      if (!fails) return run(world);
      // Checked both ways: the case must fail, and fail as the adapter says.
      await assert.rejects(run(world), fails, `${client.name} can do this now: take "${id}" out of its adapter's "cannot"`);
    };
    onCase(client, promise, play, more);
  }
}

/**
 * Registers a case for one client only: `run({ t, client, home, loaded })`, with the document
 * there and the client configured, unless it is `bare`. `loaded(session, actor, text)` asserts
 * that the actor, or else the scanner, got the document, or else that text.
 */
export function onCase(client, promise, run, { bare } = {}) {
  test(`${client.name} ${client.version}: ${promise}`, { timeout: LIMIT_MS }, async (t) => {
    if (client.missing) return t.skip(`skipped: ${client.name} (${client.missing})`);
    const home = new Home(t, client);
    home.document();
    if (!bare) await client.configure(home);
    const loaded = (session, actor = 'scanner', text = DOCUMENT) =>
      assert.equal(session.answer(actor, client.tool).text, client.shown(text), session.report());
    await run({ t, client, home, loaded });
  });
}

/** The shortest session: main starts the agent, which loads its document; with `more` actors, or others. */
export const plain = ({ spawn, load, finish }, more) => ({
  main: [spawn('scanner', 'scanner'), say('Done.')],
  scanner: [load(), finish('Nothing was found.')],
  ...more,
});

/** Checks what the client sends to the main conversation, and that its own calls of the tool get nothing. */
async function main({ client, home, loaded }) {
  const session = await home.play(plain(client));
  loaded(session);
  assert.ok(!session.tools('main').includes(client.tool), session.report());
  const named = session.of('main').some(({ text }) => text.includes(client.tool));
  assert.equal(named, client.namesTools ?? false, 'whether the main conversation is told what an agent has');
  const files = home.kept(CANARY);
  for (const file of files) assert.ok(client.keeps.some((pattern) => pattern.test(file)), `kept, and not told: ${file}`);
  for (const pattern of client.keeps) assert.ok(files.some((file) => pattern.test(file)), `told, and not kept: ${pattern}`);

  // Before the agent, and after it, when its server has run.
  const [start, end] = plain(client).main;
  const tried = await home.play(plain(client, { main: [client.load(), start, client.load(), end] }));
  assert.equal(tried.answers('main', client.tool).length, 2);
  for (const one of [session, tried]) one.assertOnlyIn(CANARY, 'scanner');
}

/** The other agent runs after the first one, and while the first one lives. */
async function other({ client, home, loaded }) {
  const { spawn, load, finish } = client;
  const after = await home.play(plain(client, {
    main: [spawn('scanner', 'scanner'), spawn('other', 'other'), say('Done.')],
    other: [load(), finish('Nothing was done.')],
  }));
  for (const session of [after, await atOnce(client, home)]) {
    loaded(session);
    assert.ok(!session.tools('other').includes(client.tool), session.report());
    session.assertOnlyIn(CANARY, 'scanner');
  }
}

/** Both agents run at once; the other makes its call while the first one has the document. */
const atOnce = ({ spawn, load, finish }, home) =>
  home.play({
    main: [[spawn('scanner', 'scanner'), spawn('other', 'other')], say('Done.')],
    scanner: [load(), once(['other'], finish('Nothing was found.'), 1)],
    other: [load(), finish('Nothing was done.')],
  });

/** The model gets the code and the advice, and the client goes on. */
async function mapless({ client, home }) {
  const { scanner: [load, finish] } = plain(client);
  const removed = () => (fs.rmSync(home.mapFile), load);
  const session = await home.play(plain(client, { scanner: [removed, finish] }));
  const { text, error } = session.answer('scanner', client.tool);
  assert.match(text, /map-missing/, session.report());
  assert.match(text, /[a-z]+ [a-z]+ [a-z]+/, 'advice, in words');
  // Undefined in a dialect that cannot mark a failure.
  if (error !== undefined) assert.equal(error, client.marksErrors ?? true, session.report());
}

/** At once, without a warning: as the system does when memory is short. */
function killed({ client, home }) {
  return whileCalled(client, home, async (child) => {
    home.kill(child);
    await home.until('the end of the server', () => home.servers().length === 0);
  });
}

/** The command is killed while the agent's model thinks; then the model answers. */
function alone({ client, home }) {
  return whileCalled(client, home, async (child, answer) => {
    process.kill(child.pid, 'SIGKILL');
    await home.until('the end of the command', () => child.signalCode !== null);
    answer();
    await home.until('the end of the server', () => home.servers().length === 0);
  });
}

/** Plays a session in which `during(child, answer)` runs when the agent has made its call, and waits. */
function whileCalled(client, home, during) {
  const { main, scanner: [load, finish] } = plain(client);
  let answer;
  const wait = () => new Promise((resolve) => (answer = () => resolve(finish)));
  return home.session({ main, scanner: [load, wait] }, {
    during: async (child, _, model) => {
      await model.asked('scanner', 1);
      assert.ok(home.servers().length > 0, 'the server runs');
      await during(child, () => answer());
    },
  });
}

async function ended({ client, home }) {
  const session = await home.session(plain(client), {
    during: async (child) => {
      await home.until('the end of the client', () => hasEnded(child));
      await home.until('the end of the server', () => home.servers().length === 0);
    },
  });
  session.assertPlayed();
}

/** A document of so many characters, of which each line is different. */
export const lines = (characters) => {
  let text = `# ${CANARY}\n`;
  for (let line = 1; text.length < characters; line += 1) text += `${String(line).padStart(9, '0')} identifier\n`;
  return text.slice(0, characters - 1) + '\n';
};

async function beyond({ client, home }) {
  const text = lines(client.limit.characters + 1);
  home.document(text);
  const session = await home.play(plain(client));
  session.assertOnlyIn(CANARY, 'scanner');
  const answer = session.answer('scanner', client.tool).text;
  assert.ok(answer === client.shown(text) || !answer.includes('identifier'), `in part: ${answer.length} characters`);
}

async function capped({ client, home, loaded }) {
  const bytes = client.limit.characters;
  home.document(lines(bytes));
  home.atMost(bytes);
  loaded(await home.play(plain(client)), 'scanner', lines(bytes));

  home.document(lines(bytes + 1).replaceAll(CANARY, ALIEN));
  home.atMost(bytes);
  // While the session runs: when it ends, a client may remove what it wrote.
  const { scanner: [load, finish] } = plain(client);
  let running;
  const session = await home.play(plain(client, { scanner: [load, () => ((running = home.kept(ALIEN)), finish)] }));
  assert.match(session.answer('scanner', client.tool).text, /too-large.*[a-z]+ [a-z]+ [a-z]+/, session.report());
  session.assertOnlyIn(ALIEN);
  assert.deepEqual([running, home.kept(ALIEN)], [[], []]);
}

/** For a client that `configure` sets up, in the end, by `home.setUp`. */
async function setUp({ home }) {
  assert.notDeepEqual(home.bytes(), home.unset);
  await home.agreed(home.keyhole, 'setup', 'remove', BINDING);
  assert.deepEqual(home.bytes(), { ...home.unset, [home.mapFile]: 'roots = ["~/notes"]\n' });
}

/** For a client whose folder a variable can move. What it keeps there is nobody else's either. */
async function moved({ client, home, loaded }) {
  await home.agreed(home.keyhole, 'setup', 'remove', BINDING);
  home.move(client.folder);
  await home.setUp(client.name);
  assert.ok(home.files(home.folder).some((file) => path.basename(file).startsWith(`${BINDING}.`)));
  const [start, end] = plain(client).main;
  const kept = () => client.readBack.read(path.join(home.root, home.kept(CANARY).find((file) => file.startsWith('moved/'))));
  const session = await home.play(plain(client, { main: [start, ...(client.readBack ? [kept] : []), end] }));
  loaded(session);
  session.assertOnlyIn(CANARY, 'scanner');
}

async function leave({ client, home }) {
  client.leave(home);
  const session = await home.play(plain(client));
  session.answer('scanner', client.tool);
  session.assertOnlyIn(CANARY);
}

/** The guard of the server's agent refused these actors' calls, for `why`, and nobody has either document. */
function guarded(session, tool, why, ...actors) {
  for (const actor of actors) {
    const answers = session.answers(actor, tool);
    assert.ok(answers.length > 0, `${actor} called`);
    for (const { text } of answers) assert.match(text, why);
  }
  for (const canary of [CANARY, OTHER_DOCUMENT.trim().slice(-17)]) session.assertOnlyIn(canary);
}

/** `open(home)` takes the list of tools from the agent; `tool` starts another. */
async function handsDown({ client, home, loaded }) {
  const { spawn, load, finish, handsDown: { tool, open, inner = 'general-purpose' } } = client;
  const nested = plain(client, { scanner: [spawn('inner', inner), finish('Nothing was found.')] });
  const closed = await home.play(nested);
  assert.equal(closed.answers('scanner')[0].tool, tool);
  assert.ok(!closed.has('inner'));
  open(home);
  const session = await home.play({ ...nested, inner: [load(), finish('Nothing was done.')] });
  if (client.isGuarded) return guarded(session, client.tool, /this server is only for the agent/, 'inner');
  // If it hands nothing down any more, docs/use-from.md should say so.
  loaded(session, 'inner');
  session.assertOnlyIn(CANARY, 'inner');
}

/** `other` lists the tool and `names` in its file. It must get a tool that matches `has`, and not ours. */
async function listed({ client, home }) {
  const { file, names, has } = client.listed;
  home.change(file, (text) => text.replace('\n---\n\n', `\ntools: ${JSON.stringify([...names, client.tool])}\n---\n\n`));
  const session = await atOnce(client, home);
  const tools = session.tools('other');
  assert.ok(tools.some((name) => has.test(name)), `it has others: ${tools}`);
  assert.ok(!tools.includes(client.tool), session.report());
  session.assertOnlyIn(CANARY, 'scanner');
}

/** `client.resume(home)` makes the next session go on with the last. */
async function resumed({ client, home }) {
  await home.play(plain(client));
  client.resume(home);
  // The two turns before belong to it.
  const { requests, unscripted } = await home.session({ main: [say('Before.'), say('Before.'), say('Done.')] });
  assert.deepEqual(unscripted, []);
  assert.deepEqual(requests.map(({ actor, turn }) => `${actor} ${turn}`), ['main 2']);
  assert.ok(!requests[0].text.includes(CANARY));
}

/** By `read(file)` and, in each of `places`, by `search(folder)`; `open(home)` takes the rules away. */
async function readBack({ client, home }) {
  const { read, search, places, open } = client.readBack;
  const [start, end] = plain(client).main;
  const play = async () => {
    const kept = () => read(path.join(home.root, home.kept(CANARY).find((file) => client.keeps[0].test(file))));
    const session = await home.play(plain(client, { main: [start, read(home.document()), kept, end] }));
    return session.answers('main').slice(1).map(({ text }) => text.includes(CANARY));
  };
  assert.deepEqual(await play(), [false, false], 'the document, and what is kept of it');
  const searches = places.map((place) => search(path.join(home.home, '/') + place));
  const searched = async () => {
    const session = await home.play(plain(client, { main: [start, ...searches, end] }));
    return session.answers('main').slice(1).map(({ text }) => text.includes(`- ${CANARY}`) || /Found \d+ match/.test(text));
  };
  assert.deepEqual(await searched(), places.map(() => false));
  open(home);
  assert.ok((await searched()).includes(true), 'without the rules, a search finds it');
  assert.deepEqual(await play(), [false, true], 'if the client asks by now, the rules are not needed');
}

/** It has the same server and another text, and is in `file`, made of `own(home)`. */
async function projectAgent({ client, home, loaded }) {
  const { file, own, taken } = client.projectAgent;
  const [head] = own(home).split('\n---\n');
  home.write(home.project, file, `${head}\n---\n\nOf the project.\n`);
  const session = await home.play(plain(client));
  session.assertOnlyIn(CANARY, 'scanner');
  assert.equal(session.of('scanner').some(({ text }) => text.includes('Of the project.')), taken);
  loaded(session);
}

/** `client.namesakes(home)` configures them: the second one has the other document. */
async function namesakes({ client, home, loaded }) {
  home.second();
  client.namesakes(home);
  const { spawn, load, finish } = client;
  const inTurn = await home.play(plain(client, {
    main: [spawn('scanner', 'scanner'), spawn('other', 'other'), spawn('again', 'scanner'), say('Done.')],
    other: [load(), finish('Nothing was done.')],
    again: [load(), finish('Nothing was found.')],
  }));
  const atOnce = await home.play({
    main: [[spawn('scanner', 'scanner'), spawn('other', 'other')], say('Done.')],
    // Both servers run when the first is called.
    scanner: [once(['other'], load()), finish('Nothing was found.')],
    other: [once(['scanner'], load(), 1), finish('Nothing was done.')],
  });
  for (const session of [inTurn, atOnce]) {
    loaded(session);
    loaded(session, 'other', OTHER_DOCUMENT);
  }
  loaded(inTurn, 'again');
}

/**
 * `client.rival.configure(home)` gives the main conversation the other document; while the agent
 * runs, each of them gets its own.
 */
async function rival({ client, home }) {
  home.second();
  client.rival.configure(home);
  const { background, load, finish, tool } = client;
  const session = await home.session({
    // When the agent ends, the client reports it, in one turn or more.
    main: [load(), background('scanner', 'scanner'), once(['scanner'], load(), 1), ...Array(5).fill(say('Wait.'))],
    scanner: [load(), once(['main'], load(), 3), finish('Nothing was found.')],
  });
  assert.deepEqual([session.unscripted, session.code], [[], 0], session.report());
  if (client.isGuarded) return guarded(session, tool, /the guard was asked about something other/, 'scanner', 'main');
  const texts = (actor) => session.answers(actor, tool).map(({ text }) => text);
  const theirs = client.shown(OTHER_DOCUMENT);
  const mine = client.shown(DOCUMENT);
  assert.deepEqual([texts('scanner'), texts('main')], [[mine, mine], [theirs, theirs]], session.report());
}
