//! The command line of `keyhole`, and its exit codes.

use crate::{
    agent::AgentName,
    caller::Callers,
    check::check,
    contract::contract,
    demo, guard,
    limits::Limits,
    loader::Loader,
    map::{BindingName, Key, LiveMap, Location},
    os,
    resources::runtime,
    sandbox::{COMPONENT, Sandbox},
    seal::Standing,
    serve::{self, ServeError},
    setup, shell,
    ticket::Tickets,
    usage::{self, agent_name, binding_name},
};
use clap::{CommandFactory as _, Parser, Subcommand};
use std::{
    io::{self, Write as _},
    path::PathBuf,
    process::ExitCode,
    sync::Arc,
};

/// Hands one AI subagent a private piece of context, from a sandbox whose reach is provable
///
/// A user keeps a map of opaque keys to Markdown files. An MCP client that was
/// given a key calls the tool `load_context` with it and gets that file; without
/// a key it gets nothing, not even a list.
#[derive(Debug, Parser)]
// The name is set here, because the plugin keeps the program under a name with a
// checksum.
#[command(name = "keyhole", bin_name = "keyhole", version, about, long_about)]
#[command(max_term_width = 100, after_help = AFTER_HELP)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The end of `--help`, with where the map is on this system.
macro_rules! after_help {
    ($map:literal) => {
        concat!(
            "\
Examples:
  keyhole demo                       watch a whole session, with its own files
  keyhole check                      would every key in my map load?
  keyhole setup                      what do I tell my client?
  claude mcp add keyhole -- keyhole serve

The map is ",
            $map
        )
    };
}

#[cfg(unix)]
const AFTER_HELP: &str = after_help!(
    "$XDG_CONFIG_HOME/keyhole/context-map.toml, or
~/.config/keyhole/context-map.toml if that variable is not set."
);

#[cfg(windows)]
const AFTER_HELP: &str = after_help!(r"%APPDATA%\keyhole\context-map.toml.");

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the tool `load_context` over MCP on standard input and output
    #[command(after_help = "\
An MCP client starts this command: put it into the client's configuration.
A call reads the map again if the map has changed; no restart is needed.

On Linux the process first gives up all rights except reading: it can write nothing,
start no program and reach no network and no other process, whatever happens to it.
If the system cannot do all of that, it says so. `keyhole check` shows what it can.

With --sealed (Linux 6.7 or newer) it can read only in the mapped files' directories
and below. Of any other path it can still ask whether it exists, its size, owner and
times. It then reads the map once: restart it if you change the map. If you change a
file, you need not restart it.

Exit codes: 0 at the end of input or on SIGINT or SIGTERM, 1 if it cannot start or
fails before that.")]
    Serve {
        #[command(flatten)]
        map: MapArg,
        /// Serve the one context that the map calls NAME, without keys
        ///
        /// The tool then takes no argument. Its title and description are those of
        /// [bindings.NAME], as they are at the start.
        #[arg(long, value_name = "NAME", value_parser = binding_name)]
        bind: Option<BindingName>,
        /// Take the key of --bind from this variable, not from [bindings.NAME]
        ///
        /// Each call then looks up nothing but this key in the map. The Claude Code
        /// plugin uses it, so that its users write a key into the map and no
        /// binding.
        #[arg(
            long,
            value_name = "VARIABLE",
            requires = "bind",
            conflicts_with = "sealed"
        )]
        key_env: Option<String>,
        /// Say that every caller is this agent, so that keys bound to it work
        ///
        /// You state whom you start this server for; nothing verifies it. Use it if
        /// one server serves one worker. With --require-ticket it is verified: the
        /// ticket must name this agent.
        #[arg(long, value_name = "NAME", value_parser = agent_name)]
        agent: Option<AgentName>,
        /// Serve only calls that `keyhole guard` left a ticket for
        ///
        /// For the Claude Code plugin, which sets CLAUDE_PLUGIN_DATA, the folder
        /// that the server and the guard share.
        #[arg(long)]
        require_ticket: bool,
        /// Give up all rights except reading the mapped files' directories
        ///
        /// Not with --require-ticket: to use a ticket up, the server must delete it.
        #[arg(long, conflicts_with = "require_ticket")]
        sealed: bool,
    },

    /// Say for each entry in the map whether it would load, and if not, why
    #[command(after_help = "\
