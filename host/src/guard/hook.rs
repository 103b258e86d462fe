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
    /// Anyone else: the main conversation, a copy of it, a session that was started
    /// as an agent, or a teammate.
    Other,
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

/// Whether the client gives such an id to a subagent: `a` and 16 hexadecimal
/// digits.
///
/// A teammate's is `a`, its name, `-` and the digits. The main conversation chooses
/// that name, and the client puts it where an agent's type would be, so that a
/// teammate could pass for any agent. An id of another form is nobody's that we know.
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
        (Some(id), Some(agent)) if is_subagents(&id) && agent != FORK => Caller::Subagent(agent),
        (Some(_), None) => return Err(HookError::NotUnderstood),
        _ => Caller::Other,
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
