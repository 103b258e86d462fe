// Questions about what else reaches the document. Each client answers differently: its
// test says which answer is right.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { say } from '../../harness/model.mjs';
import { atOnce, plain } from './cases.mjs';
import { CANARY, DOCUMENT, KEY } from './home.mjs';

/**
 * What the main conversation gets if it reads, by `read(file)`, the document itself and
 * what the client kept of it.
 */
export async function readBack(client, home, read) {
  const [start] = plain(client).main;
  const kept = () => read(path.join(home.root, home.kept(CANARY)[0]));
  const session = await home.play({ ...plain(client), main: [start, read(home.document()), kept, say('Done.')] });
  const answers = session.answers('main').map(({ text }) => text);
  return { document: answers[1], kept: answers[2] };
}

/** The answer to the call if the map names the variable `name` with the key, and the client has it. */
export async function keyInEnvironment(client, home, name) {
  home.change(home.mapFile, (map) => map.replace(`\nkey = "${KEY}"`, `\nkey_env = "${name}"`));
  const session = await home.play(plain(client), { env: { [name]: KEY } });
  session.assertOnlyIn(KEY);
  return session.answer('scanner', client.tool).text;
}

/**
 * A project has an agent of the same name and with the same server, with another text,
 * in `file`, made of `own`. Returns whether it was `taken`, and the answer to its call, or to
 * that of the user's agent.
 */
export async function projectAgent(client, home, file, own = () => fs.readFileSync(path.join(home.home, file), 'utf8')) {
  const [head] = own().split('\n---\n');
  home.write(home.project, file, `${head}\n---\n\nOf the project.\n`);
  const session = await home.play(plain(client));
  session.assertOnlyIn(CANARY, 'scanner');
  return { taken: session.of('scanner').some(({ text }) => text.includes('Of the project.')), text: session.answer('scanner', client.tool).text };
}

export const HANDED_DOWN = 'the agent of the example can start no other; one that may hands its server down';

/** `open(home)` takes the list of tools from the agent; `tool` starts another. */
export async function handedDown(client, home, tool, open, inner = 'general-purpose') {
  const { spawn, load, finish } = client;
  const nested = { main: [spawn('scanner', 'scanner'), say('Done.')], scanner: [spawn('inner', inner), finish('Nothing was found.')] };
  const kept = await home.play(nested);
  const { text } = kept.answer('scanner', tool);
  open(home);
  const session = await home.play({ ...nested, inner: [load(), finish('Nothing was done.')] });
  assert.equal(session.answer('inner', client.tool).text, client.shown(DOCUMENT), 'it hands nothing down any more: tell so in docs/use-from.md');
  session.assertOnlyIn(CANARY, 'inner');
  return text;
}

export const RESUMED = 'a session that is resumed holds nothing of the document';

/** `resume(home)` makes the next session go on with the last. */
export async function resumed(client, home, resume) {
  await home.play(plain(client));
  resume(home);
  // The two turns before belong to it.
  const { requests, unscripted } = await home.session({ main: [say('Before.'), say('Before.'), say('Done.')] });
  assert.deepEqual(unscripted, []);
  assert.deepEqual(requests.map(({ actor, turn }) => `${actor} ${turn}`), ['main 2']);
  assert.ok(!requests[0].text.includes(CANARY));
}

export const LISTED = 'an agent that lists the tool, the server or all of them has none of it';

/** By the tool's name and by `more`, in the file of `other`; it has the tools that `has` matches. */
export async function listed(client, home, file, more, has) {
  home.change(file, (text) => text.replace('\n---\n\n', `\ntools: ${JSON.stringify([...more, client.tool])}\n---\n\n`));
  const session = await atOnce(client, home);
  const tools = session.tools('other');
  assert.ok(tools.some((name) => has.test(name)), `it has others: ${tools}`);
  assert.ok(!tools.includes(client.tool), session.report());
  session.assertOnlyIn(CANARY, 'scanner');
}
