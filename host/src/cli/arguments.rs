//! The arguments of each command, and their help.

use crate::{
    agent::AgentName,
    map::BindingName,
    setup, shell,
    usage::{agent_name, binding_name},
};
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

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
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) command: Command,
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
pub(super) enum Command {
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
    Serve(Serve),

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

// Not a doc comment: clap would print it as the help of `serve`.
#[derive(Debug, Args)]
pub(super) struct Serve {
    #[command(flatten)]
    pub(super) map: MapArg,
    /// Serve the one context that the map calls NAME, without keys
    ///
    /// The tool then takes no argument. Its title and description are those of
    /// [bindings.NAME], as they are at the start.
    #[arg(long, value_name = "NAME", value_parser = binding_name)]
    pub(super) bind: Option<BindingName>,
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
    pub(super) key_env: Option<String>,
    /// Say that every caller is this agent, so that keys bound to it work
    ///
    /// You state whom you start this server for; nothing verifies it. Use it if
    /// one server serves one worker. With --require-ticket it is verified: the
    /// ticket must name this agent.
    #[arg(long, value_name = "NAME", value_parser = agent_name)]
    pub(super) agent: Option<AgentName>,
    /// Serve only calls that `keyhole guard` left a ticket for
    ///
    /// For the Claude Code plugin, which sets CLAUDE_PLUGIN_DATA, the folder
    /// that the server and the guard share.
    #[arg(long)]
    pub(super) require_ticket: bool,
    /// Give up all rights except reading the mapped files' directories
    ///
    /// Not with --require-ticket: to use a ticket up, the server must delete it.
    #[arg(long, conflicts_with = "require_ticket")]
    pub(super) sealed: bool,
}

#[derive(Debug, Args)]
pub(super) struct MapArg {
    /// The map, instead of the one in your configuration directory
    #[arg(long = "map", value_name = "FILE")]
    pub(super) file: Option<PathBuf>,
}
