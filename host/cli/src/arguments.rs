//! What is typed: the arguments of each command, and their help. `wish` says what they mean.

use clap::{Args, Parser, Subcommand};
use keyhole_core::{AgentName, BindingName, limits::MAX_MAX_BYTES};
use keyhole_setup::clients::{self, Client};
use std::path::PathBuf;

/// What `--version` prints; `-V` prints the first line. The number of the map's format rises when an
/// older program would refuse a map.
const VERSIONS: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    "\nmap format 1\ncontract keyhole:context@0.4.0"
);

/// Gives a private file to one AI subagent, and not to the main conversation
///
/// A user keeps a map of opaque keys to Markdown files. An MCP client that was
/// given a key calls the tool `load_context` with it and gets that file; without
/// a key it gets nothing, not even a list.
#[derive(Debug, Parser)]
// The name is set here, because the plugin keeps the program under its system's name.
#[command(name = "keyhole", bin_name = "keyhole", version, long_version = VERSIONS, about, long_about)]
#[command(after_help = "\
Examples:
  keyhole setup                      give an agent its file
  keyhole check                      would every key in my map load?

The map is $XDG_CONFIG_HOME/keyhole/context-map.toml, or
~/.config/keyhole/context-map.toml if that variable is not set.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Give an agent its file: configure a client, or print what the client needs
    #[command(after_help = "\
Without arguments, it asks for the client and the file. In a terminal, it then shows each
line that it will write, asks, writes, checks, and prints what you have to paste. CLIENT
without --file writes nothing: it prints all that the client needs.

Examples:
  keyhole setup
  keyhole setup claude-code --bind scanner-catalog --file ~/notes/identifiers.md
  keyhole setup claude-code --inject identifier-scanner --file ~/notes/identifiers.md
  keyhole setup plugin
  keyhole setup remove                                    list the names that it takes
  keyhole setup remove scanner-catalog
  keyhole setup key ~/notes/identifiers.md                print an entry for the map

Exit codes: 0 written or printed; 1 not, and standard error says why, for example that a
key would be shown.")]
    Setup(Setup),

    /// Say for each entry in the map whether it would load, and if not, why
    #[command(after_help = "\
It prints no key and no key's length: the line in the map says which entry is meant.

Examples:
  keyhole check
  keyhole check --map ./team-map.toml --json
  keyhole check -q || echo wrong

Exit codes: 0 everything would load, and only for whom the map names; 1 something would
not, a key can be guessed, or an agent's server serves anybody; 2 no map, or an invalid one.")]
    Check(Check),

    /// Look for what your lists have in what a repository would publish
    #[command(after_help = "\
Without FILE, it looks at what is staged, changed and new in the repository here, and at
the commits of HEAD that no remote has, with their messages. `-` is standard input: of a
difference, as `git diff` and `git log -p` print it, the added lines count. Compared are
the lists of the map whose publish_only_in does not name this repository's folder.

It prints places and names of rules, and never what it found.

Examples:
  keyhole scan
  keyhole scan CHANGELOG.md
  git log -p origin/main.. | keyhole scan --list list.md -

Exit codes: 0 nothing found, 1 something found, 2 not compared; standard error says why.")]
    Scan(Scan),

    /// Serve the tool `load_context` over MCP on standard input and output
    #[command(after_help = "\
An MCP client starts this command: put it into the client's configuration.
A call reads the map again if the map has changed; no restart is needed.

On Linux the process first gives up all rights except reading beneath the map's roots:
it can write nothing, start no program and reach no network and no other process,
whatever happens to it. If the map has no roots, or the system cannot do all of that,
it says so. If you change the roots, restart it. `keyhole check` shows what it can do.

Exit codes: 0 at the end of input or on SIGINT or SIGTERM, 1 if it cannot start or
fails before that.")]
    Serve(Serve),

    /// Print the imports and exports of the component that reads, as WIT, with its SHA-256
    #[command(after_help = "\
They are read from the component's bytes: they are all that it can reach.

Exit codes: 0 printed, 1 not.")]
    Contract,

    /// Decide, as a hook of Claude Code, whether a call may be made
    #[command(hide = true)]
    #[command(after_help = "\
Reads a PreToolUse question on standard input and answers on standard output.
If it allows the call, it leaves a ticket for the server. Without --bind, it decides
for the Claude Code plugin, and leaves the ticket in CLAUDE_PLUGIN_DATA.

Exit codes: 0 decided, 2 denied because of an error.")]
    Guard(Guard),

    /// Ask, as a hook of Claude Code, before a call publishes what a list has
    #[command(hide = true)]
    #[command(after_help = "\
