// With agent teams, the main conversation gives a teammate a name of its choice,
// and the client tells that name to hooks as the type of the agent that calls.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { onEachClient } from './harness/case.mjs';
import { CANARY, CATALOG, DONE, TOOL, agentFile, load } from './harness/plugin.mjs';
import { search, spawn } from './harness/script.mjs';

const BOUND = 'key-of-reader-7c31d90a52';
const UNBOUND = 'key-of-anyone-0b8e6f1d44';

/** Waits until the server runs, so that the agents that are started may have its tool. */
const CONNECTED = `until grep -rqs 'Successfully connected' "$HOME/.cache"; do sleep 0.1; done`;

// If a module is loaded, a teammate has no such tool at all: see case 17.
onEachClient('14: a teammate named as an agent is denied, and the agent of that name is not', { plugin: 'guarded', terminal: true }, async ({ home, file, seen }) => {
  const overheard = home.overhear(TOOL);
  home.hook('SessionStart', CONNECTED);
  const other = home.write(home.home, 'private/other.md', `# Other ${CANARY}\n`);
  home.map({ [BOUND]: { path: file, agents: ['reader'] }, [UNBOUND]: other });
  home.write(home.home, '.claude/agents/reader.md', agentFile('reader', BOUND));

  const play = () => home.terminal(
    {
      parent: [
        spawn('agent', 'reader'),
        spawn('teammate', 'general-purpose', { name: 'reader' }),
        ...DONE,
      ],
      agent: [load(BOUND), ...DONE],
      // The newer client defers the tool for it.
      teammate: [search(TOOL), [load(BOUND), load(UNBOUND)], ...DONE],
    },
    ({ requests }) =>
      Object.entries({ agent: 1, teammate: 2 }).every(([actor, turn]) =>
        requests.some((request) => request.actor === actor && request.turn === turn),
      ),
    { CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS: '1' },
  );
  // The client knows the server's tools a moment after it has connected; an older one gives
  // an agent those that it knew when the parent's turn began.
  const lacks = (session) => ['agent', 'teammate'].some((actor) => session.answers(actor).some(({ tool, text }) => tool === TOOL && text.includes('No such tool')));
  let [session, calls] = [await play(), overheard];
  for (let tries = 0; tries < 5 && lacks(session); tries += 1) {
    const before = overheard().length;
    fs.rmSync(path.join(home.home, '.cache'), { recursive: true, force: true });
    calls = () => overheard().slice(before);
    session = await play();
  }

  assert.equal(session.answer('agent', TOOL).text, CATALOG);
  session.assertOnlyIn(CANARY, 'agent');
  const answers = session.answers('teammate').filter(({ tool }) => tool === TOOL);
  assert.equal(answers.length, 2);
  for (const { text, error } of answers) {
    assert.equal(error, true, text);
    assert.ok(text.includes('caller-not-verified: '), text);
  }

  // They may run at the same time, and call in any order.
  const isAgent = ({ agent_id }) => /^a[0-9a-f]{16}$/.test(agent_id);
  const agents = calls().filter(isAgent);
  const teammates = calls().filter((call) => !isAgent(call));
  assert.deepEqual([agents.map(({ agent_type }) => agent_type), teammates.length], [['reader'], 2]);
  for (const { agent_id, agent_type } of teammates) {
    assert.equal(agent_type, 'reader');
    assert.match(agent_id, /^areader-[0-9a-f]{16}$/);
  }
  seen("a teammate's agent_type is its name, and its agent_id holds the name; no other agent's does");
});
