//! What the client tells its hooks, above all the input of PreToolUse and of PostToolUse.

use keyhole_core::{AgentName, BadAgentName, BindingName, ticket::TicketError};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, IgnoredAny, MapAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::Value;
use std::{
    fmt, fs,
    io::{self, Read, Write},
    marker::PhantomData,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

/// The most input that a hook reads, in bytes: about a kilobyte, and after a call the answer.
const MAX_INPUT_BYTES: u64 = 16 << 20;

/// A server of ours that a client may ask about: its tool as the client names it, and which
/// calls of that tool are meant for it. Any other server of the name is not ours.
#[derive(Debug)]
struct Server {
    tool: String,
    /// The one agent that has this server. None if all share the plugin's, whose tool takes a key.
    agent: Option<String>,
    /// Whether there is a client that has such servers and states no source.
    may_lack_source: bool,
}

/// The servers whose calls the guard judges.
#[derive(Debug)]
pub(crate) struct Ours(Vec<Server>);

impl Ours {
    /// The plugin's two: the server that all agents share, and that of the bundled agent, which
    /// the plugin's module makes the client start for this agent alone. Only newer clients, which
    /// state sources, have the second.
    pub(crate) fn of_plugin() -> Self {
        let shared = Server {
            tool: "mcp__plugin_keyhole_context__load_context".to_owned(),
            agent: None,
            may_lack_source: true,
        };
        let own = Server {
            tool: "mcp__keyhole_privacy_scanner__load_context".to_owned(),
            agent: Some("keyhole:privacy-scanner".to_owned()),
            may_lack_source: false,
        };
        Self(vec![shared, own])
    }

    /// The server that the definition of the user's own agent starts. The client calls it as the
    /// binding, and has done so before it stated sources.
    pub(crate) fn of_agent(bind: &BindingName, agent: &AgentName) -> Self {
        Self(vec![Server {
            tool: format!("mcp__{bind}__load_context"),
            agent: Some(agent.to_string()),
            may_lack_source: true,
        }])
    }
}

/// The client's name for a copy of the main conversation, which has the parent's whole context.
const FORK: &str = "fork";

/// A call that is about to be made.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HookRequest {
    /// The client's id of the call, which the server gets as well.
    pub(super) id: String,
    /// The subagent that is about to make it, as [`subagent`] says.
    pub(super) agent: Option<AgentName>,
    /// None if the server has a key of its own.
    pub(super) key: Option<String>,
}

/// Why a hook gives no answer. A model may get the message, so it repeats nothing of the input.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HookError {
    /// The question could not be read.
    #[error("the client's question cannot be read: {}", .0.kind())]
    Input(io::Error),
    /// The question is not the JSON that this hook gets, or it is too long.
    #[error("this is not a question that this hook understands")]
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
    /// The call may be made, but the guard cannot tell the server so.
    #[error("{0}")]
    Ticket(#[from] TicketError),
    /// The answer could not be written.
    #[error("the answer cannot be written: {}", .0.kind())]
    Output(io::Error),
}

/// What the client tells a hook, if it is not too long.
pub(crate) fn read_input(stdin: impl Read) -> Result<Vec<u8>, HookError> {
    let mut input = Vec::new();
    stdin
        .take(MAX_INPUT_BYTES + 1)
        .read_to_end(&mut input)
        .map_err(HookError::Input)?;
    let fits = input.len() as u64 <= MAX_INPUT_BYTES;
    fits.then_some(input).ok_or(HookError::NotUnderstood)
}

/// The fields of the object that the client sent.
pub(crate) fn parse<T: DeserializeOwned>(input: &[u8]) -> Result<T, HookError> {
    let object = serde_json::from_slice(input);
    object.map_or(Err(HookError::NotUnderstood), |Object(fields)| Ok(fields))
}

/// Writes the answer, as one line.
pub(crate) fn write_answer(answer: &Value, mut stdout: impl Write) -> Result<(), HookError> {
    writeln!(stdout, "{answer}")
        .and_then(|()| stdout.flush())
        .map_err(HookError::Output)
}

/// The fields that count. There are others, and new client versions add more.
#[derive(Deserialize)]
struct Input {
    hook_event_name: String,
    tool_name: String,
    tool_use_id: String,
    agent_id: Option<String>,
    agent_type: Option<String>,
    /// The session's transcript.
    transcript_path: Option<PathBuf>,
    /// Only newer clients send this field, and only they have servers for one agent.
    mcp_server: Option<Object<Source>>,
    #[serde(rename = "tool_input")]
    _tool_input: IgnoredAny,
}

