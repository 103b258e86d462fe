// Questions about what else reaches the document. Each client answers differently: its
// test says which answer is right.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { plain } from './cases.mjs';
import { CANARY, KEY } from './home.mjs';
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
 * in `folder`/agents. Returns whether it was `taken`, and the answer to its call, or to
 * that of the user's agent.
 */
export async function projectAgent(client, home, folder) {
  home.document();
  client.configure(home);
  const own = `${folder}/agents/identifier-scanner.md`;
  const [head] = fs.readFileSync(path.join(home.home, own), 'utf8').split('\n---\n');
  home.write(home.project, own, `${head}\n---\n\nOf the project.\n`);
  const session = await home.session(plain(client));
  session.assertPlayed();
  session.assertOnlyIn(CANARY, 'scanner');
  return { taken: session.of('scanner')[0].system.includes('Of the project.'), text: session.answer('scanner', client.tool).text };
}
