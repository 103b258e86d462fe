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

use crate::streams::{Waiting, put};
use keyhole_claude::hook::{self, HookError, PLUGINS, Server};
use keyhole_core::{
    AgentName, BindingName, Key, LiveMap, Map, MapError, Refusal,
    ticket::{Ticket, Tickets},
};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
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
    /// The server that an agent of the user's starts itself, and the agent. None: the plugin's
    /// servers.
    pub own: Option<(BindingName, AgentName)>,
    /// Whether the call is over, and its result is judged.
    pub is_after: bool,
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
    let answer = || {
        let ours = match &guard.own {
            // That of the user's own agent. The client calls it as the binding, and did so
            // before it stated sources.
            Some((bind, agent)) => vec![(&**bind, Some(&**agent), true)],
            None => PLUGINS.to_vec(),
        };
        if guard.is_after {
            guard_after(&ours, guard.tickets.ok().as_ref())
        } else {
            guard_before(&ours, &guard.map?, &guard.tickets?)
        }
    };
    // The panic has printed its message.
    catch_unwind(AssertUnwindSafe(answer)).unwrap_or_else(|_| process::exit(2))
}

fn guard_before(ours: &[Server<'_>], map: &LiveMap, tickets: &Tickets) -> Result<(), HookError> {
    let (id, agent, key) = hook::read(Waiting(io::stdin()), ours)?;
    let mut output = json!({ "hookEventName": "PreToolUse" });
    let (decision, reason) = match decide(agent, key.as_deref(), map) {
        Ok(ticket) => {
            tickets.leave(&id, &ticket)?;
            if ticket.key.is_some() {
                output["updatedInput"] = json!({ "key": KEY_IN_TICKET });
            }
            ("allow", "keyhole: a subagent's call".to_owned())
        }
        Err(code) => ("deny", code.to_string()),
    };
    output["permissionDecision"] = decision.into();
    output["permissionDecisionReason"] = reason.into();
    write_answer(&json!({ "hookSpecificOutput": output }))
}

/// What the client says of a call that is over.
fn asked_after<'o>(ours: &[Server<'o>]) -> Result<(hook::Input, Server<'o>), HookError> {
    hook::input(Waiting(io::stdin()), ours, "PostToolUse")
}

/// Answers the client on standard output.
///
/// # Errors
/// If it cannot be written.
pub(crate) fn write_answer(answer: &Value) -> Result<(), HookError> {
    let written = put(format!("{answer}\n").as_bytes());
    written.map_err(|error| format!("the answer cannot be written: {}", error.kind()).into())
}

/// Replaces the result of a call unless our server has answered it; also if anything goes wrong.
fn guard_after(ours: &[Server<'_>], tickets: Option<&Tickets>) -> Result<(), HookError> {
    if let (Ok((input, _)), Some(tickets)) = (asked_after(ours), tickets)
        && tickets.was_redeemed(&input.tool_use_id)
    {
        return Ok(());
    }
    let output = json!({ "hookEventName": "PostToolUse", "updatedToolOutput": NOT_OURS });
    write_answer(&json!({ "hookSpecificOutput": output }))
}

/// The ticket for the call, or the refusal: the same for a key of other agents and for a missing
/// one. If the map cannot be used, or the server has its own key, the server decides.
fn decide(agent: Option<AgentName>, key: Option<&str>, map: &LiveMap) -> Result<Ticket, Refusal> {
    // First: a caller that is no subagent learns nothing about the map.
    let agent = agent.ok_or(Refusal::CallerNotVerified)?;
    let parsed = key.and_then(|key| Key::try_from(key).ok());
    if key.is_some()
        && let Ok(map) = map.current()
        && let entry = parsed.as_ref().and_then(|key| map.find(key))
        && !entry.is_some_and(|entry| entry.is_for(Some(&agent)))
    {
        return Err(Refusal::UnknownKey);
    }
    Ok(Ticket { agent, key: parsed })
}

/// The names, one a line. The plugin's module shows the tool to no others. A missing map names
/// nobody.
pub fn agents(map: &LiveMap) -> Result<String, MapError> {
    let line = |name: &str| format!("{name}\n");
    match map.current() {
        Err(MapError::Missing(_)) => Ok(String::new()),
        map => Ok(names(&*map?).into_iter().map(line).collect()),
    }
}

/// The agents that the map names, and `*` if any agent may use some key.
pub fn names(map: &Map) -> BTreeSet<&str> {
    let entries = map.entries().into_iter();
    let names = entries.flat_map(|(_, entry)| match &entry.agents {
        None => vec!["*"],
        Some(agents) => agents.iter().map(|name| &**name).collect(),
    });
    names.collect()
}
