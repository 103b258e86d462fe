// A server that is bound to one context, in an agent's own file: the agent of the
// documentation, as a user or a project has it. No plugin is installed, no prompt
// holds a key, and the parent has no such tool.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { call, say, spawn } from './harness/api.mjs';
import { onEachClient } from './harness/case.mjs';
import { CANARY, CATALOG, PACKAGED } from './harness/plugin.mjs';

const TOOL = 'mcp__scanner-catalog__load_context';
const AGENT = 'identifier-scanner';
const EXAMPLES = path.resolve(import.meta.dirname, '../../docs/examples');
const example = (name) => fs.readFileSync(path.join(EXAMPLES, name), 'utf8');

/** The user's permission for the tool, which an agent's file does not give. */
const LEAVE = ['--allowedTools', TOOL];

/** Newer clients provide a deferred tool on this request. */
const search = call('ToolSearch', { query: `select:${TOOL}` });
const load = call(TOOL, {});

/** The example's map and its document, `keyhole` on the path, and who has the agent. */
function world(home, owner) {
  home.write(home.configured, 'context-map.toml', example('context-map.toml'));
  home.write(home.home, 'notes/identifiers.md', CATALOG);
  home.write(owner, `.claude/agents/${AGENT}.md`, example('claude-code-agent.md'));
  const commands = path.join(home.root, 'bin');
  fs.mkdirSync(commands);
  const [server] = fs.readdirSync(path.join(PACKAGED, 'server'));
  fs.symlinkSync(path.join(PACKAGED, 'server', server), path.join(commands, 'keyhole'));
  return { PATH: `${commands}:${process.env.PATH}` };
}

/** Asserts that only the agent has the document, the tool and the key. */
function assertAlone(session) {
  session.assertPlayed();
  const answer = session.answer('scanner', TOOL);
  assert.equal(answer.error, false, answer.text);
  assert.equal(answer.text, CATALOG);
  session.assertOnlyIn(CANARY, 'scanner');
  session.assertOnlyIn('k-2c1f8a96d0e34b57');
  for (const { body } of session.of('parent')) {
    assert.equal(body.tools.some(({ name }) => name === TOOL), false);
  }
  const refused = session.answer('parent', TOOL);
  assert.equal(refused.error, true, refused.text);
}

/** The parent looks for the tool and calls it, before the agent runs and after. */
const SCRIPT = {
  parent: [load, spawn('scanner', AGENT), search, say('Done.')],
  scanner: [load, say('One finding: src/a.txt, line 1.')],
};

onEachClient("12a: a user's agent has a bound server of its own, and the parent has no such tool", async ({ home, seen }) => {
  const session = await home.session(SCRIPT, LEAVE, world(home, home.home));
  assertAlone(session);
  seen("an inline server in a user's agent is there for this agent alone");
  seen(`the parent is told: ${session.answer('parent', TOOL).text}`);
});

/** The client's note that its user trusts the project's folder. */
function trust(home) {
  const projects = { [home.project]: { hasTrustDialogAccepted: true } };
  home.write(home.home, '.claude.json', JSON.stringify({ projects }));
}

onEachClient("12b: so has a project's agent, in a trusted folder", async ({ home }) => {
  trust(home);
  const session = await home.session(SCRIPT, LEAVE, world(home, home.project));
  assertAlone(session);
});

/** The clients in which an agent of any project may start a server without a question. */
const STARTS_UNTRUSTED = ['2.1.197'];

onEachClient("12c: a project's agent in a folder that is not trusted gets nothing, or the client is known for it", async ({ home, client, seen }) => {
  const session = await home.session(SCRIPT, LEAVE, world(home, home.project));
  session.assertPlayed();
  const started = !session.answer('scanner', TOOL).error;
  assert.equal(started, STARTS_UNTRUSTED.includes(client.version));
  session.assertOnlyIn(CANARY, ...(started ? ['scanner'] : []));
  seen(`an agent of an untrusted project ${started ? 'DOES start' : 'does not start'} its server with -p`);
});

onEachClient('12d: without leave the call is refused, and nothing is read', async ({ home, seen }) => {
  const session = await home.session(SCRIPT, [], world(home, home.home));
  session.assertPlayed();
  assert.equal(session.answer('scanner', TOOL).error, true);
  session.assertOnlyIn(CANARY);
  seen("an agent's `tools:` offers a tool, and gives no leave to call it");
});

/** The agent tries to start another, which tries the call. */
const NESTED = {
  parent: [spawn('scanner', AGENT), say('Done.')],
  scanner: [load, spawn('nested', 'general-purpose'), say('Done.')],
  nested: [load, say('Done.')],
};

onEachClient('12e: the agent can start no other, which would have its server too', async ({ home, seen }) => {
  const env = world(home, home.home);
  const alone = await home.session(NESTED, LEAVE, env);
  alone.assertPlayed();
  assert.equal(alone.answer('scanner', 'Agent').error, true);
  assert.equal(alone.of('nested').length, 0);
  alone.assertOnlyIn(CANARY, 'scanner');

  const open = example('claude-code-agent.md').replace(/^tools:.*\n/m, '');
  home.write(home.home, `.claude/agents/${AGENT}.md`, open);
  const session = await home.session(NESTED, LEAVE, env);
  session.assertPlayed();
  assert.equal(session.answer('nested', TOOL).text, CATALOG, 'it hands nothing down any more: tell so in docs/use-from.md');
  session.assertOnlyIn(CANARY, 'scanner', 'nested');
  seen('an agent without `tools:` can start others, and they have its server');
});
