// The first way: only the agent has the server. The client starts it with the
// agent and ends it with the agent, and no prompt holds a key.
//
// For that, the client must load mods and have all that this one needs (2.1.329). Others
// ignore this file, and a policy can switch it off. Then there is the second way, which is
// complete without this file: the server of .mcp.json, for all, behind the guard and its
// tickets. If anything fails here, the second way must still work.
//
// The client's interface may change: tests/client tries everything that we use of it. `$` must
// stay in the function that gets it; the client refuses a mod that passes it on.

import type { Register } from 'claude-code'

const AGENT = 'privacy-scanner'
/** The agent's own server, and its tool. The guard knows the name, too. */
const OWN = 'keyhole_privacy_scanner'
const OWN_TOOL = `mcp__${OWN}__load_context`
/** The server of .mcp.json: its key there, its name in /mcp, its tool. */
const SHARED = 'context'
const SHARED_SERVER = `plugin:keyhole:${SHARED}`
const SHARED_TOOL = `mcp__plugin_keyhole_${SHARED}__load_context`

/** The text in agents/privacy-scanner.md about the call of the shared server, with the key. */
const CALL = /once, with exactly this argument:\n\n```json\n\{ "key": "([!-~]+)" \}\n```\n/

/** Reads the agent's file: its key, and the rest as an agent without a key needs it. */
function read(text: string) {
  const [, head, body] = /^---\n([^]+?)\n---\n([^]+)$/.exec(text) ?? []
  const field = (name: string) => new RegExp(`^${name}: (.+)$`, 'm').exec(head ?? '')?.[1]
  const [description, tools] = [field('description'), field('tools')?.split(', ')]
  const maxTurns = Number(field('maxTurns'))
  const key = CALL.exec(body ?? '')?.[1]
  if (!body || !description || !tools?.includes(SHARED_TOOL) || !key || !maxTurns) {
    throw new Error(`agents/${AGENT}.md is not as this mod expects it`)
  }
  const prompt = body.replace(CALL, 'once, without arguments.\n').replaceAll(SHARED_TOOL, OWN_TOOL).trim()
  const own = tools.map((tool) => (tool === SHARED_TOOL ? OWN_TOOL : tool))
  return { description, prompt, key, tools: own, maxTurns }
}

/** How to run the program, in a folder that stays: that of an agent's worktree may be gone. */
const run = (root: string, data: string | undefined, command: string, question?: object) =>
  [
    ['sh', `${root}/start.sh`, data ?? '', command],
    { cwd: root, timeoutMs: PATIENCE, ...(question && { stdin: JSON.stringify(question) }) },
  ] as const
/**
 * What the program says of an agent: whom the map names (agents, and * for any), whether its
 * reports are withheld, a report without what quotes its file, and why that does not load.
 */
type Answer = { agents?: string[]; withhold?: boolean; report?: string; refused?: string }
/** What the reader gets instead of a report that was not compared. */
const withheld = (why = "The plugin could not compare it with the agent's private file; run /keyhole:check.") =>
  `[withheld] The whole report was withheld. ${why}`

/** What the client itself puts into a conversation, where that may be of an agent. */
const NOTES = { origin: [{ model: '<synthetic>' }, { kind: /^(peer|task-notification)$/ }, { tool: 'Agent' }] } as const
/** How a check-in begins. It says what agents look for, and not which agents these are. */
const CHECK_IN = '<summary>Worker check-in'
const words = (said: unknown): string =>
  Array.isArray(said) ? said.map((block) => block.text ?? words(block.content)).join('\n') : String(said ?? '')
/**
 * A note without the line in which the client names what ended: the main conversation wrote a part of it, and
 * would learn from marks in it which of its words the file has.
 */
const unnamed = (note: string) =>
  note.replace(/<summary>[^]*<\/summary>/, '<summary>An agent with a private file has ended.</summary>')
const saying = ([block]: { type: string }[], text: string) => [
  { type: 'text', ...block, [block?.type === 'tool_result' ? 'content' : 'text']: text },
]

/** How long the mod waits for the program, which waits for a file system that hangs. */
const PATIENCE = 12_000

