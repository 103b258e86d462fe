// What the parent reads of an agent's report, also where an agent reports by another way, and what
// remains if the session's folder, the program or another mod fails. Only a client that loads
// modules can withhold anything. In others, the agent is told once to write a report again that
// quotes; they are named where they are known for it.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { onEachClient } from './harness/case.mjs';
import { CATALOG, DONE, KEY, RULES, SCANNER, atStart, call, catalog, mark, say, scan, spawn } from './harness/plugin.mjs';
import { QUOTED, WHOLE, assertWithheld, forgets, neighbour, parentRead, quoting, without } from './harness/reports.mjs';

const FINDING = 'src/a.txt:12:3  high  Catalog';
const QUOTATION = `It says: "${QUOTED}".`;
const QUOTING = `${FINDING}\n${QUOTATION}`;
const WITHHELD = 'It says: "[withheld]".';

/** What the parent reads of the agent that reports `text`. */
const reportOf = async (home, way, text, during = () => []) => {
  const session = await scan(home, { scanner: [way.load, () => (during(), say(text)), say(text)] });
  assert.equal(session.got.error, false, session.got.text);
  return session.answer('parent', 'Agent').text;
};

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

onEachClient('others-reports-stay: an agent whose file is another reports what quotes a withheld file as it is', async ({ home, way }) => {
  const file = catalog(home, { withhold: true });
  const other = home.write(path.dirname(file), 'other.md', 'Other.\n');
  home.addToMap({ 'key-of-another-4b1f7c20': { path: other, agents: ['general-purpose'] } });
  const session = await home.play({
    parent: [spawn('scanner', SCANNER), spawn('other', 'general-purpose'), say('Done.')],
    scanner: [way.load, say(FINDING)],
    other: [say(QUOTING)],
  });
  assert.ok(parentRead(session, QUOTATION));
});

const BREAKS = {
  'the file is gone': [({ file }) => fs.rmSync(file), 'not-found'],
  'the entry is gone': [({ home, file }) => home.map({ [KEY]: { path: file, agents: [SCANNER] } }), 'unknown-key'],
  'the map is invalid': [({ home }) => fs.writeFileSync(home.mapFile, '[keys'), 'map-invalid'],
  'the program fails': [({ home }) => atStart(home, 'withhold', 'exit 1'), '/keyhole:check'],
  'the program says rubbish': [({ home }) => atStart(home, 'withhold', "{ echo '{'; exit 0; }"), '/keyhole:check'],
  'the program is late': [({ home }) => atStart(home, 'withhold', 'exec sleep 60'), '/keyhole:check'],
};

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
  forgets(home);
  const report = await reportOf(home, way, QUOTING);
  assert.ok(report.includes(FINDING) && report.includes(WITHHELD), report);
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

onEachClient('skill: a skill that runs as the agent reports as the agent does', async ({ home, loads, way }) => {
  catalog(home, { withhold: true });
  const skill = `---\nname: look\ndescription: Looks.\ncontext: fork\nagent: ${SCANNER}\n---\n${mark('scanner')} Look.\n`;
  home.write(home.home, '.claude/skills/look/SKILL.md', skill);
  const text = quoting('a.txt:1:1');
  const session = await home.play({ parent: [call('Skill', { skill: 'look' }), say('Done.')], scanner: [way.load, say(text), say(text)] });
  assertWithheld(session, ['a.txt:1:1'], loads);
});

onEachClient('auto: in auto mode, where an agent hands its report back by a tool, that is compared', { modules: true }, async ({ home, way }) => {
  catalog(home, { withhold: true });
  // In this mode a model decides whether an agent may start, unless a hook does.
  const allow = { hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'allow' } };
  home.hook('PreToolUse', `printf '%s' '${JSON.stringify(allow)}'`, 'Agent');
  const handBack = (place) => [way.load, call('SubagentHandback', { message: quoting(place) }), ...DONE];
  const session = await home.session(
    {
      parent: [spawn('before', SCANNER), spawn('behind', SCANNER, { run_in_background: true }), ...DONE],
      before: handBack('a.txt:1:1'),
      behind: handBack('b.txt:1:1'),
    },
    ['--permission-mode', 'auto'],
  );
  assert.deepEqual(session.unscripted, []);
  for (const actor of ['before', 'behind']) assert.ok(session.tools(actor).includes('SubagentHandback'));
  assertWithheld(session, ['a.txt:1:1', 'b.txt:1:1']);
});

