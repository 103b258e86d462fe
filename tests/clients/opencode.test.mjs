import assert from 'node:assert/strict';
import { call, say } from '../harness/model.mjs';
import client from './clients/opencode.mjs';
import { onCase, onClient, plain } from './harness/cases.mjs';
import { CANARY, DOCUMENT } from './harness/home.mjs';

onClient(client);

// This is checked to notice an opencode that asks first: docs/use-from.md warns of it.
// https://github.com/anomalyco/opencode/issues/7136, https://github.com/anomalyco/opencode/issues/6361
onCase(client, "a project's own configuration gives it to the main conversation, unless opencode reads none", async ({ home, seen }) => {
  const allow = { 'scanner-catalog_*': 'allow' };
  const taken = { permission: allow, agent: { build: { permission: allow } } };
  for (const file of ['opencode.json', '.opencode/opencode.json']) home.write(home.project, file, JSON.stringify(taken));
  const script = { main: [client.load(), say('Done.')] };

  const open = await home.play(script);
  assert.equal(open.answer('main', client.tool).text, DOCUMENT, 'opencode does not follow a project any more: say so in docs/use-from.md');
  seen('the main conversation gets the document if the project says so, and nobody is asked');

  home.environment = { OPENCODE_DISABLE_PROJECT_CONFIG: '1' };
  const closed = await home.play(script);
  assert.ok(!closed.tools('main').includes(client.tool), closed.report());
  closed.assertOnlyIn(CANARY);
});

// No setting prevents it, except which agents can be started.
onCase(client, "another agent that is told to continue the first one's task has the document in its conversation", async ({ home, seen }) => {
  const other = client.spawn('other', 'other');
  const session = await home.play({
    main: [
      client.spawn('scanner', 'scanner'),
      ({ messages }) => {
        const [task_id] = messages.at(-1).results.at(-1).text.match(/ses_\w+/);
        return { ...other, input: { ...other.input, task_id } };
      },
      say('Done.'),
    ],
    scanner: [client.load(), say('Nothing was found.')],
    other: [say('Nothing was done.')],
  });
  const [{ text, tools }] = session.of('other');
  assert.ok(text.includes(CANARY), 'opencode starts again for another agent: say so in docs/use-from.md');
  assert.ok(!tools.includes(client.tool), session.report());
  session.assertOnlyIn(CANARY, 'scanner', 'other');
  seen('the other agent is sent all of the first one');
});

// https://github.com/anomalyco/opencode/pull/7239
onCase(client, 'the whole of a document that it cuts lies in a file, which max_bytes in the map prevents', async ({ home, seen }) => {
  home.document(`# ${CANARY}\n`.padEnd(client.limit.characters, 'identifier\n') + '\n');
  const session = await home.play(plain(client));
  const { text } = session.answer('scanner', client.tool);
  assert.match(text, /output was truncated/);
  assert.ok(home.kept(CANARY).some((file) => file.includes('/opencode/tool-output/')));
  seen(text.slice(-400));
});

// `opencode run` has nobody to ask, so it ends.
onCase(client, "the main conversation's reading the document is asked for, its shell's is not", async ({ home, seen }) => {
  const file = home.document();
  const asked = await home.session({ main: [call('read', { filePath: file }), say('Done.')] });
  assert.match(asked.stderr, /permission requested: external_directory .*; auto-rejecting/, asked.report());
  asked.assertOnlyIn(CANARY);

  const shell = await home.play({ main: [call('bash', { command: `cat < '${file}'`, description: 'read' }), say('Done.')] });
  assert.ok(shell.answer('main', 'bash').text.includes(CANARY), `opencode asks by now: say so in docs/use-from.md; ${shell.report()}`);
  seen('its bash tool may read any file, if no permission of yours says otherwise');
});

// A plugin of opencode's is a program in its own process, not a command.
onCase(client, "a plugin is told an agent's name, and can add to its prompt alone", async ({ home }) => {
  home.write(home.home, '.config/opencode/plugins/hook.js', `export const Hook = async () => ({
  'chat.message': async ({ agent }, { parts }) => { if (agent === 'identifier-scanner') parts.at(-1).text += ' ${CANARY}'; },
});`);
  const session = await home.play({
    main: [client.spawn('scanner', 'scanner'), client.spawn('other', 'other'), say('Done.')],
    scanner: [say('Done.')],
    other: [say('Done.')],
  });
  assert.ok(session.of('scanner')[0].text.includes(CANARY), 'it cannot any more: say so in docs/use-from.md');
  session.assertOnlyIn(CANARY, 'scanner');
});
