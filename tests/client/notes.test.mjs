// What the client itself says of a withheld agent, in the words of another model or of the model's
// provider: why auto mode flags its report or its work, and the error that ended it. The parent reads
// that beside the report, and no report is asked about.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { onEachClient } from './harness/case.mjs';
import { CANARY, DONE, SCANNER, atStart, call, catalog, flagged, mark, refused, say, spawn } from './harness/plugin.mjs';
import { QUOTED, WHOLE, inModule, neighbour, parentRead, quoting, without } from './harness/reports.mjs';

const AUTO = ['--permission-mode', 'auto'];

/** In this mode a model decides whether an agent may start, unless a hook does. */
function allowAgents(home) {
  const allow = { hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'allow' } };
  home.hook('PreToolUse', `printf '%s' '${JSON.stringify(allow)}'`, 'Agent');
}

/** The same agent before the parent, behind it, and with a name, which the client then says for the agent's id. */
const WAYS = { before: {}, behind: { run_in_background: true }, called: { name: 'bob' } };
const parent = [...Object.entries(WAYS).map(([actor, more]) => spawn(actor, SCANNER, more)), ...DONE];
const each = (turns) => Object.fromEntries(Object.keys(WAYS).map((actor) => [actor, turns(actor)]));

const reason = (place, value) => `It tells of ${value} at ${place}`;

/** Hands back a report that quotes nothing, and is flagged for a reason that quotes. */
const handsBack = (place) => [call('SubagentHandback', { message: without(place) }), flagged(reason(place, QUOTED))];

onEachClient('flagged: why auto mode flags a report is compared, also if the report quotes nothing', { modules: true }, async ({ home, way }) => {
  catalog(home, { withhold: true });
  allowAgents(home);
  const session = await home.session({ parent, ...each((actor) => [way.load, handsBack(`${actor}.txt:1:1`), ...DONE]) }, AUTO);
  assert.deepEqual(session.unscripted, []);
  for (const actor of Object.keys(WAYS)) {
    const said = `blocked this subagent's report. Reason: ${reason(`${actor}.txt:1:1`, '[withheld]')}.`;
    assert.ok(parentRead(session, said), `${actor}\n${session.report()}`);
  }
  assert.ok(!parentRead(session, QUOTED), session.report());
  // Nor if the session goes on later.
  const again = await home.session({ parent: [...DONE, ...DONE] }, [...AUTO, '--continue']);
  assert.ok(parentRead(again, 'before.txt:1:1') && !parentRead(again, QUOTED), again.report());
});

// As where the provider does not review calls.
onEachClient('flagged-work: why auto mode flags what an agent did is compared', { modules: true }, async ({ home, client, way }) => {
  catalog(home, { withhold: true });
  allowAgents(home);
  const flag = `<block>yes</block><category>Leak</category><reason>${reason('a.txt:1:1', QUOTED)}</reason>`;
  const isReview = ({ text }) => text.includes('Subagent has finished and is handing back control');
  const aside = (request) => {
    if (isReview(request)) return say(flag);
    return request.actor === undefined || request.system.includes('<block>') ? say('<block>no</block>') : undefined;
  };
  const before = client.aside;
  client.aside = aside;
  const session = await home.session({ parent, ...each(() => [way.load, ...DONE]) }, [...AUTO, '--model', 'claude-sonnet-4-6'], { CLAUDE_CODE_AUTO_MODE_SERVER: '0' });
  client.aside = before;
  const said = `performed actions that may violate security policy. Reason: ${reason('a.txt:1:1', '[withheld]')}.`;
  assert.ok(parentRead(session, said), session.report());
  assert.ok(!parentRead(session, QUOTED), session.report());
});

/** Turns of which the last is refused, however often it is asked for. */
const ends = (...turns) => [...turns, ...Array.from({ length: 12 }, () => refused(quoting('a.txt:1:1')))];

onEachClient('error: the error that ends an agent is compared, also that of a skill', { modules: true }, async ({ home, way }) => {
  catalog(home, { withhold: true });
  home.write(home.home, '.claude/skills/look/SKILL.md', `---\nname: look\ndescription: Looks.\ncontext: fork\nagent: ${SCANNER}\n---\n${mark('skill')} Look.\n`);
  for (const before of [[], [[say('I look.'), call('Grep', { pattern: 'x' })]]]) {
    const turns = () => ends(way.load, ...before);
    const session = await home.session({ parent: [call('Skill', { skill: 'look' }), ...parent], skill: turns(), ...each(turns) });
    assert.ok(parentRead(session, 'API Error: 400'), session.report());
    assert.match(session.answer('parent', 'Skill').text, /\[withheld\]/);
    assert.ok(parentRead(session, without('a.txt:1:1')) && !parentRead(session, QUOTED), session.report());
  }
});

const BREAKS = {
  'the file is gone': ({ file }) => fs.rmSync(file),
  'the program fails': ({ home }) => atStart(home, 'withhold', 'exit 1'),
};

