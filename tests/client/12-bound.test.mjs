// A server that is bound to one context, in an agent's own file: the agent of the
// documentation, as a user or a project has it. No plugin is installed, no prompt
// holds a key, and the parent has no such tool.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { onEachClient } from './harness/case.mjs';
import { CANARY, CATALOG, PACKAGED, programIn } from './harness/plugin.mjs';
import { call, say, search, spawn } from './harness/script.mjs';

const TOOL = 'mcp__scanner-catalog__load_context';
const AGENT = 'identifier-scanner';
const EXAMPLES = path.resolve(import.meta.dirname, '../../docs/examples');
const example = (name) => fs.readFileSync(path.join(EXAMPLES, name), 'utf8');
const BARE = { plugin: 'none' };

/** The user's permission for the tool, which an agent's file does not give. */
const LEAVE = ['--allowedTools', TOOL];
const load = call(TOOL, {});

/** The example's map and its document, `keyhole` on the path, and who has the agent. */
function world(home, owner) {
  home.write(home.configured, 'context-map.toml', example('context-map.toml'));
  home.write(home.home, 'notes/identifiers.md', CATALOG);
  home.write(owner, `.claude/agents/${AGENT}.md`, example('claude-code-agent.md'));
  const commands = path.join(home.root, 'bin');
  fs.mkdirSync(commands);
  fs.symlinkSync(programIn(PACKAGED), path.join(commands, 'keyhole'));
  return { PATH: `${commands}:${process.env.PATH}` };
}

/** The parent looks for the tool and calls it, before the agent runs and after. */
const SCRIPT = {
  parent: [load, spawn('scanner', AGENT), search(TOOL), say('Done.')],
  scanner: [load, say('One finding: src/a.txt, line 1.')],
};

/** Only the agent has the document, the tool and the key. */
async function alone(home, owner) {
  const session = await home.play(SCRIPT, LEAVE, world(home, owner));
  const { error, text } = session.answer('scanner', TOOL);
  assert.deepEqual([error, text], [false, CATALOG]);
  session.assertOnlyIn(CANARY, 'scanner');
  session.assertOnlyIn('k-2c1f8a96d0e34b57');
  assert.ok(!session.tools('parent').includes(TOOL));
  const refused = session.answer('parent', TOOL);
  assert.equal(refused.error, true, refused.text);
  return refused.text;
}

onEachClient("12a: a user's agent has a bound server of its own, and the parent has no such tool", BARE, async ({ home, seen }) => {
  const told = await alone(home, home.home);
  seen("an inline server in a user's agent is there for this agent alone");
  seen(`the parent is told: ${told}`);
});

onEachClient("12b: so has a project's agent, in a trusted folder", BARE, async ({ home }) => {
  home.trust();
  await alone(home, home.project);
});

/** The clients in which an agent of any project may start a server without a question. */
const STARTS_UNTRUSTED = ['2.1.197'];

onEachClient("12c: a project's agent in a folder that is not trusted gets nothing, or the client is known for it", BARE, async ({ home, client, seen }) => {
  const session = await home.play(SCRIPT, LEAVE, world(home, home.project));
  const started = !session.answer('scanner', TOOL).error;
  assert.equal(started, STARTS_UNTRUSTED.includes(client.version));
  session.assertOnlyIn(CANARY, ...(started ? ['scanner'] : []));
  seen(`an agent of an untrusted project ${started ? 'DOES start' : 'does not start'} its server with -p`);
});

onEachClient('12d: without leave the call is refused, and nothing is read', BARE, async ({ home, seen }) => {
  const session = await home.play(SCRIPT, [], world(home, home.home));
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

onEachClient('12e: the agent can start no other, which would have its server too', BARE, async ({ home, seen }) => {
  const env = world(home, home.home);
  const kept = await home.play(NESTED, LEAVE, env);
  assert.equal(kept.answer('scanner', 'Agent').error, true);
  assert.ok(!kept.has('nested'));
  kept.assertOnlyIn(CANARY, 'scanner');

  const open = example('claude-code-agent.md').replace(/^tools:.*\n/m, '');
  home.write(home.home, `.claude/agents/${AGENT}.md`, open);
  const session = await home.play(NESTED, LEAVE, env);
  assert.equal(session.answer('nested', TOOL).text, CATALOG, 'it hands nothing down any more: tell so in docs/use-from.md');
  session.assertOnlyIn(CANARY, 'scanner', 'nested');
  seen('an agent without `tools:` can start others, and they have its server');
});
