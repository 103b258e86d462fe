//! `keyhole guard`: decides whether a call may be made. The client asks it before each call.
//!
//! It is a PreToolUse hook for our tool. On standard input, the client says who is about to call,
//! and with what, which it never tells the server. So the guard denies a call if no subagent makes
//! it, or if the subagent may not use this key. Else it writes a ticket for the server.
//!
//! After each call, as a PostToolUse hook, it replaces the result unless our server redeemed
//! the ticket: any server could have its name.
//!
//! A client lets a call pass if the hook crashes (before 2.1.295) or hooks are switched off. But
//! then there is no ticket, and without a ticket the server returns no file.

use crate::streams::{Waiting, put, tell};
use keyhole_claude::hook::{self, HookError, PLUGIN_SERVERS, Server};
use keyhole_core::{
    AgentName, BindingName, Key, LiveMap, Map, MapError, Refusal,
    ticket::{Ticket, Tickets},
};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    env,
    io::{self, IsTerminal as _},
    panic::{AssertUnwindSafe, catch_unwind},
    process,
};

/// What the client sends instead of the key. The server takes the key from the ticket, so
/// another server that has its name gets none.
const KEY_IN_TICKET: &str = "the-key-is-in-the-ticket";

/// What an agent gets instead of an answer that is not ours.
const NOT_OURS: &str = "keyhole: this answer was not from Keyhole's server, so it was taken away. There is no document. Stop, and report that another server may have its name: the user can look for it with /mcp";

/// What one run of the guard is for.
pub struct Guard {
    /// The map, or why it is not known which one is meant.
    pub map: Result<LiveMap, String>,
    /// Where tickets are left, or why that is not known.
    pub tickets: Result<Tickets, String>,
    /// The server that the guard judges calls to. None: the plugin's two.
    pub own: Option<OwnServer>,
    /// Whether the client asks after the call (PostToolUse), about its result. Else it asks before
    /// the call (PreToolUse).
    pub is_after: bool,
}

/// A server that an agent of the user's starts itself: its file has the server and this guard.
pub struct OwnServer {
    /// The binding that the server serves. The server has this name in the client, too.
    pub binding: BindingName,
    /// The one agent that may call the server.
    pub agent: AgentName,
}

/// Runs the guard. Every failure must deny the call, also a panic: only exit code 2 does.
///
/// # Errors
/// Why the call is denied, or the answer cannot be written.
pub fn run(guard: Guard) -> Result<(), HookError> {
    if io::stdin().is_terminal() {
        let why = "a client's hook runs this, before and after a call; you want `keyhole check`";
        return Err(why.into());
    }
    // The panic has printed its message.
    catch_unwind(AssertUnwindSafe(|| answer(guard))).unwrap_or_else(|_| process::exit(2))
}

/// Answers the client's question before a call or after it. The call must be to the agent's own
/// server, or, if the guard has none, to one of the plugin's two.
///
/// # Errors
/// Before a call: if it is not known which map is meant or where tickets are, or what
/// [`answer_before`] says. The client then denies the call. After a call: if the answer cannot be
/// written. Neither a map nor tickets are needed then: without tickets, the result is replaced.
fn answer(guard: Guard) -> Result<(), HookError> {
    let ours = match &guard.own {
        Some(own) => vec![Server {
            name: &own.binding,
            agent: Some(&own.agent),
            // Older clients start such a server, and state no source of it.
            may_lack_source: true,
        }],
        None => PLUGIN_SERVERS.to_vec(),
    };
    if guard.is_after {
        answer_after(&ours, guard.tickets.ok().as_ref())
    } else {
        answer_before(&ours, &guard.map?, &guard.tickets?)
    }
}

