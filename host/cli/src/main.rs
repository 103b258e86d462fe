//! The `keyhole` command: its subcommands, and their exit codes. `arguments` has what they
//! take.
#![forbid(unsafe_code)]

mod arguments;
mod aside;
mod check;
mod contract;
mod demo;
mod guard;
mod inject;
mod resources;
mod serve;
mod setup;
mod signals;
mod terminal;

use arguments::{Check, Cli, Color, Command, Contract, Guard, Later, MapArg, Serve};
use check::{Report, brief, check, foreign_map, load};
use clap::{
    CommandFactory as _, Parser as _,
    error::{ContextKind, ContextValue, ErrorKind},
};
use keyhole_core::{
    AgentName, Caller, Key, LiveMap, Loader, Location, MapMistake,
    limits::{Limits, MAX_MAX_BYTES},
    sandbox::{COMPONENT, Sandbox},
    ticket::Tickets,
};
use keyhole_wall::Standing;
use resources::runtime;
use serve::{Offer, ServeError, serve, serve_sealed};
use std::{
    io::{self, IsTerminal as _, Write as _},
    path::PathBuf,
    process::ExitCode,
    sync::Arc,
};
use terminal::{colored, print};

/// Cargo.toml says why.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

/// Everything that a command gives up, it gives up before it reads anything.
fn main() -> ExitCode {
    let given_up = give_up();
    hide_panics();
    let command = match Cli::try_parse() {
        Ok(cli) => cli.command,
        Err(error) => return explain(&error),
    };
    // The guard denies its call with this exit code.
    if let Err(error) = given_up {
        say(&format!("cannot start: {error}"));
        return ExitCode::from(2);
    }
    let done = match command {
        Command::Serve(Later(arguments)) => serve_session(arguments),
        Command::Guard(Later(Guard { map, after })) => return guard_call(&map, after),
        Command::Inject(Later(map)) => {
            inject::inject(live_map(&map), io::stdin().lock(), io::stdout().lock())
                .map_err(|error| error.to_string())
        }
        Command::Tickets => tickets()
            .and_then(|tickets| tickets.held().map(drop).map_err(|error| error.to_string())),
        Command::Check(Later(arguments)) => {
            return looked(arguments.color.color, || look(&arguments));
        }
        Command::Agents(Later(map)) => live_map(&map)
            .and_then(|map| guard::agents(&map).map_err(|error| error.to_string()))
            .and_then(|agents| print(&agents)),
        #[expect(clippy::disallowed_methods, reason = "the file that the user names")]
        Command::Contract(Later(Contract { save, wit, .. })) if wit || save.is_some() => save
            .map_or(Ok(()), |file| std::fs::write(file, COMPONENT))
            .map_err(|error| {
                format!("the component cannot be written: {error}; name another file with --save")
            })
            .and_then(|()| print(&contract::wit())),
        Command::Contract(Later(Contract { map, color, .. })) => {
            return looked(color.color, || {
                let map = Arc::new(live_map(&map).map_err(|message| (1, message))?);
                let report = report(&map).map_err(|error| (1, error.to_string()))?;
                let (screen, text) = (contract::screen(), report.to_text(true));
                Ok((0, format!("{screen}\nWith this map, now:\n{text}")))
            });
        }
        Command::Setup(Later(arguments)) => setup::run(&arguments)
            .map_err(|error| error.to_string())
            .and_then(|said| {
                said.warnings.iter().for_each(|warning| say(warning));
                print(&said.text)
            }),
        Command::Demo(Later(color)) => demo::run(color.color).map_err(|error| error.to_string()),
    };
    ended(done.map(|()| 0), 1)
}

/// The exit code, or the one of a failure, and why on standard error.
fn ended(done: Result<u8, String>, failed: u8) -> ExitCode {
    ExitCode::from(done.unwrap_or_else(|message| {
        say(&message);
        failed
    }))
}

/// Closes what a client left open, and leaves no core file.
#[cfg(unix)]
fn give_up() -> io::Result<()> {
    keyhole_wall::close_inherited()?;
    keyhole_wall::hide_memory()
}

/// Leaves no report of a crash, because the memory may hold a map and a file. An
/// administrator may have configured dumps that are written nevertheless.
#[cfg(windows)]
fn give_up() -> io::Result<()> {
    keyhole_walk::windows::api::report_no_crash();
    Ok(())
}

/// If standard error is closed, nobody is left to tell.
fn say(message: &str) {
    let _ = writeln!(io::stderr(), "keyhole: {message}");
}

