// A caller that is not the agent to which the key is bound gets nothing, even
// with the right key and every permission that the user can give.

import assert from 'node:assert/strict';
import { call, say, spawn } from './harness/api.mjs';
import { onEachClient } from './harness/case.mjs';
import { CANARY, CATALOG, KEY, SCANNER, TOOL, agentFile, catalog, load } from './harness/plugin.mjs';

/** The user's permission for the tool, so that only the plugin refuses. */
const LEAVE = ['--allowedTools', TOOL];

/** Newer clients provide a deferred tool to the parent on this request. */
const search = call('ToolSearch', { query: `select:${TOOL}` });

/** What the client tells a hook about the only caller, in its own words. */
function identity(overheard) {
  const [{ agent_id, agent_type }, ...more] = overheard();
  assert.deepEqual(more, []);
  return { id: agent_id !== undefined, type: agent_type };
}

/** The plugin refused with `code`, told nothing about the key, and nobody read the catalog. */
function assertRefused(session, actor, code) {
  session.assertPlayed();
  const answer = session.answer(actor, TOOL);
  assert.equal(answer.error, true, answer.text);
  assert.ok(answer.text.includes(`${code}: `), answer.text);
  assert.ok(!answer.text.includes(KEY), answer.text);
  session.assertOnlyIn(CANARY);
}

onEachClient('3a: the parent is denied, with the right key and with leave', async ({ home, seen }) => {
  await home.installGuarded();
  const overheard = home.overhear(TOOL);
  catalog(home);
  const session = await home.session({ parent: [search, load(KEY), say('Done.')] }, LEAVE);
  assertRefused(session, 'parent', 'caller-not-verified');
  assert.deepEqual(identity(overheard), { id: false, type: undefined });
  seen("the parent's call has no agent_id and no agent_type, and a hook's deny beats --allowedTools");
});

onEachClient('3b: a fork is denied', async ({ home, seen }) => {
  await home.installGuarded();
  const overheard = home.overhear(TOOL);
  catalog(home);
  const session = await home.session(
    {
      parent: [spawn('fork', 'fork'), say('Done.'), say('Done.')],
      fork: [search, load(KEY), say('Done.')],
    },
    LEAVE,
    // Older clients have forks only if this asks for them.
    { CLAUDE_CODE_FORK_SUBAGENT: '1' },
  );
  assertRefused(session, 'fork', 'caller-not-verified');
  assert.deepEqual(identity(overheard), { id: true, type: 'fork' });
  seen('a fork has an agent_id, and the agent_type "fork"');
});

onEachClient('3c: a session that runs as the agent is denied', async ({ home, seen }) => {
  await home.installGuarded();
  const overheard = home.overhear(TOOL);
  catalog(home);
  const session = await home.session({ parent: [load(KEY), say('Done.')] }, ['--agent', SCANNER, ...LEAVE]);
  assertRefused(session, 'parent', 'caller-not-verified');
  assert.ok(session.of('parent')[0].text.includes(KEY), 'the session has the body of the agent');
  assert.deepEqual(identity(overheard), { id: false, type: SCANNER });
  seen('--agent NAME gives a session an agent_type and no agent_id');
});

onEachClient("3d: a project's agent of the same short name is denied", async ({ home, seen }) => {
  await home.installGuarded();
  const overheard = home.overhear(TOOL);
  catalog(home);
  home.write(home.project, '.claude/agents/privacy-scanner.md', agentFile('privacy-scanner', KEY));
  const session = await home.session(
    {
      parent: [spawn('impostor', 'privacy-scanner'), say('Done.')],
      impostor: [load(KEY), say('Done.')],
    },
    LEAVE,
  );
  // As if there were no such key: the answer does not say that there is one.
  assertRefused(session, 'impostor', 'unknown-key');
  assert.deepEqual(identity(overheard), { id: true, type: 'privacy-scanner' });
  seen("a project's agent has its short name for its agent_type");
});

/** The clients in which a project's file can be an agent of a plugin, by its full name. */
const TAKES_FULL_NAMES = ['2.1.197'];

onEachClient("3e: a project's agent that takes the full name is not run, or the client is known for it", async ({ home, client, seen }) => {
  await home.installGuarded();
  catalog(home);
  home.write(home.project, '.claude/agents/impostor.md', agentFile(SCANNER, 'the-key-of-an-impostor'));
  const session = await home.session({
    parent: [spawn('scanner', SCANNER), say('Done.')],
    scanner: [say('Done.')],
  });
  session.assertPlayed();
  const taken = session.of('scanner')[0].text.includes('the-key-of-an-impostor');
  assert.equal(taken, TAKES_FULL_NAMES.includes(client.version));
  seen(`a project's agent file ${taken ? 'CAN' : 'cannot'} take the full name of a plugin's agent`);
});

onEachClient('3f: an agent to which the key is not bound is denied', async ({ home }) => {
  await home.installGuarded();
  catalog(home);
  const session = await home.session(
    {
      parent: [spawn('other', 'general-purpose'), say('Done.')],
      other: [search, load(KEY), say('Done.')],
    },
    LEAVE,
  );
  // As if there were no such key: the answer does not say that there is one.
  assertRefused(session, 'other', 'unknown-key');
});

onEachClient('3g: the agent itself is not', async ({ home, seen }) => {
  await home.installGuarded();
  const overheard = home.overhear(TOOL);
  catalog(home);
  const session = await home.session(
    {
      parent: [spawn('scanner', SCANNER), say('Done.')],
      scanner: [load(KEY), say('Done.')],
    },
    LEAVE,
  );
  session.assertPlayed();
  assert.equal(session.answer('scanner', TOOL).text, CATALOG);
  assert.deepEqual(identity(overheard), { id: true, type: SCANNER });
  seen("a plugin's agent has an agent_id, and plugin:agent for its agent_type");
});