onEachClient('worktree: the report of an agent in a worktree, whose folder is gone by then, is compared', { modules: true }, async ({ home, way }) => {
  // A value that is also the name of the session's folder, which the parent knows.
  catalog(home, { withhold: true, text: `${CATALOG}- ${path.basename(home.project)}\n` });
  for (const words of ['init --quiet', '-c user.name=t -c user.email=t@localhost commit --quiet --allow-empty --message t']) {
    assert.equal(spawnSync('git', words.split(' '), { cwd: home.project, env: home.env() }).status, 0, words);
  }
  const text = quoting(`${home.project}/a.txt:1:1`);
  const session = await home.play({
    parent: [spawn('before', SCANNER, { isolation: 'worktree' }), spawn('behind', SCANNER, { isolation: 'worktree', run_in_background: true }), ...DONE.slice(0, 2)],
    before: [way.load, say(text), say(text)],
    behind: [way.load, say(quoting('b.txt:1:1')), say(quoting('b.txt:1:1'))],
  });
  assert.match(session.of('before')[0].text, /worktree/);
  assertWithheld(session, [`${home.project}/a.txt:1:1`, 'b.txt:1:1']);
});

/** The actors as scanners, each of which quotes at its place. */
const scanners = (way, ...actors) => Object.fromEntries(actors.map((actor) => [actor, [way.load, ...[1, 2].map(() => say(quoting(`${actor}.txt:1:1`)))]]));

onEachClient('neighbour: a report is withheld if another mod fails at it, or answers with it', { modules: true }, async ({ home, way }) => {
  catalog(home, { withhold: true });
  const fails = {
    throws: "throw new Error('no')",
    rejects: "return Promise.reject(new Error('no'))",
    late: "await next(e); throw new Error('no')",
    odd: 'await next(e); return { text: 7 }',
  };
  const hooks = Object.entries({ ...fails, tells: 'return { text: e.text }' });
  const hook = hooks.map(([actor, code]) => `if (e.text.startsWith('${actor}.')) { ${code} }`).join('\n');
  const actors = hooks.map(([actor]) => actor);
  const parent = [actors.map((actor) => spawn(actor, SCANNER)), say('Done.')];
  const session = await home.session({ parent, ...scanners(way, ...actors) }, neighbour(home, `${hook}\nreturn next(e)`));
  assertWithheld(session, actors.map((actor) => `${actor}.txt:1:1`));
});

// A limit, not a promise. The client ends the worker of all mods after ten seconds.
onEachClient('worker: if another mod hangs at a report, that one passes, and the next is withheld', { modules: true }, async ({ home, way }) => {
  catalog(home, { withhold: true });
  const parent = [spawn('first', SCANNER), spawn('next', SCANNER), say('Done.')];
  const session = await home.session({ parent, ...scanners(way, 'first', 'next') }, neighbour(home, 'for (;;) {}'));
  assert.ok(parentRead(session, quoting('first.txt:1:1')));
  assert.ok(parentRead(session, without('next.txt:1:1')) && !parentRead(session, quoting('next.txt:1:1')));
});

// It asks after half a minute, for a line that the main conversation may read. The mod is not asked about it.
onEachClient('progress: with the variable that setup writes, the client does not have an agent say what it does', { terminal: true, modules: true }, async ({ home, way }) => {
  catalog(home, { withhold: true });
  const isAsked = ({ text }) => /most recent action in 3-5 words|progress label for a background agent/.test(text);
  const works = async (request, model) => {
    if (isAsked(request)) return say('Reading the file');
    for (let left = 900; left > 0 && !model.requests.some(isAsked); left -= 1) await sleep(50);
    return say('Done.');
  };
  for (const [env, isAnyAsked] of [[{}, true], [RULES.env, false]]) {
    home.set({ env });
    const script = { parent: [spawn('scanner', SCANNER), ...DONE], scanner: [way.load, works, ...DONE] };
    const session = await home.terminal(script, ({ requests }) => requests.some(({ actor, turn }) => actor === 'parent' && turn === 2));
    assert.equal(session.requests.some(isAsked), isAnyAsked);
  }
});