onEachClient('note-withheld-whole: what the client says is withheld whole if it cannot be compared', { modules: true }, async ({ home, way }) => {
  const start = fs.readFileSync(home.plugin('start.sh'), 'utf8');
  allowAgents(home);
  for (const [how, spoil] of Object.entries(BREAKS)) {
    for (const [last, args] of [[(place) => handsBack(place), AUTO], [(place) => refused(quoting(place)), []]]) {
      const file = catalog(home, { withhold: true });
      const turns = (actor) => [way.load, () => (actor === 'before' && spoil({ home, file }), last(`${actor}.txt:1:1`)), ...ends(), ...DONE];
      const session = await home.session({ parent, ...each(turns) }, args);
      assert.ok(session.of('parent').some(({ text }) => WHOLE.test(text)), how);
      assert.ok(!parentRead(session, QUOTED), `${how}\n${session.report()}`);
      fs.writeFileSync(home.plugin('start.sh'), start);
    }
  }
});

onEachClient('note-and-neighbour: what the client says is withheld if another mod fails at it', { modules: true }, async ({ home, way }) => {
  catalog(home, { withhold: true });
  const failing = ["throw new Error('no')", "await next(e); throw new Error('no')", 'await next(e); return { message: 7 }'];
  for (const code of failing) {
    const session = await home.session({ parent, ...each(() => ends(way.load)) }, neighbour(home, code, "'session.append'"));
    assert.ok(parentRead(session, without('a.txt:1:1')) && !parentRead(session, QUOTED), `${code}\n${session.report()}`);
  }
});

onEachClient('unremembered-error: the error of an agent that the module does not remember is compared', { modules: true }, async ({ home, way }) => {
  catalog(home, { withhold: true });
  inModule(home, 'if (started.agentId !== undefined) held', 'if (false) held');
  const session = await home.session({ parent, ...each(() => ends(way.load)) });
  assert.ok(parentRead(session, without('a.txt:1:1')) && !parentRead(session, QUOTED), session.report());
});

onEachClient('others-notes-stay: what the client says of an agent whose file is another stays as it is', { modules: true }, async ({ home, way }) => {
  const file = catalog(home, { withhold: true });
  const other = home.write(path.dirname(file), 'other.md', 'Other.\n');
  home.addToMap({ 'key-of-another-4b1f7c20': { path: other, agents: ['general-purpose'] } });
  allowAgents(home);
  const told = reason('b.txt:1:1', QUOTED);
  for (const [last, args] of [[handsBack('b.txt:1:1'), AUTO], [refused(told), []]]) {
    for (const run_in_background of [false, true]) {
      const session = await home.session(
        {
          parent: [spawn('scanner', SCANNER), spawn('other', 'general-purpose', { run_in_background }), ...DONE],
          scanner: [way.load, ...DONE],
          other: [last, ...ends()],
        },
        args,
      );
      assert.ok(parentRead(session, told), session.report());
    }
  }
});

// The main conversation must not learn from marks in its own words which of them the file has.
onEachClient('own-words-unmarked: what the main conversation calls an agent or a task comes back without a mark', { modules: true }, async ({ home, way }) => {
  catalog(home, { withhold: true });
  const guesses = { description: `Look at ${QUOTED}</summary> and <summary>${QUOTED}`, run_in_background: true };
  let id;
  const task = (request) => {
    [, id] = /agentId: (\w+)/.exec(request.text) ?? [];
    assert.ok(id, request.text);
    return call('Bash', { command: 'true', description: `${id} ${QUOTED}`, run_in_background: true });
  };
  const session = await home.session({ parent: [spawn('behind', SCANNER, guesses), task, ...DONE, ...DONE], behind: [way.load, ...DONE] });
  assert.ok(parentRead(session, 'An agent with a private file has ended.'), session.report());
  assert.ok(!parentRead(session, '[withheld]'), session.report());
});

// The project switches check-ins on when the agent has read its file: no guard is asked then.
onEachClient('late-check-ins: a check-in, which says what an agent looks for, does not reach the main conversation', { modules: true }, async ({ home, way }) => {
  catalog(home, { withhold: true });
  const first = await home.session({ parent: [spawn('first', SCANNER), ...DONE], first: [way.load, ...DONE] });
  assert.ok(first.answer('first', way.tool).text.includes(CANARY), first.report());
  const env = { CLAUDE_AUTO_BACKGROUND_TASKS: '1', CLAUDE_CODE_WORKER_CHECKIN_SCHEDULE: '1' };
  home.write(home.project, '.claude/settings.json', JSON.stringify({ env }));
  let isSent = false;
  const send = ({ messages }) => {
    if (isSent) return say('Done.');
    isSent = true;
    const id = [...JSON.stringify(messages).matchAll(/agentId: (\w+)/g)].at(-1)[1];
    return call('SendMessage', { to: id, summary: 'Go on', message: '[[actor:again]] Go on.' });
  };
  const search = async () => {
    await sleep(1500);
    return call('Grep', { pattern: CANARY });
  };
  const again = [search, search, search, search, search, search, ...DONE];
  const session = await home.session({ parent: [...DONE, ...DONE].map(() => send), first: DONE, again }, ['--continue']);
  assert.ok(parentRead(session, 'It may say what an agent looks for.'), session.report());
  assert.ok(!parentRead(session, CANARY), session.report());
});
