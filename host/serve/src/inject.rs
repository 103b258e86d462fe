//! `keyhole inject`: hands a subagent its document when the client starts it.
//!
//! It is a SubagentStart hook. On standard input, the client says which agent starts, and it puts
//! the hook's answer into that agent's context alone. There is no key and no call: the one entry
//! of the map that names the agent is its document. The hook cannot stop the agent: without a
//! document, the answer tells it to stop.

use crate::{
    guard::{may_be_watched, write_answer},
    resources::Runtime,
    start::{Opened, start},
    streams::{Waiting, say},
};
use keyhole_claude::hook::{
    HookError, NOT_UNDERSTOOD, WATCHED, is_lower_hex, is_subagent_id, read_input, subagent,
};
use keyhole_core::{
    Caller, LiveMap, Load, Loader, Refusal, Target, limits::Limits, sandbox::Sandbox,
};
use keyhole_walk::printable::is_blank;
use serde::Deserialize;
use serde_json::json;
use std::{io, sync::Arc};

/// The longest document that an agent gets whole: in UTF-16 code units in Claude Code, which keeps
/// a longer one in a file that others may read; in bytes in Codex, which cuts it, and Copilot.
pub const MAX_DOCUMENT: usize = 10_000;

const EVENT: &str = "SubagentStart";

/// What one run of the hook is for.
pub struct Inject {
    /// The map, or why it is not known which one is meant.
    pub map: Result<LiveMap, String>,
    /// Whether it hands a file over only behind a whole wall.
    pub require_wall: bool,
}

/// What a client says when an agent starts. There are other fields, and new client versions add
/// more. The client itself writes each field.
#[derive(Deserialize)]
struct Input {
    hook_event_name: Option<String>,
    /// The client makes up the ids of its subagents. In Claude Code, the main conversation chooses
    /// a part of a teammate's id.
    agent_id: Option<String>,
    /// The name of the agent, or in Claude Code that of a teammate, which the main conversation
    /// chooses. So the name counts only beside an id that no teammate can have.
    agent_type: Option<String>,
    /// Only Copilot sends this field, and Copilot does not send the event.
    parent_agent_id: Option<String>,
}

/// The client that runs the hook.
#[derive(Clone, Copy)]
enum Client {
    ClaudeCode,
    Codex,
    Copilot,
}

impl Input {
    /// The client that sent this input: Copilot sends no event, but a parent's id; Codex gives the
    /// agent a UUID; any other is Claude Code. None if the event is not SubagentStart.
    ///
    /// # Errors
    /// If there is neither an event nor a parent's id.
    fn client(&self) -> Result<Option<Client>, HookError> {
        match (&self.hook_event_name, &self.parent_agent_id) {
            (Some(event), _) if event != EVENT => Ok(None),
            (Some(_), _) if self.agent_id.as_deref().is_some_and(is_uuid) => {
                Ok(Some(Client::Codex))
            }
            (Some(_), _) => Ok(Some(Client::ClaudeCode)),
            (None, Some(_)) => Ok(Some(Client::Copilot)),
            (None, None) => Err(NOT_UNDERSTOOD.into()),
        }
    }
}

impl Client {
    /// Whether this client gives such an id to subagents: Claude Code `a` and 16 hexadecimal
    /// digits, the others a UUID. No teammate has one.
    fn is_subagents(self, id: &str) -> bool {
        match self {
            Self::ClaudeCode => is_subagent_id(id),
            Self::Codex | Self::Copilot => is_uuid(id),
        }
    }

    /// The size of a text in the unit of [`MAX_DOCUMENT`].
    fn size_of(self, text: &str) -> usize {
        match self {
            Self::ClaudeCode => text.encode_utf16().count(),
            Self::Codex | Self::Copilot => text.len(),
        }
    }
}

/// Whether the id has the form that Codex and Copilot give to agents: a UUID in lower case, such as
/// `0f8fad5b-d9cb-469f-a165-70867728950e`.
fn is_uuid(id: &str) -> bool {
    let mut bytes = id.bytes();
    id.split('-').map(str::len).eq([8, 4, 4, 4, 12])
        && bytes.all(|byte| is_lower_hex(byte) || byte == b'-')
}

/// What loads documents behind the wall, in a process that serves no session.
pub struct Loading {
    pub(crate) map: Arc<LiveMap>,
    loader: Loader<LiveMap, Sandbox>,
    runtime: Runtime,
    /// Whether the whole wall stands around this process.
    is_walled: bool,
    /// Words for the user about what of the wall does not stand. None: the wall is whole, or the
    /// map cannot be used.
    warning: Option<String>,
}

