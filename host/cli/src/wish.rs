//! What the user or a client wants, once the environment has been read. `arguments` has what is
//! typed; this says what it means.

use crate::arguments;
use keyhole_core::{AgentName, BindingName, Key, LiveMap, Location, absolute, ticket::Tickets};
use keyhole_gate::{gate::Gate, said::Reader, scan::Scan};
use keyhole_serve::{
    guard::{Guard, OwnServer},
    inject::Inject,
    session::{Callers, Session},
};
use keyhole_setup::{ask::is_clients_shell, clients::Client};
use std::{
    env,
    io::{self, IsTerminal as _},
    os::unix::process::parent_id,
    path::{Path, PathBuf},
};

/// What one run of the program is for. A map or a folder that cannot be named is an error here
/// only if the command does nothing without it: a hook answers all the same.
pub(crate) enum Wish {
    /// Serve one session.
    Serve(Session),
    /// Decide about a call.
    Guard(Guard),
    /// Hand an agent its file.
    Inject(Inject),
    /// Take out of a report what quotes the agent's file.
    Withhold {
        map: Result<LiveMap, String>,
        /// Whether a hook asks that runs when an agent is about to end.
        is_stop: bool,
    },
    /// Ask before a call publishes what a list has.
    Gate(Gate),
    /// Hand the scanner what would be published, with this folder for git's own files.
    HandOver(PathBuf),
    /// Look for what a list has in what would be published.
    Scan(Scan),
    /// Make the folder for the plugin's tickets.
    Tickets(Tickets),
    /// Print the agents that the map names.
    Agents(LiveMap),
    /// Say what would be served.
    Check(Check),
    /// Print what the guest can reach.
    Contract,
    /// Configure a client, or take that back.
    Setup(Box<Setup>),
}

/// What `keyhole check` looks at, and how it answers.
pub(crate) struct Check {
    /// The map, or why it is not known which one is meant.
    pub(crate) map: Result<LiveMap, String>,
    pub(crate) answer: Answer,
    /// None if the plugin does not ask.
    pub(crate) plugin: Option<Plugin>,
}

/// The plugin, if it asks for a check.
#[derive(Debug)]
pub(crate) struct Plugin {
    /// The plugin's command.
    pub(crate) command: PathBuf,
    /// Where the plugin keeps its tickets, if the client says it.
    pub(crate) tickets: Option<Tickets>,
}

/// In which form `keyhole check` answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// A table for people.
    Text,
    /// The same, with the walls also if all stand.
    Verbose,
    /// JSON, for programs.
    Json,
    /// Only the exit code.
    Quiet,
    /// One line for the start of a session, if the map cannot be used.
    Brief,
}

/// What `keyhole setup` is to do.
pub(crate) enum Setup {
    /// List the clients: no client is named, and nobody is there to be asked.
    ListClients,
    /// Print what a client needs.
    Print(Recipient),
    /// Show what gives somebody a file, ask, and write it.
    Install(Install),
    /// List the names that `remove` takes.
    ListNames,
    /// Take away what setup wrote for a name.
    Remove {
        /// A binding's or an agent's name, or `plugin`.
        name: String,
        /// Whether it only shows what would change.
        is_dry: bool,
    },
    /// Print an entry for the map.
    PrintEntry(MapEntry),
}

/// Who is to get a file, as the user named it.
pub(crate) struct Recipient {
    pub(crate) client: Client,
    pub(crate) names: Names,
}

/// The names that the user typed.
pub(crate) struct Names {
    /// The binding's name, or that of the agent of a hook.
    pub(crate) name: Option<String>,
    /// The agent that calls the server.
    pub(crate) agent: Option<AgentName>,
    /// Whether a hook hands the file over, without a server.
    pub(crate) is_hook: bool,
}

