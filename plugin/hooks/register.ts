// The first way: only the agent has the server. The client starts it with the
// agent and ends it with the agent, and no prompt holds a key.
//
// For that, the client must load modules. An older client ignores this file, and
// a policy can switch it off. Then there is the second way, which is complete
// without this file: the server of .mcp.json, for all, behind the guard and its
// tickets. If anything fails here, the second way must still work.
//
// The client's interface may change: tests/client tries everything that we use
// of it. `$` must stay in the function that gets it; the client
// refuses a module that passes it on.

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
  const key = CALL.exec(body ?? '')?.[1]
  if (!body || !description || !tools?.includes(SHARED_TOOL) || !key) {
    throw new Error(`agents/${AGENT}.md is not as this module expects it`)
  }
  const prompt = body.replace(CALL, 'once, without arguments.\n').replaceAll(SHARED_TOOL, OWN_TOOL).trim()
  const own = tools.map((tool) => (tool === SHARED_TOOL ? OWN_TOOL : tool))
  return { description, prompt, key, tools: own }
}

/** What runs the program. A package for Windows, where no script runs, has its own line here. */
const program = (root: string, data: string): [string, ...string[]] => ['sh', `${root}/start.sh`, data]
/** The command that says whom the map names: agents, one a line, and * for any. */
const agents = (root: string, data = '') => [...program(root, data), 'agents']
/** The command that says whether an agent's document would load, and takes it out of a report. */
const withhold = (root: string, data = '') => [...program(root, data), 'withhold']
/** What that command says on standard output. */
type Answer = { withhold?: boolean; report?: string; refused?: string }
/** What the parent reads instead of a report that was not compared. */
const withheld = (why = "The plugin could not compare it with the agent's private file; run /keyhole:check.") =>
  `[withheld] The whole report was withheld. ${why}`

/** How long the module waits for the program, which waits for a file system that hangs. */
const PATIENCE = 12_000

/** Without the marketplace that the map may name: `acme@market:reviewer` is `acme:reviewer`. */
const plain = (name: string) => name.replace(/^([^:@]*)@[^:]*:/, '$1:')
const names = (map: string, type: string) => map.split('\n').some((name) => plain(name) === type)
const namesAny = (map: string) => names(map, '*')
const namesOthers = (map: string, own: string) => map.split('\n').some((name) => name !== '' && plain(name) !== own)
/** Whether the map says that this agent is from another marketplace than `provider`, as in `acme@market`. */
const namesAnother = (map: string, type: string, provider: string) => {
  const marketed = map.split('\n').filter((name) => name !== type && plain(name) === type)
  return marketed.length > 0 && !marketed.includes(`${provider}:${type.split(':')[1]}`)
}

