import fs from 'node:fs';
import client from './clients/qwen-code.mjs';
import { onCase, plain } from './harness/cases.mjs';
const variant = (args, { settings, text } = {}) => ({ ...client,
  configure(home, o) { client.configure(home, o);
    if (text) { const f = home.home + '/.qwen/agents/identifier-scanner.md'; fs.writeFileSync(f, text(fs.readFileSync(f,'utf8'))); }
    if (settings) home.write(home.home, '.qwen/settings.json', JSON.stringify(settings));
  },
  command(home, model, prompt) { const c = client.command(home, model, prompt); return { ...c, args: [...c.args.filter(a => a !== '--yolo'), ...args] }; } });
const lines = (n) => { let t = '# ZQ-CANARY-7f3d91\n'; for (let i = 1; t.length < n; i++) t += `${String(i).padStart(9,'0')} identifier\n`; return t.slice(0, n - 1) + '\n'; };
const go = (name, v, size) => onCase(v, name, async ({ home }) => {
  home.document(size ? lines(size) : undefined); v.configure(home);
  const s = await home.session(plain(client));
  let a; try { a = s.answer('scanner', client.tool).text } catch (e) { a = String(e.message).slice(0, 200) }
  console.log('=====', name, s.code, 'answer', a.length, size, a.slice(0, 300)); console.log(s.report().split('\n').filter(l => !/identifier$/.test(l)).map(l => l.slice(0,400)).slice(-14).join('\n')); console.log('outside', s.outside);
});
const all = {
 auto: () => go('auto', variant([])),
 default: () => go('default', variant(['--approval-mode', 'default'])),
 allow: () => go('allow', variant(['--approval-mode', 'default'], { settings: { permissions: { allow: ['mcp__scanner-catalog__load_context'] } } })),
 autoallow: () => go('autoallow', variant([], { settings: { permissions: { allow: ['mcp__scanner-catalog__load_context'] } } })),
 trust: () => go('trust', variant(['--approval-mode', 'default'], { text: (t) => t.replace('"args"', '"trust": true, "args"') })),
 notools: () => go('notools', variant(['--yolo'], { text: (t) => t.replace(/^tools:.*\n/m, '') })),

 agentallow: () => go('agentallow', variant(['--approval-mode', 'default'], { settings: { permissions: { allow: ['agent(identifier-scanner)', 'agent(other)', 'mcp__scanner-catalog__load_context'] } } })),
 agentallow2: () => go('agentallow2', variant(['--approval-mode', 'default'], { settings: { permissions: { allow: ['Agent', 'mcp__scanner-catalog__load_context'] } } })),
 onlyagent: () => go('onlyagent', variant(['--approval-mode', 'default'], { settings: { permissions: { allow: ['agent'] } } })),
 autoagent: () => go('autoagent', variant([], { settings: { permissions: { allow: ['agent(identifier-scanner)', 'mcp__scanner-catalog__load_context'] } } })),
 s30: () => go('s30', variant(['--yolo']), 30_000), s31: () => go('s31', variant(['--yolo']), 30_001), s50: () => go('s50', variant(['--yolo']), 50_000), s65: () => go('s65', variant(['--yolo']), 65_000),
 s100: () => go('s100', variant(['--yolo']), 100_000),
 s400: () => go('s400', variant(['--yolo']), 400_000),
 s900: () => go('s900', variant(['--yolo']), 900_000),
};
const todo = 0; for (const w of process.env.EXP.split(',')) all[w]();
