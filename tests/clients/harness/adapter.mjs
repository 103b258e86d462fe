// What most adapters have in common; see README.md.

import { call, mark, say } from '../../harness/model.mjs';

/** Of the pinned package `found`, and what is this client's own. */
export const adapter = ({ version, missing }, { tool, ...own }) => ({
  version,
  missing,
  tool,
  load: () => call(tool),
  finish: say,
  shown: (text) => text,
  ...own,
});

/** The client's name of an agent: that of the example, or `other`. */
export const named = (agent) => (agent === 'scanner' ? 'identifier-scanner' : agent);

/** The prompt of an agent. */
export const task = (actor) => `${mark(actor)} Do your task.`;

/** The file of the agent `other`; some clients want `more` fields. */
export const other = (more = '') => `---\nname: other\ndescription: Does something else.\n${more}---\n\nDo your task.\n`;