It prints no key and no key's length: the line in the map says which entry is meant.

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
    },

    /// Print what a client needs in its configuration, or an entry for the map
    #[command(after_help = "\
It writes no file. The first line says who gets the document: one agent, one session,
or the whole client.

Examples:
  keyhole setup                      the known clients, and which are found here
  keyhole setup key ~/notes/identifiers.md --bind scanner-catalog
  keyhole setup claude-code --bind scanner-catalog

Exit codes: 0 printed, 1 not printed; standard error then says why, for example that a
key would be shown.")]
    Setup(setup::Arguments),

    /// Decide, as a hook of the Claude Code plugin, whether a call may be made
    #[command(after_help = "\
Reads a PreToolUse question on standard input and answers on standard output.
If it allows the call, it leaves a ticket in CLAUDE_PLUGIN_DATA for the server.

Exit codes: 0 decided, 2 denied because of an error.")]
    Guard(MapArg),

    /// Print the agents that the map names, one per line, and * if a key is for any
    ///
    /// For the Claude Code plugin, which shows the tool to no others. A missing map
    /// names nobody.
    #[command(hide = true)]
    Agents(MapArg),

    /// Print what the embedded component can import, its size and its SHA-256
    Contract {
        /// Write the component itself to a file as well
        #[arg(long, value_name = "FILE")]
        save: Option<PathBuf>,
    },

    /// Show a whole session over MCP, with its own map and files
    Demo,

    /// Print a shell's completions, or the manual page
    #[command(after_help = "\
Examples:
  keyhole shell bash > ~/.local/share/bash-completion/completions/keyhole
  keyhole shell man > ~/.local/share/man/man1/keyhole.1")]
    Shell {
        /// The shell, or man for the manual page
        what: shell::What,
    },
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
    let command = match Cli::try_parse() {
        Ok(cli) => cli.command,
        Err(error) => {
            let words: Vec<_> = std::env::args_os().skip(1).collect();
            return usage::explain(&error, Cli::command(), &words);
        }
    };
    let done = match command {
        Command::Serve {
            map,
            bind,
            key_env,
            agent,
            require_ticket,
            sealed,
        } => callers(agent, require_ticket).and_then(|callers| {
            os::limit_arenas();
            let (map, limits) = (live_map(&map)?, Limits::default());
            let done = match (sealed, bind.as_ref(), key_env) {
                (false, Some(name), Some(variable)) => {
                    serve::serve_key(map, name, key_in(&variable)?, callers, limits)
                }
                (false, bind, _) => serve::serve(map, bind, callers, limits),
                (true, bind, _) => serve::serve_sealed(&map, bind, callers, limits),
            };
            done.map_err(|error| error.to_string())?;
            Ok(ExitCode::SUCCESS)
        }),
        Command::Guard(map) => return guard_call(&map),
        Command::Agents(map) => live_map(&map).and_then(|map| {
            let agents = guard::agents(&map).map_err(|error| error.to_string())?;
            unless_hung_up(io::stdout().write_all(agents.as_bytes()))
                .map_err(|error| error.to_string())?;
            Ok(ExitCode::SUCCESS)
        }),
        Command::Check { map, json } => {
            live_map(&map).and_then(|map| check_map(map, json).map_err(|error| error.to_string()))
        }
        Command::Contract { save } => save
            .map_or(Ok(()), |file| std::fs::write(file, COMPONENT))
            .map_err(|error| {
                format!("the component cannot be written: {error}; name another file with --save")
            })
            .and_then(|()| {
                unless_hung_up(io::stdout().write_all(contract().as_bytes()))
                    .map_err(|error| error.to_string())
            })
            .map(|()| ExitCode::SUCCESS),
        Command::Shell { what } => unless_hung_up(shell::write(Cli::command(), what))
            .map(|()| ExitCode::SUCCESS)
            .map_err(|error| error.to_string()),
        Command::Setup(arguments) => setup::run(&arguments)
            .map_err(|error| error.to_string())
            .and_then(|said| {
                for warning in &said.warnings {
                    // If standard error is closed, nobody is left to tell.
                    let _ = writeln!(io::stderr(), "keyhole: {warning}");
                }
                unless_hung_up(io::stdout().write_all(said.text.as_bytes()))
                    .map_err(|error| error.to_string())
            })
            .map(|()| ExitCode::SUCCESS),
        Command::Demo => demo::run()
            .map_err(|error| error.to_string())
            .map(|()| ExitCode::SUCCESS),
    };
    done.unwrap_or_else(|message| {
        // If standard error is closed, nobody is left to tell.
        let _ = writeln!(io::stderr(), "keyhole: {message}");
        ExitCode::FAILURE
    })
}