Reads a PreToolUse question on standard input. It answers if the call would publish
something that a list of the map has whose publish_only_in does not name the folder, or
if that cannot be found out.

Exit codes: 0 asked, or nothing to ask; 1 no answer because of an error.")]
    Gate(MapArg),

    /// Hand the Claude Code plugin's scanner what would be published when it starts, as a hook
    #[command(hide = true)]
    #[command(after_help = "\
Reads a SubagentStart hook's input on standard input, and answers with what is staged,
changed and new in the session's folder, and with the commits of HEAD that no remote has,
or with why that is not known. It reads no map and no list.

Exit codes: 0 answered; 1 no answer because of an error.")]
    HandOver,

    /// Hand a subagent its file when it starts, as a hook of Claude Code
    #[command(hide = true)]
    #[command(after_help = "\
Reads a SubagentStart hook's input on standard input. If exactly one entry of the map
names the agent in `agents`, it answers with that file, of up to 10,000 characters;
else with a text that tells the agent to stop. The agent gets it without a key and
without a call. `keyhole setup claude-code --inject AGENT --file FILE` writes the
map's entry and the rules, and prints the hook.

Exit codes: 0 answered, or another event; 1 no answer because of an error.")]
    Inject {
        #[command(flatten)]
        map: MapArg,
        /// Hand over no file unless the operating system confines this process to the map's roots
        #[arg(long)]
        require_wall: bool,
    },

    /// Take out of an agent's report what quotes its file, for the Claude Code plugin
    #[command(hide = true)]
    Withhold {
        #[command(flatten)]
        map: MapArg,
        /// Read what SubagentStop says, and have a report written again that quotes
        #[arg(long)]
        stop: bool,
    },

    /// Make the folder for tickets in CLAUDE_PLUGIN_DATA, for the install of the Claude Code plugin
    #[command(hide = true)]
    Tickets,

    /// Print the agents that the map names, for the Claude Code plugin
    #[command(hide = true)]
    Agents(MapArg),
}

// Structs of arguments have no doc comment: clap would print it as the help.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Setup {
    /// The client, or `plugin`; without one, setup asks, or without a terminal lists them
    #[arg(value_parser = client)]
    pub(crate) client: Option<Box<Client>>,
    #[command(flatten)]
    pub(crate) names: SetupNames,
    /// The agent to which a hook hands its file when it starts, without a server
    #[arg(long, value_name = "AGENT", value_parser = AgentName::in_map, requires = "client", conflicts_with_all = ["bind", "agent"])]
    pub(crate) inject: Option<AgentName>,
    /// Give the agent this Markdown file: show what changes, ask, and write it
    #[arg(long, value_name = "FILE", requires = "client")]
    pub(crate) file: Option<String>,
    /// Only show what would change
    #[arg(long, requires = "client")]
    pub(crate) dry_run: bool,
    #[command(subcommand)]
    pub(crate) what: Option<SetupCommand>,
}

impl Setup {
    /// The name that is typed: that of a binding, or of the agent of a hook. clap refuses both.
    pub(crate) fn name(&self) -> Option<&str> {
        self.names.bind.as_deref().or(self.inject.as_deref())
    }
}

