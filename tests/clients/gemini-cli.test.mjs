import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { call, say } from '../harness/model.mjs';
import { noTerminal } from '../harness/world.mjs';
import client from './clients/gemini-cli.mjs';
import { onCase, onClient, plain } from './harness/cases.mjs';
import { CANARY, DOCUMENT } from './harness/home.mjs';
import { TEXT, hookOf } from './harness/hooked.mjs';
import { LISTED, keyInEnvironment, listed, projectAgent, readBack } from './harness/reach.mjs';

onClient(client);

const AGENT = '.gemini/agents/identifier-scanner.md';
const POLICY = '.gemini/policies/keyhole.toml';

onCase(client, "the field's name in the client's documentation has the agent refused, not its server shared", async ({ home, seen }) => {
  home.change(AGENT, (text) => text.replace('mcp_servers:', 'mcpServers:'));
  const session = await home.play({ main: plain(client).main });
  assert.match(session.stderr, /Unrecognized key\(s\) in object: 'mcpServers'/);
  session.assertOnlyIn(client.tool);
  seen(`it reads mcp_servers, and documents mcpServers (google-gemini/gemini-cli#26015): ${session.answer('main', 'invoke_agent').text}`);
});

onCase(client, 'without the policy no agent is offered the tool where nobody can be asked', async ({ home, seen }) => {
  fs.rmSync(path.join(home.home, POLICY));
  const session = await home.play(plain(client));
  assert.ok(!session.tools('scanner').includes(client.tool), session.report());
  session.assertOnlyIn(CANARY);
  seen('the default without a user is to deny, and what is denied is not offered');
});

onCase(client, LISTED, ({ home }) =>
  listed(client, home, '.gemini/agents/other.md', ['*', 'mcp_*', 'mcp_scanner-catalog_*'], /run_shell_command|read_file/));

const yolo = {
  ...client,
  command(...all) {
    const { args, ...more } = client.command(...all);
    return { ...more, args: [...args, '--yolo'] };
  },
};

onCase(yolo, 'where every call is approved, the main conversation still has nothing', async ({ home }) => {
  const [start] = plain(client).main;
  const session = await home.play({ ...plain(client), main: [start, client.load(), say('Done.')] });
  assert.equal(session.answer('scanner', client.tool).text, client.shown(DOCUMENT));
  session.assertOnlyIn(CANARY, 'scanner');
});

/**
 * The client's own leak, seen in 0.61.0: it keeps the agent's server among all servers,
 * and connects all of them again for the main conversation.
 */
for (const [what, policy] of [
  ['the policy refuses the main conversation what /mcp reload gives it', true],
  ['without the policy, /mcp reload gives the main conversation the tool', false],
]) {
  onCase(client, what, async ({ t, home, seen }) => {
    if (noTerminal()) return t.skip(noTerminal());
    // Without the denial, but such that nobody has to be asked.
    if (!policy) home.change(POLICY, () => '[[rule]]\nmcpName = "scanner-catalog"\ntoolName = "load_context"\ndecision = "allow"\npriority = 100\n');
    const session = await home.terminal({ ...plain(client), later: [client.load(), say('Later.')] }, async ({ type, has, screen }) => {
      await home.until('the end of the first turn', () => has('main', 1) && screen().includes('Done.'));
      await type('/mcp reload', () => screen().includes('Configured MCP servers'));
      await type('[[actor:later]] Go on.', () => has('later', 1));
    });
    assert.deepEqual(session.unscripted, [], session.report());
    assert.ok(session.tools('later').includes(client.tool), 'the client does no more: say so, and drop the policy');
    const { text } = session.answer('later', client.tool);
    seen(`after /mcp reload the main conversation is offered the agent's tool; its call: ${text.slice(0, 60)}`);
    if (policy) {
      assert.match(text, /denied by policy/);
      session.assertOnlyIn(CANARY, 'scanner');
    } else {
      assert.equal(text, client.shown(DOCUMENT));
    }
  });
}

const READ = (file) => call('read_file', { file_path: file });

onCase(client, "the policy denies the main conversation what the client keeps of the agent's", async ({ home, seen }) => {
  const { document, kept } = await readBack(client, home, READ);
  for (const text of [document, kept]) assert.ok(!text.includes(CANARY), text);
  seen(`its read_file, of the document: ${document.slice(0, 40)}; of what is kept: ${kept}`);

  const [start] = plain(client).main;
  const places = ['.gemini/tmp/project', '.gemini/tmp/project/chats', '.gemini/policies/../tmp/project', '.gemini', '.'];
  const looks = places.map((place) => call('grep_search', { pattern: CANARY, dir_path: path.join(home.home, '/') + place }));
  const session = await home.play({ ...plain(client), main: [start, ...looks, say('Done.')] });
  session.assertOnlyIn(`- ${CANARY}`, 'scanner');
});

onCase(client, 'without the policy the main conversation reads it without asking', async ({ home }) => {
  home.change(POLICY, (text) => text.slice(0, text.indexOf('# What the client keeps')));
  const { document, kept } = await readBack(client, home, READ);
  assert.ok(!document.includes(CANARY), document);
  assert.ok(kept.includes(CANARY), 'the client asks by now: that rule is not needed');
});

onCase(client, 'a key in a variable that is named like one does not reach the server', async ({ home }) => {
  assert.match(await keyInEnvironment(client, home, 'SCANNER_CATALOG_KEY'), /unknown-key/);
});

onCase(client, "a project's agent of the same name does not take the place of the user's, where nobody can be asked", async ({ home }) => {
  const { taken, text } = await projectAgent(client, home, AGENT);
  assert.equal(taken, false);
  assert.equal(text, client.shown(DOCUMENT));
});

onCase(client, 'it has no hook for the start of an agent', async ({ home }) => {
  const session = await hookOf(client, home, '.gemini/settings.json');
  assert.match(session.stderr, /Invalid hook event name: "SubagentStart"/, 'it has one by now: try it, and say so in docs/use-from.md');
  session.assertOnlyIn(TEXT);
});