fn live_map(map: &MapArg) -> Result<LiveMap, String> {
    Location::find(map.file.as_deref(), |name| std::env::var_os(name))
        .map(LiveMap::new)
        .map_err(|error| error.to_string())
}

/// The key in an environment variable. The error does not repeat the variable's value.
fn key_in(variable: &str) -> Result<Key, &'static str> {
    std::env::var(variable)
        .ok()
        .and_then(|text| Key::try_from(text).ok())
        .ok_or("the variable that --key-env names is not set to a key")
}

/// How `serve` learns who calls, from its options.
fn callers(agent: Option<AgentName>, require_ticket: bool) -> Result<Callers, String> {
    Ok(match agent {
        only if require_ticket => Callers::Ticketed {
            tickets: Arc::new(tickets()?),
            only,
        },
        Some(agent) => Callers::Stated(agent),
        None => Callers::Unknown,
    })
}

/// The folder that the plugin's server and its guard share.
fn tickets() -> Result<Tickets, String> {
    std::env::var_os("CLAUDE_PLUGIN_DATA")
        .map(PathBuf::from)
        .filter(|data| data.is_absolute())
        .map(|data| Tickets::under(&data))
        .ok_or_else(|| {
            "CLAUDE_PLUGIN_DATA is not set to an absolute path; only the Claude Code plugin sets it: serve without --require-ticket".into()
        })
}

/// Runs the guard. Every failure denies the call, also a panic: exit code 2 is the only
/// one with which the client denies it.
fn guard_call(map: &MapArg) -> ExitCode {
    let decided = std::panic::catch_unwind(|| {
        let (map, tickets) = (live_map(map)?, tickets()?);
        guard::guard(&map, &tickets, io::stdin().lock(), io::stdout().lock())
            .map_err(|error| error.to_string())
    });
    match decided {
        Ok(Ok(())) => return ExitCode::SUCCESS,
        Ok(Err(message)) => {
            let _ = writeln!(io::stderr(), "keyhole: {message}");
        }
        // The panic has printed its message.
        Err(_) => {}
    }
    ExitCode::from(2)
}

/// Loads every entry as a call would, and prints the report.
fn check_map(map: LiveMap, json: bool) -> Result<ExitCode, ServeError> {
    let limits = Limits::default();
    let map = Arc::new(map);
    let loader = Loader::new(Arc::clone(&map), Sandbox::embedded(limits)?, limits);
    let runtime = runtime()?;
    let report = runtime.block_on(check(&map, async |key, caller| {
        loader
            .load(key.expose(), caller)
            .await
            .map(|content| content.text.len() as u64)
    }));
    runtime.shutdown_background();
    let report = report.with_wall(Standing::here());
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

/// Ignores a broken pipe: a reader that has seen enough, such as `head`, is not an error.
fn unless_hung_up(written: io::Result<()>) -> io::Result<()> {
    written.or_else(|error| match os::has_hung_up(&error) {
        true => Ok(()),
        false => Err(error),
    })
}

/// A panic's message may contain anything, even a key or a file's content. So this
/// reports only the position in our source.
fn hide_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map_or_else(String::new, |location| {
            let mut names = location.file().rsplit(['/', '\\']);
            let file = names.next().unwrap_or_default();
            format!(" at {file}:{}", location.line())
        });
        let _ = writeln!(
            io::stderr(),
            "keyhole: internal error{place}; please report it"
        );
    }));
}
