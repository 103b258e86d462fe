//! `keyhole guard`: decides whether a call may be made. The client asks it before
//! each call.
//!
//! It is the plugin's PreToolUse hook for our tool. On standard input, the client
//! says who is about to call, and with what. The client never tells the server
//! this. So the guard denies a call if no subagent makes it, or if the subagent may
//! not use this key. If the call may be made, the guard writes a ticket for the
//! server.
//!
//! If the hook crashes, times out or is missing, the client lets the call pass. But
//! then there is no ticket, and without a ticket the server returns no file.

mod hook;

use crate::{
    agent::AgentName,
    code::Code,
    map::{Key, LiveMap, Map, MapError},
    ticket::{TicketError, Tickets},
};
use hook::{HookError, Origin};
use serde_json::json;
use std::{
    collections::BTreeSet,
    io::{self, Read, Write},
    sync::Arc,
};

/// The most input that the guard reads, in bytes. The client sends about a
/// kilobyte.
const MAX_INPUT_BYTES: u64 = 1 << 20;

/// Why there is no decision. The process then exits with 2, which denies the call.
/// A model gets the message, so it repeats nothing of the input.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// The question could not be read.
    #[error("the client's question cannot be read: {}", .0.kind())]
    Input(io::Error),
    /// The question has an unknown form.
    #[error("{0}")]
    Hook(#[from] HookError),
    /// The call may be made, but the guard cannot tell the server so.
    #[error("{0}")]
    Ticket(#[from] TicketError),
    /// The answer could not be written.
    #[error("the answer cannot be written: {}", .0.kind())]
    Output(io::Error),
}

/// Answers the client's question on `stdin` as JSON on `stdout`.
///
/// # Errors
/// [`GuardError`]: the call must be denied.
pub fn guard(
    map: &LiveMap,
    tickets: &Tickets,
    stdin: impl Read,
    mut stdout: impl Write,
) -> Result<(), GuardError> {
    let mut input = Vec::new();
    stdin
        .take(MAX_INPUT_BYTES + 1)
        .read_to_end(&mut input)
        .map_err(GuardError::Input)?;
    if input.len() as u64 > MAX_INPUT_BYTES {
        return Err(HookError::NotUnderstood.into());
    }
    let request = hook::read(&input)?;
    let (decision, reason) = match judge(&request.origin, request.key.as_deref(), || map.current())
    {
        Ok(agent) => {
            tickets.leave(&request.id, agent)?;
            ("allow", "keyhole: a subagent's call".to_owned())
        }
        Err(code) => ("deny", code.to_string()),
    };
    let answer = json!({
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": decision,
            "permissionDecisionReason": reason,
        },
    });
    writeln!(stdout, "{answer}")
        .and_then(|()| stdout.flush())
        .map_err(GuardError::Output)
}

/// The agent that may make the call, or the refusal, in the server's own words.
///
/// A key that is bound to other agents gets the same refusal as a missing key, so
/// no caller learns which keys exist. If the map cannot be used, the guard leaves
/// the decision to the server, which reads the map again and refuses. It also does
/// so for a call without a key: that server has its own key, and serves one agent.
fn judge<'a>(
    origin: &'a Origin,
    key: Option<&str>,
    map: impl FnOnce() -> Result<Arc<Map>, MapError>,
) -> Result<&'a AgentName, Code> {
    // This comes before the guard reads the map: a caller that is no subagent
    // learns nothing about the map.
    let Origin::Subagent(agent) = origin else {
        return Err(Code::CallerNotVerified);
    };
    let Some(key) = key else {
        return Ok(agent);
    };
    let Ok(map) = map() else {
        return Ok(agent);
    };
    Key::try_from(key)
        .ok()
        .and_then(|key| map.find_for(&key, Some(agent)))
        .map(|_| agent)
        .ok_or(Code::UnknownKey)
}

/// The agents that the map names, one a line, and `*` if any agent may use some
/// key. The plugin's module shows the tool to no other agents.
///
/// # Errors
/// [`MapError`], except for a missing map: it names nobody.
pub fn agents(map: &LiveMap) -> Result<String, MapError> {
    let map = match map.current() {
        Err(MapError::Missing { .. }) => return Ok(String::new()),
        map => map?,
    };
    let mut names = BTreeSet::new();
    for entry in map.entries() {
        match entry.agents() {
            None => drop(names.insert("*")),
            Some(agents) => names.extend(agents.iter().map(|name| &**name)),
        }
    }
    Ok(names.iter().map(|name| format!("{name}\n")).collect())
}

#[cfg(test)]
mod tests;
