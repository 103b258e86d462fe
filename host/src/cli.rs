//! The command line: what can be asked of `keyhole`, and its exit codes.

use crate::{
    Loader, arenas, check, contract, demo,
    limits::Limits,
    map::{LiveMap, Location},
    sandbox::Sandbox,
    serve::{self, ServeError},
};
use clap::{Parser, Subcommand};
use std::{
    io::{self, Write as _},
    path::PathBuf,
    process::ExitCode,
    sync::Arc,
};

/// Hands one AI subagent a private piece of context, from a sandbox.
///
/// A user keeps a map of opaque keys to Markdown files. An MCP client that was
/// given a key calls the tool `load_context` with it and gets that file; without
/// a key there is nothing to be had, not even a list.
#[derive(Debug, Parser)]
#[command(version, about, long_about, max_term_width = 100, after_help = AFTER_HELP)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "\
Examples:
  keyhole demo                       watch a whole session, on files of its own
  keyhole check                      would every key in my map load?
  claude mcp add keyhole -- keyhole serve

The map is $XDG_CONFIG_HOME/keyhole/context-map.toml, or
~/.config/keyhole/context-map.toml where that variable is not set.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the tool `load_context` over MCP on standard input and output
    #[command(after_help = "\
Started by an MCP client, which is configured with this command.
The map is read at each call that finds it changed; no restart is needed.

Exit codes: 0 at the end of input or on SIGINT or SIGTERM, 1 if it cannot start.")]
    Serve(MapArg),

    /// Say of each entry in the map whether it would load, and why not
    #[command(after_help = "\
Examples:
  keyhole check
  keyhole check --map ./team-map.toml --json

Exit codes: 0 everything would load, 1 something would not, 2 no map, or an invalid one.")]
    Check {
        #[command(flatten)]
        map: MapArg,
        /// Print JSON instead of a table
        #[arg(long)]
        json: bool,
        /// Print keys in full; mind who can see your screen
        #[arg(long)]
        show_keys: bool,
    },

    /// Print what the embedded component can import, its size and its SHA-256
    Contract,

    /// Show a whole session over MCP, on a map and files of its own
    Demo,
}

#[derive(Debug, clap::Args)]
struct MapArg {
    /// The map, instead of the one in your configuration directory
    #[arg(long = "map", value_name = "FILE")]
    file: Option<PathBuf>,
}

/// Runs the command line of this process.
#[must_use]
pub fn run() -> ExitCode {
    hide_panics();
    let done = match Cli::parse().command {
        Command::Serve(map) => {
            arenas::spare_address_space();
            live_map(&map).and_then(|map| {
                serve::serve(map, Limits::default()).map_err(|error| error.to_string())?;
                Ok(ExitCode::SUCCESS)
            })
        }
        Command::Check {
            map,
            json,
            show_keys,
        } => live_map(&map)
            .and_then(|map| check_map(map, json, show_keys).map_err(|error| error.to_string())),
        Command::Contract => unless_hung_up(io::stdout().write_all(contract().as_bytes()))
            .map(|()| ExitCode::SUCCESS)
            .map_err(|error| error.to_string()),
        Command::Demo => demo::run()
            .map_err(|error| error.to_string())
            .map(|()| ExitCode::SUCCESS),
    };
    done.unwrap_or_else(|message| {
        // Nobody is left to tell where standard error is gone too.
        let _ = writeln!(io::stderr(), "keyhole: {message}");
        ExitCode::FAILURE
    })
}

fn live_map(map: &MapArg) -> Result<LiveMap, String> {
    Location::find(map.file.as_deref(), |name| std::env::var_os(name))
        .map(LiveMap::new)
        .map_err(|error| error.to_string())
}

/// Loads every entry as a call would, and reports.
fn check_map(map: LiveMap, json: bool, show_keys: bool) -> Result<ExitCode, ServeError> {
    let limits = Limits::default();
    let map = Arc::new(map);
    let loader = Loader::new(Arc::clone(&map), Sandbox::embedded(limits)?, limits);
    let runtime = serve::runtime(limits)?;
    let report = runtime.block_on(check(&map, show_keys, async |key| {
        loader
            .load(key.expose())
            .await
            .map(|content| content.text.len() as u64)
    }));
    runtime.shutdown_background();
    let written = match json {
        true => report
            .to_json()
            .map_err(io::Error::from)
            .and_then(|json| writeln!(anstream::stdout(), "{json}")),
        false => report.write_text(&mut anstream::stdout().lock()),
    };
    unless_hung_up(written)?;
    Ok(ExitCode::from(report.exit_code()))
}

/// A reader that has seen enough, as `head` does, is not an error.
fn unless_hung_up(written: io::Result<()>) -> io::Result<()> {
    written.or_else(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Ok(()),
        _ => Err(error),
    })
}

/// A panic's message may hold anything, a key or a file's content among it, so
/// only the place in our source is reported.
fn hide_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map_or_else(String::new, |location| {
            let file = location.file().rsplit('/').next().unwrap_or_default();
            format!(" at {file}:{}", location.line())
        });
        let _ = writeln!(
            io::stderr(),
            "keyhole: internal error{place}; please report it"
        );
    }));
}
