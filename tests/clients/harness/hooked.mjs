// For clients whose hook hands an agent its document when it starts, with the settings that
// `keyhole setup CLIENT --inject AGENT` writes to `file`, or prints for it. `start(actor, agent)` is the turns
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
  const done = [client.finish('Done.')];
  const script = {
    main: [...start('scanner', 'scanner'), ...start('other', 'other'), say('Done.')],
    scanner: done,
    other: done,
  };
  /** Only the agent has the document: what it is sent first. */
  const play = async (home, played = script) => {
    const session = await home.play(played);
    session.assertOnlyIn(CANARY, 'scanner');
    assert.ok(!session.stdout.includes(CANARY));
    return session.of('scanner')[0].text;
  };

  onCase(client, 'a hook hands the document to one agent alone, whole or not at all', async ({ home }) => {
    configure(home);
    await home.inject(setup, agent);
    for (const text of [DOCUMENT, MOST]) {
      home.write(home.home, 'notes/identifiers.md', text);
      assert.ok((await play(home)).includes(JSON.stringify(text).slice(1, -1)));
    }
    if (nests) {
      const scanner = [...start('other', 'other'), ...done];
      assert.ok((await play(home, { ...script, main: [...start('scanner', 'scanner'), say('Done.')], scanner })).includes(CANARY));
    }
    home.write(home.home, 'notes/identifiers.md', `${MOST}.`);
    assert.match(await play(home), /not loaded\. too-large: /);
    fs.rmSync(home.mapFile);
    assert.match(await play(home), /not loaded\. map-missing: /);
    // An agent starts even if its hook fails, and has no word of it.
    home.document();
    home.change(file, (settings) => settings.replace(' inject --map ', ' inject --nonsense --map '));
    assert.ok(!/keyhole: |ZQ-/.test(await play(home)));
  });
}
