//! `keyhole setup`: gives an agent its document, in the user's own files, after it has shown
//! what and asked; or prints what each client needs in its configuration.
//!
//! Only `keyhole_setup` writes. What is printed for a client is the example from
//! docs/examples, with this program's path and the user's names in it. We test each example
//! with its client.

mod door;
mod entry;
mod found;
mod print;

use crate::check::{Secrets, foreign_map};
use clap::builder::PossibleValuesParser;
use door::write;
use keyhole_core::{
    AgentName, BindingName, LiveMap, Location, LocationError, Map, MapError, limits::MAX_MAX_BYTES,
    sandbox::SandboxError,
};
use keyhole_setup::{What, clients, program::ProgramError, recipe::NameError};
use std::{
    io::{self, IsTerminal as _},
    path::{Path, PathBuf},
    sync::Arc,
};

/// The arguments of `keyhole setup`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    /// The client; without one, setup asks, or without a terminal lists the known clients
    #[arg(value_parser = PossibleValuesParser::new(clients::all().map(|client| client.name)))]
    client: Option<String>,
    #[command(flatten)]
    names: Names,
    /// The agent to which a hook hands its document when it starts, without a server
    #[arg(long, value_name = "AGENT", value_parser = AgentName::in_map, requires = "client", conflicts_with_all = ["bind", "agent"])]
    inject: Option<AgentName>,
    /// Write it all: give the agent this Markdown file, after showing what changes and asking
    #[arg(long, value_name = "FILE", requires = "client")]
    file: Option<PathBuf>,
    /// With --file, only show what would change
    #[arg(long, requires = "file")]
    dry_run: bool,
    #[command(subcommand)]
    what: Option<Command>,
}

#[derive(Clone, Debug, clap::Args)]
struct Names {
    /// The binding that the server serves: [bindings.NAME] in the map
    #[arg(long, value_name = "NAME")]
    bind: Option<BindingName>,
    /// The agent that the file is for: agents = ["NAME"] in the map
    #[arg(long, value_name = "NAME", value_parser = AgentName::in_map)]
    agent: Option<AgentName>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Give the Claude Code plugin's agent its document
    #[command(after_help = "\
It shows each line that it will add, asks, writes, and checks.

Examples:
  keyhole setup plugin
  keyhole setup plugin --file ~/notes/identifiers.md

Exit codes: 0 written or nothing to do, 1 not written.")]
    Plugin {
        /// The Markdown file; without it, setup asks, and can make a new one
        #[arg(long)]
        file: Option<PathBuf>,
        /// Only show what would change
        #[arg(long)]
        dry_run: bool,
    },
    /// Take away what setup wrote for NAME: a binding, an agent of a hook, or `plugin`
    #[command(after_help = "\
A file that nobody changed since becomes what it was, byte for byte. The document stays.

Example:
  keyhole setup remove house-rules

Exit codes: 0 taken away, 1 not.")]
    Remove {
        /// The binding's or agent's name, or `plugin`
        name: String,
        /// Only show what would change
        #[arg(long)]
        dry_run: bool,
    },
    /// Print an entry for the map, with a fresh key for FILE, or a binding
    #[command(after_help = "\
The entry is a table of its own, so you can append it to any map, also to an empty or a
new one: it needs no [keys] above it. Each run makes another key. With --bind, it is a
binding, which has none.

Examples:
  keyhole setup key ~/notes/identifiers.md
  mkdir -p -m 700 ~/.config/keyhole &&
    keyhole setup key ~/notes/identifiers.md >> ~/.config/keyhole/context-map.toml

Standard error says if the file would be refused as it is now.

Exit codes: 0 printed, 1 not printed; standard error then says why, for example that
the map would be invalid with it.")]
    Key {
        /// The Markdown file: absolute, under ~/, or relative to the current directory
        file: PathBuf,
        #[command(flatten)]
        names: Names,
        /// The largest size that is served, for a client that has a limit
        #[arg(long, value_name = "BYTES", value_parser = max_bytes)]
        max_bytes: Option<u64>,
    },
}

/// Parses a size, as a map could have it.
fn max_bytes(text: &str) -> Result<u64, String> {
    let bytes = text.parse().ok();
    bytes
        .filter(|bytes| (1..=MAX_MAX_BYTES).contains(bytes))
        .ok_or_else(|| format!("a size is a number of bytes, 1 to {MAX_MAX_BYTES}"))
}

/// The output.
pub(crate) struct Output {
    /// On standard output.
    pub(crate) text: String,
    /// On standard error, one per line.
    pub(crate) warnings: Vec<String>,
}

impl From<String> for Output {
    fn from(text: String) -> Self {
        Self {
            text,
            warnings: Vec::new(),
        }
    }
}

