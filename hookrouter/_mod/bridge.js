// __HEADER__
// Generated: change hookrouter/_mod/bridge.js or the generator beside it, not the installed copy.
//
// Passes hook events to hookrouter's router over its Unix socket, without a process for each. Claude Code scans the
// source before it loads it: event names are literals, and calls are spelled $.noun.method.
const SETUP = __SETUP__

const LATE = 2000 // milliseconds after which a gate that owes an answer hangs
const FIRST_WAIT = 1 // seconds that the gate holds a new call before it says that the call waits; below LATE
const SLICE = 20 // seconds that it holds a waiting call; the client ends a request at 30
const PAUSE = 30000 // milliseconds for which a gate that hung is not asked
const PROBE = 1000 // milliseconds between looks whether it is well again
const AGAIN = 100 // milliseconds after which the end of a call is told once more
const QUIET = 2000 // milliseconds that a turn which is about to end has for it, before a prompt is given back
const TYPES = 1200 // milliseconds within which a half-typed text changes while somebody types
const LONGEST_REST = 5000 // milliseconds between two tries to ask a gate that is not there for prompts
const KEPT = 500 // tool calls that are remembered, for those whose end is not seen

// ---- pure: what is sent, and what an answer means -------------------------------------------------------------------

// Whether a route takes a call; value is what matchers look at in it, undefined for nothing.
function takes(route, value) {
  if (route.names === null || value === undefined) return true
  return route.names.includes(value) || (typeof route.part === "string" && value.includes(route.part))
}

// The merged settings' hooks without the entries that the routes name, and the numbers of the routes that had one.
// Nobody else's entry is touched, nor one of hookrouter's that refuses a call if it fails.
function withoutOurs(routes, hooks) {
  const kept = {}
  const taken = new Set()
  for (const [event, groups] of Object.entries(hooks)) {
    if (!Array.isArray(groups)) {
      kept[event] = groups
      continue
    }
    const left = []
    for (const group of groups) {
      if (!Array.isArray(group?.hooks)) {
        left.push(group)
        continue
      }
      const handlers = group.hooks.filter((handler) => {
        const number = routes.findIndex((route) => isEntry(route, event, group, handler))
        if (number >= 0) taken.add(number)
        return number < 0
      })
      if (handlers.length === group.hooks.length) left.push(group)
      else if (handlers.length) left.push({ ...group, hooks: handlers })
    }
    if (left.length) kept[event] = left
  }
  return { hooks: kept, taken }
}

function isEntry(route, event, group, handler) {
  return (
    route.event === event &&
    (route.matcher ?? "") === (group.matcher ?? "") &&
    handler?.type === "command" &&
    handler.command === route.command &&
    handler.args === undefined &&
    handler.onFailure !== "block"
  )
}

// The base fields of a payload that PreToolUse lacks.
function baseOf(payload) {
  const base = {}
  for (const name of ["transcript_path", "prompt_id", "permission_mode", "effort", "agent_type", "scratchpad_dir"]) {
    if (payload[name] !== undefined) base[name] = payload[name]
  }
  return base
}

// The payload that a command hook of PreToolUse gets, of the tool envelope that a module gets.
function toolPayload(e, session) {
  const { tool, tool_use_id, agentId, requestMeta, consent, ...tool_input } = e
  const agent = session.agent === undefined ? {} : { agent_id: session.agent }
  const here = { session_id: session.id, cwd: session.cwd, hook_event_name: "PreToolUse" }
  return { transcript_path: "", ...session.base, ...here, ...agent, tool_name: tool, tool_input, tool_use_id }
}

