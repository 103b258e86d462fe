// What an agent sends to the main conversation while it works, and what an agent that it starts
// reports: both are compared like its report.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { onEachClient } from './harness/case.mjs';
import { CATALOG, DONE, call, load, mark, once, say, spawn } from './harness/plugin.mjs';
import { QUOTED, WHOLE, assertWithheld, author, forgets, inModule, neighbour, parentRead, quoting, without } from './harness/reports.mjs';

onEachClient('sendmessage: what a withheld agent sends is compared like its report, and what an agent of its own reports', async ({ home, loads }) => {
  const { key, file } = await author(home, { withhold: true }, 'SendMessage, Agent');
  const send = (message, summary = 'a word') => call('SendMessage', { to: 'main', summary, message });
  const session = await home.session({
    parent: [spawn('reviewer', 'acme:reviewer'), ...DONE],
    reviewer: [
      load(key),
      send(quoting('a.txt:1:1'), QUOTED),
      spawn('inner', 'general-purpose', { prompt: `${mark('inner')} ${quoting('b.txt:1:1')}` }),
      spawn('behind', 'general-purpose', { prompt: `${mark('behind')} Go.`, run_in_background: true }),
      () => (fs.rmSync(file), send(quoting('c.txt:1:1'))),
      () => (fs.writeFileSync(file, CATALOG), say('Done.')),
      ...DONE,
    ],
    inner: [say(quoting('b.txt:1:1')), ...DONE],
    behind: [async (_, model) => (await model.asked('parent', 1), say(quoting('d.txt:1:1'))), ...DONE],
  });
  assert.deepEqual(session.unscripted, []);
  assert.equal(parentRead(session, QUOTED), !loads, session.report());
  if (!loads) return;
  assertWithheld(session, ['a.txt:1:1', 'd.txt:1:1']);
  assert.ok(session.of('parent').some(({ text }) => WHOLE.test(text)), 'what cannot be compared is withheld whole');
  assert.ok(!parentRead(session, 'c.txt:1:1'));
  const [inner] = session.answers('reviewer', 'Agent');
  assert.ok(inner.text.includes(without('b.txt:1:1')), 'what it has started is compared for the agent itself, too');
});

// It waits for one agent while another reports. What is in its queue when it is stopped, the client gives to the main
// conversation.
onEachClient('stopped: what waits for a withheld agent that is stopped was compared', { modules: true }, async ({ home }) => {
  const { key } = await author(home, { withhold: true }, 'Agent');
  const inner = (actor, more) => spawn(actor, 'general-purpose', { prompt: `${mark(actor)} Go.`, ...more });
  const stop = async ({ messages }, model) => {
    await model.asked('reports');
    // Its report arrives.
    await sleep(3_000);
    const [, task_id] = /agentId: (\w+)/.exec(JSON.stringify(messages));
    return call('TaskStop', { task_id });
  };
  const session = await home.session({
    parent: [spawn('reviewer', 'acme:reviewer', { run_in_background: true }), stop, ...DONE],
    reviewer: [load(key), inner('reports', { run_in_background: true }), inner('works'), ...DONE],
    reports: [once(['works'], say(quoting('b.txt:1:1')))],
    works: [once(['parent'], say('Done.'), 2)],
  });
  assert.equal(session.answer('parent', 'TaskStop').error, false);
  assertWithheld(session, ['b.txt:1:1']);
});

/** A call that sends this to the main conversation. */
const send = (message) => call('SendMessage', { to: 'main', summary: 'a word', message });

onEachClient('message: what an agent sends is withheld if another mod fails at it, also if the module does not remember the agent', { modules: true }, async ({ home }) => {
  const { key } = await author(home, { withhold: true }, 'SendMessage');
  const fails = {
    throws: "throw new Error('no')",
    rejects: "return Promise.reject(new Error('no'))",
    late: "await next(e); throw new Error('no')",
    odd: 'await next(e); return { result: 7, deny: 7 }',
  };
  const hook = Object.entries(fails).map(([place, code]) => `if (e.message.startsWith('${place}.')) { ${code} }`);
  const places = Object.keys(fails).map((place) => `${place}.txt:1:1`);
  for (const spoil of [() => {}, forgets]) {
    spoil(home);
    const session = await home.session(
      {
        parent: [spawn('reviewer', 'acme:reviewer'), ...DONE],
        reviewer: [load(key), ...places.map((place) => send(quoting(place))), ...DONE],
      },
      neighbour(home, `${hook.join('\n')}\nreturn next(e)`, "'tool.call', { tool: 'SendMessage' }"),
    );
    assertWithheld(session, places);
  }
});

onEachClient('refused: if the client does not take what is compared, what the agent wrote does not pass either', { modules: true }, async ({ home }) => {
  const { key } = await author(home, { withhold: true }, 'SendMessage');
  forgets(home);
  // The client lets nobody change this field.
  inModule(home, 'return next({ ...e, text', "return next({ ...e, agentId: 'x', text");
  // And this is the module's own failure, after its call.
  const fails = "await next({ ...e, message: answer.report ?? '' }); throw new Error('no')";
  inModule(home, 'return next({ ...e, summary', `if (e.message.startsWith('a.')) { ${fails} }\n    return next({ ...e, agentId: 'x', summary`);
  const session = await home.session({
    parent: [[spawn('reviewer', 'acme:reviewer'), spawn('other', 'acme:reviewer')], ...DONE],
    reviewer: [load(key), send(quoting('a.txt:1:1')), send(quoting('b.txt:1:1')), ...DONE],
    other: [load(key), say(quoting('c.txt:1:1')), ...DONE],
  });
  assert.ok(!parentRead(session, QUOTED), session.report());
  assert.match(session.answers('parent', 'Agent')[1].text, WHOLE);
  for (const { text } of session.answers('reviewer', 'SendMessage')) assert.match(text, WHOLE);
});

onEachClient('remembered: an agent whose message was compared is withheld, whatever becomes of the map', { modules: true }, async ({ home }) => {
  const { key } = await author(home, { withhold: true }, 'SendMessage');
  forgets(home);
  const session = await home.session({
    parent: [spawn('reviewer', 'acme:reviewer'), ...DONE],
    reviewer: [load(key), send(quoting('a.txt:1:1')), () => (fs.writeFileSync(home.mapFile, '[keys'), say(quoting('b.txt:1:1'))), ...DONE],
  });
  // The message reaches the parent once the map cannot be read, and is compared again then.
  assert.ok(!parentRead(session, QUOTED), session.report());
  assert.match(session.answer('parent', 'Agent').text, WHOLE);
});

onEachClient('starting: what an agent of a withheld agent sends while it starts is compared', { modules: true }, async ({ home }) => {
  const { key } = await author(home, { withhold: true }, 'Agent');
  // Both agents are at work before the module knows their ids.
  const started = 'const started = await next(e)';
  inModule(home, started, `${started}\n      await $.process.run(['sleep', '8'])`);
  home.agent(home.home, { name: 'inner', tools: 'SendMessage' });
  const session = await home.session({
    parent: [spawn('reviewer', 'acme:reviewer'), ...DONE],
    reviewer: [load(key), spawn('inner', 'inner', { run_in_background: true }), ...DONE],
    inner: [send(quoting('a.txt:1:1')), ...DONE],
  });
  assertWithheld(session, ['a.txt:1:1']);
});
