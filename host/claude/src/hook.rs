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

/// The most bytes of input that a hook reads: 16 MiB. A client sends about a kilobyte, and after a
/// call also the server's answer.
const MAX_INPUT_BYTES: u64 = 16 << 20;

/// A server of ours whose calls the guard judges.
#[derive(Clone, Copy)]
pub struct Server<'a> {
    /// The server's name in the client, which calls the server's tool `mcp__NAME__load_context`.
    pub name: &'a str,
    /// The one agent that has this server, whose tool then takes no argument. None: all agents
    /// share the server, and its tool takes a key.
    pub agent: Option<&'a str>,
    /// Whether a server with this name is ours if the client does not state where it got the server
    /// from: older clients never state that. False for a server that only newer clients can have.
    pub may_lack_source: bool,
}

/// The plugin's two: the server that all agents share, and that of the bundled agent, which the
/// plugin's module makes the client start for this agent alone. Only newer clients, which state
/// sources, have the second.
pub const PLUGIN_SERVERS: [Server<'_>; 2] = [
    Server {
        name: "plugin_keyhole_context",
        agent: None,
        may_lack_source: true,
    },
    Server {
        name: "keyhole_privacy_scanner",
        agent: Some(PLUGIN.agent),
        may_lack_source: false,
    },
];

/// The client's name for a copy of the main conversation, which has the parent's whole context.
const FORK: &str = "fork";

/// Why a hook gives no answer. A model may get the message, so no message repeats the input.
pub type HookError = Box<dyn Error>;

/// The question is not the JSON that this hook gets, or it is too long.
pub const NOT_UNDERSTOOD: &str = "this is not a question that this hook understands";

/// The question is about another tool or another event.
const NOT_OURS: &str =
    "the guard was asked about something other than its own tool; the call is denied";

/// By these variables, also in a project's settings, the client tells others what an agent reads or
/// does, and asks no hook about it: observers, and the main conversation by check-ins.
pub const TELL_OTHERS: [&str; 2] = [
    "CLAUDE_CODE_EXPERIMENTAL_OBSERVER_AGENTS",
    "CLAUDE_CODE_WORKER_CHECKIN_SCHEDULE",
];

/// Another agent watches the caller, the caller watches another agent, or the client tells others
/// what an agent does.
pub const WATCHED: &str = "agents are watched in this session: others would read the file, or what the agent does. Unset CLAUDE_CODE_EXPERIMENTAL_OBSERVER_AGENTS and CLAUDE_CODE_WORKER_CHECKIN_SCHEDULE, in your shell and in the settings files, and start a new session";

/// What the client tells a hook on `stdin`: the fields of one JSON object.
///
/// # Errors
/// If `stdin` cannot be read, has more than 16 MiB, or is no JSON object with these fields.
pub fn read_input<T: DeserializeOwned>(stdin: impl Read) -> Result<T, HookError> {
    let mut input = Vec::new();
    stdin
        .take(MAX_INPUT_BYTES + 1)
        .read_to_end(&mut input)
        .map_err(|error| format!("the client's question cannot be read: {}", error.kind()))?;
    if input.len() as u64 > MAX_INPUT_BYTES {
        return Err(NOT_UNDERSTOOD.into());
    }
    parse_object(&input)
}

/// The fields of a JSON object. An array of their values is an error, although serde takes it.
fn parse_object<T: DeserializeOwned>(json: &[u8]) -> Result<T, HookError> {
    match str::from_utf8(json.trim_ascii_start()) {
        Ok(text) if text.starts_with('{') => of_javascript(text).map_err(|_| NOT_UNDERSTOOD.into()),
        _ => Err(NOT_UNDERSTOOD.into()),
    }
}

