// Several subagents in one turn, from a plugin whose author bound a key to each.

import assert from 'node:assert/strict';
import { say, spawn } from './harness/api.mjs';
import { onEachClient } from './harness/case.mjs';
import { TOOL, authorPlugin, load } from './harness/plugin.mjs';

const NAMES = ['alpha', 'beta', 'gamma'];
const key = (name) => `key-of-${name}-5c1e90`;
const content = (name) => `# For ${name}\n\nZQ-CANARY-${name}\n`;

onEachClient('6: several subagents in one turn each get their own, and no other', async ({ home, seen }) => {
  await home.install();
  const keys = Object.fromEntries(NAMES.map((name) => [name, key(name)]));
  await home.install(authorPlugin(home, 'acme', keys));
  home.map(
    Object.fromEntries(
      NAMES.map((name) => [
        key(name),
        { path: home.write(home.home, `private/${name}.md`, content(name)), agents: [`acme:${name}`] },
      ]),
    ),
  );

  const session = await home.session({
    parent: [NAMES.map((name) => spawn(name, `acme:${name}`)), say('Done.')],
    alpha: [load(key('alpha')), say('Done.')],
    beta: [load(key('beta')), say('Done.')],
    // This one tries the others' keys as well as its own.
    gamma: [[load(key('alpha')), load(key('gamma')), load(key('beta'))], say('Done.')],
  });

  session.assertPlayed();
  for (const name of NAMES) {
    session.assertOnlyIn(`ZQ-CANARY-${name}`, name);
    const own = session.answers(name).find(({ input }) => input.key === key(name));
    assert.equal(own.text, content(name));
  }
  const others = session.answers('gamma').filter(({ input }) => input.key !== key('gamma'));
  assert.deepEqual(others.map(({ tool, error }) => [tool, error]), [[TOOL, true], [TOOL, true]]);
  seen('the tool_use_id of the hook is the one that the server gets, with several subagents in one turn');
});
