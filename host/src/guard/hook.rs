//! What the client asks: the input of a PreToolUse hook.

use crate::agent::{AgentName, BadAgentName};
use serde::Deserialize;

/// The tool, as the client names it: plugin, server, tool.
pub(super) const TOOL: &str = "mcp__plugin_keyhole_context__load_context";

/// The same tool on the bundled agent's own server. The plugin's module makes the
/// client start that server for this agent alone. The tool takes no key.
pub(super) const OWN_TOOL: &str = "mcp__keyhole_privacy_scanner__load_context";

/// The source that the client states for such a server: the agent's definition. Any
/// other server of that name is not ours.
const OWN_SOURCE: &str = "agent";

/// The client's name for a copy of the main conversation. The copy has the parent's
/// whole context, and returns its own to the parent.
const FORK: &str = "fork";

/// A call that is about to be made.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HookRequest {
    /// The client's id of the call, which the server gets as well.
    pub(super) id: String,
    pub(super) origin: Origin,
    /// None if the server has a key of its own.
    pub(super) key: Option<String>,
}

/// Who is about to call.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// A subagent of this type.
    Subagent(AgentName),
    /// Anyone else: the main conversation, a copy of it, a session that was started
    /// as an agent, or a teammate.
    Other,
}

/// Why a question has no answer. The error contains nothing of the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HookError {
    /// The question is not the JSON that a PreToolUse hook gets, or it is too long.
    #[error("this is not a question that the guard understands; the call is denied")]
    NotUnderstood,
    /// The question is about another tool or another event.
    #[error("the guard was asked about something other than its own tool; the call is denied")]
    NotOurs,
    /// A subagent's name has a form that no ticket can hold.
    #[error("{0}")]
    Agent(#[from] BadAgentName),
    /// The tool does not take these arguments.
    #[error("the arguments must be an object with exactly one string, \"key\"")]
    Arguments,
    /// There are arguments for the tool that takes none.
    #[error("this tool takes no arguments")]
    TakesNone,
}

/// The fields that the guard needs. There are others, and new client versions add
/// more.
#[derive(Deserialize)]
struct Input {
    hook_event_name: String,
    tool_name: String,
    tool_use_id: String,
    tool_input: serde_json::Value,
    agent_id: Option<String>,
    agent_type: Option<String>,
    /// Only newer clients send this field, and only they have servers for one agent.
    mcp_server: Option<Server>,
}

#[derive(Deserialize)]
struct Server {
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    key: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoArguments {}

/// Whether the id has the form that the client gives to subagents: `a` and 16
/// hexadecimal digits.
///
/// A teammate's id is `a`, its name, `-` and the digits. The main conversation
/// chooses that name, and the client sends it in the field for the agent's type. So a
/// teammate could pass for any agent. We know no caller with an id of another form.
fn is_subagents(id: &str) -> bool {
    id.strip_prefix('a').is_some_and(|digits| {
        digits.len() == 16
            && digits
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// Reads the question.
///
/// # Errors
/// [`HookError`].
pub(super) fn read(json: &[u8]) -> Result<HookRequest, HookError> {
    let input: Input = serde_json::from_slice(json).map_err(|_| HookError::NotUnderstood)?;
    let is_own = input.tool_name == OWN_TOOL;
    if input.hook_event_name != "PreToolUse" || !(is_own || input.tool_name == TOOL) {
        return Err(HookError::NotOurs);
    }
    if is_own
        && input
            .mcp_server
            .is_none_or(|server| server.source != OWN_SOURCE)
    {
        return Err(HookError::NotOurs);
    }
    let has_id = |id: &Option<String>| id.as_ref().is_none_or(|id| !id.is_empty());
    if input.tool_use_id.is_empty() || !has_id(&input.agent_id) || !has_id(&input.agent_type) {
        return Err(HookError::NotUnderstood);
    }
    // A subagent has an id and a type. A session that was started as an agent has
    // only a type, and the main conversation has neither.
    let origin = match (input.agent_id, input.agent_type) {
        (Some(id), Some(agent)) if is_subagents(&id) && agent != FORK => {
            Origin::Subagent(agent.as_str().try_into()?)
        }
        (Some(_), None) => return Err(HookError::NotUnderstood),
        _ => Origin::Other,
    };
    let key = match is_own {
        true => serde_json::from_value(input.tool_input)
            .map(|NoArguments {}| None)
            .map_err(|_| HookError::TakesNone)?,
        false => serde_json::from_value(input.tool_input)
            .map(|Arguments { key }| Some(key))
            .map_err(|_| HookError::Arguments)?,
    };
    Ok(HookRequest {
        id: input.tool_use_id,
        origin,
        key,
    })
}
