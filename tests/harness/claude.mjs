// Claude Code, which the Agent SDK starts as well.

import { call, task } from './model.mjs';

/** How it finds the stand-in. */
export const api = ({ url }) => ({ ANTHROPIC_API_KEY: 'dummy', ANTHROPIC_BASE_URL: url });

/** Nothing leaves this machine. On a busy one a server may need longer than the client waits for it. */
export const QUIET = {
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  DISABLE_AUTOUPDATER: '1',
  MCP_CONNECT_TIMEOUT_MS: '120000',
  MCP_TIMEOUT: '120000',
};

/** The call that starts a subagent. */
export const spawn = (actor, subagent_type, more = {}) =>
  call('Agent', {
    description: `start ${actor}`,
    prompt: task(actor),
    ...(subagent_type && { subagent_type }),
    run_in_background: false,
    ...more,
  });
