//! `keyhole guard`: may this call be made? Asked by the client before each one.
//!
//! It is the plugin's PreToolUse hook for our tool. The client says on standard
//! input who is about to call with what, which the server is never told. So the
//! guard sends away whoever is no subagent, or not one for this key, and leaves
//! a ticket for the server where the call may be made.
//!
//! The client lets a call pass whose hook crashed, timed out or is missing. No
//! ticket is left then, and without one the server gives nothing.

mod hook;

use crate::{
    Code,
    map::{Key, LiveMap, Map, MapError},
    ticket::{TicketError, Tickets},
};
use hook::{Caller, HookError};
use serde_json::json;
use std::{
    collections::BTreeSet,
    io::{self, Read, Write},
    sync::Arc,
};

/// The most input that is read, in bytes. The client sends about a kilobyte.
const MAX_INPUT_BYTES: u64 = 1 << 20;

/// Why there is no decision. The process then exits with 2, which denies the
/// call; its message goes to a model, so it tells nothing of the input.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// The question could not be read.
    #[error("the client's question cannot be read: {}", .0.kind())]
    Input(io::Error),
    /// The question is not one that is known.
    #[error("{0}")]
    Hook(#[from] HookError),
    /// The call may be made, but the server cannot be told so.
    #[error("{0}")]
    Ticket(#[from] TicketError),
    /// The answer could not be written.
    #[error("the answer cannot be written: {}", .0.kind())]
    Output(io::Error),
}

/// Answers the client's question on `stdin` as JSON on `stdout`.
///
/// # Errors
/// [`GuardError`]: the call is to be denied.
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
    let call = hook::read(&input)?;
    let (decision, reason) = match judge(&call.caller, call.key.as_deref(), || map.current()) {
        Ok(agent) => {
            tickets.leave(&call.id, agent)?;
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
/// A key that is bound to others is refused as one that is not there: so no
/// caller learns which keys exist. A map that cannot be used is for the server
/// to report, who reads it again and gives nothing. So is a call without a key:
/// its server has the key, and serves one agent.
fn judge<'a>(
    caller: &'a Caller,
    key: Option<&str>,
    map: impl FnOnce() -> Result<Arc<Map>, MapError>,
) -> Result<&'a str, Code> {
    // Before the map is looked at: others than subagents learn nothing of it.
    let Caller::Subagent(agent) = caller else {
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
        .map(|_| agent.as_str())
        .ok_or(Code::UnknownKey)
}

/// The agents that the map names, each on a line of its own; `*` if a key may be
/// used by any. The plugin's module shows the tool to no others.
///
/// # Errors
/// [`MapError`], but for a map that is missing: that names nobody.
pub fn agents(map: &LiveMap) -> Result<String, MapError> {
    let map = match map.current() {
        Err(MapError::Missing { .. }) => return Ok(String::new()),
        map => map?,
    };
    let mut names = BTreeSet::new();
    for (_, entry) in map.entries() {
        match entry.agents() {
            None => drop(names.insert("*")),
            Some(agents) => names.extend(agents.iter().map(|name| &**name)),
        }
    }
    Ok(names.iter().map(|name| format!("{name}\n")).collect())
}

#[cfg(test)]
mod tests;