#[derive(Deserialize)]
struct Source {
    source: String,
}

/// The arguments alone, so that a model is told what is wrong with them.
#[derive(Deserialize)]
struct Call<T> {
    tool_input: T,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    key: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoArguments {}

/// A JSON object. Without this, serde would take an array of its fields as well.
struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields(PhantomData))
    }
}

struct Fields<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Fields<T> {
    type Value = Object<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Object)
    }
}

/// Whether the id has the form that the client gives to subagents: `a` and 16 hexadecimal digits.
/// A teammate's id is `a`, its name, `-` and the digits. The main conversation chooses that name,
/// and the client sends it as the agent's type: so a teammate could pass for any agent.
pub(crate) fn is_subagents(id: &str) -> bool {
    let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let digits = id.strip_prefix('a').filter(|digits| digits.len() == 16);
    digits.is_some_and(|digits| digits.bytes().all(is_digit))
}

/// Whether the client keeps a record of the subagent with this `id`, beside the `transcript` of
/// the session, as it does of each before its first call; of one of a workflow, a folder deeper.
///
/// The client also makes copies of the main conversation, such as one that suggests the next
/// prompt. If the session runs as an agent, such a copy has an id in a subagent's form and that
/// agent's type. But it has no record.
#[expect(
    clippy::disallowed_methods,
    reason = "it asks what is in a folder of the client, and opens no file"
)]
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
fn input<'o>(ours: &'o Ours, json: &[u8], event: &str) -> Result<(Input, &'o Server), HookError> {
    let input: Input = parse(json)?;
    let server = ours.0.iter().find(|server| server.tool == input.tool_name);
    let server = server.filter(|_| input.hook_event_name == event);
    let server = server.ok_or(HookError::NotOurs)?;
    if input.tool_use_id.is_empty() {
        return Err(HookError::NotUnderstood);
    }
    Ok((input, server))
}

/// Reads what is said after a call, and returns the call's id.
pub(super) fn read_after(ours: &Ours, json: &[u8]) -> Result<String, HookError> {
    input(ours, json, "PostToolUse").map(|(input, _)| input.tool_use_id)
}

/// The subagent that the two fields of a hook's input name: its id and its type. None is anyone
/// else: the main conversation, which has neither; a session that was started as an agent, which
/// has only a type; a copy of the main conversation, or a teammate. `is_subagents` says which ids
/// are subagents'.
pub(crate) fn subagent(
    id: Option<String>,
    agent: Option<String>,
    is_subagents: impl Fn(&str) -> bool,
) -> Result<Option<AgentName>, HookError> {
    match (id, agent) {
        (Some(id), Some(agent)) if is_subagents(&id) && agent != FORK => {
            Ok(Some(agent.as_str().try_into()?))
        }
        (Some(_), None) => Err(HookError::NotUnderstood),
        _ => Ok(None),
    }
}

/// Reads the question before a call.
pub(super) fn read(ours: &Ours, json: &[u8]) -> Result<HookRequest, HookError> {
    let (input, server) = input(ours, json, "PreToolUse")?;
    let takes_key = server.agent.is_none();
    let source = if takes_key { "plugin" } else { "agent" };
    let is_its_source = match &input.mcp_server {
        None => server.may_lack_source,
        Some(Object(stated)) => stated.source == source,
    };
    if !is_its_source || server.agent.is_some() && server.agent != input.agent_type {
        return Err(HookError::NotOurs);
    }
    let has_id = |id: &Option<String>| id.as_ref().is_none_or(|id| !id.is_empty());
    if !has_id(&input.agent_id) || !has_id(&input.agent_type) {
        return Err(HookError::NotUnderstood);
    }
    let transcript = input.transcript_path.as_deref();
    let has_record = |id: &str| transcript.is_some_and(|session| has_record(session, id));
    let is_one = |id: &str| is_subagents(id) && has_record(id);
    let agent = subagent(input.agent_id, input.agent_type, is_one)?;
    let key = if takes_key {
        let call: Result<Call<Object<Arguments>>, _> = serde_json::from_slice(json);
        Some(call.map_err(|_| HookError::Arguments)?.tool_input.0.key)
    } else {
        let call: Result<Call<Object<NoArguments>>, _> = serde_json::from_slice(json);
        call.map_err(|_| HookError::TakesNone)?;
        None
    };
    Ok(HookRequest {
        id: input.tool_use_id,
        agent,
        key,
    })
}
