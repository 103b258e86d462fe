//! `keyhole inject`: hands a subagent its document when the client starts it.
//!
//! It is a SubagentStart hook. On standard input, the client says which agent starts, and
//! it puts the hook's answer into that agent's context alone. There is no key and no call:
//! the one entry of the map that names the agent is its document. The hook cannot stop the
//! agent. So if there is no document, the answer tells the agent to stop, and the agent's
//! own text must say what to do if there is no answer at all.

use crate::{
    guard::{GuardError, Object, Origin, is_subagents, origin, read_input},
    resources::{make_threads, runtime},
    restrict::restrict,
    say,
    serve::{ServeError, lacks},
};
use keyhole_core::{
    AgentName, Caller, LiveMap, Loader, Refusal, Target, limits::Limits, sandbox::Sandbox,
};
use keyhole_walk::printable::is_blank;
use serde::Deserialize;
use serde_json::json;
use std::{
    io::{self, Read, Write},
    sync::Arc,
};
use tokio::runtime::Runtime;

/// The longest document that an agent gets whole: in UTF-16 code units in Claude Code, and
/// in bytes elsewhere. Claude Code keeps a longer one in a file that others may read, and
/// shows the agent its beginning; Codex cuts it. Copilot would take more.
const MAX_DOCUMENT: usize = 10_000;

/// The one event that has an answer.
const EVENT: &str = "SubagentStart";

/// Why there is no answer. No message repeats anything of the input.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InjectError {
    /// The input could not be read, or is too long.
    #[error("what the client tells the hook cannot be read; the agent gets nothing")]
    Input(#[from] GuardError),
    /// The input is not that of a hook.
    #[error("this is not what a client tells a hook; the agent gets nothing")]
    NotUnderstood,
    /// The answer could not be written.
    #[error("the answer cannot be written: {}", .0.kind())]
    Output(io::Error),
}

/// The fields that count. There are others, and new client versions add more.
#[derive(Deserialize)]
struct Input {
    hook_event_name: Option<String>,
    agent_id: Option<String>,
    agent_type: Option<String>,
    /// Copilot tells this, and not the event.
    parent_agent_id: Option<String>,
}

/// Answers the client's input on `stdin` as JSON on `stdout`. Without a map, or if it cannot
/// do what a server does at its start, it loads nothing, and the agent reads a refusal.
///
/// # Errors
/// [`InjectError`]: the agent gets nothing.
pub(crate) fn inject(
    map: Result<LiveMap, String>,
    stdin: impl Read,
    mut stdout: impl Write,
) -> Result<(), InjectError> {
    let limits = Limits::default();
    let mut started = start(map, limits);
    let answer = answer(&read_input(stdin)?, |agent| {
        let (map, sandbox, runtime) = std::mem::replace(&mut started, Err(Refusal::Internal))?;
        let loader = Loader::new(map, sandbox, limits);
        let loaded = runtime.block_on(loader.load(Target::OfCaller, Caller::Agent(agent)));
        // A read that hangs in the kernel must not keep the process alive.
        runtime.shutdown_background();
        Ok(loaded?.text)
    });
    match answer? {
        Some(answer) => writeln!(stdout, "{answer}").and_then(|()| stdout.flush()),
        None => Ok(()),
    }
    .map_err(InjectError::Output)
}

/// What loads a document behind the wall.
pub(crate) type Started = (Arc<LiveMap>, Sandbox, Runtime);

/// Does what a server does at its start. If it cannot, it says why, and returns the code.
pub(crate) fn start(map: Result<LiveMap, String>, limits: Limits) -> Result<Started, Refusal> {
    map.map_err(|why| (Refusal::MapMissing, why))
        .and_then(|map| match begin(map, limits) {
            Ok(started) => Ok(started),
            Err(why @ ServeError::OutOfResources(_)) => {
                Err((Refusal::OutOfResources, why.to_string()))
            }
            Err(why) => Err((Refusal::Internal, why.to_string())),
        })
        .map_err(|(code, why)| {
            say(&why);
            code
        })
}

/// In the order of `serve`: load, restrict, and only then read what somebody else wrote.
fn begin(map: LiveMap, limits: Limits) -> Result<Started, ServeError> {
    let sandbox = Sandbox::embedded(limits)?;
    let runtime = runtime(limits.running)?;
    let live = Arc::new(map);
    let (status, map) = restrict(&live, None)?;
    // Of a map that cannot be used the agent reads.
    if let (Ok(_), Some(lacks)) = (&map, lacks(status, &live, &map)) {
        say(&lacks);
    }
    make_threads(&runtime, true)?;
    Ok((live, sandbox, runtime))
}

/// The answer to the input, with the document that `load` has for an agent. None if the
/// input is about another event.
fn answer(
    input: &[u8],
    load: impl FnOnce(AgentName) -> Result<String, Refusal>,
) -> Result<Option<String>, InjectError> {
    let Object(input): Object<Input> =
        serde_json::from_slice(input).map_err(|_| InjectError::NotUnderstood)?;
    let is_copilot = match (&input.hook_event_name, &input.parent_agent_id) {
        (Some(event), _) if event == EVENT => false,
        (Some(_), _) => return Ok(None),
        (None, Some(_)) => true,
        (None, None) => return Err(InjectError::NotUnderstood),
    };
    let is_uuid = input.agent_id.as_deref().is_some_and(is_uuid);
    let is_agent = |id: &str| is_uuid || !is_copilot && is_subagents(id);
    let document = match origin(input.agent_id, input.agent_type, is_agent) {
        Ok(Origin::Subagent(agent)) => load(agent),
        Ok(Origin::Other) | Err(_) => Err(Refusal::CallerNotVerified),
    };
    let document = document.and_then(|text| {
        let size = match is_uuid {
            true => text.len(),
            false => text.encode_utf16().count(),
        };
        (size <= MAX_DOCUMENT)
            .then_some(text)
            .ok_or(Refusal::TooLarge)
    });
    let text = document
        .map_err(why)
        .and_then(|text| match is_blank(&text) {
            true => Err("Its file is empty. Ask the user to write it.".to_owned()),
            false => Ok(text),
        });
    let text = text.unwrap_or_else(refusal);
    let answer = match is_copilot {
        true => json!({ "additionalContext": text }),
        false => json!({
            "hookSpecificOutput": { "hookEventName": EVENT, "additionalContext": text },
        }),
    };
    Ok(Some(answer.to_string()))
}

/// Whether the id has the form that Codex and Copilot give to agents: a UUID. No teammate of
/// Claude Code has such an id, whatever its name.
fn is_uuid(id: &str) -> bool {
    let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b'-');
    id.split('-').map(str::len).eq([8, 4, 4, 4, 12]) && id.bytes().all(is_digit)
}

fn why(code: Refusal) -> String {
    let more = match code {
        Refusal::UnknownKey => {
            " Exactly one entry of the map must name this agent in its agents, without a marketplace."
        }
        Refusal::TooLarge => {
            " A hook hands over 10,000 characters at most (Codex, Copilot: bytes)."
        }
        _ => "",
    };
    format!("{code}{more}")
}

/// What the agent reads in place of its document.
fn refusal(why: String) -> String {
    format!(
        "keyhole: the document of this agent was not loaded. {why}\n\
         Do not go on without the document: stop, and report this. You cannot retry; the agent has to be restarted."
    )
}