#[derive(Debug, Args)]
pub(crate) struct SetupNames {
    /// The binding that the server serves: [bindings.NAME] in the map
    #[arg(long, value_name = "NAME")]
    pub(crate) bind: Option<BindingName>,
    /// The agent that the file is for: agents = ["NAME"] in the map
    #[arg(long, value_name = "NAME", value_parser = AgentName::in_map)]
    pub(crate) agent: Option<AgentName>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SetupCommand {
    /// Take away what setup wrote for NAME; without one, list the names
    #[command(after_help = "\
It shows what goes, and asks. It takes only what it would write itself. The file stays.

Exit codes: 0 taken away or listed, 1 not.")]
    Remove {
        /// The binding's or agent's name, or `plugin`
        name: Option<String>,
        /// Only show what would change
        #[arg(long, requires = "name")]
        dry_run: bool,
    },
    /// Print an entry for the map, with a fresh key for FILE, or a binding
    #[command(after_help = "\
The entry is a table of its own, so you can append it to any map: it needs no [keys] above
it. Each run makes another key. With --bind, it is a binding, which has none.

Examples:
  keyhole setup key ~/notes/identifiers.md
  keyhole setup key ~/notes/identifiers.md >> ~/.config/keyhole/context-map.toml

`keyhole check` then says whether the file would be served.

Exit codes: 0 printed, 1 not printed; standard error then says why.")]
    Key(Key),
}

#[derive(Debug, Args)]
pub(crate) struct Key {
    /// The Markdown file
    pub(crate) file: String,
    #[command(flatten)]
    pub(crate) names: SetupNames,
    /// The largest size that is served, for a client that has a limit
    #[arg(long, value_name = "BYTES", value_parser = max_bytes)]
    pub(crate) max_bytes: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct Guard {
    #[command(flatten)]
    pub(crate) map: MapArg,
    /// Read what PostToolUse says, and replace a result that is not the server's
    #[arg(long)]
    pub(crate) after: bool,
    /// Decide for an agent that starts `serve --bind NAME` itself
    #[arg(long, value_name = "NAME", requires = "agent")]
    pub(crate) bind: Option<BindingName>,
    /// The one agent that may call
    #[arg(long, value_name = "NAME", value_parser = AgentName::in_map, requires = "tickets")]
    pub(crate) agent: Option<AgentName>,
    /// Leave the ticket beneath FOLDER, as the server's --tickets says
    #[arg(long, value_name = "FOLDER", requires = "bind", value_parser = folder)]
    pub(crate) tickets: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) map: MapArg,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    /// Print nothing: the exit code says it
    #[arg(short, long, conflicts_with_all = ["json", "verbose"])]
    pub(crate) quiet: bool,
    /// Say which walls a server has, also if all stand
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Report for the Claude Code plugin, whose command this is
    #[arg(long, hide = true, value_name = "COMMAND", conflicts_with = "file")]
    pub(crate) plugin: Option<PathBuf>,
    /// Print a line for the start of a session, and only if the map cannot be used
    #[arg(long, hide = true)]
    pub(crate) brief: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Scan {
    #[command(flatten)]
    pub(crate) map: MapArg,
    /// Look at these files, or with `-` at standard input
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Compare with this list, not with those of the map
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    pub(crate) list: Option<PathBuf>,
    /// Print each finding as a line of JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) map: MapArg,
    /// Serve the one context that the map calls NAME, without keys
    ///
    /// The tool then takes no argument. Its title and description are those of
    /// [bindings.NAME], as they are at the start.
    #[arg(long, value_name = "NAME")]
    pub(crate) bind: Option<BindingName>,
    /// Serve the file of the key in this variable, not that of [bindings.NAME]
    ///
    /// Each call then looks up nothing but this key in the map. Only the Claude Code
    /// plugin uses it.
    #[arg(long, value_name = "VARIABLE", requires = "bind")]
    pub(crate) key_env: Option<String>,
    /// Say that every caller is this agent, so that what the map has for it works
    ///
    /// You state whom you start this server for; nothing verifies it. Use it if one server serves
    /// one worker. With --require-ticket it is verified: the ticket must name this agent.
    #[arg(long, value_name = "NAME", value_parser = AgentName::in_map)]
    pub(crate) agent: Option<AgentName>,
    /// Serve only calls that `keyhole guard` left a ticket for
    ///
    /// The client starts `keyhole guard` as a hook before each call. Both share a folder: that of
    /// --tickets, or else CLAUDE_PLUGIN_DATA, which the Claude Code plugin sets.
    #[arg(long)]
    pub(crate) require_ticket: bool,
    /// Take tickets from beneath FOLDER, which is made if it is not there
    ///
    /// It must hold nothing else: the server may delete files there, and only there.
    #[arg(long, value_name = "FOLDER", requires = "require_ticket", value_parser = folder)]
    pub(crate) tickets: Option<PathBuf>,
    /// Do not start unless the operating system confines the server to the map's roots
    ///
    /// Without this, the server says what is missing (a usable map, roots in it, Landlock, the
    /// filter of system calls), and serves.
    #[arg(long)]
    pub(crate) require_wall: bool,
}

#[derive(Debug, Args)]
pub(crate) struct MapArg {
    /// The map, instead of the one in your configuration directory
    #[arg(long = "map", value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

/// Parses the name of a client.
fn client(name: &str) -> Result<Box<Client>, String> {
    let found = clients::all().find(|client| client.name == name);
    found.map(Box::new).ok_or_else(|| {
        let names: Vec<_> = clients::all().map(|client| client.name).collect();
        format!("it must be one of {}", names.join(", "))
    })
}

/// Parses the largest size of a file.
fn max_bytes(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(bytes) if (1..=MAX_MAX_BYTES).contains(&bytes) => Ok(bytes),
        _ => Err(format!("a size is a number of bytes, 1 to {MAX_MAX_BYTES}")),
    }
}

/// Parses a folder that two processes have in common, wherever they are started.
fn folder(text: &str) -> Result<PathBuf, &'static str> {
    let folder = PathBuf::from(text);
    if folder.is_absolute() {
        Ok(folder)
    } else {
        Err("the folder for tickets must be an absolute path")
    }
}
