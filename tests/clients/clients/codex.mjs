// Codex does not start the servers that an agent's file names (codex.test.mjs). Only a
// session can have a server of its own: it gets the servers of its profile. So here
// `scanner` is a session with the profile, and `other` is a session without it. The main
// session's shell starts both, as a user would.

import { adapter, task } from '../harness/adapter.mjs';
import { carried } from '../harness/installed.mjs';
import { responses } from '../harness/dialects/responses.mjs';
import { call } from '../../harness/model.mjs';

const found = carried('@openai/codex', /(^|\/)bin\/codex(\.exe)?$/);
const TOOL = 'mcp__scanner_catalog.load_context';
export const PROFILE = 'identifier-scanner';

/** What Codex puts before a result. */
const HEAD = /^Wall time: [\d.]+ seconds\nOutput:/;

const client = adapter(found, {
  name: 'codex',
  dialect: { ...responses, conversation: bare },
  tool: TOOL,
  spawn: (actor, agent) => call('exec_command', { cmd: start(actor, agent), yield_time_ms: 30_000 }),
  // Codex waits for a while only. Then the model asks again, and the script does not see it.
  aside: ({ waits }) => waits,
  // The limit for a call in a script, as newer models make them, which is the lowest; a
  // plain call shows some more.
  limit: { characters: 40_000 },
  cannot: {
    environment: { seen: 'only variables that env_vars names reach a server', fails: /unknown-key/ },
  },
  // Nothing, with --ephemeral.
  keeps: [],
  /** The model in its configuration: one that it knows nothing about. */
  model: 'scripted',

  configure(home) {
    home.write(home.home, `.codex/${PROFILE}.config.toml`, home.example('codex-profile.toml'));
  },

  // What single cases ask for: `home.profile`, and the shell's `home.sandbox`.
  command(home, model, prompt) {
    home.write(home.home, '.codex/config.toml', provider(this.model, model));
    return { program: found.program, args: exec(home.sandbox ?? 'danger-full-access', ...(home.profile ? ['-p', home.profile] : []), prompt), env: { SCRIPTED_KEY: 'dummy' } };
  },
});

export default client;

const exec = (sandbox, ...more) => ['exec', '--json', '--skip-git-repo-check', '-s', sandbox, ...more];

/** A separate session, which writes its last words and keeps nothing. */
function start(actor, agent) {
  const profile = agent === 'scanner' ? ` -p ${PROFILE}` : '';
  return `'${found.program}' exec --ephemeral --skip-git-repo-check${profile} '${task(actor)}' </dev/null 2>&1`;
}

const provider = (name, { url }) => `model = "${name}"
model_provider = "scripted"

[model_providers.scripted]
name = "scripted"
base_url = "${url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
`;

function bare(asked) {
  const told = responses.conversation(asked);
  joinWaits(told);
  for (const result of told.messages.flatMap(({ results }) => results)) result.text = result.text.replace(HEAD, '');
  return told;
}

/** Makes of a call and those that wait on for it one call, with the last result. */
function joinWaits(told) {
  for (let index = 0; index + 1 < told.messages.length; ) {
    const [called, { results }] = told.messages.slice(index, index + 2);
    const [made, result] = [called.calls[0], results[0]];
    told.waits = made && result && onward(made, result.text);
    if (!told.waits || index + 3 >= told.messages.length) index += 1;
    else {
      const [last] = told.messages[index + 3].results;
      result.text = last.name === 'write_stdin' ? result.text + last.text : last.text;
      told.messages.splice(index + 2, 2);
    }
  }
}

function onward({ name, input }, text) {
  const [, id] = text.match(/Process running with session ID (\d+)\s*(?![^]*Process exited)/) ?? [];
  if (name === 'exec_command' && id) return call('write_stdin', { session_id: Number(id), chars: '', yield_time_ms: 30_000 });
  if (/wait_agent$/.test(name) && /"timed_out":\s*true/.test(text)) return call(name, input);
}