// The result that a module returns for what a command hook said, and what the person is shown beside it.
function translated(event, ended) {
  const fields = SETUP.fields[event]
  const said = []
  if (ended.exit_code === 2) {
    const reason = ended.stderr.trim() || "blocked by hookrouter"
    if (event === "PreToolUse") return { result: { deny: reason }, said }
    return { result: fields.includes("block") ? { block: reason } : {}, said }
  }
  if (ended.exit_code !== 0) {
    return { result: {}, said: [`${event}: exit code ${ended.exit_code}: ${ended.stderr.trim()}`] }
  }
  const out = parsed(ended.stdout)
  if (typeof out.systemMessage === "string" && !SETUP.silent.includes(event)) said.push(`${event} says: ${out.systemMessage}`)
  const own = out.hookSpecificOutput ?? {}
  const result = event === "PreToolUse" ? toolResult(out, own) : eventResult(fields, out, own)
  return { result, said }
}

function parsed(stdout) {
  try {
    const out = JSON.parse(stdout)
    return out !== null && typeof out === "object" ? out : {}
  } catch {
    return {}
  }
}

function toolResult(out, own) {
  const result = {}
  const why = own.permissionDecisionReason
  // A module cannot end the turn here, nor leave a call to the program that runs the client.
  if (out.continue === false) result.deny = out.stopReason || "hookrouter ends the turn"
  else if (out.decision === "block") result.deny = out.reason || "blocked by hookrouter"
  else if (own.permissionDecision === "deny") result.deny = why || "blocked by hookrouter"
  else if (own.permissionDecision === "defer") result.ask = why || "hookrouter leaves this call to you"
  else if (own.permissionDecision === "ask") result.ask = why || "hookrouter asks"
  else if (own.permissionDecision === "allow") result.allow = true
  if (own.updatedInput !== undefined) result.updatedInput = own.updatedInput
  if (own.additionalContext) result.additionalContext = [own.additionalContext]
  return result
}

function eventResult(fields, out, own) {
  const result = {}
  if (fields.includes("preventContinuation") && out.continue === false) {
    result.preventContinuation = true
    if (out.stopReason) result.stopReason = out.stopReason
  }
  if (fields.includes("block") && out.decision === "block") result.block = out.reason || "blocked by hookrouter"
  for (const [name, value] of Object.entries(own)) {
    if (!fields.includes(name) || value === undefined || value === null) continue
    // These are switches: true, or absent.
    if (name === "retry" || name === "suppressOriginalPrompt") {
      if (value === true) result[name] = true
    } else result[name] = name === "additionalContext" ? [value] : value
  }
  if (result.decision?.behavior === "deny" && result.decision.interrupt !== true) {
    const { interrupt, ...decision } = result.decision
    result.decision = decision
  }
  return result
}

// Our answer and that of the hooks beneath: the stricter decision stands, contexts are joined.
function merged(mine, theirs) {
  const result = { ...theirs, ...mine }
  const said = [theirs, mine]
  const deny = said.map((one) => one.deny).filter((text) => text !== undefined)
  const ask = said.map((one) => one.ask).filter((text) => text !== undefined)
  if (deny.length) {
    result.deny = deny.join("\n")
    delete result.ask
    delete result.allow
  } else if (ask.length) {
    result.ask = ask.join("\n")
    delete result.allow
  }
  const block = said.map((one) => one.block).filter((text) => text !== undefined)
  if (block.length) result.block = block.join("\n")
  if (theirs.decision && theirs.decision.behavior === "deny") result.decision = theirs.decision
  const rank = ["allow", "ask", "deny"]
  if (mine.permissionDecision && theirs.permissionDecision) {
    const graver = rank.indexOf(theirs.permissionDecision) > rank.indexOf(mine.permissionDecision) ? theirs : mine
    result.permissionDecision = graver.permissionDecision
    result.permissionDecisionReason = graver.permissionDecisionReason
    if (result.permissionDecisionReason === undefined) delete result.permissionDecisionReason
  }
  const context = [...(theirs.additionalContext ?? []), ...(mine.additionalContext ?? [])]
  if (context.length) result.additionalContext = context
  return result
}

// ---- the gate -------------------------------------------------------------------------------------------------------