/** Without the marketplace that the map may name: `acme@market:reviewer` is `acme:reviewer`. */
const plain = (name: string) => name.replace(/^([^:@]*)@[^:]*:/, '$1:')
const names = (map: string[], type: string) => map.some((name) => plain(name) === type)
const lines = (map: string) => map.split('\n').filter((name) => name !== '')
/** Whether the map says that this agent is from another marketplace than `provider`, as in `acme@market`. */
const namesAnother = (map: string[], type: string, provider: string) => {
  const marketed = map.filter((name) => name !== type && plain(name) === type)
  return marketed.length > 0 && !marketed.includes(`${provider}${type.slice(type.indexOf(':'))}`)
}

export const register: Register = (on) => {
  // Until the bundled agent has its own server, it needs the shared one.
  let registered = false
  // Whether the shared server may run. Once it may, that stays so.
  let shared = false
  // Whom the map named when it was last read.
  let known: string[] | undefined
  // Whose file the report of an agent may quote, by the agent's id: its own, if the map withholds
  // that, or the one of the withheld agent that started it. That stays, whatever becomes of the map.
  const held = new Map<string, string>()
  // The same of those that start now, by their types, and by the names that the client says.
  const starting: { type: string; whose: string }[] = []
  const called: [name: string, whose: string][] = []
  const typeOf = (id: string, agents: { id: string; type: string }[]) => agents.find((one) => one.id === id)?.type
  const whose = (id = '', type?: string) => held.get(id) ?? starting.find((one) => one.type === type)?.whose
  const named = (text: string) => [...held, ...called].flatMap(([name, its]) => (text.includes(name) ? its : []))

  on('session.start', async ($, e, next) => {
    try {
      const { description, prompt, key, ...limits } = read(await $.fs.read(`${$.plugin.root}/agents/${AGENT}.md`))
      const { CLAUDE_PLUGIN_DATA: data } = await $.process.hookEnv()
      if (!data) throw new Error('the client did not say where the plugin keeps its data')
      const serve = ['serve', '--bind', AGENT, '--key-env', 'KEYHOLE_KEY']
      const caller = ['--agent', `${$.plugin.name}:${AGENT}`, '--require-ticket']
      const args = [`${$.plugin.root}/start.sh`, data, ...serve, ...caller]
      const env = { KEYHOLE_KEY: key, CLAUDE_PLUGIN_DATA: data }
      await $.agent.register({
        name: AGENT,
        description,
        prompt,
        ...limits,
        // A project's CLAUDE.md must not talk to the agent that has the catalog.
        omitClaudeMd: true,
        mcpServers: [{ [OWN]: { type: 'stdio', command: 'sh', args, env } }],
      })
      registered = true
    } catch (error) {
      $.ui.log(
        `${AGENT} could not be given a server of its own, so it uses the shared one, behind the guard. ` +
          `It works, and nobody else gets your file; update or reinstall the plugin to get rid of this line. (${error})`,
      )
      shared = true
      try {
        await $.mcp.connect(SHARED)
      } catch {
        // The mod tries it again when the agent starts.
      }
    }
    return next(e)
  })

  // The client shows nobody the tool of a server that does not run. So this
  // server does not run unless the map has keys for other agents. If that cannot be found out,
  // it does not run either: an agent that needs it asks again when it starts.
  const hold = (message: string) => ({ value: { isConnected: false, reason: 'disabled', message } }) as const
  on('mcp.connect', { server: SHARED_SERVER }, async ($, e, next) => {
    if (!shared) {
      const { CLAUDE_PLUGIN_DATA: data } = await $.process.hookEnv()
      const map = await $.process.run(...run($.plugin.root, data, 'agents'))
      const named = lines(map.stdout)
      if (map.exitCode === 0) known = named
      // The server reports a map that is wrong, to an agent that asks.
      shared = map.exitCode !== 0 || named.some((name) => plain(name) !== `${$.plugin.name}:${AGENT}`)
    }
    return shared ? next(e) : hold(`the map has a key for ${AGENT} only`)
  }).catch(($, e, next) => (next.called ? next(e) : hold('the map was not read; run /keyhole:check')))

  // An agent's definition may take the name of a plugin's agent, as one of
  // `--agents` can, and so may a plugin of that name from another marketplace. It is
  // not the agent that the map means. And the map may have changed: an agent that it
  // names only now gets the server, too. An agent whose file would not load is not
  // started. Neither is one from a workflow if its report is withheld, since the client
  // asks no hook about that report, or if it needs the shared server, whose tool it would not
  // be shown.
  on('agent.spawn', async ($, e, next) => {
    const type = e.subagentType
    const provider = e.provider.plugin
    const [plugin, agent] = type.split(':')
    const isPlugins = agent !== undefined
    const isOurs = type === `${$.plugin.name}:${AGENT}`
    const { CLAUDE_PLUGIN_DATA: data } = await $.process.hookEnv()
    // The client calls our data folder after our name and marketplace.
    const isImpostor = isOurs
      ? provider.replace(/[^\w-]/g, '-') !== data?.split(/[\\/]/).at(-1)
      : isPlugins && provider.split('@')[0] !== plugin
    const { stdout } = await $.process.run(...run($.plugin.root, data, 'withhold', { agent: type }))
    const answer: Answer = JSON.parse(stdout)
    // One that cannot be read names whom it named when it was last read. Whom it names besides
    // starts, and the server refuses it.
    known = answer.agents ?? known
    const map = known ?? []
    const isNamed = names(map, type)
    const isForAny = map.includes('*')
    if (isImpostor ? isOurs || isNamed : isPlugins && namesAnother(map, type, provider)) {
      return { deny: `${type} is not the agent of that plugin, and the map has a private file for that one only` }
    }
    // A key for any agent may be ours, too.
    if (answer.refused !== undefined && (isNamed || (isOurs && !answer.agents?.includes('*')))) {
      return { deny: `${type} would not get its private file. ${answer.refused}` }
    }
    const needsShared = isOurs ? !registered : isNamed || isForAny
    if (e.workflow && (answer.withhold || (isNamed && needsShared))) {
      return { deny: `${type} has a private file, and a workflow cannot run it. Start it with the Agent tool.` }
    }
    if (needsShared && (isOurs || !shared)) {
      shared = true
      await $.mcp.connect(SHARED).catch((error) => $.ui.log(`the shared server: ${error}`, { to: 'debug' }))
    }
    const parent = e.parentAgentId
    const its = answer.withhold ? type : whose(parent, parent && typeOf(parent, await $.agent.list()))
    if (its === undefined) return next(e)
    const one = { type, whose: its }
    starting.push(one)
    try {
      const started = await next(e)
      if (started.agentId !== undefined) held.set(started.agentId, its)
      if (e.name !== undefined) called.push([`"${e.name}"`, its])
      return started
    } finally {
      starting.splice(starting.indexOf(one), 1)
    }
  }).catch(($, e, next) => {
    // Which agent it may be, the last reading says; without one, any but the client's own.
    const type = e.subagentType
    const isOurs = type === `${$.plugin.name}:${AGENT}`
    const mayBeNamed = isOurs || (known ? names(known, type) : e.provider.tier !== 'core')
    if (next.called || !mayBeNamed) return next(e)
    const why = `the plugin ${$.plugin.name} could not find out whether ${type} has a private file`
    return { deny: `${why}. Run /keyhole:check, which says why; to go on without Keyhole, disable the plugin.` }
  })

  // What quotes the agent's file is taken out of its report before the parent reads it. Of an agent
  // that is not known to be withheld, the map as it is decides: the agent may have started before this
  // mod was loaded, or before the map named it. It is known then, also if `next` fails, or the map.
  on('agent.report', async ($, e, next) => {
    const its = whose(e.agentId, e.subagentType)
    // Also if a withheld agent started it: if that one is stopped, the main conversation gets the report.
    if (e.text === '') return next(e)
    let answer: Answer = {}
    try {
      const { CLAUDE_PLUGIN_DATA: data } = await $.process.hookEnv()
      const asked = { agent: its ?? e.subagentType, report: e.text, folder: await $.session.root() }
      answer = JSON.parse((await $.process.run(...run($.plugin.root, data, 'withhold', asked))).stdout)
    } catch (error) {
      $.ui.log(`a report was not compared: ${error}`, { to: 'debug' })
    }
    if (!answer.withhold && its === undefined) return next(e)
    if (its === undefined) held.set(e.agentId, e.subagentType)
    return next({ ...e, text: answer.report ?? withheld(answer.refused) })
  }).catch(($, e, next) => (whose(e.agentId, e.subagentType) === undefined ? next(e) : { text: withheld() }))

  // The same for what such an agent sends to others while it works.
  on('tool.call', { tool: 'SendMessage' }, async ($, e, next) => {
    if (e.agentId === undefined) return next(e)
    const type = typeOf(e.agentId, await $.agent.list()) ?? ''
    const its = whose(e.agentId, type)
    let answer: Answer = {}
    try {
      const { CLAUDE_PLUGIN_DATA: data } = await $.process.hookEnv()
      const asked = { agent: its ?? type, report: e.message, folder: await $.session.root() }
      answer = JSON.parse((await $.process.run(...run($.plugin.root, data, 'withhold', asked))).stdout)
    } catch (error) {
      $.ui.log(`a message was not compared: ${error}`, { to: 'debug' })
    }
    if (!answer.withhold && its === undefined) return next(e)
    if (its === undefined) held.set(e.agentId, type)
    return next({ ...e, summary: 'A message', message: answer.report ?? withheld(answer.refused) })
  }).catch(($, e, next) => (e.agentId === undefined ? next(e) : { deny: withheld() }))

  // The same for the client's own words: why auto mode flags a report, and an error that ends an agent.
  on('session.append', NOTES, async ($, e, next) => {
    const type = typeOf(e.agentId ?? '', await $.agent.list())
    const said = words(e.message.content)
    const isModels = e.origin.kind === 'model'
    const theirs = isModels ? [whose(e.agentId, type)] : named(said)
    const compared = isModels || theirs.length === 0 ? said : unnamed(said)
    let text = said.includes(CHECK_IN) ? withheld('It may say what an agent looks for.') : compared
    for (const its of new Set(theirs)) {
      const { CLAUDE_PLUGIN_DATA: data } = await $.process.hookEnv()
      const asked = { agent: its ?? type ?? '', report: text, folder: await $.session.root() }
      const answer: Answer = JSON.parse((await $.process.run(...run($.plugin.root, data, 'withhold', asked))).stdout)
      if (answer.withhold || its !== undefined) text = answer.report ?? withheld(answer.refused)
    }
    if (text === said) return next(e)
    return next({ ...e, message: { ...e.message, content: saying(e.message.content, text) } })
  }).catch(($, e, next) => {
    const said = words(e.message.content)
    const isTheirs = e.origin.kind === 'model' ? whose(e.agentId) : said.includes(CHECK_IN) || named(said).length > 0
    return next(isTheirs ? { ...e, message: { ...e.message, content: saying(e.message.content, withheld()) } } : e)
  })

  // The client shows the shared server's tool only to agents that the map names.
  // The mod asks the client for the type: for a teammate, a hook gets only a
  // name, which the main conversation chose.
  on('tool.offer', { tool: SHARED_TOOL }, async ($, e, next) => {
    const caller = (await $.agent.list()).find(({ id }) => id === e.agentId)
    if (!caller || caller.teammateId !== undefined || caller.type === 'fork') return { isOffered: false }
    const { CLAUDE_PLUGIN_DATA: data } = await $.process.hookEnv()
    const { exitCode, stdout } = await $.process.run(...run($.plugin.root, data, 'agents'))
    // The server reports a map that is wrong, to an agent that asks.
    const isOffered = exitCode !== 0 || names(lines(stdout), caller.type) || lines(stdout).includes('*')
    return isOffered ? next(e) : { isOffered }
  }).catch(($, e, next) => (e.agentId === undefined ? { isOffered: false } : next(e)))
}
