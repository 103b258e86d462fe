// If a hook fails, the client goes on. So the server does not trust the guard
// alone: without the ticket that only an approval by the guard leaves, there is
// no content.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { onEachClient } from './harness/case.mjs';
import { CANARY, CATALOG, KEY, TOOL, load, plain } from './harness/plugin.mjs';
import { say } from './harness/script.mjs';

const ALLOW = JSON.stringify({
  hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'allow' },
});

/** What replaces the guard; null removes the hook. */
const GUARDS = {
  'crashes': { command: 'kill -SEGV $$' },
  'exits 1': { command: 'exit 1' },
  'times out': { command: 'exec sleep 60', timeout: 5 },
  'is not there': { command: '/nonexistent/guard' },
  'answers rubbish': { command: 'echo "{"' },
  'allows all': { command: `echo '${ALLOW}'` },
  'is taken out': null,
};

onEachClient('4: no content where the guard is broken, slow, replaced or gone', { plugin: 'guarded' }, async ({ home, client, seen }) => {
  const script = plain(client, { scanner: [load(KEY), say('Done.')] });
  const file = path.join(home.installed('keyhole').root, 'hooks/hooks.json');
  const shipped = fs.readFileSync(file, 'utf8');

  for (const [how, guard] of Object.entries(GUARDS)) {
    const config = JSON.parse(shipped);
    const ran = path.join(home.root, `ran: ${how}`);
    const command = guard && `touch '${ran}'; ${guard.command}`;
    if (guard) config.hooks.PreToolUse[0].hooks = [{ type: 'command', ...guard, command }];
    else delete config.hooks.PreToolUse;
    fs.writeFileSync(file, JSON.stringify(config));

    const session = await home.play(script, ['--allowedTools', TOOL]);
    assert.equal(fs.existsSync(ran), guard !== null, `the guard ${how}: the client ran the one put there`);
    const answer = session.answer('scanner', TOOL);
    // The server's own words: the call reached the server, and it refused.
    assert.match(answer.text, /caller-not-verified/, `the guard ${how}`);
    assert.equal(answer.error, true, `the guard ${how}`);
    session.assertOnlyIn(CANARY);
    seen(`where the guard ${how}, the call goes on to the server`);
  }

  fs.writeFileSync(file, shipped);
  const session = await home.play(script, ['--allowedTools', TOOL]);
  assert.equal(session.answer('scanner', TOOL).text, CATALOG, 'and with the guard it works');
});
