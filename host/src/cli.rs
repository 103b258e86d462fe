//! The commands of `keyhole`, and their exit codes. `arguments` has what they take, and
//! `quick` parses what clients usually say.

mod arguments;
mod quick;

use crate::{
    agent::AgentName,
    caller::Callers,
    check::check,
    contract::contract,
    demo, guard,
    limits::Limits,
    loader::Loader,
    map::{Key, LiveMap, Location},
    os,
    resources::runtime,
    sandbox::{COMPONENT, Sandbox},
    seal::Standing,
    serve::{self, ServeError},
    setup, shell,
    ticket::Tickets,
    usage,
};
use arguments::{Cli, Command, MapArg, Serve};
use clap::CommandFactory as _;
use std::{
    io::{self, Write as _},
    path::PathBuf,
    process::ExitCode,
    sync::Arc,
};

/// Runs the command line of this process.
#[must_use]
pub fn run() -> ExitCode {
    hide_panics();
    let command = match Command::parse() {
        Ok(command) => command,
        Err(error) => {
            let words: Vec<_> = std::env::args_os().skip(1).collect();
            return usage::explain(&error, Cli::command(), &words);
        }
    };
    let done = match command {
        Command::Serve(arguments) => serve_session(arguments).map(|()| ExitCode::SUCCESS),
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

/// Serves one session.
fn serve_session(arguments: Serve) -> Result<(), String> {
    let callers = callers(arguments.agent, arguments.require_ticket)?;
    os::limit_arenas();
    let (map, limits) = (live_map(&arguments.map)?, Limits::default());
    let bind = arguments.bind.as_ref();
    match (arguments.sealed, bind, arguments.key_env) {
        (false, Some(name), Some(variable)) => {
            serve::serve_key(map, name, key_in(&variable)?, callers, limits)
        }
        (false, bind, _) => serve::serve(map, bind, callers, limits),
        (true, bind, _) => serve::serve_sealed(&map, bind, callers, limits),
    }
    .map_err(|error| error.to_string())
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