class Late extends Error {}
class Stopped extends Error {}

let pausedUntil = 0 // no call goes to the gate before; it hung
let isProbing = false
let lasting // requests that do not end with the hook in which they are made: those of the session's start

const after = (ms) => new Promise((go) => setTimeout(go, ms))
const debug = ($, text) => $.ui.log(text, { to: "debug" })

async function send($, method, path, body, ms) {
  const init = { method, socketPath: SETUP.socket }
  if (body !== undefined) {
    init.headers = { "content-type": "application/json" }
    init.body = JSON.stringify(body)
  }
  const sent = $.http.fetch(`http://hookrouter${path}`, init)
  sent.catch(() => {}) // also when it fails after it was given up
  const late = after(ms).then(() => {
    throw new Late(`no answer within ${ms} ms`)
  })
  late.catch(() => {})
  const response = await Promise.race([sent, late])
  if (!response.ok) throw new Error(`status ${response.status}`)
  return JSON.parse(response.text || "{}")
}

// Requests of a hook end with it, so what is to outlast it is asked for by the session's start. While the hook is about
// to end, that request is aborted with it now and then: so it is made again.
function giveUp(call) {
  const end = async () => {
    for (let attempt = 0; attempt < 3; attempt++) {
      try {
        return await lasting.end(call.id)
      } catch (fault) {
        lasting.tell(`${call.event}: its end could not be told: ${fault.message}`)
        await after(AGAIN)
      }
    }
  }
  if (lasting !== undefined) setTimeout(end, 0)
}

// No call goes to a gate that hung, until it answers again or the pause is over.
function pause() {
  pausedUntil = Date.now() + PAUSE
  if (isProbing || lasting === undefined) return
  isProbing = true
  const probe = async () => {
    while (Date.now() < pausedUntil) {
      await after(PROBE)
      try {
        await lasting.health()
        pausedUntil = 0
        lasting.tell("the router is back")
      } catch {}
    }
    isProbing = false
  }
  setTimeout(probe, 0)
}

// Sends once more what got no answer in time: a gate that was only slow, or a client that was, is no reason to have a
// call handled twice.
async function insist($, path, body, again, ms, stopped) {
  const post = (what, limit) => {
    const sent = send($, "POST", path, what, limit)
    sent.catch(() => {})
    return Promise.race([sent, stopped])
  }
  try {
    return await post(body, ms)
  } catch (fault) {
    if (!(fault instanceof Late)) throw fault
    return await post(again, LATE)
  }
}

// What the router says of a call. Throws if the gate is gone, hangs or refuses, and Stopped once it is not wanted.
async function throughGate($, call, stopped, onWait) {
  // A gate that hung and comes back must not begin a call that was given up and handled otherwise. So when it is asked
  // again it either has the call, or will never begin it.
  const asked = { ...call, wait: FIRST_WAIT, before: Date.now() + LATE }
  let answer = await insist($, "/v1/calls", asked, { ...asked, wait: 0 }, LATE, stopped)
  while (answer.state === "waiting") {
    onWait()
    const path = `/v1/calls/${call.id}`
    answer = await insist($, path, { wait: SLICE }, { wait: 0 }, SLICE * 1000 + LATE, stopped)
  }
  pausedUntil = 0
  if (answer.state !== "done") throw new Error(`not served: ${answer.reason}`)
  return answer
}

// `hookrouter run EVENT` as Claude Code would start it. The client kills it when the call is given up.
async function cold($, call, stopped, onWait) {
  const env = { ...call.environ, ...SETUP.environ }
  const request = { argv: [...SETUP.run, call.event], cwd: call.cwd, env, input: JSON.stringify(call.payload) }
  const stream = $.process.spawn(request)
  const told = { exit_code: 1, stdout: "", stderr: "" }
  const waiting = setTimeout(onWait, LATE)
  try {
    for (;;) {
      const piece = await Promise.race([stream.next(), stopped])
      if (piece.done) {
        told.exit_code = piece.value.code ?? 1
        return told
      }
      told[piece.value.stream] += piece.value.text
    }
  } finally {
    clearTimeout(waiting)
    // Leaving the stream ends the program.
    Promise.resolve(stream.return()).catch(() => {})
  }
}

