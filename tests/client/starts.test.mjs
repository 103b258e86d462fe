// Which agent does not start: one whose private file would not load, one of which nothing is known,
// and in a workflow one that needs what a workflow cannot give. In a client that loads no modules,
// each starts, and reads itself why it has no document.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { onEachClient } from './harness/case.mjs';
import { CANARY, CATALOG, DONE, KEY, MODULE, SCANNER, TOOL, authorPlugin, call, catalog, load, say, spawn, task } from './harness/plugin.mjs';
import { QUOTED, author, parentRead, quoting } from './harness/reports.mjs';

onEachClient('unloadable-agent-not-started: an agent of the plugin whose document would not load does not start, or reads the code itself', { map: false }, async ({ home, loads, way }) => {
  const play = () => home.session({
    parent: [[spawn('scanner', SCANNER), spawn('other', 'general-purpose')], say('Done.')],
    scanner: [way.load, say('Nothing was scanned.')],
    other: [say('Done.')],
  });
  for (const [map, code] of [[undefined, 'map-missing'], ['[keys', 'map-invalid'], [`[keys.${KEY}]\npath = '~/gone.md'\nagents = ['${SCANNER}']\n`, 'not-found'], ['[keys]\n', 'unknown-key']]) {
    if (map !== undefined) home.writeMap(map);
    const session = await play();
    assert.equal(session.has('scanner'), !loads, code);
    assert.ok(session.has('other'), 'any other agent starts');
    const { text, error } = loads ? session.answers('parent', 'Agent')[0] : session.answer('scanner', way.tool);
    assert.equal(error, true, text);
    assert.ok(text.includes(`${code}: `), text);
    assert.doesNotMatch(text, /gone|keyhole-privacy|context-map/);
  }
});

onEachClient("others-agent-not-started: somebody else's agent that the map names does not start either, or reads the code itself", async ({ home, loads }) => {
  const key = 'key-of-reviewer-7c31d90a52';
  const market = authorPlugin(home, 'acme', { reviewer: key });
  await home.installFrom(market, market);
  home.map({ [key]: { path: path.join(home.home, 'gone.md'), agents: ['acme:reviewer'] } });
  const session = await home.session({
    parent: [spawn('agent', 'acme:reviewer'), say('Done.')],
    agent: [load(key), say('Done.')],
  });
  assert.equal(session.has('agent'), !loads);
  const { text } = loads ? session.answer('parent', 'Agent') : session.answer('agent', TOOL);
  assert.ok(text.includes('not-found: '), text);
  assert.doesNotMatch(text, /gone|key-of/);
});

/** An agent's file of the user's, who gave it a private file by the shared server. */
const own = (home, name) => home.agent(home.home, { name, tools: TOOL });

onEachClient('unasked: if it cannot be found out whether an agent has a private file, it does not start, and the shared server is held', { modules: true }, async ({ home, file }) => {
  const start = fs.readFileSync(home.plugin('start.sh'), 'utf8');
  const fails = (commands) => {
    const fail = `\nset -u\ncase $2 in ${commands}) exit 1 ;; esac\n`;
    fs.writeFileSync(home.plugin('start.sh'), start.replace('\nset -u\n', fail));
  };
  own(home, 'mine');
  own(home, 'yours');
  const key = 'key-of-mine-7c31d90a52';
  home.addToMap({ [key]: { path: file, agents: ['mine'] } });
  const actors = [['scanner', SCANNER], ['mine', 'mine'], ['yours', 'yours'], ['other', 'general-purpose']];
  const started = async () => {
    const session = await home.session({
      parent: [actors.map((one) => spawn(...one)), say('Done.')],
      ...Object.fromEntries(actors.map(([actor]) => [actor, [say('Done.')]])),
    });
    const answers = session.answers('parent', 'Agent');
    for (const [at, [actor, agent]] of actors.entries()) {
      const said = `could not find out whether ${agent} has a private file. Run /keyhole:check`;
      assert.equal(answers[at].text.includes(said), !session.has(actor), answers[at].text);
    }
    return actors.map(([actor]) => actor).filter((actor) => session.has(actor));
  };
  // Whom the map named when it was last read.
  fails('withhold');
  assert.deepEqual(await started(), ['yours', 'other']);
  // It was never read: only the client's own agents cannot be taken for others.
  fails('withhold | agents');
  assert.deepEqual(await started(), ['other']);
  fs.writeFileSync(home.plugin('start.sh'), start);

  const broken = "throw new Error('no')\n      const map = await $.process.run";
  home.change(home.plugin(MODULE), (text) => text.replace('const map = await $.process.run', broken));
  const session = await home.play({ parent: [spawn('mine', 'mine'), say('Done.')], mine: [load(key), say('Done.')] });
  const { mcp_servers } = session.events.find(({ subtype }) => subtype === 'init');
  assert.deepEqual(mcp_servers.map(({ status }) => status), ['disabled']);
  assert.equal(session.answer('mine', TOOL).text, CATALOG, 'an agent that needs it starts it');
});

