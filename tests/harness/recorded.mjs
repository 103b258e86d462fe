// The commands of the table of `keyhole setup`: the real clients are started with what its cases
// write and print.

import fs from 'node:fs';
import path from 'node:path';

const CASES = path.resolve(import.meta.dirname, '../tests/cli/cases');

/** The words behind `keyhole` in the first command of a client's case, for this agent and file. */
export function recorded(client, agent, file) {
  const text = fs.readFileSync(path.join(CASES, `client-${client}.txt`), 'utf8');
  const [, line] = text.match(/^\$ keyhole (.*)$/m);
  const own = { scanner: agent, '~/private/ids.md': file };
  return line.split(' ').map((word) => own[word] ?? word);
}