// What hookrouter says of a call: by the router, else by a process of its own. The router gets a second chance if it
// had taken the call: a restarted one knows it, or takes it again.
async function brought($, call, stopped, tell) {
  let hadIt = false
  let isRepeated = false
  const waits = () => {
    hadIt = true
    tell.waits()
  }
  while (hadIt || Date.now() >= pausedUntil) {
    try {
      return await throughGate($, call, stopped, waits)
    } catch (fault) {
      if (fault instanceof Stopped) throw fault
      debug($, `${call.event}: the router: ${fault.message}`)
      if (fault instanceof Late) pause()
      if (fault instanceof Late && hadIt && tell.isOpen()) {
        // The router's process goes on waiting beside the dialog, and the answer will come to it: a second one that
        // waits could not be told from it. The person can answer meanwhile.
        await Promise.race([after(PROBE), stopped])
        continue
      }
      if (!hadIt || isRepeated || fault instanceof Late) break
      isRepeated = true
    }
  }
  return await cold($, call, stopped, tell.waits)
}

// ---- the session ----------------------------------------------------------------------------------------------------

let canFilter = false // whether the client lets the mod take entries out of the merged settings
let taken = new Set() // numbers of the routes whose entries are out of the merged settings
let environ // { session, variables } of a command hook
const agents = new Map() // tool_use_id -> agent_id, of tool calls of subagents
const bases = new Map() // agent_id, "" for the main agent -> base fields of its last payload
const opened = new Map() // tool_use_id -> { tool, input } of tool calls that have begun

function remember(map, key, value) {
  map.delete(key)
  map.set(key, value)
  if (map.size > KEPT) map.delete(map.keys().next().value)
}

// The variables of a command hook: those of a process that the client starts, asked for once a session.
async function variables($, session) {
  if (environ?.session !== session) {
    const told = await $.process.run(SETUP.variables, { timeoutMs: 10000 })
    let own = { CLAUDE_CODE_SESSION_ID: session, CLAUDE_PROJECT_DIR: await $.session.cwd() }
    try {
      const { CLAUDE_PLUGIN_ROOT, CLAUDE_PLUGIN_DATA, ...named } = await $.process.hookEnv()
      own = { ...own, ...named }
    } catch {} // not there before 2.1.330
    environ = { session, variables: { ...JSON.parse(told.stdout), ...own, ...SETUP.environ } }
  }
  return environ.variables
}

function note(payload) {
  const agent = payload.agent_id ?? ""
  remember(bases, agent, { ...bases.get(agent), ...baseOf(payload) })
}

async function payloadOf($, event, e) {
  if (event !== "PreToolUse") {
    note(e)
    return e
  }
  const agent = agents.get(e.tool_use_id)
  let base = { ...bases.get(""), ...(agent === undefined ? {} : bases.get(agent)) }
  if (base.transcript_path === undefined) {
    try {
      const info = await $.session.info()
      base = { ...base, transcript_path: info.transcriptPath, ...(info.promptId ? { prompt_id: info.promptId } : {}) }
    } catch {} // not there before 2.1.330
  }
  return toolPayload(e, { id: await $.session.id(), cwd: await $.session.cwd(), base, agent })
}

// A permission request does not say which tool call it is about.
function toolUseOf(payload) {
  const input = JSON.stringify(payload.tool_input)
  const same = [...opened].filter(([, one]) => one.tool === payload.tool_name)
  const exact = same.filter(([, one]) => one.input === input && !one.isAsked)
  const found = exact[0] ?? (same.length === 1 ? same[0] : undefined)
  if (found === undefined) return undefined
  found[1].isAsked = true
  return found[0]
}