/// What the client says of a call, before it and after it. There are other fields, and new client
/// versions add more. The client itself writes each field, but a model may have chosen its text.
#[derive(Deserialize)]
struct Input {
    /// `PreToolUse` or `PostToolUse`.
    hook_event_name: String,
    /// `mcp__SERVER__TOOL`. Whoever configures a server chooses its name, so any server can have
    /// the name of ours.
    tool_name: String,
    /// The client's id of the call, which the server gets as well.
    tool_use_id: String,
    /// The caller's id. The main conversation has no id, and neither has a session that runs as an
    /// agent. The client makes up all of a subagent's id, see [`is_subagent_id`]. In a teammate's
    /// id, the main conversation chooses a part: the teammate's name.
    agent_id: Option<String>,
    /// The type of the agent that calls: the name in a subagent's file, the agent that a session
    /// runs as, [`FORK`], or a teammate's name. The main conversation has none.
    agent_type: Option<String>,
    /// The file in which the client keeps the session's transcript.
    transcript_path: Option<PathBuf>,
    /// Where the client got the server from, a [`Source`]. Only newer clients send this field.
    mcp_server: Option<Box<RawValue>>,
    /// The arguments, which a model fills in. They are parsed apart, so that the model is told
    /// what is wrong with them.
    tool_input: Box<RawValue>,
}

#[derive(Deserialize)]
struct Source {
    /// `plugin`; `agent`, for a server in an agent's file or from a module; or `project`, `user`…
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    key: String,
}

impl Input {
    /// The server among `ours` to which the call goes: for the tool `mcp__notes__load_context`, the
    /// server with the name `notes`. `event` is the event for which this hook runs, such as
    /// `PreToolUse`.
    ///
    /// # Errors
    /// [`NOT_OURS`] if the tool is of none of these servers, or if the input is for another event;
    /// [`NOT_UNDERSTOOD`] if the call's id is empty.
    fn server<'a>(&self, ours: &[Server<'a>], event: &str) -> Result<Server<'a>, HookError> {
        for server in ours {
            let tool = format!("mcp__{}__load_context", server.name);
            if self.tool_name == tool && self.hook_event_name == event {
                if self.tool_use_id.is_empty() {
                    return Err(NOT_UNDERSTOOD.into());
                }
                return Ok(*server);
            }
        }
        Err(NOT_OURS.into())
    }

    /// Whether the client got the called server from where it gets this server of ours: `plugin`
    /// for the server that all agents share, `agent` for an agent's own. If the client states no
    /// source, [`Server::may_lack_source`] decides.
    ///
    /// # Errors
    /// If the source is not in the form that clients use.
    fn has_source_of(&self, server: Server<'_>) -> Result<bool, HookError> {
        let Some(stated) = &self.mcp_server else {
            return Ok(server.may_lack_source);
        };
        let ours = match server.agent {
            None => "plugin",
            Some(_) => "agent",
        };
        let stated: Source = parse_object(stated.get().as_bytes())?;
        Ok(stated.source == ours)
    }

    /// The key among the arguments of the call: `k1` of `{"key":"k1"}`. None for `{}` if the server
    /// is one agent's own: its tool takes no argument.
    ///
    /// # Errors
    /// If the arguments are not `{}` for an agent's own server; or not an object with one text,
    /// `key`, for the server that all agents share.
    fn key_for(&self, server: Server<'_>) -> Result<Option<String>, HookError> {
        let arguments = self.tool_input.get().as_bytes();
        if server.agent.is_some() {
            return match parse_object::<Map<String, Value>>(arguments) {
                Ok(given) if given.is_empty() => Ok(None),
                _ => Err("this tool takes no arguments".into()),
            };
        }
        match parse_object::<Arguments>(arguments) {
            Ok(given) => Ok(Some(given.key)),
            Err(_) => {
                Err("the arguments must be an object with exactly one string, \"key\"".into())
            }
        }
    }
}

