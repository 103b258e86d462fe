//! `keyhole inject`: hands a subagent its document when the client starts it.
//!
//! It is a SubagentStart hook. On standard input, the client says which agent starts, and it puts
//! the hook's answer into that agent's context alone. There is no key and no call: the one entry
//! of the map that names the agent is its document. The hook cannot stop the agent: without a
//! document, the answer tells it to stop.

use crate::{
    guard::write_answer,
    resources::Runtime,
    start::{lacks, start},
    streams::{Waiting, say},
};
use keyhole_claude::hook::{HookError, NOT_UNDERSTOOD, is_subagents, read_input, subagent};
use keyhole_core::{
    AgentName, Caller, LiveMap, Load, Loader, Refusal, Target, limits::Limits, sandbox::Sandbox,
};
use keyhole_walk::printable::is_blank;
use serde::Deserialize;
use serde_json::json;
use std::{io, sync::Arc};

/// The longest document that an agent gets whole: in UTF-16 code units in Claude Code, which keeps
/// a longer one in a file that others may read; in bytes in Codex, which cuts it, and Copilot.
pub const MAX_DOCUMENT: usize = 10_000;

const EVENT: &str = "SubagentStart";

/// The fields that count. There are others, and new client versions add more.
#[derive(Deserialize)]
struct Input {
    hook_event_name: Option<String>,
    agent_id: Option<String>,
    agent_type: Option<String>,
    /// Copilot tells this, and not the event.
    parent_agent_id: Option<String>,
}

/// What loads documents behind the wall, in a process that serves no session.
pub(crate) struct Loading {
    pub(crate) map: Arc<LiveMap>,
    loader: Loader<LiveMap, Sandbox>,
    runtime: Runtime,
}

impl Loading {
    /// The document that `target` stands for, if `agent` may have it.
    pub(crate) fn load(&self, target: Target, agent: &AgentName) -> Result<String, Refusal> {
        let loading = self.loader.load(target, Caller::Agent(agent.clone()));
        Ok(self.runtime.block_on(loading)?.text)
    }
}

/// Starts as a server does. If it cannot, it says why, and returns the code.
pub(crate) fn begin(map: Result<LiveMap, String>) -> Result<Loading, Refusal> {
    let map = map.inspect_err(|why| say(why));
    let map = Arc::new(map.map_err(|_| Refusal::MapMissing)?);
    let started = start(&map, None, || Ok(((), 1)));
    let started = started.inspect_err(|why| say(&why.to_string()));
    let ((read, status, sandbox, runtime), ()) = started.map_err(|why| why.0)?;
    // Of a map that cannot be used the agent reads.
    if let (Ok(_), Some(lacks)) = (&read, lacks(status, &map, &read)) {
        say(&lacks);
    }
    Ok(Loading {
        loader: Loader::new(Arc::clone(&map), sandbox, Limits::default()),
        map,
        runtime,
    })
}

/// Answers the client's input. Without a map, or if it cannot start as a server does, the agent
/// reads a refusal. On an error, the agent gets nothing; neither is there an answer to another event.
pub fn inject(map: Result<LiveMap, String>) -> Result<(), HookError> {
    let loading = begin(map);
    let input: Input = read_input(Waiting(io::stdin()))?;
    let is_copilot = match (&input.hook_event_name, &input.parent_agent_id) {
        (Some(event), _) if event == EVENT => false,
        (Some(_), _) => return Ok(()),
        (None, Some(_)) => true,
        (None, None) => return Err(NOT_UNDERSTOOD.into()),
    };
    let is_uuid = input.agent_id.as_deref().is_some_and(is_uuid);
    let is_agent = |id: &str| is_uuid || !is_copilot && is_subagents(id);
    let agent = subagent(input.agent_id, input.agent_type, is_agent);
    let agent = agent.ok().flatten().ok_or(Refusal::CallerNotVerified);
    let document = agent.and_then(|agent| loading?.load(Target::OfCaller, &agent));
    let units = |text: &str| text.encode_utf16().count();
    let size = if is_uuid { str::len } else { units };
    let fits = |text: &String| size(text) <= MAX_DOCUMENT;
    let text = match document.and_then(|text| Some(text).filter(fits).ok_or(Refusal::TooLarge)) {
        Ok(text) if is_blank(&text) => refusal("Its file is empty. Ask the user to write it."),
        Ok(text) => text,
        Err(code @ Refusal::UnknownKey) => refusal(&format!("{}{NOT_ONE}", code.says())),
        Err(code @ Refusal::TooLarge) => refusal(&format!("{}{TOO_LONG}", code.says())),
        Err(code) => refusal(code.says()),
    };
    write_answer(&if is_copilot {
        json!({ "additionalContext": text })
    } else {
        json!({ "hookSpecificOutput": { "hookEventName": EVENT, "additionalContext": text } })
    })
}

/// Whether the id has the form that Codex and Copilot give to agents: a UUID. No teammate of
/// Claude Code has such an id, whatever its name.
fn is_uuid(id: &str) -> bool {
    let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b'-');
    id.split('-').map(str::len).eq([8, 4, 4, 4, 12]) && id.bytes().all(is_digit)
}

const NOT_ONE: &str =
    " Exactly one entry of the map must name this agent in its agents, without a marketplace.";
const TOO_LONG: &str = " A hook hands over 10,000 characters at most (Codex, Copilot: bytes).";

fn refusal(why: &str) -> String {
    format!(
        "keyhole: the document of this agent was not loaded. {why}\n\
         Do not go on without the document: stop, and report this. You cannot retry; the agent has to be restarted."
    )
}
