//! What the client tells its hooks, above all the input of PreToolUse and of PostToolUse.

use crate::{PLUGIN, javascript::of_javascript};
use keyhole_core::AgentName;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value, value::RawValue};
use std::{
    error::Error,
    fs,
    io::Read,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

/// The most input that a hook reads, in bytes: about a kilobyte, and after a call the answer.
const MAX_INPUT_BYTES: u64 = 16 << 20;

/// A server of ours whose calls the guard judges: its name, which its tool's name holds; the one
/// agent that has it, or none if all share the plugin's, whose tool takes a key; and whether there
/// is a client that has such servers and states no source. Any other server of the name is not ours.
pub type Server<'a> = (&'a str, Option<&'a str>, bool);

/// The plugin's two: the server that all agents share, and that of the bundled agent, which the
/// plugin's module makes the client start for this agent alone. Only newer clients, which state
/// sources, have the second.
pub const PLUGINS: [Server<'_>; 2] = [
    ("plugin_keyhole_context", None, true),
    ("keyhole_privacy_scanner", Some(PLUGIN.0), false),
];

/// The client's name for a copy of the main conversation, which has the parent's whole context.
const FORK: &str = "fork";

/// Why a hook gives no answer. A model may get the message, so it repeats nothing of the input.
pub type HookError = Box<dyn Error>;

/// The question is not the JSON that this hook gets, or it is too long.
pub const NOT_UNDERSTOOD: &str = "this is not a question that this hook understands";

/// The question is about another tool or another event.
const NOT_OURS: &str =
    "the guard was asked about something other than its own tool; the call is denied";

/// What the client tells a hook on `stdin`, if it is not too long: the fields of the object
/// that it sends. serde would take an array for one, too.
pub fn read_input<T: DeserializeOwned>(stdin: impl Read) -> Result<T, HookError> {
    let mut input = Vec::new();
    let read = stdin.take(MAX_INPUT_BYTES + 1).read_to_end(&mut input);
    read.map_err(|error| format!("the client's question cannot be read: {}", error.kind()))?;
    let fits = input.len() as u64 <= MAX_INPUT_BYTES;
    parse(fits.then_some(&input).ok_or(NOT_UNDERSTOOD)?)
}

fn parse<T: DeserializeOwned>(input: &[u8]) -> Result<T, HookError> {
    let text = str::from_utf8(input.trim_ascii_start()).ok();
    let text = text.filter(|text| text.starts_with('{'));
    let parsed = text.and_then(|text| of_javascript(text).ok());
    parsed.ok_or(NOT_UNDERSTOOD.into())
}

/// The fields that count. There are others, and new client versions add more.
#[derive(Deserialize)]
pub struct Input {
    hook_event_name: String,
    tool_name: String,
    /// The client's id of the call, which the server gets as well.
    pub tool_use_id: String,
    agent_id: Option<String>,
    agent_type: Option<String>,
    transcript_path: Option<PathBuf>,
    /// Only newer clients send this field, and only they have servers for one agent.
    mcp_server: Option<Box<RawValue>>,
    /// Parsed alone, so that a model is told what is wrong with it.
    tool_input: Box<RawValue>,
}

#[derive(Deserialize)]
struct Source {
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    key: String,
}

/// Whether the id has the form that the client gives to subagents: `a` and 16 hexadecimal digits.
/// A teammate's id is `a`, its name, `-` and the digits. The main conversation chooses that name,
/// and the client sends it as the agent's type: so a teammate could pass for any agent.
pub fn is_subagents(id: &str) -> bool {
    let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    id.len() == 17 && id.starts_with('a') && id.bytes().all(is_digit)
}

/// Whether the client keeps a record of the subagent with this `id`, beside the `transcript` of
/// the session, as it does of each before its first call; of one of a workflow, a folder deeper.
///
/// The client also makes copies of the main conversation. If the session runs as an agent, such a
/// copy has an id in a subagent's form and that agent's type. But it has no record.
#[expect(clippy::disallowed_methods, reason = "it opens no file")]
fn has_record(transcript: &Path, id: &str) -> bool {
    let folder = transcript.with_extension("").join("subagents");
    let name = format!("agent-{id}.meta.json");
    let is_there = || {
        let workflows = || fs::read_dir(folder.join("workflows")).into_iter().flatten();
        let is_in = |folder: &Path| folder.join(&name).is_file();
        is_in(&folder) || workflows().flatten().any(|found| is_in(&found.path()))
    };
    let wait = || thread::sleep(Duration::from_millis(50));
    // On a busy machine, the client may still be writing it.
    transcript.is_absolute() && (is_there() || (0..20).any(|_| (wait(), is_there()).1))
}

/// Reads what is said about a call of one of our tools, at this event, and of which.
pub fn input<'o>(
    stdin: impl Read,
    of: &[Server<'o>],
    event: &str,
) -> Result<(Input, Server<'o>), HookError> {
    let input: Input = read_input(stdin)?;
    let is_its = |name: &str| input.tool_name == format!("mcp__{name}__load_context");
    let is_asked = |of: &&Server<'_>| is_its(of.0) && input.hook_event_name == event;
    let server = *of.iter().find(is_asked).ok_or(NOT_OURS)?;
    if input.tool_use_id.is_empty() {
        return Err(NOT_UNDERSTOOD.into());
    }
    Ok((input, server))
}

/// The subagent that a hook's input names by its id and its type. None is anyone else: the main
/// conversation has neither, a session that runs as an agent only a type; a copy of the main
/// conversation and a teammate have other ids.
pub fn subagent(
    id: Option<String>,
    agent: Option<String>,
    is_one: impl Fn(&str) -> bool,
) -> Result<Option<AgentName>, HookError> {
    match (id, agent) {
        (Some(id), Some(agent)) if is_one(&id) && agent != FORK => Ok(Some((&*agent).try_into()?)),
        (Some(_), None) => Err(NOT_UNDERSTOOD.into()),
        _ => Ok(None),
    }
}

/// The question before a call: the client's id of the call, which the server gets as well; the
/// subagent that is about to make it, as [`subagent`] says; its key, if the server has none itself.
pub fn read(
    stdin: impl Read,
    ours: &[Server<'_>],
) -> Result<(String, Option<AgentName>, Option<String>), HookError> {
    let (input, (_, own, may_lack_source)) = input(stdin, ours, "PreToolUse")?;
    let takes_key = own.is_none();
    let source = if takes_key { "plugin" } else { "agent" };
    let is_its_source = match &input.mcp_server {
        None => may_lack_source,
        Some(stated) => parse::<Source>(stated.get().as_bytes())?.source == source,
    };
    if !is_its_source || own.is_some() && own != input.agent_type.as_deref() {
        return Err(NOT_OURS.into());
    }
    if input.agent_id.as_deref() == Some("") || input.agent_type.as_deref() == Some("") {
        return Err(NOT_UNDERSTOOD.into());
    }
    let transcript = input.transcript_path.as_deref();
    let has_record = |id: &str| transcript.is_some_and(|session| has_record(session, id));
    let is_one = |id: &str| is_subagents(id) && has_record(id);
    let agent = subagent(input.agent_id, input.agent_type, is_one)?;
    let arguments = input.tool_input.get().as_bytes();
    let key = if takes_key {
        let needs_key = "the arguments must be an object with exactly one string, \"key\"";
        Some(parse::<Arguments>(arguments).map_err(|_| needs_key)?.key)
    } else {
        let given = parse::<Map<String, Value>>(arguments).ok();
        let takes_none = "this tool takes no arguments";
        given.filter(Map::is_empty).ok_or(takes_none)?;
        None
    };
    Ok((input.tool_use_id, agent, key))
}
