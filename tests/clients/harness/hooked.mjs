// For clients whose hook hands an agent its document when it starts, with the settings that
// `keyhole setup CLIENT --inject AGENT` prints, in `file`. `start(actor, agent)` is the turns
// that start an agent and wait for its end; `configure(home)` writes what else it needs; its
// agents may start others, unless none of the client's can.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { say } from '../../harness/model.mjs';
import { onCase } from './cases.mjs';
import { CANARY, DOCUMENT } from './home.mjs';

/** The longest document that a hook hands over. */
const MOST = `# ${CANARY}\n`.padEnd(10_000, 'x');

export function onHook(client, { setup = client.name, agent, file, start, configure, nests = true }) {
  const hooked = (promise, run) =>
    onCase(client, promise, async ({ home, seen }) => {
      configure(home);
      home.write(home.home, file, home.inject(setup, agent));
      await run({ home, seen });
    });
  const script = {
    main: [...start('scanner', 'scanner'), ...start('other', 'other'), say('Done.')],
    scanner: [client.finish('Done.')],
    other: [client.finish('Done.')],
  };
  /** What the agent is sent first, if its document is `text`. */
  const play = async (home, text = DOCUMENT) => {
    home.write(home.home, 'notes/identifiers.md', text);
    const session = await home.play(script);
    session.assertOnlyIn(CANARY, 'scanner');
    assert.ok(!session.stdout.includes(CANARY));
    return session.of('scanner')[0].text;
  };

  hooked('a hook hands the document to one agent alone, whole or not at all', async ({ home }) => {
    for (const text of [DOCUMENT, MOST]) assert.ok((await play(home, text)).includes(JSON.stringify(text).slice(1, -1)));
    assert.match(await play(home, `${MOST}.`), /not loaded\. too-large: /);
  });

  hooked('without a map the agent reads so, and if the hook fails it reads nothing', async ({ home, seen }) => {
    fs.rmSync(home.mapFile);
    assert.match(await play(home), /not loaded\. map-missing: /);
    home.document();
    home.change(file, (settings) => settings.replace(' inject --map ', ' inject --nonsense --map '));
    assert.ok(!/keyhole: |ZQ-/.test(await play(home)));
    seen('an agent starts even if its hook fails, and has no word of it');
  });

  if (!nests) return;
  hooked('an agent that the agent of a hook starts is given nothing', async ({ home }) => {
    const session = await home.play({
      main: [...start('scanner', 'scanner'), say('Done.')],
      scanner: [...start('other', 'other'), client.finish('Done.')],
      other: [client.finish('Done.')],
    });
    assert.ok(session.of('scanner')[0].text.includes(CANARY), session.report());
    session.assertOnlyIn(CANARY, 'scanner');
  });
}

/**
 * Of a client for which `setup` prints no hook: the session, of an agent for which a hook of
 * that event in the settings `file` has the text TEXT.
 */
export const TEXT = 'ZQ-HOOK-2f61';
export async function hookOf(client, home, file) {
  const answer = { hookSpecificOutput: { hookEventName: 'SubagentStart', additionalContext: TEXT } };
  const command = `cat '${home.write(home.root, 'answer', JSON.stringify(answer))}'`;
  const hooks = { SubagentStart: [{ hooks: [{ type: 'command', command }] }] };
  home.change(file, (text) => JSON.stringify({ ...JSON.parse(text), hooks }));
  return home.play({ main: [client.spawn('scanner', 'scanner'), say('Done.')], scanner: [client.finish('Done.')] });
}
