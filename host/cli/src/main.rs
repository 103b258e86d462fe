//! The `keyhole` command: its subcommands, and their exit codes. `arguments` has what they
//! take.
#![forbid(unsafe_code)]

mod arguments;
mod check;
mod contract;
mod guard;
mod inject;
mod mistake;
mod resources;
mod restrict;
mod serve;
mod setup;
mod signals;
mod streams;
mod terminal;
mod withhold;

use arguments::{Check, Cli, Command, Guard, MapArg, Serve};
use check::{ReadMap, Report, brief, check, foreign_map, load};
use clap::Parser as _;
use keyhole_core::{
    AgentName, Caller, Key, LiveMap, Loader, Location,
    limits::Limits,
    sandbox::{COMPONENT, Sandbox},
    ticket::Tickets,
};
use keyhole_wall::{WallStatus, read_beneath};
use resources::runtime_of;
use serve::{ServeError, serve};
use std::{
    fmt::Display,
    io::{self, IsTerminal as _, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};
use terminal::{colored, print};

/// Cargo.toml says why.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

/// The exit code of a command that failed, and why.
struct Failure(u8, String);

/// 1 is the usual exit code.
impl<E: Display> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(1, error.to_string())
    }
}

/// Everything that a command gives up, it gives up before it reads anything.
fn main() -> ExitCode {
    let given_up = give_up();
    hide_panics();
    let command = match Cli::try_parse() {
        Ok(cli) => cli.command,
        Err(error) => return mistake::explain(&error),
    };
    // The guard denies its call with this exit code.
    let given_up = given_up.map_err(|error| Failure(2, format!("cannot start: {error}")));
    ended(given_up.and_then(|()| run(command)))
}

/// Runs the command, and returns its exit code.
fn run(command: Command) -> Result<u8, Failure> {
    match command {
        Command::Serve(arguments) => serve_session(arguments)?,
        Command::Guard(arguments) => guard_call(&arguments)?,
        Command::Inject(map) => {
            inject::inject(live_map(&map), streams::input(), streams::output())?;
        }
        Command::Withhold { map, stop } => {
            let (stdin, stdout) = (streams::input(), streams::output());
            withhold::withhold(live_map(&map), stop, &known_paths(stop), stdin, stdout)?;
        }
        Command::Tickets => drop(tickets(None)?.held()?),
        Command::Check(arguments) => {
            let (code, text) = look(&arguments)?;
            print(&colored(&text, arguments.color))?;
            return Ok(code);
        }
        Command::Agents(map) => print(&guard::agents(&live_map(&map)?)?)?,
        #[expect(clippy::disallowed_methods, reason = "the file that the user names")]
        Command::Contract { save, wit, .. } if wit || save.is_some() => {
            let saved = save.map_or(Ok(()), |file| std::fs::write(file, COMPONENT));
            saved.map_err(|error| {
                format!("the component cannot be written: {error}; name another file with --save")
            })?;
            print(&contract::wit())?;
        }
        Command::Contract { map, color, .. } => {
            let report = report(&Arc::new(live_map(&map)?))?;
            let (screen, text) = (contract::screen(), report.to_text(true));
            let screen = format!("{screen}\nWith this map, now:\n{text}");
            print(&colored(&screen, color))?;
        }
        Command::Setup(arguments) => {
            let said = setup::run(&arguments)?;
            said.warnings.iter().for_each(|warning| say(warning));
            print(&said.text)?;
        }
    }
    Ok(0)
}

/// The exit code; of a failure, standard error says why.
fn ended(done: Result<u8, Failure>) -> ExitCode {
    ExitCode::from(done.unwrap_or_else(|Failure(code, why)| {
        say(&why);
        code
    }))
}

/// Closes what a client left open, and leaves no core file. Also fails if the kernel is too old
/// for everything else.
#[cfg(unix)]
fn give_up() -> io::Result<()> {
    keyhole_wall::close_inherited()?;
    keyhole_wall::hide_memory()?;
    #[cfg(target_os = "linux")]
    keyhole_walk::is_supported()?;
    Ok(())
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
    let _ = writeln!(streams::error(), "keyhole: {message}");
}

/// Serves one session.
fn serve_session(arguments: Serve) -> Result<(), Failure> {
    let callers = if arguments.require_ticket {
        by_ticket(arguments.agent, arguments.tickets.as_deref())?
    } else {
        arguments.agent.map_or(Caller::Nobody, Caller::Agent)
    };
    let map = map_or_none(&arguments.map)?;
    let key = arguments.key_env.map(|variable| key_in(&variable));
    let key = key.transpose()?;
    Ok(serve(
        map,
        arguments.bind,
        key,
        callers,
        arguments.require_wall,
    )?)
}

/// The map of a server. If nothing says where it is, each call is refused: clients show nothing
/// of a server that does not start.
fn map_or_none(map: &MapArg) -> Result<LiveMap, String> {
    live_map(map).or_else(|why| match map.file {
        Some(_) => Err(why),
        None => {
            say(&why);
            Ok(LiveMap::new(Location::nowhere()))
        }
    })
}

fn live_map(map: &MapArg) -> Result<LiveMap, String> {
    Location::find(map.file.as_deref(), |name| std::env::var_os(name))
        .map(LiveMap::new)
        .map_err(|error| error.to_string())
}

