// What the parent reads of an agent's report, and which agent does not start. Only a client
// that loads modules can do either. In others, the agent is told once to write a report again
// that quotes, and it reads itself why it has no document.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { onEachClient } from './harness/case.mjs';
import { CANARY, CATALOG, DONE, KEY, SCANNER, TOOL, authorPlugin, catalog, load, say, scan, spawn } from './harness/plugin.mjs';

const FINDING = 'src/a.txt:12:3  high  Catalog';
const QUOTATION = `It says: "${CANARY.toLowerCase().replaceAll('-', ' ')}".`;
const QUOTING = `${FINDING}\n${QUOTATION}`;
const WITHHELD = 'It says: "[withheld]".';
const WHOLE = /\[withheld\] The whole report was withheld\. /;

/** What the parent reads of the agent that reports `text`. */
const reportOf = async (home, way, text, during = () => []) => {
  const session = await scan(home, { scanner: [way.load, () => (during(), say(text)), say(text)] });
  assert.equal(session.got.error, false, session.got.text);
  return session.answer('parent', 'Agent').text;
};

/** Whether the parent has read this, in any of its requests. */
const parentRead = (session, text) => session.of('parent').some((request) => JSON.stringify(request.body).includes(JSON.stringify(text).slice(1, -1)));

onEachClient('quotes-withheld: what quotes the document is withheld from the parent, in the foreground and in the background', async ({ home, loads, way }) => {
  catalog(home, { withhold: true });
  for (const run_in_background of [false, true]) {
    const session = await home.play({
      parent: [spawn('scanner', SCANNER, { run_in_background }), ...DONE],
      // Once it is told to write it again.
      scanner: [way.load, say(QUOTING), say(QUOTING)],
    });
    assert.ok(session.has('scanner', 2));
    assert.equal(session.answer('scanner', way.tool).text, CATALOG);
    assert.ok(parentRead(session, FINDING), 'what is no quotation arrives');
    assert.equal(parentRead(session, QUOTATION), !loads);
    assert.equal(parentRead(session, WITHHELD), loads);
  }
});

onEachClient('withhold-asked-while-running: without withhold the report arrives as it is, unless the map asks for it while the agent runs', async ({ home, file, loads, way }) => {
  assert.ok((await reportOf(home, way, QUOTING)).includes(QUOTATION));
  const changed = () => home.map({ [KEY]: { path: file, agents: [SCANNER, 'general-purpose'], withhold: true } });
  const session = await home.play({
    parent: [spawn('other', 'general-purpose'), say('Done.')],
    other: [() => (changed(), say(QUOTING))],
  });
  assert.equal(session.answer('parent', 'Agent').text.includes(QUOTATION), !loads);
});

const BREAKS = {
  'the file is gone': [({ file }) => fs.rmSync(file), 'not-found'],
  'the entry is gone': [({ home, file }) => home.map({ [KEY]: { path: file, agents: [SCANNER] } }), 'unknown-key'],
  'the map is invalid': [({ home }) => fs.writeFileSync(home.mapFile, '[keys'), 'map-invalid'],
  'the program fails': [({ home }) => atWithhold(home, 'exit 1'), '/keyhole:check'],
  'the program says rubbish': [({ home }) => atWithhold(home, "{ echo '{'; exit 0; }"), '/keyhole:check'],
  'the program is late': [({ home }) => atWithhold(home, 'exec sleep 60'), '/keyhole:check'],
};

/** Has the plugin's start.sh run `command` instead of comparing a report. */
const atWithhold = (home, command) =>
  home.change(home.plugin('start.sh'), (text) => text.replace('\nset -u\n', `\nset -u\n[ "$2" = withhold ] && ${command}\n`));

onEachClient('uncompared-withheld-whole: what cannot be compared is withheld whole, with the code and what to do', { modules: true }, async (world) => {
  const { home, way } = world;
  const start = fs.readFileSync(home.plugin('start.sh'), 'utf8');
  for (const [how, [spoil, says]] of Object.entries(BREAKS)) {
    catalog(home, { withhold: true });
    const report = await reportOf(home, way, QUOTING, () => spoil(world));
    assert.match(report, WHOLE, how);
    assert.ok(report.includes(says), `${how}: ${report}`);
    assert.ok(!report.includes(FINDING) && !report.includes('canary'), `${how}: ${report}`);
    fs.writeFileSync(home.plugin('start.sh'), start);
  }
});

onEachClient('unremembered-agent-withheld: the report of an agent that the module does not remember is compared', { modules: true }, async ({ home, way }) => {
  catalog(home, { withhold: true });
  home.change(home.plugin('hooks/register.ts'), (text) => text.replace('if (started.agentId !== undefined) held', 'if (false) held'));
  const report = await reportOf(home, way, QUOTING);
  assert.ok(report.includes(FINDING) && report.includes(WITHHELD), report);
});

onEachClient('unloadable-agent-not-started: an agent of the plugin whose document would not load does not start, or reads the code itself', { map: false }, async ({ home, loads, way }) => {
  const play = () => home.session({
    parent: [[spawn('scanner', SCANNER), spawn('other', 'general-purpose')], say('Done.')],
    scanner: [way.load, say('Nothing was scanned.')],
    other: [say('Done.')],
  });
  for (const [map, code] of [[undefined, 'map-missing'], ['[keys', 'map-invalid'], [`[keys.${KEY}]\npath = '~/gone.md'\nagents = ['${SCANNER}']\n`, 'not-found'], ['[keys]\n', 'unknown-key']]) {
    if (map !== undefined) home.write(home.configured, 'context-map.toml', map);
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
  await home.must('plugin', 'marketplace', 'add', market);
  await home.must('plugin', 'install', 'acme@acme-marketplace');
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

onEachClient('quoting-report-written-again: an agent that quotes is told to write its report again, and the parent reads only that one', async ({ home, way }) => {
  catalog(home, { withhold: true });
  for (const run_in_background of [false, true]) {
    const session = await home.play({
      parent: [spawn('scanner', SCANNER, { run_in_background }), ...DONE],
      scanner: [way.load, say(QUOTING), say(FINDING)],
    });
    assert.match(session.of('scanner').at(-1).text, /your report quotes your private document/);
    assert.ok(parentRead(session, FINDING));
    assert.ok(!parentRead(session, QUOTATION) && !parentRead(session, WITHHELD));
  }
});
