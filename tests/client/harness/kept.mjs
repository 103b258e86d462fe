// What the client keeps of a session in files, and what the main conversation gets of its own.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { CANARY, DONE, bash, call, read } from './plugin.mjs';

/** The transcripts of subagents that contain the catalog. */
export const transcripts = (home) =>
  home.holding(CANARY, path.join(home.home, '.claude')).filter((name) => name.includes('/subagents/'));

/** Waits until the client has written one. */
export const transcript = (home) => home.until('a transcript', () => transcripts(home).length > 0);

/** Commands of a shell for the two outputs below, and what they then print. */
const SHELL = {
  'behind, by the shell': [({ behind }) => `tail -3 ${behind}`, 'ZQ-BEHIND'],
  'long, by the shell': [({ long }) => `sed -n 50003p ${long}`, '50003'],
};

/**
 * What of its own the main conversation cannot read: the output of a command in the background, a
 * long output, both by the first `shells` commands of SHELL, and its memory. `play(script, ...args)`
 * plays the session.
 */
export async function lacking(home, shells, play) {
  const memory = path.join(home.home, '.claude/projects', home.project.replace(/[^a-zA-Z0-9]/g, '-'), 'memory/MEMORY.md');
  // It ends only after it was read: of one that ends at once, a client on a busy machine may lose the
  // output.
  const stop = path.join(home.project, 'stop');
  fs.rmSync(stop, { force: true });
  home.write(home.project, 'behind', 'echo ZQ-BEHIND\nwhile [ ! -e stop ]; do sleep 0.1; done\n');
  const begin = [bash('sh ./behind', { run_in_background: true }), bash('seq 1 60000')];
  const commands = Object.entries(SHELL).slice(0, shells);
  const look = async ({ messages }) => {
    const said = messages.flatMap(({ results }) => results.map(({ text }) => text)).join('\n');
    const [behind, long] = [/\S+\/tasks\/\w+\.output/, /\S+\/tool-results\/[\w-]+\.\w+/].map((one) => said.match(one)?.[0]);
    assert.ok(behind && long, said.slice(0, 3000));
    await home.until('the output', () => home.holding('ZQ-BEHIND', path.dirname(behind)).includes(behind));
    const part = call('Read', { file_path: long, offset: 50000, limit: 9 });
    return [read(behind), part, ...commands.map(([, [command]]) => bash(command({ behind, long })))];
  };
  const write = () => {
    fs.writeFileSync(stop, '');
    return call('Write', { file_path: memory, content: 'ZQ-MEMORY\n' });
  };
  const session = await play({ parent: [begin, look, write, read(memory), ...DONE] }, '--allowedTools', 'Bash(seq:*),Bash(sh ./behind)');
  assert.deepEqual(session.unscripted, [], session.report());
  fs.rmSync(memory, { force: true });
  const texts = session.answers('parent').slice(begin.length).map(({ text }) => text);
  const tried = [['behind', 'ZQ-BEHIND'], ['long', '50003'], ...commands.map(([name, [, prints]]) => [name, prints]), ['write'], ['memory', 'ZQ-MEMORY']];
  return tried.filter(([, holds], at) => holds && !texts[at].includes(holds)).map(([name]) => name);
}
