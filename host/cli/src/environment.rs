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

/// The session of `keyhole serve`. With `--require-ticket`, it serves the calls for which the guard
/// left a ticket. Else it serves each call: as one from the agent that `--agent` names, or without
/// that from an unknown caller. If no map is typed and nobody knows where the usual one is, it
/// refuses each call.
///
/// Fails if `--require-ticket` is there and no folder for tickets is known, if the typed map's path
/// cannot be made absolute, or if the variable of `--key-env` has no key.
pub(crate) fn session(typed: arguments::Serve) -> Result<Session, String> {
    let callers = if typed.require_ticket {
        Callers::Tickets {
            // A client starts its servers itself.
            tickets: tickets_in(typed.tickets.as_deref())?.of_client(Some(parent_id())),
            only: typed.agent,
            // The plugin's own folder is made when it is installed.
            makes_folder: typed.tickets.is_some(),
        }
    } else {
        match typed.agent {
            Some(agent) => Callers::Agent(agent),
            None => Callers::Unknown,
        }
    };
    let map = match map_meant(&typed.map) {
        // Clients show nothing of a server that does not start. So it starts, and refuses calls.
        Err(_) if typed.map.file.is_none() => LiveMap::new(Location::nowhere()),
        map_or_why => map_or_why?,
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

/// The key in a variable. The error does not repeat its value.
fn key_in(variable: &str) -> Result<Key, String> {
    if let Ok(value) = env::var(variable)
        && let Ok(key) = Key::try_from(&*value)
    {
        return Ok(key);
    }
    Err("the variable that --key-env names is not set to a key".to_owned())
}

/// The guard: for the server of one agent (`own`) if `--bind` and `--agent` name the two, and else
/// for the plugin. A map or a folder for tickets that is not known is no error here: the guard has
/// the error, and denies each call.
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

/// The gate, with who reads its question (`reader`). That is a person if both hold: the client runs
/// in a terminal (`CLAUDE_CODE_ENTRYPOINT` is `cli`), and `CLAUDE_CODE_SESSION_ATTENDED` is not
/// set, or is `1` or `true`.
pub(crate) fn gate(typed: &arguments::MapArg) -> Gate {
    let is_attended =
        env::var_os("CLAUDE_CODE_SESSION_ATTENDED").is_none_or(|set| set == "1" || set == "true");
    let is_on_terminal = env::var_os("CLAUDE_CODE_ENTRYPOINT").is_some_and(|set| set == "cli");
    Gate {
        map: map_meant(typed),
        home: absolute(variable, "HOME"),
        scratch: folder_for_git(),
        reader: reader(is_on_terminal && is_attended),
    }
}

/// The scan, with who reads its findings (`reader`): a person, if standard output is a terminal and
/// the variable `CI` is not set.
pub(crate) fn scan(typed: arguments::Scan) -> Scan {
    Scan {
        files: typed.files,
        list: typed.list,
        map: map_meant(&typed.map),
        scratch: folder_for_git(),
        is_json: typed.json,
        reader: reader(io::stdout().is_terminal() && env::var_os("CI").is_none()),
        is_clients_shell: is_clients_shell(&variable),
    }
}

fn reader(is_person: bool) -> Reader {
    if is_person {
        Reader::Person
    } else {
        Reader::Anybody
    }
}

/// The folder for files that git needs: the plugin's, where there is one, since a project can
/// choose the folder for temporary files.
pub(crate) fn folder_for_git() -> PathBuf {
    absolute(variable, "CLAUDE_PLUGIN_DATA").unwrap_or_else(env::temp_dir)
}

/// The map that is meant: the one that was named, or the user's. Nothing is read yet.
pub(crate) fn map_meant(typed: &arguments::MapArg) -> Result<LiveMap, String> {
    Location::find(typed.file.as_deref(), variable)
        .map(LiveMap::new)
        .map_err(|error| error.to_string())
}

/// The tickets that a server and its guard share: those in this folder, or if none was named, in
/// the plugin's.
pub(crate) fn tickets_in(folder: Option<&Path>) -> Result<Tickets, String> {
    let data = match folder {
        Some(named) => named.to_owned(),
        None => env::var_os("CLAUDE_PLUGIN_DATA").unwrap_or_default().into(),
    };
    Tickets::in_folder(data).map_err(|_| "CLAUDE_PLUGIN_DATA is not set to an absolute path; only the Claude Code plugin sets it: name a folder with --tickets".to_owned())
}

/// What a variable of the environment says. None if it is not set.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    env::var_os(name)
}
