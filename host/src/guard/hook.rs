//! What the client asks: the input of a PreToolUse hook.

use serde::Deserialize;

/// The tool, as the client names it: plugin, server, tool.
pub(super) const TOOL: &str = "mcp__plugin_keyhole_context__load_context";

/// What the client calls a copy of the main conversation. It has the parent's
/// whole context, and hands its own back.
const FORK: &str = "fork";

/// A call that is about to be made.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Call {
    /// The client's id of the call, which the server gets as well.
    pub(super) id: String,
    pub(super) caller: Caller,
    pub(super) key: String,
}

/// Who is about to call.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Caller {
    /// A subagent of this type: `plugin:agent`, or `agent` where no plugin
    /// brought it.
    Subagent(String),
    /// The main conversation, a copy of it, or one that was started as an agent.
    Parent,
}

/// Why a question has no answer. It carries nothing of the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HookError {
    /// It is not the JSON that a PreToolUse hook gets, or too long.
    #[error("this is not a question that the guard understands; the call is denied")]
    NotUnderstood,
    /// It is about another tool or another event.
    #[error("the guard was asked about something other than its own tool; the call is denied")]
    NotOurs,
    /// The tool's arguments are not what it takes.
    #[error("the arguments must be an object with exactly one string, \"key\"")]
    Arguments,
}

/// The fields that count. There are others, and new ones come with the client's
/// versions.
#[derive(Deserialize)]
struct Input {
    hook_event_name: String,
    tool_name: String,
    tool_use_id: String,
    tool_input: serde_json::Value,
    agent_id: Option<String>,
    agent_type: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    key: String,
}

/// Reads the question.
///
/// # Errors
/// [`HookError`].
pub(super) fn read(json: &[u8]) -> Result<Call, HookError> {
    let input: Input = serde_json::from_slice(json).map_err(|_| HookError::NotUnderstood)?;
    if input.hook_event_name != "PreToolUse" || input.tool_name != TOOL {
        return Err(HookError::NotOurs);
    }
    let has_id = |id: &Option<String>| id.as_ref().is_none_or(|id| !id.is_empty());
    if input.tool_use_id.is_empty() || !has_id(&input.agent_id) || !has_id(&input.agent_type) {
        return Err(HookError::NotUnderstood);
    }
    // A subagent has both. A session that was started as an agent has a type
    // only, and the main conversation has neither.
    let caller = match (input.agent_id, input.agent_type) {
        (Some(_), Some(agent)) if agent != FORK => Caller::Subagent(agent),
        (Some(_), None) => return Err(HookError::NotUnderstood),
        _ => Caller::Parent,
    };
    let arguments: Arguments =
        serde_json::from_value(input.tool_input).map_err(|_| HookError::Arguments)?;
    Ok(Call {
        id: input.tool_use_id,
        caller,
        key: arguments.key,
    })
}