/// Only after `setup` can there be too many words.
const TOO_MANY: &str =
    "too many words; write `keyhole setup key FILE`, or `keyhole setup CLIENT --bind NAME`";

/// Prints help or the version if the user asked for it. Otherwise it says what is wrong,
/// and repeats no argument: a key in the wrong place must not end up in a log. 2 is the
/// usual exit code for this; if the guard exits with it, the client denies the call.
fn explain(error: &clap::Error) -> ExitCode {
    use ErrorKind as Kind;
    // Only what comes from our own list of arguments.
    let own = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        Some(ContextValue::Strings(texts)) => texts.join(", "),
        _ => String::new(),
    };
    let is_odd = matches!(
        error.kind(),
        Kind::UnknownArgument | Kind::InvalidSubcommand
    );
    let argument = if is_odd {
        String::new()
    } else {
        own(ContextKind::InvalidArg)
    };
    let message = match error.kind() {
        Kind::DisplayHelp | Kind::DisplayVersion => {
            return ended(print(&error.to_string()).map(|()| 0), 1);
        }
        Kind::DisplayHelpOnMissingArgumentOrSubcommand => error.exit(),
        Kind::InvalidSubcommand => "there is no such command".to_owned(),
        Kind::UnknownArgument => "there is an unknown argument".to_owned(),
        Kind::MissingRequiredArgument | Kind::MissingSubcommand => {
            "an argument is missing".to_owned()
        }
        Kind::InvalidValue => match own(ContextKind::ValidValue) {
            values if values.is_empty() => format!("{argument} needs a value"),
            values if argument == "[CLIENT]" => {
                format!("{argument} is one of: {values}; for an entry, write key FILE")
            }
            values => format!("{argument} is one of: {values}"),
        },
        Kind::ValueValidation if argument.ends_with("<BYTES>") => {
            format!("{argument} is a number of bytes, 1 to {MAX_MAX_BYTES}")
        }
        // The reason comes from our own parsers, which return constant text.
        Kind::ValueValidation => match std::error::Error::source(error) {
            Some(why) => format!("{argument} cannot be used: {why}"),
            None => format!("{argument} cannot be used"),
        },
        Kind::ArgumentConflict if argument.is_empty() => TOO_MANY.to_owned(),
        Kind::ArgumentConflict => match own(ContextKind::PriorArg) {
            other if other == argument => format!("use {argument} once"),
            other => format!("use {argument} once, and not with {other}"),
        },
        Kind::TooManyValues | Kind::TooFewValues | Kind::WrongNumberOfValues => {
            format!("{argument} has too many or too few values")
        }
        _ => "the arguments cannot be understood".to_owned(),
    };
    let meant = [
        ContextKind::SuggestedSubcommand,
        ContextKind::SuggestedArg,
        ContextKind::SuggestedValue,
    ];
    let mut meant = meant.map(own).concat();
    let mut command = Cli::command();
    command.build();
    for word in std::env::args_os().skip(1) {
        let Some(next) = command.find_subcommand(&word).cloned() else {
            break;
        };
        command = next;
    }
    if is_odd && meant.is_empty() {
        // clap finds nothing after `help`, and no short word with two letters swapped.
        let word = [ContextKind::InvalidArg, ContextKind::InvalidSubcommand]
            .map(own)
            .concat();
        let options = command.get_arguments().filter(|a| !a.is_hide_set());
        let all = Cli::command();
        let commands = all.get_subcommands().filter(|c| !c.is_hide_set());
        let commands = commands.map(|command| command.get_name().to_owned());
        let known = options.filter_map(|a| Some(format!("--{}", a.get_long()?)));
        meant = MapMistake::meant(&word, known.chain(commands)).unwrap_or_default();
    }
    let meant = match meant.is_empty() || error.kind() == Kind::ArgumentConflict {
        true => String::new(),
        false => format!("; did you mean {meant}?"),
    };
    let (usage, name) = (command.render_usage(), command.get_bin_name());
    let name = name.unwrap_or("keyhole");
    say(&format!(
        "{message}{meant}\n\n{usage}\n\nFor all arguments, see: {name} --help"
    ));
    ExitCode::from(2)
}