/// Why nothing is printed. No message repeats the user's input: it may be a key.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SetupError {
    #[error("name a client, or `key` and a file; `keyhole setup` lists the clients")]
    NoClient,
    #[error("{0}")]
    Program(#[from] ProgramError),
    #[error("{0}")]
    Name(#[from] NameError),
    #[error("{0}")]
    Door(#[from] keyhole_setup::SetupError),
    #[error("{0}")]
    Ask(#[from] keyhole_setup::ask::AskError),
    #[error("nothing is changed: {0}\n\n{1}")]
    ByHand(keyhole_setup::FileError, String),
    #[error("nothing is changed")]
    Declined,
    #[error("name the server and its agent: add --bind NAME, or --inject AGENT")]
    NoName,
    #[error("nothing is changed: {0}")]
    Tickets(keyhole_core::ticket::TicketError),
    #[error("HOME does not say where your home is")]
    NoHome,
    #[error("the result cannot be checked: {0}; run `keyhole check`")]
    Unchecked(crate::start::StartError),
    #[error("all is written, but {0}\n\n{1}")]
    Refused(String, String),
    #[error("the output would show a text that holds a key of your map; choose another name")]
    HoldsAKey,
    #[error(
        "the map has a binding of this name already, on line {0}; change that one, or choose another name"
    )]
    BindingExists(u32),
    #[error("with this entry, the map would be invalid: {0}")]
    Entry(MapError),
    #[error("{}", .0.at_start())]
    Map(MapError),
    #[error("{0}")]
    ForeignHome(String),
    #[error("{0}")]
    Location(#[from] LocationError),
    #[error("the system gives no random bytes: {0}")]
    Random(getrandom::Error),
    #[error("the file cannot be tried: {0}")]
    Sandbox(#[from] SandboxError),
    #[error("the file cannot be tried: {0}")]
    Start(#[from] io::Error),
}

/// Runs `keyhole setup`, and returns what it prints.
///
/// # Errors
/// [`SetupError`].
pub(crate) fn run(arguments: &Arguments) -> Result<Output, SetupError> {
    let Arguments {
        client,
        names,
        inject,
        file,
        dry_run,
        what,
    } = arguments;
    let (bind, agent) = (names.bind.as_deref(), names.agent.as_ref());
    match (what, client, file) {
        (Some(Command::Plugin { file, dry_run }), ..) => {
            write(Wish::Give(Some(What::Plugin), file.as_deref()), *dry_run)
        }
        (Some(Command::Remove { name, dry_run }), ..) => write(Wish::Remove(name), *dry_run),
        (
            Some(Command::Key {
                file,
                names,
                max_bytes,
            }),
            ..,
        ) => entry::for_file(file, names, *max_bytes, &UserMap::read()?),
        (None, Some(client), Some(file)) => {
            let client = client.clone();
            let what = match inject {
                Some(agent) => What::Inject {
                    client,
                    agent: agent.to_string(),
                },
                None => What::Bind {
                    client,
                    name: bind.ok_or(SetupError::NoName)?.to_owned(),
                    agent: agent.map(ToString::to_string),
                },
            };
            write(Wish::Give(Some(what), Some(file)), *dry_run)
        }
        (None, Some(client), None) => match inject {
            Some(agent) => print::hook(client, agent, &UserMap::read()?),
            None => print::recipe(client, bind, agent, &UserMap::read()?),
        },
        (None, None, _) if bind.is_some() || agent.is_some() => Err(SetupError::NoClient),
        (None, None, _) if io::stdin().is_terminal() && io::stdout().is_terminal() => {
            write(Wish::Give(None, None), false)
        }
        (None, None, _) => Ok(found::list(|name| std::env::var_os(name)).into()),
    }
}

/// What is to be written or taken away.
enum Wish<'a> {
    /// A file to an agent: what is not said, the user is asked for.
    Give(Option<What>, Option<&'a Path>),
    Remove(&'a str),
}

/// The user's map, as it is now.
struct UserMap {
    live: LiveMap,
    /// None means that there is no map yet.
    map: Option<Arc<Map>>,
}

impl UserMap {
    /// # Errors
    /// If there is a map that cannot be used: then we do not know which texts are
    /// keys, and the user could not use the output either.
    fn read() -> Result<Self, SetupError> {
        let location = Location::find(None, |name| std::env::var_os(name))?;
        if let Some(why) = foreign_map(&location) {
            return Err(SetupError::ForeignHome(why));
        }
        let live = LiveMap::new(location);
        let map = match live.current() {
            Ok(map) => Some(map),
            Err(MapError::Missing { .. }) => None,
            Err(error) => return Err(SetupError::Map(error)),
        };
        Ok(Self { live, map })
    }

    /// Returns `text`, which contains these names, if neither it nor a name reveals
    /// a key of the map.
    fn conceals(&self, text: String, names: &[Option<&str>]) -> Result<String, SetupError> {
        let secrets = self.map.as_ref().map(|map| Secrets::of(map));
        let tells = |text: &str| {
            let secrets = secrets.as_ref();
            secrets.is_some_and(|secrets| secrets.are_told_by(text))
        };
        match tells(&text) || names.iter().flatten().any(|name| tells(name)) {
            true => Err(SetupError::HoldsAKey),
            false => Ok(text),
        }
    }
}