function showUnder($, tool_use_id, text) {
  if (tool_use_id === undefined) return
  try {
    $.ui.notice(tool_use_id, text)
  } catch (fault) {
    debug($, `no notice: ${fault.message}`)
  }
}

// The line under an open dialog while somebody else is asked, and whether the dialog is still open.
function telling($, event, payload) {
  if (event !== "PermissionRequest") return { waits: () => {}, ends: () => {}, isOpen: () => false }
  const tool_use_id = toolUseOf(payload)
  const isKnown = tool_use_id !== undefined
  let isTold = false
  return {
    waits: () => {
      if (isTold) return
      isTold = true
      showUnder($, tool_use_id, "an agent has been asked; you can answer here at any time")
    },
    ends: (decision) => {
      if (!isTold) return
      showUnder($, tool_use_id, decision ? "the agent has answered" : undefined)
      if (decision) $.ui.log(`the agent has answered (${payload.tool_name})`)
    },
    isOpen: () => isKnown && opened.has(tool_use_id),
  }
}

function stopping(signal) {
  let stop
  const stopped = new Promise((_, refuse) => {
    stop = () => refuse(new Stopped("given up"))
  })
  stopped.catch(() => {})
  if (signal.aborted) stop()
  signal.addEventListener("abort", stop)
  return { stopped, stop }
}

async function callOf($, event, payload) {
  const session = payload.session_id
  const id = crypto.randomUUID()
  return { id, event: SETUP.words[event], cwd: payload.cwd, environ: await variables($, session), payload }
}

// Forgets tool calls that have ended.
function over(event, e) {
  if (event === "PostToolUse" || event === "PostToolUseFailure") {
    opened.delete(e.tool_use_id)
    agents.delete(e.tool_use_id)
  }
  // Not every call whose dialog a person refuses has an event of its own.
  if (event === "UserPromptSubmit") opened.clear()
}

async function handle($, event, e, next) {
  over(event, e)
  if (event === "PreToolUse") remember(opened, e.tool_use_id, { tool: e.tool, input: inputOf(e), isAsked: false })
  const value = event === "PreToolUse" ? e.tool : e[SETUP.matched[event]]
  const number = SETUP.routes.findIndex((route) => route.event === event && takes(route, value))
  const isOurs = number >= 0 && (canFilter ? taken.has(number) : event !== "PreToolUse")
  if (!isOurs) {
    if (event !== "PreToolUse") note(e)
    return next(e)
  }
  let call
  try {
    call = await callOf($, event, await payloadOf($, event, e))
  } catch (fault) {
    debug($, `${event}: ${fault.message}`)
    if (!canFilter) return next(e)
    const payload = await payloadOf($, event, e)
    call = { id: crypto.randomUUID(), event: SETUP.words[event], cwd: payload.cwd, environ: {}, payload }
  }
  return canFilter ? beside($, event, e, next, call) : before($, event, e, next, call)
}

function inputOf(e) {
  return JSON.stringify(toolPayload(e, { base: {} }).tool_input)
}

// The entry is out of the settings: hookrouter is asked while the hooks beneath run, as command hooks do. They get the
// mark all the same, for an entry that was started before the settings without it held.
async function beside($, event, e, next, call) {
  const { stopped, stop } = stopping(next.signal)
  const tell = telling($, event, call.payload)
  const beneath = Promise.resolve(next(event === "PreToolUse" ? e : { ...e, hookrouter_handled: call.id })).catch((fault) => {
    debug($, `${event}: the hooks beneath: ${fault.message}`)
    return {}
  })
  if (event === "PermissionRequest") beneath.then((theirs) => theirs.decision && stop())
  const mine = await settled($, event, call, stopped, tell)
  if (event === "PermissionRequest" && mine.decision) return mine
  return merged(mine, (await beneath) ?? {})
}

