// What most adapters have in common, and what package.json pins here; see README.md.

import path from 'node:path';
import { carriedIn, nodeIn, pinnedIn } from '../../harness/installed.mjs';
import { call, say } from '../../harness/model.mjs';
import { noTerminal } from '../../harness/world.mjs';
import { BINDING } from './home.mjs';

const root = path.resolve(import.meta.dirname, '..');
export const pinned = (name) => pinnedIn(root, name);
export const carried = (name, files) => carriedIn(root, name, files);
export const node = (major) => nodeIn(root, major);

/** Why no client can be set up here, or undefined: `keyhole setup` asks in a terminal. */
const unasked = noTerminal() && 'no python3';

/** Of the pinned package `found`, and what is this client's own. */
export const adapter = ({ version, missing }, { tool, ...own }) => ({
  version,
  missing: missing ?? unasked,
  tool,
  load: () => call(tool),
  finish: say,
  shown: (text) => text,
  ...own,
});

/** The client's name of an agent: `scanner` for the one with the document, or `other`. */
export const named = (agent, scanner = BINDING) => (agent === 'scanner' ? scanner : agent);

/** The file of the agent `other`; some clients want `more` fields. */
export const other = (more = '') => `---\nname: other\ndescription: Does something else.\n${more}---\n\nDo your task.\n`;

/** An agent's file without its list of tools, so that it may start others. */
export const unlisted = (text) => text.replace(/^tools:.*\n/m, '');