onEachClient('unread: once the map cannot be read, no agent starts that it named; the server refuses one of which nothing is known', { modules: true }, async ({ home, file }) => {
  own(home, 'mine');
  own(home, 'yours');
  const key = 'key-of-mine-7c31d90a52';
  // The bundled agent has none but a key for any.
  home.map({ [key]: { path: file, agents: ['mine'] }, 'key-for-any-7c31d90a52': file });
  const all = [spawn('mine', 'mine'), spawn('yours', 'yours'), spawn('scanner', SCANNER)];
  const play = () =>
    home.session({
      parent: [() => (fs.writeFileSync(home.mapFile, '[keys'), all), say('Done.')],
      ...Object.fromEntries(['mine', 'yours', 'scanner'].map((actor) => [actor, [load(key), ...DONE]])),
    });
  for (const isKnown of [true, false]) {
    const session = await play();
    const denied = isKnown ? [0, 2] : [2];
    for (const [at, actor] of ['mine', 'yours', 'scanner'].entries()) {
      assert.equal(session.has(actor), !denied.includes(at), `${actor} ${isKnown}`);
      const { text, error } = session.has(actor) ? session.answer(actor, TOOL) : session.answers('parent', 'Agent')[at];
      assert.ok(error && text.includes('map-invalid: '), text);
    }
    session.assertOnlyIn(CANARY);
  }
});

/** A workflow that starts each of these actors as an agent, one after the other, and tells of all. */
const workflow = (...actors) => {
  const steps = actors.map(
    ([actor, agentType, more]) =>
      `all.push(await agent(${JSON.stringify(task(actor))}, ${JSON.stringify({ agentType, ...more })}).catch(String))`,
  );
  const script = [`export const meta = { name: 'flow', description: 'flows', phases: [] }`, 'const all = []', ...steps, 'return all'];
  return call('Workflow', { script: script.join('\n') });
};

onEachClient("workflow: it starts no agent whose report is withheld or that needs the shared server, or it is known for that", async ({ home, loads, way }) => {
  const { key } = await author(home);
  const schema = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };
  const flow = workflow(['scanner', SCANNER], ['formal', SCANNER, { schema }], ['reviewer', 'acme:reviewer'], ['other', 'general-purpose']);
  const twice = (text) => [say(text), say(text)];
  const session = await home.session(
    {
      parent: [flow, ...DONE],
      scanner: [way.load, ...twice(quoting('a.txt:1:1'))],
      formal: [way.load, call('StructuredOutput', { text: quoting('b.txt:1:1') }), ...twice('Done.')],
      reviewer: [load(key), ...twice(quoting('c.txt:1:1'))],
      other: twice('I am no such agent.'),
    },
    ['--allowedTools', 'Workflow'],
  );
  assert.deepEqual(session.unscripted, []);
  assert.ok(parentRead(session, 'I am no such agent.'), session.report());
  for (const actor of ['scanner', 'formal', 'reviewer']) assert.equal(session.has(actor), !loads, actor);
  assert.equal(parentRead(session, QUOTED), !loads);
  if (!loads) return;
  session.assertOnlyIn(CANARY);
  for (const agent of [SCANNER, 'acme:reviewer']) {
    assert.ok(parentRead(session, `${agent} has a private file, and a workflow cannot run it. Start it with the Agent tool.`));
  }
  // The bundled agent has its own server, so it may, if the map does not withhold its report.
  catalog(home);
  const plain = await home.session(
    { parent: [workflow(['scanner', SCANNER]), ...DONE], scanner: [way.load, say(quoting('a.txt:1:1'))] },
    ['--allowedTools', 'Workflow'],
  );
  assert.ok(parentRead(plain, quoting('a.txt:1:1')), plain.report());
});