/// What is known before the first question.
pub(crate) struct Install {
    /// The client. None: it is asked for.
    pub(crate) client: Option<Client>,
    pub(crate) names: Names,
    /// The file, as it was typed. None: it is asked for.
    pub(crate) file: Option<String>,
    /// Whether it only shows what would change.
    pub(crate) is_dry: bool,
}

/// What an entry of the map is to say.
pub(crate) struct MapEntry {
    /// The file, as it was typed.
    pub(crate) file: String,
    /// The binding's name. None: the entry has a fresh key.
    pub(crate) bind: Option<BindingName>,
    pub(crate) agent: Option<AgentName>,
    /// The largest size that is served, in bytes.
    pub(crate) max_bytes: Option<u64>,
}

impl Wish {
    /// What the command means in this environment.
    ///
    /// # Errors
    /// If the environment lacks what the command cannot do without. The text repeats no argument.
    pub(crate) fn of(command: arguments::Command) -> Result<Self, String> {
        use arguments::Command;
        Ok(match command {
            Command::Serve(typed) => Self::Serve(session(typed)?),
            Command::Guard(typed) => Self::Guard(guard(typed)),
            Command::Inject { map, require_wall } => Self::Inject(Inject {
                map: map_meant(&map),
                require_wall,
            }),
            Command::Withhold { map, stop } => Self::Withhold {
                map: map_meant(&map),
                is_stop: stop,
            },
            Command::Gate(typed) => Self::Gate(gate(&typed)),
            Command::HandOver => Self::HandOver(folder_for_git()),
            Command::Scan(typed) => Self::Scan(scan(typed)),
            Command::Tickets => Self::Tickets(tickets_in(None)?),
            Command::Agents(typed) => Self::Agents(map_meant(&typed)?),
            Command::Check(typed) => Self::Check(check(typed)),
            Command::Contract => Self::Contract,
            Command::Setup(typed) => Self::Setup(Box::new(setup(typed)?)),
        })
    }
}

