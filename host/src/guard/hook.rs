//! What the client asks: the input of a PreToolUse hook.

use serde::Deserialize;

/// The tool, as the client names it: plugin, server, tool.
pub(super) const TOOL: &str = "mcp__plugin_keyhole_context__load_context";

/// The same tool of the bundled agent's own server, which the plugin's module
/// has the client start for that agent alone. It takes no key.
pub(super) const OWN_TOOL: &str = "mcp__keyhole_privacy_scanner__load_context";

/// Where the client says that such a server comes from: the agent's definition.
/// Any other server of that name is not ours.
const OWN_SOURCE: &str = "agent";

/// What the client calls a copy of the main conversation. It has the parent's
/// whole context, and hands its own back.
const FORK: &str = "fork";

/// A call that is about to be made.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Call {
    /// The client's id of the call, which the server gets as well.
    pub(super) id: String,
    pub(super) caller: Caller,
    /// None if the server has a key of its own.
    pub(super) key: Option<String>,
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
    /// The same, of the tool that takes none.
    #[error("this tool takes no arguments")]
    TakesNone,
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
    /// Only newer clients say it, and only they have servers of one agent.
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

/// Reads the question.
///
/// # Errors
/// [`HookError`].
pub(super) fn read(json: &[u8]) -> Result<Call, HookError> {
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
    // A subagent has both. A session that was started as an agent has a type
    // only, and the main conversation has neither.
    let caller = match (input.agent_id, input.agent_type) {
        (Some(_), Some(agent)) if agent != FORK => Caller::Subagent(agent),
        (Some(_), None) => return Err(HookError::NotUnderstood),
        _ => Caller::Parent,
    };
    let key = match is_own {
        true => serde_json::from_value(input.tool_input)
            .map(|NoArguments {}| None)
            .map_err(|_| HookError::TakesNone)?,
        false => serde_json::from_value(input.tool_input)
            .map(|Arguments { key }| Some(key))
            .map_err(|_| HookError::Arguments)?,
    };
    Ok(Call {
        id: input.tool_use_id,
        caller,
        key,
    })
}