/// Serves one session.
fn serve_session(arguments: Serve) -> Result<(), String> {
    if io::stdin().is_terminal() {
        say(
            "waiting for an MCP client on standard input; a client starts this command, and `keyhole setup` says how. Ctrl-C ends it",
        );
    }
    let callers = callers(arguments.agent, arguments.require_ticket)?;
    let map = live_map(&arguments.map)?;
    let served = match (arguments.sealed, arguments.bind, arguments.key_env) {
        (true, bind, _) => serve_sealed(map, bind.as_ref(), callers),
        (false, None, _) => serve(map, Offer::General, callers),
        (false, Some(name), None) => serve(map, Offer::Bound(name), callers),
        (false, Some(name), Some(variable)) => {
            serve(map, Offer::Key(name, key_in(&variable)?), callers)
        }
    };
    served.map_err(|error| error.to_string())
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
        .and_then(|text| Key::try_from(&*text).ok())
        .ok_or("the variable that --key-env names is not set to a key")
}

/// How `serve` learns who calls, from its options.
fn callers(agent: Option<AgentName>, require_ticket: bool) -> Result<Caller, String> {
    Ok(match agent {
        only if require_ticket => Caller::Ticket {
            tickets: Arc::new(tickets()?),
            only,
            id: None,
        },
        Some(agent) => Caller::Agent(agent),
        None => Caller::Nobody,
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

/// Runs the guard, before a call or after it. Every failure denies the call, also a panic:
/// exit code 2 is the only one with which the client denies it.
fn guard_call(map: &MapArg, after: bool) -> ExitCode {
    let decided = std::panic::catch_unwind(|| {
        if after {
            let tickets = tickets().ok();
            return guard::guard_after(tickets.as_ref(), io::stdin().lock(), io::stdout().lock())
                .map_err(|error| error.to_string());
        }
        let (map, tickets) = (live_map(map)?, tickets()?);
        guard::guard(&map, &tickets, io::stdin().lock(), io::stdout().lock())
            .map_err(|error| error.to_string())
    });
    match decided {
        Ok(Ok(())) => return ExitCode::SUCCESS,
        Ok(Err(message)) => say(&message),
        // The panic has printed its message.
        Err(_) => {}
    }
    ExitCode::from(2)
}

/// What `look` returns: the exit code and what to print, in colours; or the exit code of a
/// failure, and why.
type Looked = Result<(u8, String), (u8, String)>;

/// Prints what `look` found. A second process looks, so that this one ends also if a file
/// system hangs.
fn looked(color: Color, look: impl Fn() -> Looked) -> ExitCode {
    if aside::is_here() {
        // If this fails, the other process looks itself, and says why.
        let told = look()
            .is_ok_and(|(code, text)| aside::tell(&[&[code], text.as_bytes()].concat()).is_ok());
        return ExitCode::from(u8::from(!told));
    }
    let told = aside::ask().and_then(|mut text| {
        let code = text.remove(0);
        Some((code, String::from_utf8(text).ok()?))
    });
    match told.map_or_else(look, Ok) {
        Ok((code, text)) => ended(print(&colored(&text, color)).map(|()| code), 1),
        Err((code, message)) => ended(Err(message), code),
    }
}

/// Loads every entry as a call would, and makes the report.
fn look(arguments: &Check) -> Looked {
    let map = live_map(&arguments.map).and_then(|map| match foreign_map(map.location()) {
        Some(why) if !arguments.brief => Err(why),
        _ => Ok(map),
    });
    let map = match map {
        Err(_) if arguments.quiet => return Ok((2, String::new())),
        map => Arc::new(map.map_err(|message| (2, message))?),
    };
    if arguments.brief {
        let line = brief(&map).map_or_else(String::new, |line| format!("{line}\n"));
        return Ok((0, line));
    }
    let mut report = report(&map).map_err(|error| (1, error.to_string()))?;
    if let Some(command) = &arguments.plugin {
        report = report.for_the_plugin(&map, command, aside::is_for_a_terminal());
    }
    let text = match (arguments.quiet, arguments.json) {
        (true, _) => String::new(),
        (_, true) => format!("{:#}\n", report.to_json()),
        _ => report.to_text(arguments.verbose),
    };
    Ok((report.exit_code(), text))
}

fn report(map: &Arc<LiveMap>) -> Result<Report, ServeError> {
    let limits = Limits::default();
    let loader = Loader::new(Arc::clone(map), Sandbox::embedded(limits)?, limits);
    let runtime = runtime(limits.threads())?;
    let checked = check(map, async |key, caller| load(&loader, key, caller).await);
    let mut report = runtime.block_on(checked);
    runtime.shutdown_background();
    report.wall = Some(Standing::here());
    Ok(report)
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