/// A call that is about to be made to a server of ours.
pub struct Call {
    /// The client's id of the call, which the server gets as well.
    pub id: String,
    /// The subagent that makes the call; or, if anyone else does, why the caller counts as no
    /// subagent, and what to do.
    pub agent: Result<AgentName, &'static str>,
    /// The key that a model asks for; it may not be well formed. None: the server has its own.
    pub key: Option<String>,
}

/// Reads from `stdin` the question of a PreToolUse hook: the call's id, its key, and the subagent
/// that makes the call. If no subagent calls, that is no error: [`Call::agent`] says why.
///
/// # Errors
/// In this order:
///
/// - The input is no JSON object with the fields of a call.
/// - The call goes to none of the servers `ours`, or has no id; or the client got the server from
///   elsewhere than ours.
/// - The server is one agent's own, and the caller's type is not that agent's name.
/// - The agent's id or type is empty, there is an id without a type, or the type cannot be a name.
/// - The client's record says that another agent watches the caller, or is watched by the caller.
/// - The arguments are not those that the server takes.
pub fn read_before(stdin: impl Read, ours: &[Server<'_>]) -> Result<Call, HookError> {
    let input: Input = read_input(stdin)?;
    let server = input.server(ours, "PreToolUse")?;
    let agent_type = input.agent_type.as_deref();
    // Any server can have the name of ours, but not its source.
    if !input.has_source_of(server)? {
        return Err(NOT_OURS.into());
    }
    if let Some(own) = server.agent
        && agent_type != Some(own)
    {
        let whose = format!("this server is only for the agent {own}, which does not call");
        return Err(format!("{whose}. If another agent's file has a copy of its server and hooks, run `keyhole setup` for that agent").into());
    }
    let agent_id = input.agent_id.as_deref();
    if agent_id == Some("") || agent_type == Some("") {
        return Err(NOT_UNDERSTOOD.into());
    }
    let record = match (&input.transcript_path, agent_id) {
        (Some(transcript), Some(id)) if is_subagent_id(id) => record_of(transcript, id),
        _ => None,
    };
    // A caller without a record counts as no subagent.
    let subagent_name = subagent(agent_id, agent_type, |_| record.is_some())?;
    if record.is_some_and(|record| is_watched(&record)) {
        return Err(WATCHED.into());
    }
    let key = input.key_for(server)?;
    Ok(Call {
        agent: subagent_name.ok_or_else(|| why_no_subagent(agent_id, agent_type)),
        id: input.tool_use_id,
        key,
    })
}

/// Reads what a PostToolUse hook is told, and returns the client's id of the call that is over.
///
/// # Errors
/// If the call was none to one of `ours`, or what the client says cannot be understood.
pub fn read_after(stdin: impl Read, ours: &[Server<'_>]) -> Result<String, HookError> {
    let input: Input = read_input(stdin)?;
    input.server(ours, "PostToolUse")?;
    Ok(input.tool_use_id)
}

/// The name of the subagent that a hook's input has: `agent_type`, if `is_subagents` takes the
/// `id`, and the type is not `fork`.
///
/// None for anyone else: the main conversation and a session that runs as an agent have no id; a
/// teammate's id is not a subagent's; a copy of the main conversation has the type `fork`, or an id
/// that `is_subagents` refuses.
///
/// # Errors
/// If there is an id without a type, or if the type cannot be an agent's name.
pub fn subagent(
    id: Option<&str>,
    agent_type: Option<&str>,
    is_subagents: impl Fn(&str) -> bool,
) -> Result<Option<AgentName>, HookError> {
    match (id, agent_type) {
        (Some(_), None) => Err(NOT_UNDERSTOOD.into()),
        (Some(id), Some(name)) if is_subagents(id) && name != FORK => {
            Ok(Some(AgentName::try_from(name)?))
        }
        _ => Ok(None),
    }
}

const OF_SESSION: &str = "the main conversation calls, or a session that runs as an agent. Leave the task to the subagent";
const OF_FORK: &str = "a fork of the main conversation calls. Leave the task to the subagent";
const OF_TEAMMATE: &str =
    "the caller has no subagent's id, as a teammate has none. Leave the task to the subagent";
const UNRECORDED: &str = "the client has not written its record of this subagent yet, or a copy of a session calls. A subagent may call again in a moment";

/// Why a caller with this id and type counts as no subagent, and what to do. A caller without an id
/// is the session's own conversation; the type [`FORK`] is a copy of that conversation; an id in
/// the form of a subagent's has no record yet; any other id is a teammate's.
fn why_no_subagent(id: Option<&str>, agent_type: Option<&str>) -> &'static str {
    match id {
        None => OF_SESSION,
        Some(_) if agent_type == Some(FORK) => OF_FORK,
        Some(id) if is_subagent_id(id) => UNRECORDED,
        Some(_) => OF_TEAMMATE,
    }
}

/// Whether the id has the form that the client gives to subagents: `a` and 16 hexadecimal digits.
/// A teammate's id is `a`, its name, `-` and the digits. The main conversation chooses that name,
/// and the client sends it as the agent's type: so a teammate could pass for any agent.
pub fn is_subagent_id(id: &str) -> bool {
    let Some(digits) = id.strip_prefix('a') else {
        return false;
    };
    digits.len() == 16 && digits.bytes().all(is_lower_hex)
}

/// Whether this byte is a hexadecimal digit in lower case, as in the ids of clients.
pub fn is_lower_hex(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

/// How often a missing record is looked for again, after a pause each time: on a busy machine,
/// the client may still be writing it. Together, that is a second.
const RETRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(50);

/// What the client keeps of a subagent beside its transcript.
type Record = Map<String, Value>;

/// The client's record of the subagent with this `id`: for the `transcript` `/t/s.jsonl` of a
/// session, the file `agent-ID.meta.json` in `/t/s/subagents`. The client writes the record before
/// the agent's first call, but may still be writing: a missing record is looked for again, 20 times
/// in a second. None if there is no record even then, or if the transcript's path is relative.
///
/// The client also makes copies of the main conversation. If the session runs as an agent, a copy
/// has an id in a subagent's form and that agent's type. But a copy has no record.
fn record_of(transcript: &Path, id: &str) -> Option<Record> {
    if !transcript.is_absolute() {
        return None;
    }
    let subagents = transcript.with_extension("").join("subagents");
    let name = format!("agent-{id}.meta.json");
    for _ in 0..RETRIES {
        if let Some(record) = record_in(&subagents, &name) {
            return Some(record);
        }
        thread::sleep(PAUSE);
    }
    record_in(&subagents, &name)
}

/// The record in the file of this `name`: in the folder of the session's subagents, or else in a
/// folder in its `workflows`. None if there is no such file, or the record is not whole yet.
#[expect(clippy::disallowed_methods, reason = "the client's own folder")]
fn record_in(subagents: &Path, name: &str) -> Option<Record> {
    if let Some(record) = read_record(&subagents.join(name)) {
        return Some(record);
    }
    let workflows = fs::read_dir(subagents.join("workflows")).ok()?;
    workflows
        .flatten()
        .find_map(|workflow| read_record(&workflow.path().join(name)))
}

/// The record in this file. None if there is no file, or the record is not whole yet.
#[expect(clippy::disallowed_methods, reason = "the client's own file")]
fn read_record(file: &Path) -> Option<Record> {
    // To read a pipe would wait for another program.
    if !file.is_file() {
        return None;
    }
    parse_object(&fs::read(file).ok()?).ok()
}

/// Whether an agent's record says that another agent watches this agent, or is watched by it: one
/// of three fields is there, and is neither null nor false.
fn is_watched(record: &Record) -> bool {
    ["isObserver", "observerTaskId", "observerTaskIds"]
        .iter()
        .filter_map(|field| record.get(*field))
        .any(|said| !matches!(said, Value::Null | Value::Bool(false)))
}
