// A caller that is not the agent to which the key is bound gets nothing, even
// with the right key and every permission that the user can give.

import assert from 'node:assert/strict';
import { onEachClient } from './harness/case.mjs';
import { CANARY, CATALOG, KEY, SCANNER, TOOL, agentFile, load, plain } from './harness/plugin.mjs';
import { say, search, spawn } from './harness/script.mjs';

/** The user's permission for the tool, so that only the plugin refuses. */
const LEAVE = ['--allowedTools', TOOL];
const GUARDED = { plugin: 'guarded' };

/** The same call by a subagent of that type. */
const by = (agent) => ({
  parent: [spawn('caller', agent), say('Done.'), say('Done.')],
  caller: [search(TOOL), load(KEY), say('Done.')],
});

/**
 * A case in which the only caller, of which the client tells a hook `id` and `type`, is
 * refused with `code`: it is told nothing about the key, and nobody reads the catalog.
 */
const refused = ({ code, id, type, script, args = [], env, before = () => {}, after = () => {}, known }) =>
  async ({ home, seen }) => {
    before(home);
    const overheard = home.overhear(TOOL);
    const session = await home.play(script, [...args, ...LEAVE], env);
    const answer = session.answer(script.caller ? 'caller' : 'parent', TOOL);
    assert.equal(answer.error, true, answer.text);
    assert.ok(answer.text.includes(`${code}: `), answer.text);
    assert.ok(!answer.text.includes(KEY), answer.text);
    session.assertOnlyIn(CANARY);
    after(session);
    assert.deepEqual(callers(overheard), [{ id, type }]);
    seen(known);
  };

/** What the client tells a hook about the callers, in its own words. */
const callers = (overheard) =>
  overheard().map(({ agent_id, agent_type }) => ({ id: agent_id !== undefined, type: agent_type }));

onEachClient('3a: the parent is denied, with the right key and with leave', GUARDED, refused({
  script: { parent: [search(TOOL), load(KEY), say('Done.')] },
  code: 'caller-not-verified',
  id: false,
  type: undefined,
  known: "the parent's call has no agent_id and no agent_type, and a hook's deny beats --allowedTools",
}));

onEachClient('3b: a fork is denied', GUARDED, refused({
  script: by('fork'),
  // Older clients have forks only if this asks for them.
  env: { CLAUDE_CODE_FORK_SUBAGENT: '1' },
  code: 'caller-not-verified',
  id: true,
  type: 'fork',
  known: 'a fork has an agent_id, and the agent_type "fork"',
}));

onEachClient('3c: a session that runs as the agent is denied', GUARDED, refused({
  script: { parent: [load(KEY), say('Done.')] },
  args: ['--agent', SCANNER],
  code: 'caller-not-verified',
  id: false,
  type: SCANNER,
  after: (session) => assert.ok(session.of('parent')[0].text.includes(KEY), 'it has the body of the agent'),
  known: '--agent NAME gives a session an agent_type and no agent_id',
}));

// Here and below as if there were no such key: the answer does not say that there is one.
onEachClient("3d: a project's agent of the same short name is denied", GUARDED, refused({
  before: (home) => home.write(home.project, '.claude/agents/privacy-scanner.md', agentFile('privacy-scanner', KEY)),
  script: { ...by('privacy-scanner'), caller: [load(KEY), say('Done.')] },
  code: 'unknown-key',
  id: true,
  type: 'privacy-scanner',
  known: "a project's agent has its short name for its agent_type",
}));

onEachClient('3f: an agent to which the key is not bound is denied', GUARDED, refused({
  script: by('general-purpose'),
  code: 'unknown-key',
  id: true,
  type: 'general-purpose',
  known: 'an agent of the client has its name for its agent_type',
}));

/** The clients in which a project's file can be an agent of a plugin, by its full name. */
const TAKES_FULL_NAMES = ['2.1.197'];

onEachClient("3e: a project's agent that takes the full name is not run, or the client is known for it", GUARDED, async ({ home, client, seen }) => {
  home.write(home.project, '.claude/agents/impostor.md', agentFile(SCANNER, 'the-key-of-an-impostor'));
  const session = await home.play(plain(client, { scanner: [say('Done.')] }));
  const taken = session.of('scanner')[0].text.includes('the-key-of-an-impostor');
  assert.equal(taken, TAKES_FULL_NAMES.includes(client.version));
  seen(`a project's agent file ${taken ? 'CAN' : 'cannot'} take the full name of a plugin's agent`);
});

onEachClient('3g: the agent itself is not', GUARDED, async ({ home, client, seen }) => {
  const overheard = home.overhear(TOOL);
  const session = await home.play(plain(client, { scanner: [load(KEY), say('Done.')] }), LEAVE);
  assert.equal(session.answer('scanner', TOOL).text, CATALOG);
  assert.deepEqual(callers(overheard), [{ id: true, type: SCANNER }]);
  seen("a plugin's agent has an agent_id, and plugin:agent for its agent_type");
});