/// Allows or denies a call that is about to be made, as [`decide`] says. For an allowed call,
/// leaves a ticket, and replaces the key in the call by a text that tells no key. A call that is
/// denied gets an answer with the reason.
///
/// # Errors
/// If the question is not one that [`hook::read_before`] takes; if a subagent calls, and the client
/// may tell others what agents do ([`may_be_watched`]); or if no ticket can be left. The client
/// then denies the call, without an answer of ours.
fn answer_before(ours: &[Server<'_>], map: &LiveMap, tickets: &Tickets) -> Result<(), HookError> {
    let call = hook::read_before(Waiting(io::stdin()), ours)?;
    if call.agent.is_ok() && may_be_watched() {
        return Err(hook::WATCHED.into());
    }
    let mut output = json!({ "hookEventName": "PreToolUse" });
    match decide(call.agent, call.key.as_deref(), map) {
        Ok(ticket) => {
            tickets.leave(&call.id, &ticket)?;
            if ticket.key.is_some() {
                output["updatedInput"] = json!({ "key": KEY_IN_TICKET });
            }
            output["permissionDecision"] = "allow".into();
            output["permissionDecisionReason"] = "keyhole: a subagent's call".into();
        }
        Err(why) => {
            output["permissionDecision"] = "deny".into();
            output["permissionDecisionReason"] = why.into();
        }
    }
    write_answer(&json!({ "hookSpecificOutput": output }))
}

/// Whether the client may tell others what an agent reads or does: one of the variables in
/// [`hook::TELL_OTHERS`] is set, and is not empty.
pub(crate) fn may_be_watched() -> bool {
    hook::TELL_OTHERS
        .iter()
        .filter_map(env::var_os)
        .any(|set| !set.is_empty())
}

/// Replaces the result of a call by [`NOT_OURS`], also if anything goes wrong. There is no answer,
/// and the result stays, only if the call's ticket was redeemed: then our server has answered.
fn answer_after(ours: &[Server<'_>], tickets: Option<&Tickets>) -> Result<(), HookError> {
    if let Ok(id) = hook::read_after(Waiting(io::stdin()), ours)
        && let Some(tickets) = tickets
        && tickets.was_redeemed(&id)
    {
        return Ok(());
    }
    let output = json!({ "hookEventName": "PostToolUse", "updatedToolOutput": NOT_OURS });
    write_answer(&json!({ "hookSpecificOutput": output }))
}

/// Answers the client on standard output, with one line of JSON.
///
/// # Errors
/// If standard output cannot be written.
pub fn write_answer(answer: &Value) -> Result<(), HookError> {
    let written = put(format!("{answer}\n").as_bytes());
    written.map_err(|error| format!("the answer cannot be written: {}", error.kind()).into())
}

/// The ticket for a call. `caller` is the subagent that calls, or why no subagent does. `asked` is
/// the key in the call, or None if the server is one agent's own, and needs none.
///
/// There is a ticket in three cases: without `asked`; if the map has an entry with this key, for
/// this agent; or if the map cannot be used, and the server is left to refuse the call.
///
/// # Errors
/// If no subagent calls: the code and the reason, which are also told on standard error. If the key
/// is malformed, has no entry, or has an entry for other agents: the same words for all three.
fn decide(
    caller: Result<AgentName, &'static str>,
    asked: Option<&str>,
    live: &LiveMap,
) -> Result<Ticket, String> {
    // First: a caller that is no subagent learns nothing about the map.
    let agent = caller.map_err(|why| {
        let refusal = format!("{}: {why}", Refusal::CallerNotVerified.as_str());
        tell(&refusal);
        refusal
    })?;
    let Some(text) = asked else {
        return Ok(Ticket { agent, key: None });
    };
    // None: the key is malformed.
    let key = Key::try_from(text).ok();
    if let Ok(map) = live.current() {
        let entry = key.as_ref().and_then(|key| map.find(key));
        if !entry.is_some_and(|entry| entry.is_for(Some(&agent))) {
            return Err(Refusal::UnknownKey.to_string());
        }
    }
    Ok(Ticket { agent, key })
}

/// The agents to which the plugin's module shows the tool: a line for each agent that the map
/// names, and the line `*` if any agent may use some key. For example, "*\nnotes\n". Empty if
/// there is no map, or if the map names nobody.
///
/// # Errors
/// If there is a map that cannot be used.
pub fn agents(live: &LiveMap) -> Result<String, MapError> {
    let map = match live.current() {
        Err(MapError::Missing(_)) => return Ok(String::new()),
        map_or_error => map_or_error?,
    };
    let mut lines = String::new();
    for name in agents_named_in(&map) {
        lines += name;
        lines.push('\n');
    }
    Ok(lines)
}

/// The names of all agents that the map's entries name, and `*` if an entry names none, and so is
/// for any agent. Empty if the map has no entries. Bindings do not count.
pub(crate) fn agents_named_in(map: &Map) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    for (_, entry) in map.entries() {
        match &entry.agents {
            None => {
                names.insert("*");
            }
            Some(agents) => names.extend(agents.iter().map(|name| &**name)),
        }
    }
    names
}