// The entry stands: the hooks beneath run once hookrouter has the call, and the mark tells its entry to leave.
async function before($, event, e, next, call) {
  const { stopped } = stopping(next.signal)
  const tell = telling($, event, call.payload)
  if (Date.now() < pausedUntil) return next(e)
  let beneath
  const marked = () => {
    beneath ??= Promise.resolve(next({ ...e, hookrouter_handled: call.id }))
    beneath.catch(() => {})
    tell.waits()
  }
  let told
  try {
    told = await throughGate($, call, stopped, marked)
  } catch (fault) {
    debug($, `${event}: the router: ${fault.message}`)
    if (fault instanceof Late) pause()
    if (beneath === undefined) return next(e)
    const mine = await settled($, event, call, stopped, tell)
    return merged(mine, (await beneath) ?? {})
  }
  const mine = concluded($, event, call, told, tell)
  if (event === "PermissionRequest" && mine.decision) return mine
  return merged(mine, (await (beneath ?? next({ ...e, hookrouter_handled: call.id }))) ?? {})
}

// Our part of the answer; {} once the call is given up, or if hookrouter could not be asked at all.
async function settled($, event, call, stopped, tell) {
  try {
    return concluded($, event, call, await brought($, call, stopped, tell), tell)
  } catch (fault) {
    tell.ends(false)
    if (fault instanceof Stopped) giveUp(call)
    else $.ui.log(`${event} could not be handled: ${fault.message}`)
    return {}
  }
}

function concluded($, event, call, told, tell) {
  const { result, said } = translated(event, told)
  tell.ends(result.decision)
  for (const line of said) $.ui.log(line)
  if (event === "PreToolUse" && result.updatedInput !== undefined) {
    const { tool_name, tool_use_id } = call.payload
    remember(opened, tool_use_id, { tool: tool_name, input: JSON.stringify(result.updatedInput), isAsked: false })
  }
  return result
}

// ---- prompts --------------------------------------------------------------------------------------------------------
// What waits in a session's queue is handed over through the gate, one at a time. An id is acted on once, whatever is
// asked again, and INSTANCE tells those who hand something over whether this is still the mod that has done so.

const INSTANCE = crypto.randomUUID()
const acts = new Map() // id of what was handed over -> a promise of what became of it
const turns = new Set() // ids of the main agent's turns that run
let askedFor // the session for which prompts were asked for last
let quiet = () => {} // called when none runs any more

const AWAY = /not available in this mode/ // a rejection while the client shows no session, but its view of agents
const REFUSED = /would run a command as the user|takes \{ text \}|no command named|session was stopped|input is held/ // nothing done
const DROPPED = /before it ran/ // it was thrown away, as Escape makes the client do

async function isTyping($) {
  try {
    const first = await $.prompt.read()
    if (!first.text) return false
    await after(TYPES)
    const last = await $.prompt.read()
    return last.text !== first.text || last.cursor !== first.cursor
  } catch {
    return false // the client draws no box
  }
}

// Whether no turn runs, within QUIET: hooks tell of a turn's end a moment before it is over.
async function isQuiet() {
  if (!turns.size) return true
  const over = new Promise((done) => {
    quiet = done
  })
  await Promise.race([over, after(QUIET)])
  return !turns.size
}

async function commandRefusal($, name) {
  const known = (await $.command.list()).find((one) => one.name === name)
  if (SETUP.commands.includes(name)) return ""
  if (known === undefined) return `this session has no command /${name}`
  return known.source === "builtin" ? `/${name} may open a panel, which nobody would close` : ""
}

