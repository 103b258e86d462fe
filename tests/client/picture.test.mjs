// The picture in README: what the real client reports of two sessions, drawn. In one, an agent scans;
// in the other, a commit is refused. `./x client` compares it, and with KEYHOLE_BLESS draws it again.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { onEachClient } from './harness/case.mjs';
import { SCANNER, bash, call, catalog, mark, say, spawn } from './harness/plugin.mjs';

const PICTURE = path.resolve(import.meta.dirname, '../../docs/session.svg');
const ADDRESS = '12 Example Street';
const ASKED = 'Scan deploy/ with the privacy scanner.';
const REPORT = 'deploy/contact.md:3:10  high  Home address\n\n1 finding\nscanned: 1 file, 0 commits';
const TOLD = 'Not yet: deploy/contact.md has a home address in line 3. Remove it before you commit.';
const COMMIT = 'Commit deploy/.';
const REFUSED = 'I did not commit. Please run the commit in a terminal, and look at what Keyhole shows there.';
/** So many characters fit into a line. */
const WIDE = 96;

/** What the client says of a session, in lines of a style each. Of the agent, only what it did. */
function lines(asked, events) {
  const all = [['asked', `$ claude -p "${asked}"`]];
  for (const { message, parent_tool_use_id: agent } of events) {
    for (const part of message?.content ?? []) {
      if (agent && part.type === 'tool_use') all.push(['agent', `    ${part.name.split('__').at(-1)}`]);
      if (agent) continue;
      if (part.type === 'tool_use') all.push(['main', `${part.name}: ${part.input.subagent_type ?? part.input.command}`]);
      if (part.type === 'tool_result') all.push(...reported(part.content).map((line) => ['report', `    ${line}`]));
      if (part.type === 'text') all.push(['main', part.text]);
    }
  }
  return all;
}

/** The lines of an agent's report, without the client's own words around it; or of any other answer. */
function reported(content) {
  if (typeof content === 'string') return content.match(new RegExp(`.{1,${WIDE - 4}}(?: |$)`, 'gm')).map((line) => line.trimEnd());
  const [, report] = content.map(({ text }) => text).join('\n').split('The report follows:\n');
  return report.split('\nagentId:')[0].split('\n').map((line) => line.trim()).filter(Boolean);
}

const STYLES = { asked: '#7bd88f', main: '#fff', agent: '#8ab4f8', report: '#ffd479' };

function picture(drawn) {
  const [width, height] = [760, (drawn.length + 1) * 18 + 16];
  const styles = Object.entries(STYLES).map(([name, colour]) => `.${name}{fill:${colour}}`);
  const escape = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  const rows = drawn.map(([style, text], at) =>
    `<text x="16" y="${(at + 1) * 18 + 8}" xml:space="preserve" class="${style}">${escape(text)}</text>\n`);
  return `<!-- Made by \`KEYHOLE_BLESS=1 ./x client\` from what the client reports. -->
<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="a session in which the privacy scanner reports a finding, and one in which a commit is refused">
<style>text{font:12px ui-monospace,Menlo,Consolas,monospace;white-space:pre}${styles.join('')}</style>
<rect width="${width}" height="${height}" rx="8" fill="#1e2429"/>
${rows.join('')}</svg>
`;
}

onEachClient('picture: the picture of a session is one, and only the agent knows the catalog', { map: false, modules: true }, async ({ home, way }) => {
  catalog(home, { text: `# Home address (high)\n${ADDRESS}\n`, publish_only_in: [] });
  home.write(home.project, 'deploy/contact.md', `# Contact\n\nParcels: ${ADDRESS}\n`);
  const search = call('Grep', { pattern: ADDRESS, path: 'deploy', output_mode: 'content', '-n': true });
  const session = await home.play({
    parent: [spawn('scanner', SCANNER, { prompt: `${mark('scanner')} Scan deploy/.` }), say(TOLD)],
    scanner: [way.load, search, say(REPORT)],
  }, [], {}, `${mark('parent')} ${ASKED}`);
  session.assertOnlyIn(ADDRESS, 'scanner');
  spawnSync('git', ['init', '--quiet'], { cwd: home.project, env: home.env() });
  const command = 'git add deploy && git commit -m "Add a contact"';
  home.set({ permissions: { allow: ['Bash(git *)'] } });
  const second = await home.play({ parent: [bash(command), say(REFUSED)] }, [], {}, `${mark('parent')} ${COMMIT}`);
  second.assertOnlyIn(ADDRESS);

  const drawn = picture([...lines(ASKED, session.events), ['main', ''], ...lines(COMMIT, second.events)]);
  assert.ok(!drawn.includes(ADDRESS));
  if (process.env.KEYHOLE_BLESS) fs.writeFileSync(PICTURE, drawn);
  assert.equal(drawn, fs.readFileSync(PICTURE, 'utf8'), 'out of date: KEYHOLE_BLESS=1 ./x client, and look at it');
});