/// The session of `keyhole serve`. With `--require-ticket`, it serves the calls for which the guard
/// left a ticket. Else it serves each call: as one from the agent that `--agent` names, or without
/// that from an unknown caller. If no map is typed and nobody knows where the usual one is, it
/// refuses each call.
///
/// Fails if `--require-ticket` is there and no folder for tickets is known, if the typed map's path
/// cannot be made absolute, or if the variable of `--key-env` has no key.
fn session(typed: arguments::Serve) -> Result<Session, String> {
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
fn guard(typed: arguments::Guard) -> Guard {
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
fn gate(typed: &arguments::MapArg) -> Gate {
    let is_attended =
        env::var_os("CLAUDE_CODE_SESSION_ATTENDED").is_none_or(|set| set == "1" || set == "true");
    let is_on_terminal = env::var_os("CLAUDE_CODE_ENTRYPOINT").is_some_and(|set| set == "cli");
    Gate {
        map: map_meant(typed),
        home: absolute(|name| env::var_os(name), "HOME"),
        scratch: folder_for_git(),
        reader: reader(is_on_terminal && is_attended),
    }
}

/// The scan, with who reads its findings (`reader`): a person, if standard output is a terminal and
/// the variable `CI` is not set.
fn scan(typed: arguments::Scan) -> Scan {
    Scan {
        files: typed.files,
        list: typed.list,
        map: map_meant(&typed.map),
        scratch: folder_for_git(),
        is_json: typed.json,
        reader: reader(io::stdout().is_terminal() && env::var_os("CI").is_none()),
        is_clients_shell: is_clients_shell(&|name| env::var_os(name)),
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
fn folder_for_git() -> PathBuf {
    absolute(|name| env::var_os(name), "CLAUDE_PLUGIN_DATA").unwrap_or_else(env::temp_dir)
}

/// The check that is typed. If several forms of its answer are typed, the first one of `--brief`,
/// `--json`, `--quiet` and `--verbose` counts; if none is, the answer is a text.
fn check(typed: arguments::Check) -> Check {
    let answer = if typed.brief {
        Answer::Brief
    } else if typed.json {
        Answer::Json
    } else if typed.quiet {
        Answer::Quiet
    } else if typed.verbose {
        Answer::Verbose
    } else {
        Answer::Text
    };
    Check {
        map: map_meant(&typed.map),
        answer,
        plugin: typed.plugin.map(|command| Plugin {
            command,
            // None if the client does not say where the plugin's data folder is.
            tickets: tickets_in(None).ok(),
        }),
    }
}

/// What setup is to do, by its subcommand. `remove` with a name: take away what setup wrote for
/// that name. `remove` alone: list the names. `key`: print an entry for the map. Without a
/// subcommand, [`without_subcommand`] says it; only this can fail.
fn setup(typed: arguments::Setup) -> Result<Setup, String> {
    use arguments::SetupCommand;
    match typed.what {
        Some(SetupCommand::Remove {
            name: Some(name),
            dry_run,
        }) => Ok(Setup::Remove {
            name,
            is_dry: dry_run,
        }),
        Some(SetupCommand::Remove { name: None, .. }) => Ok(Setup::ListNames),
        Some(SetupCommand::Key(wanted)) => Ok(Setup::PrintEntry(MapEntry {
            file: wanted.file,
            bind: wanted.names.bind,
            agent: wanted.names.agent,
            max_bytes: wanted.max_bytes,
        })),
        None => without_subcommand(typed),
    }
}

/// What setup does without a subcommand.
///
/// - Without a client: it asks for one if a terminal is there, and else lists the clients.
/// - For a client without a file: it prints what to paste.
/// - For a client with a file, or for the plugin: it shows what changes, asks, and writes.
///
/// Fails if a name is typed (`--bind`, `--inject`, `--agent`) without a client, or for the plugin.
fn without_subcommand(typed: arguments::Setup) -> Result<Setup, String> {
    let is_hook = typed.inject.is_some();
    let agent_of_hook = typed.inject.map(|agent| agent.to_string());
    let binding = typed.names.bind.map(|name| name.to_string());
    let names = Names {
        // clap refuses both at once.
        name: binding.or(agent_of_hook),
        agent: typed.names.agent,
        is_hook,
    };
    let has_names = names.name.is_some() || names.agent.is_some();
    let is_at_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    // The first row that fits counts.
    match typed.client.as_deref() {
        None if has_names => {
            return Err(
                "name a client, or `key` and a file; `keyhole setup` lists the clients".to_owned(),
            );
        }
        None if !is_at_terminal => return Ok(Setup::ListClients),
        None => {}
        Some(client) if client.is_plugin() && has_names => {
            return Err(
                "the plugin's agent has its own name: leave --bind, --inject and --agent out"
                    .to_owned(),
            );
        }
        Some(client) if typed.file.is_none() && !client.is_plugin() => {
            let client = client.clone();
            return Ok(Setup::Print(Recipient { client, names }));
        }
        Some(_) => {}
    }
    Ok(Setup::Install(Install {
        client: typed.client.map(|client| *client),
        names,
        file: typed.file,
        is_dry: typed.dry_run,
    }))
}

/// The map that is meant: the one that was named, or the user's. Nothing is read yet.
fn map_meant(typed: &arguments::MapArg) -> Result<LiveMap, String> {
    Location::find(typed.file.as_deref(), |name| env::var_os(name))
        .map(LiveMap::new)
        .map_err(|error| error.to_string())
}

/// The tickets that a server and its guard share: those in this folder, or if none was named, in
/// the plugin's.
fn tickets_in(folder: Option<&Path>) -> Result<Tickets, String> {
    let data = match folder {
        Some(named) => named.to_owned(),
        None => env::var_os("CLAUDE_PLUGIN_DATA").unwrap_or_default().into(),
    };
    Tickets::in_folder(data).map_err(|_| "CLAUDE_PLUGIN_DATA is not set to an absolute path; only the Claude Code plugin sets it: name a folder with --tickets".to_owned())
}