/// The user's home, and the folder of the session if this is a hook, which starts there: whoever
/// reads a report knows both. The plugin's module starts it elsewhere, and says the folder.
fn known_paths(is_hook: bool) -> Vec<String> {
    let home = keyhole_core::home(|name| std::env::var_os(name));
    let here = is_hook.then(|| std::env::current_dir().ok()).flatten();
    here.into_iter()
        .chain(home)
        .filter_map(|path| path.into_os_string().into_string().ok())
        .collect()
}

/// The key in an environment variable. The error does not repeat the variable's value.
fn key_in(variable: &str) -> Result<Key, &'static str> {
    std::env::var(variable)
        .ok()
        .and_then(|text| Key::try_from(&*text).ok())
        .ok_or("the variable that --key-env names is not set to a key")
}

/// Callers that show a ticket: the agent `only`, if that is said.
fn by_ticket(only: Option<AgentName>, folder: Option<&Path>) -> Result<Caller, String> {
    let tickets = Arc::new(tickets(folder)?);
    if folder.is_some()
        && let Err(why) = tickets.make()
    {
        say(&format!(
            "{why}; as long as that is so, each call is refused"
        ));
    }
    Ok(Caller::Ticket {
        tickets,
        only,
        id: None,
        tell: |why| streams::note(&format!("keyhole: {}: {why}", why.code().as_str())),
    })
}

/// The folder that a server and its guard share: the one that an option names, or the plugin's.
fn tickets(folder: Option<&Path>) -> Result<Tickets, String> {
    if let Some(folder) = folder {
        return Ok(Tickets::under(folder));
    }
    std::env::var_os("CLAUDE_PLUGIN_DATA")
        .map(PathBuf::from)
        .filter(|data| data.is_absolute())
        .map(|data| Tickets::under(&data))
        .ok_or_else(|| {
            "CLAUDE_PLUGIN_DATA is not set to an absolute path; only the Claude Code plugin sets it: name a folder with --tickets".into()
        })
}

/// Runs the guard, before a call or after it. Every failure denies the call, also a panic:
/// exit code 2 is the only one with which the client denies it.
fn guard_call(arguments: &Guard) -> Result<(), Failure> {
    if io::stdin().is_terminal() {
        let why = "a client's hook runs this, before and after a call; you want `keyhole check`";
        return Err(Failure(2, why.to_owned()));
    }
    let decided = std::panic::catch_unwind(|| {
        let (stdin, stdout) = (streams::input(), streams::output());
        let ours = match (&arguments.bind, &arguments.agent) {
            (Some(bind), Some(agent)) => guard::Ours::of_agent(bind, agent),
            _ => guard::Ours::of_plugin(),
        };
        let tickets = tickets(arguments.tickets.as_deref());
        match arguments.after {
            true => guard::guard_after(&ours, tickets.ok().as_ref(), stdin, stdout)?,
            false => guard::guard(&ours, &live_map(&arguments.map)?, &tickets?, stdin, stdout)?,
        }
        Ok(())
    });
    match decided {
        Ok(decided) => decided.map_err(|Failure(_, why)| Failure(2, why)),
        // The panic has printed its message.
        Err(_) => std::process::exit(2),
    }
}

/// Loads every entry as a call would. Returns the exit code, and the report, in colours.
fn look(arguments: &Check) -> Result<(u8, String), Failure> {
    let map = live_map(&arguments.map).and_then(|map| match foreign_map(map.location()) {
        Some(why) if !arguments.brief => Err(why),
        _ => Ok(map),
    });
    let map = match map {
        Err(_) if arguments.quiet => return Ok((2, String::new())),
        map => Arc::new(map.map_err(|why| Failure(2, why))?),
    };
    if arguments.brief {
        let line = brief(&map).map_or_else(String::new, |line| format!("{line}\n"));
        return Ok((0, line));
    }
    let report = report(&map)?;
    let report = match &arguments.plugin {
        Some(command) => report.for_the_plugin(map.location(), command, io::stdout().is_terminal()),
        None => report.for_claude_code(map.location()),
    };
    let text = match (arguments.quiet, arguments.json) {
        (true, _) => String::new(),
        (_, true) => report.to_json(),
        _ => report.to_text(arguments.verbose),
    };
    Ok((report.exit_code(), text))
}

fn report(map: &Arc<LiveMap>) -> Result<Report, ServeError> {
    let limits = Limits::default();
    let read = map.current();
    // Each entry is loaded on a thread that may read what a server's threads may.
    let reach = restrict::reach(map, &read)?;
    let maps = Arc::new(ReadMap(read.clone()));
    let loader = Loader::new(maps, Sandbox::embedded(limits)?, limits);
    let roots = reach.is_some();
    let runtime = runtime_of(limits.running, move || {
        if let Some(directories) = &reach {
            read_beneath(directories);
        }
    })?;
    let load = async |target: _, caller: &_| load(&loader, target, caller).await;
    let checked = check(map.location(), read, load);
    let mut report = runtime.block_on(checked);
    runtime.shutdown_background();
    let here = WallStatus::here();
    let roots = roots && here.roots;
    report.wall = Some(WallStatus { roots, ..here });
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
            streams::error(),
            "keyhole: internal error{place}; please report it"
        );
    }));
}