async function act($, handed) {
  try {
    const why = handed.kind === "command" ? await commandRefusal($, handed.text) : ""
    if (why) return { outcome: "refused", reason: why }
    if (await isTyping($)) return { outcome: "typing", reason: "a person types at the session's terminal" }
    if (!(await isQuiet())) return { outcome: "busy", reason: "Claude works" }
  } catch (fault) {
    return rejected(fault, "refused")
  }
  try {
    if (handed.kind === "command") {
      await $.command.run({ command: handed.text, args: handed.arguments })
      return { outcome: "submitted", reason: "" }
    }
    const sent = await $.prompt.submit({ text: handed.text, asUser: true })
    if (sent.drop !== undefined) return rejected({ message: `the client dropped it: ${sent.drop}` }, "dropped")
    return { outcome: "submitted", reason: "" }
  } catch (fault) {
    return rejected(fault, "unknown")
  }
}

// What a rejection means. After Escape the client takes nothing from mods until somebody else submits something.
function rejected(fault, outcome) {
  if (REFUSED.test(fault.message)) return { outcome: "refused", reason: fault.message }
  if (DROPPED.test(fault.message)) return { outcome: "dropped", reason: fault.message }
  if (AWAY.test(fault.message)) return { outcome: "busy", reason: "the client shows no session at the moment" }
  return { outcome, reason: fault.message }
}

// Acts on what was handed over, unless it has been, and tells what became of it. Whoever waits asks again until told.
async function carry($, handed) {
  if (!acts.has(handed.id)) remember(acts, handed.id, act($, handed))
  const outcome = await acts.get(handed.id)
  try {
    await send($, "POST", `/v1/mods/${INSTANCE}/ended`, { id: handed.id, ...outcome }, LATE)
  } catch (fault) {
    debug($, `what became of a prompt could not be told: ${fault.message}`)
  }
}

// After /clear the client shows another session, while a request still waits for prompts of the one before.
function announce($, session) {
  if (askedFor === undefined || session === askedFor) return
  askedFor = session
  send($, "POST", `/v1/mods/${INSTANCE}`, { session_id: session, has: [...acts.keys()], wait: 0 }, LATE).catch(() => {})
}

async function takePrompts($) {
  let rest = PROBE
  const carried = new Set() // ids that are being carried now
  for (;;) {
    try {
      askedFor = await $.session.id()
      const asked = { session_id: askedFor, has: [...carried], wait: SLICE }
      const answer = await send($, "POST", `/v1/mods/${INSTANCE}`, asked, SLICE * 1000 + LATE)
      rest = PROBE
      if (answer.state !== "prompt") continue
      carried.add(answer.id)
      carry($, answer).finally(() => carried.delete(answer.id))
    } catch {
      await after(rest)
      rest = Math.min(rest * 2, LONGEST_REST)
    }
  }
}

export const register = (on) => {
  on("settings.read", async ($, e, next) => {
    const read = await next(e)
    canFilter = true
    if (e.source || !read?.value?.hooks) return read
    const left = withoutOurs(SETUP.routes, read.value.hooks)
    taken = left.taken
    return { ...read, value: { ...read.value, hooks: left.hooks } }
  })
  on("session.start", async ($, e, next) => {
    const started = await next(e)
    lasting = {
      end: (id) => send($, "DELETE", `/v1/calls/${id}`, undefined, LATE),
      health: () => send($, "GET", "/health", undefined, LATE),
      tell: (text) => debug($, text),
    }
    // Before the first call needs them.
    $.session.id().then((session) => variables($, session)).catch(() => {})
    if (SETUP.takesPrompts) setTimeout(() => takePrompts($), 0)
    return started
  })
  on("classic.SessionStart", ($, e, next) => {
    announce($, e.session_id)
    return next(e)
  })
  on("turn.start", ($, e, next) => {
    if (e.agentId === undefined) turns.add(e.turnId)
    return next(e)
  })
  on("turn.complete", ($, e, next) => {
    turns.delete(e.turnId)
    if (!turns.size) quiet()
    return next(e)
  })
  on("tool.call", ($, e, next) => {
    if (e.agentId) remember(agents, e.tool_use_id, e.agentId)
    return next(e)
  })
__REGISTRATIONS__
}