impl Loading {
    /// Starts and restricts this process as a server does: from then on, the process can start no
    /// program. `map` is the map, or why it is not known which map is meant. A map that cannot be
    /// used is no error: then each document is refused.
    ///
    /// # Errors
    /// [`Refusal::MapMissing`] if it is not known which map is meant; else the code of why the
    /// process cannot start. In both cases, the user is told the reason.
    pub fn start(map: Result<LiveMap, String>) -> Result<Self, Refusal> {
        let live = Arc::new(map.map_err(|why| {
            say(&why);
            Refusal::MapMissing
        })?);
        let no_streams = Opened {
            streams: (),
            threads: 1,
        };
        let started = start(&live, None, || Ok(no_streams)).map_err(|error| {
            say(&error.to_string());
            error.code
        })?;
        // If the map cannot be used, the agent reads that in place of its document.
        let warning = match started.map {
            Ok(_) => started.warning(&live),
            Err(_) => None,
        };
        Ok(Self {
            is_walled: started.is_walled(),
            warning,
            loader: Loader::new(Arc::clone(&live), started.sandbox, Limits::default()),
            map: live,
            runtime: started.runtime,
        })
    }

    /// The document that `target` stands for, if `caller` may have it.
    ///
    /// # Errors
    /// The code of why there is none.
    pub fn load(&self, target: Target, caller: Caller) -> Result<String, Refusal> {
        let loading = self.loader.load(target, caller);
        Ok(self.runtime.block_on(loading)?.text)
    }
}

/// Starts as [`Loading::start`] does, and tells the user what of the wall does not stand.
pub(crate) fn start_and_warn(map: Result<LiveMap, String>) -> Result<Loading, Refusal> {
    let loading = Loading::start(map)?;
    if let Some(warning) = &loading.warning {
        say(warning);
    }
    Ok(loading)
}

/// Answers the client with the text that the agent which starts is to read: its document, or a
/// refusal. It is a refusal if this process cannot start as a server does; if the wall is required
/// and not whole; if Claude Code may tell others what agents do (`may_be_watched`); or if no
/// document loads for the agent. There is no answer to another event than SubagentStart.
///
/// # Errors
/// If the input cannot be read or understood, or the answer cannot be written. Then the agent gets
/// nothing.
pub fn inject(wanted: Inject) -> Result<(), HookError> {
    let loading = start_and_warn(wanted.map);
    let input: Input = read_input(Waiting(io::stdin()))?;
    // None: the event is another one than SubagentStart.
    let Some(client) = input.client()? else {
        return Ok(());
    };
    let is_watched = matches!(client, Client::ClaudeCode) && may_be_watched();
    let text = match loading {
        Ok(loading) if wanted.require_wall && !loading.is_walled => refusal(NO_WALL),
        Ok(_) if is_watched => refusal(WATCHED),
        loading => text_for(loading, &input, client),
    };
    write_answer(&match client {
        Client::Copilot => json!({ "additionalContext": text }),
        Client::ClaudeCode | Client::Codex => {
            json!({ "hookSpecificOutput": { "hookEventName": EVENT, "additionalContext": text } })
        }
    })
}

/// What the agent that starts reads: its document, or why it gets none. A document in which a
/// reader sees nothing counts as none.
fn text_for(loading: Result<Loading, Refusal>, input: &Input, client: Client) -> String {
    match document(loading, input, client) {
        Ok(text) if is_blank(&text) => refusal("Its file is empty. Ask the user to write it."),
        Ok(text) => text,
        Err(code @ Refusal::UnknownKey) => refusal(&format!("{}{NAME_IT_ONCE}", code.says())),
        Err(code @ Refusal::TooLarge) => refusal(&format!("{}{TOO_LONG}", code.says())),
        Err(code) => refusal(code.says()),
    }
}

/// The document of the agent that starts: the file of the one entry of the map that names this
/// agent.
///
/// # Errors
/// [`Refusal::CallerNotVerified`] if the id and the type are not those of a subagent, but of a
/// teammate or a session. Else the code of `loading`, if this process could not start; the code of
/// why the file does not load; or [`Refusal::TooLarge`] if the document has more than 10,000
/// characters (Codex, Copilot: bytes), see [`MAX_DOCUMENT`].
fn document(
    loading: Result<Loading, Refusal>,
    input: &Input,
    client: Client,
) -> Result<String, Refusal> {
    let id = input.agent_id.as_deref();
    let name = input.agent_type.as_deref();
    let Ok(Some(agent)) = subagent(id, name, |id| client.is_subagents(id)) else {
        return Err(Refusal::CallerNotVerified);
    };
    let text = loading?.load(Target::OfCaller, Caller::Agent(agent))?;
    if client.size_of(&text) > MAX_DOCUMENT {
        return Err(Refusal::TooLarge);
    }
    Ok(text)
}

const NO_WALL: &str = "The hook has --require-wall, and the operating system does not confine it to the map's roots. Ask the user to run `keyhole check -v` in a terminal.";
const NAME_IT_ONCE: &str =
    " Exactly one entry of the map must name this agent in its agents, without a marketplace.";
const TOO_LONG: &str = " A hook hands over 10,000 characters at most (Codex, Copilot: bytes).";

/// What the agent reads in place of its document, with the reason.
fn refusal(why: &str) -> String {
    format!(
        "keyhole: the document of this agent was not loaded. {why}\n\
         Do not go on without the document: stop, and report this. You cannot retry; the agent has to be restarted."
    )
}
