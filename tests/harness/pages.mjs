// What the documentation and the table of `keyhole setup` tell a user: the real clients are
// started with it.

import fs from 'node:fs';
import path from 'node:path';

const read = (file) => fs.readFileSync(path.resolve(import.meta.dirname, '../..', file), 'utf8');

/** The text of a file in docs/examples. */
export const example = (name) => read(`docs/examples/${name}`);

/** The words behind `keyhole` in the first command of a client's case, for this agent and file. */
export function recorded(client, agent, file) {
  const [, line] = read(`tests/tests/cli/cases/client-${client}.txt`).match(/^\$ keyhole (?!.*--dry-run)(.*)$/m);
  const own = { scanner: agent, '~/private/ids.md': file };
  return line.split(' ').map((word) => own[word] ?? word);
}
