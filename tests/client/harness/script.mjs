// What a case writes its script with; see tests/clients/README.md.

import { call, mark } from '../../harness/model.mjs';

export { used } from '../../harness/messages.mjs';
export { call, mark, once, say } from '../../harness/model.mjs';

/** The call that starts a subagent. */
export const spawn = (actor, subagent_type, more = {}) =>
  call('Agent', {
    description: `start ${actor}`,
    prompt: `${mark(actor)} Do your task.`,
    ...(subagent_type && { subagent_type }),
    run_in_background: false,
    ...more,
  });

/** Newer clients provide a deferred tool to a conversation on this request. */
export const search = (...tools) => call('ToolSearch', { query: `select:${tools}` });

export const bash = (command) => call('Bash', { command, description: 'look around' });
