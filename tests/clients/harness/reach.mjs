// Questions about what else reaches the document. Each client answers differently: its
// test says which answer is right.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { plain } from './cases.mjs';
import { CANARY, DOCUMENT, KEY } from './home.mjs';
import { say } from './model.mjs';

/**
 * What the main conversation gets if it reads, by `read(file)`, the document itself and
 * what the client kept of it.
 */
export async function readBack(client, home, read) {
  const file = home.document();
  client.configure(home);
  const [start] = plain(client).main;
  const kept = () => read(path.join(home.root, home.holding(CANARY)[0]));
  const session = await home.session({ ...plain(client), main: [start, read(file), kept, say('Done.')] });
  session.assertPlayed();
  const answers = session.answers('main').map(({ text }) => text);
  return { document: answers[1], kept: answers[2] };
}

/** The answer to the call if the map names the variable `name` with the key, and the client has it. */
export async function keyInEnvironment(client, home, name) {
  home.document();
  client.configure(home);
  const map = path.join(home.configured, 'context-map.toml');
  const text = fs.readFileSync(map, 'utf8');
  fs.writeFileSync(map, text.replace(`\nkey = "${KEY}"`, `\nkey_env = "${name}"`));
  assert.notEqual(fs.readFileSync(map, 'utf8'), text);
  const session = await home.session(plain(client), { env: { [name]: KEY } });
  session.assertPlayed();
  session.assertOnlyIn(KEY);
  return session.answer('scanner', client.tool).text;
}

/**
 * A project has an agent of the same name and with the same server, with another text,
 * in `file`, made of `own`. Returns whether it was `taken`, and the answer to its call, or to
 * that of the user's agent.
 */
export async function projectAgent(client, home, file, own = () => fs.readFileSync(path.join(home.home, file), 'utf8')) {
  home.document();
  client.configure(home);
  const [head] = own().split('\n---\n');
  home.write(home.project, file, `${head}\n---\n\nOf the project.\n`);
  const session = await home.session(plain(client));
  session.assertPlayed();
  session.assertOnlyIn(CANARY, 'scanner');
  return { taken: session.of('scanner').some(({ text }) => text.includes('Of the project.')), text: session.answer('scanner', client.tool).text };
}

export const HANDED_DOWN = 'the agent of the example can start no other; one that may hands its server down';

/** `open(home)` takes the list of tools from the agent; `tool` starts another. */
export async function handedDown(client, home, tool, open, inner = 'general-purpose') {
  home.document();
  client.configure(home);
  const { spawn, load, finish } = client;
  const nested = { main: [spawn('scanner', 'scanner'), say('Done.')], scanner: [spawn('inner', inner), finish('Nothing was found.')] };
  const kept = await home.session(nested);
  kept.assertPlayed();
  const { text } = kept.answer('scanner', tool);
  open(home);
  const session = await home.session({ ...nested, inner: [load(), finish('Nothing was done.')] });
  session.assertPlayed();
  assert.equal(session.answer('inner', client.tool).text, client.shown(DOCUMENT), 'it hands nothing down any more: tell so in docs/use-from.md');
  session.assertOnlyIn(CANARY, 'inner');
  return text;
}

export const RESUMED = 'a session that is resumed holds nothing of the document';

/** `resume(home)` makes the next session go on with the last. */
export async function resumed(client, home, resume) {
  home.document();
  client.configure(home);
  (await home.session(plain(client))).assertPlayed();
  resume(home);
  // The two turns before belong to it.
  const { requests, unscripted } = await home.session({ main: [say('Before.'), say('Before.'), say('Done.')] });
  assert.deepEqual(unscripted, []);
  assert.deepEqual(requests.map(({ actor, turn }) => `${actor} ${turn}`), ['main 2']);
  assert.ok(!requests[0].text.includes(CANARY));
}
