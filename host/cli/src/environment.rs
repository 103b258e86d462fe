//! What the arguments of a command mean in this environment. `arguments` has what is typed.

use crate::arguments;
use keyhole_core::{Key, LiveMap, Location, absolute, ticket::Tickets};
use keyhole_gate::{gate::Gate, said::Reader, scan::Scan};
use keyhole_serve::{
    guard::{Guard, OwnServer},
    session::{Callers, Session},
};
use keyhole_setup::ask::is_clients_shell;
use std::{
    env,
    ffi::OsString,
    io::{self, IsTerminal as _},
    os::unix::process::parent_id,
    path::{Path, PathBuf},
};

/// The session of `keyhole serve`.
///
/// - With `--require-ticket`, the session serves the calls for which the guard left a ticket; with
///   `--agent NAME` besides, only if the ticket names this agent.
/// - Else it serves each call. `--agent NAME` says that each caller is this agent; without it, the
///   caller is unknown.
/// - If no `--map` is typed and nobody knows where the usual map is, it refuses each call.
///
/// # Errors
/// If `--require-ticket` is typed and no folder for tickets is known; if the typed map's path
/// cannot be made absolute; or if the variable that `--key-env` names has no key.
pub(crate) fn session(typed: arguments::Serve) -> Result<Session, String> {
    let callers = if typed.require_ticket {
        Callers::Tickets {
            // The client starts this server itself, so the client is the parent process.
            tickets: tickets_in(typed.tickets.as_deref())?.of_client(Some(parent_id())),
            only: typed.agent,
            // The plugin's own folder is made when the plugin is installed.
            makes_folder: typed.tickets.is_some(),
        }
    } else {
        match typed.agent {
            Some(agent) => Callers::Agent(agent),
            None => Callers::Unknown,
        }
    };
    let map = match map_meant(&typed.map) {
        Ok(map) => map,
        Err(why) if typed.map.file.is_some() => return Err(why),
        // Clients show nothing of a server that does not start. So it starts, and refuses calls.
        Err(_) => LiveMap::new(Location::nowhere()),
    };
    let key = typed.key_env.as_deref().map(key_in).transpose()?;
    Ok(Session {
        map,
        callers,
        bind: typed.bind,
        key,
        require_wall: typed.require_wall,
    })
}

/// The key in the environment variable of this name. Fails if the variable is not set, or is no
/// key. The error does not repeat its value.
fn key_in(variable: &str) -> Result<Key, String> {
    if let Ok(value) = env::var(variable)
        && let Ok(key) = Key::try_from(&*value)
    {
        return Ok(key);
    }
    Err("the variable that --key-env names is not set to a key".to_owned())
}

/// The guard of `keyhole guard`: for the server of one agent (`own`) if `--bind` and `--agent` are
/// typed, and else for the plugin. If it is not known where the map or the folder for tickets is,
/// nothing fails here: the guard gets the error in the place of the two, and denies each call.
///
/// `CLAUDE_PID` is the client's process. If it is not set, or is no number, a ticket is for any
/// client.
pub(crate) fn guard(typed: arguments::Guard) -> Guard {
    // clap refuses `--bind` without `--agent`, and the reverse.
    let own = match (typed.bind, typed.agent) {
        (Some(binding), Some(agent)) => Some(OwnServer { binding, agent }),
        _ => None,
    };
    let client = env::var("CLAUDE_PID").ok().and_then(|pid| pid.parse().ok());
    Guard {
        map: map_meant(&typed.map),
        tickets: tickets_in(typed.tickets.as_deref()).map(|tickets| tickets.of_client(client)),
        own,
        is_after: typed.after,
    }
}

/// The gate of `keyhole gate`, with who reads its question: a person, if the client runs in a
/// terminal (`CLAUDE_CODE_ENTRYPOINT` is `cli`) and is attended (`CLAUDE_CODE_SESSION_ATTENDED` is
/// not set, or is `1` or `true`). Else anybody may read the question, also a model.
pub(crate) fn gate(typed: &arguments::MapArg) -> Gate {
    let is_attended =
        variable("CLAUDE_CODE_SESSION_ATTENDED").is_none_or(|set| set == "1" || set == "true");
    let is_on_terminal = variable("CLAUDE_CODE_ENTRYPOINT").is_some_and(|set| set == "cli");
    let reader = if is_on_terminal && is_attended {
        Reader::Person
    } else {
        Reader::Anybody
    };
    Gate {
        map: map_meant(typed),
        home: absolute(variable, "HOME"),
        scratch: folder_for_git(),
        reader,
    }
}

/// The scan of `keyhole scan`, with who reads its findings: a person, if standard output is a
/// terminal and the variable `CI` is not set. Else anybody may read them, also a model.
pub(crate) fn scan(typed: arguments::Scan) -> Scan {
    let reader = if io::stdout().is_terminal() && variable("CI").is_none() {
        Reader::Person
    } else {
        Reader::Anybody
    };
    Scan {
        files: typed.files,
        list: typed.list,
        map: map_meant(&typed.map),
        scratch: folder_for_git(),
        is_json: typed.json,
        reader,
        is_clients_shell: is_clients_shell(&variable),
    }
}

/// The folder for files that git needs: the plugin's (`CLAUDE_PLUGIN_DATA`), if the plugin runs
/// this program. Else the folder for temporary files, which a project's settings could choose.
pub(crate) fn folder_for_git() -> PathBuf {
    absolute(variable, "CLAUDE_PLUGIN_DATA").unwrap_or_else(env::temp_dir)
}

/// The map that is meant: the one that `--map` names, or the user's usual one. Nothing is read yet.
/// Fails if it is not known where the map is, as without `HOME`.
pub(crate) fn map_meant(typed: &arguments::MapArg) -> Result<LiveMap, String> {
    Location::find(typed.file.as_deref(), variable)
        .map(LiveMap::new)
        .map_err(|error| error.to_string())
}

/// The tickets that a server and its guard share: those in this folder; or if no folder is named,
/// in the plugin's (`CLAUDE_PLUGIN_DATA`). Fails if the folder is no absolute path, or not known.
pub(crate) fn tickets_in(folder: Option<&Path>) -> Result<Tickets, String> {
    let data = match folder {
        Some(named) => named.to_owned(),
        None => variable("CLAUDE_PLUGIN_DATA").unwrap_or_default().into(),
    };
    Tickets::in_folder(data).map_err(|_| "CLAUDE_PLUGIN_DATA is not set to an absolute path; only the Claude Code plugin sets it: name a folder with --tickets".to_owned())
}

/// What a variable of the environment says. None if it is not set.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    env::var_os(name)
}