export const register: Register = (on) => {
  // Until the bundled agent has its own server, it needs the shared one.
  let registered = false
  // Whether the shared server may run. Once it may, that stays so.
  let shared = false
  // Which agents' reports are withheld, by their ids, whatever becomes of the map; and the types
  // of those that start now.
  const held = new Set<string>()
  const starting: string[] = []
  const isHeld = (e: { agentId: string; subagentType: string }) =>
    held.has(e.agentId) || starting.includes(e.subagentType)

  on('session.start', async ($, e, next) => {
    try {
      const { description, prompt, key, tools } = read(await $.fs.read(`${$.plugin.root}/agents/${AGENT}.md`))
      const { CLAUDE_PLUGIN_DATA: data } = await $.process.hookEnv()
      if (!data) throw new Error('the client did not say where the plugin keeps its data')
      const serve = ['serve', '--bind', AGENT, '--key-env', 'KEYHOLE_KEY']
      const caller = ['--agent', `${$.plugin.name}:${AGENT}`, '--require-ticket']
      const [command, ...first] = program($.plugin.root, data)
      const args = [...first, ...serve, ...caller]
      const env = { KEYHOLE_KEY: key, CLAUDE_PLUGIN_DATA: data }
      await $.agent.register({
        name: AGENT,
        description,
        prompt,
        tools,
        mcpServers: [{ [OWN]: { type: 'stdio', command, args, env } }],
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
        // The module tries it again when the agent starts.
      }
    }
    return next(e)
  })

  // The client shows nobody the tool of a server that does not run. So this
  // server does not run unless the map has keys for other agents.
  on('mcp.connect', { server: SHARED_SERVER }, async ($, e, next) => {
    if (shared) return next(e)
    try {
      const { CLAUDE_PLUGIN_DATA: data } = await $.process.hookEnv()
      const map = await $.process.run(agents($.plugin.root, data))
      shared = map.exitCode !== 0 || namesOthers(map.stdout, `${$.plugin.name}:${AGENT}`)
    } catch (error) {
      $.ui.log(`the agents in the map were not read: ${error}`, { to: 'debug' })
      shared = true
    }
    if (shared) return next(e)
    return { value: { isConnected: false, reason: 'disabled', message: `the map has a key for ${AGENT} only` } }
  })

  // An agent's definition may take the name of a plugin's agent, as one of
  // `--agents` can, and so may a plugin of that name from another marketplace. It is
  // not the agent that the map means. And the map may have changed: an agent that it
  // names only now gets the server, too. An agent whose document would not load is not
  // started.
  on('agent.spawn', async ($, e, next) => {
    const type = e.subagentType
    const provider = e.provider.plugin
    const [plugin, agent] = type.split(':')
    const isPlugins = agent !== undefined
    const deny = `${type} is not the agent of that plugin, and the map has a private file for that one only`
    const isOurs = type === `${$.plugin.name}:${AGENT}`
    const { CLAUDE_PLUGIN_DATA: data = '' } = await $.process.hookEnv()
    // The client calls our data folder after our name and marketplace.
    const isImpostor = isOurs
      ? provider.replace(/[^\w-]/g, '-') !== data.split(/[\\/]/).at(-1)
      : isPlugins && provider.split('@')[0] !== plugin
    if (isOurs && isImpostor) return { deny }
    let isNamed = false
    let isForAny = false
    try {
      const map = await $.process.run(agents($.plugin.root, data))
      isNamed = map.exitCode === 0 && names(map.stdout, type)
      isForAny = map.exitCode === 0 && namesAny(map.stdout)
      if (isNamed && (isImpostor || (isPlugins && namesAnother(map.stdout, type, provider)))) return { deny }
      if (isOurs ? !registered : !shared && (isNamed || isForAny)) {
        shared = true
        await $.mcp.connect(SHARED)
      }
    } catch (error) {
      $.ui.log(`the agents in the map were not read: ${error}`, { to: 'debug' })
    }
    let answer: Answer = { withhold: false }
    // A key for any agent may be ours, too.
    if (isNamed || (isOurs && !isForAny)) {
      answer = {}
      try {
        const question = { stdin: JSON.stringify({ agent: type }), timeoutMs: PATIENCE }
        answer = JSON.parse((await $.process.run(withhold($.plugin.root, data), question)).stdout)
      } catch (error) {
        $.ui.log(`whether the document of ${type} would load was not said: ${error}`, { to: 'debug' })
      }
    }
    if (answer.withhold === undefined || answer.refused !== undefined) {
      return {
        deny: `${type} would not get its private file. ${answer.refused ?? 'Run /keyhole:check, which says why.'}`,
      }
    }
    if (answer.withhold) starting.push(type)
    try {
      const started = await next(e)
      if (answer.withhold && started.agentId !== undefined) held.add(started.agentId)
      return started
    } finally {
      if (answer.withhold) starting.splice(starting.indexOf(type), 1)
    }
  })

  // What quotes the agent's document is taken out of its report before the parent reads it. Of
  // an agent that is not known to be withheld, the map as it is now decides: the agent may have
  // started before this module was loaded, or before the map named it.
  on('agent.report', async ($, e, next) => {
    if (e.text === '') return next(e)
    let answer: Answer = { withhold: isHeld(e) }
    const agent = e.subagentType
    const asking = [{ agent }, { agent, report: e.text }].slice(answer.withhold ? 1 : 0)
    try {
      const { CLAUDE_PLUGIN_DATA: data } = await $.process.hookEnv()
      for (const asked of asking) {
        const question = { stdin: JSON.stringify(asked), timeoutMs: PATIENCE }
        const { stdout } = await $.process.run(withhold($.plugin.root, data), question)
        answer = { ...answer, ...JSON.parse(stdout) }
        if (!answer.withhold) return next(e)
      }
    } catch (error) {
      $.ui.log(`a report was not compared: ${error}`, { to: 'debug' })
    }
    return answer.withhold ? next({ ...e, text: answer.report ?? withheld(answer.refused) }) : next(e)
  }).catch(($, e, next) => (isHeld(e) ? { text: withheld() } : next(e)))

  // The client shows the shared server's tool only to agents that the map names.
  // The module asks the client for the type: for a teammate, a hook gets only a
  // name, which the main conversation chose.
  on('tool.offer', { tool: SHARED_TOOL }, async ($, e, next) => {
    const caller = (await $.agent.list()).find(({ id }) => id === e.agentId)
    if (!caller || caller.teammateId !== undefined || caller.type === 'fork') return { isOffered: false }
    const { CLAUDE_PLUGIN_DATA: data } = await $.process.hookEnv()
    const map = await $.process.run(agents($.plugin.root, data))
    // The server reports a map that is wrong, to an agent that asks.
    const isOffered = map.exitCode !== 0 || names(map.stdout, caller.type) || namesAny(map.stdout)
    return isOffered ? next(e) : { isOffered }
  }).catch(($, e, next) => (e.agentId === undefined ? { isOffered: false } : next(e)))
}
