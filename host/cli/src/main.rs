//! The `keyhole` command: its subcommands, and their exit codes. `arguments` has what is typed,
//! and `environment` what that means here.
#![forbid(unsafe_code)]

mod arguments;
mod check;
mod environment;
mod keys;
mod mistake;
mod setup;

use arguments::{Cli, Command};
use clap::Parser as _;
use environment::{folder_for_git, map_meant, tickets_in};
use keyhole_core::sandbox::{COMPONENT, COMPONENT_WIT};
use keyhole_gate::{gate, hand_over, scan};
use keyhole_serve::{
    guard,
    inject::{self, Inject},
    resources::{MAP_BYTES, require_memory},
    session,
    start::StartError,
    streams::{print, say},
    withhold,
};
use sha2::{Digest as _, Sha256};
use std::{env, fmt::Display, io, process::ExitCode};

/// Cargo.toml says why.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

/// The exit code of a command that failed, and why it failed, in a sentence for the user.
struct Failure(u8, String);

/// Any error has exit code 1, unless a command gives another.
impl<E: Display> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(1, error.to_string())
    }
}

fn main() -> ExitCode {
    hide_panics();
    match run_command() {
        Ok(code) => code.into(),
        Err(Failure(code, why)) => {
            say(&why);
            code.into()
        }
    }
}

/// Whether one of these commands is typed, as `guard` in `keyhole guard --bind notes`. What follows
/// it need not be valid.
fn is_typed(commands: &[&str]) -> bool {
    // Number 0 is the program.
    let typed = env::args_os().nth(1);
    typed.is_some_and(|typed| commands.iter().any(|command| typed == *command))
}

/// Gives up rights, then does what the command line says, and returns the exit code.
///
/// If the rights cannot be given up, this fails: with 2 for `guard` and `scan`, and with 1 for any
/// other command. A command line that is not valid is left to [`mistake::explain`].
fn run_command() -> Result<u8, Failure> {
    if let Err(error) = give_up_rights() {
        // By exit code 2, the guard denies its call, and a scan says that it compared nothing.
        let code = if is_typed(&["guard", "scan"]) { 2 } else { 1 };
        return Err(Failure(code, StartError::from(error).to_string()));
    }
    match Cli::try_parse() {
        Ok(cli) => run(cli.command),
        Err(error) => mistake::explain(&error),
    }
}

/// Does what is typed, and returns the exit code: that of `check` or of `scan`, and 0 for any other
/// command. A failure has exit code 1; but that of the guard has 2, by which the client denies the
/// call, and that of `check` has its own.
fn run(command: Command) -> Result<u8, Failure> {
    match command {
        Command::Serve(typed) => session::serve(environment::session(typed)?)?,
        Command::Guard(typed) => {
            guard::run(environment::guard(typed)).map_err(|why| Failure(2, why.to_string()))?
        }
        Command::Inject { map, require_wall } => {
            let map = map_meant(&map);
            inject::inject(Inject { map, require_wall })?
        }
        Command::Withhold { map, stop } => withhold::withhold(map_meant(&map), stop)?,
        Command::Gate(map) => gate::gate(environment::gate(&map))?,
        Command::HandOver => hand_over::hand_over(&folder_for_git())?,
        Command::Scan(typed) => return Ok(scan::scan(environment::scan(typed))),
        Command::Tickets => tickets_in(None)?.make()?,
        Command::Check(typed) => return check::run(typed),
        Command::Agents(map) => print(&guard::agents(&map_meant(&map)?)?)?,
        Command::Contract => {
            let size = COMPONENT.len();
            let sum = Sha256::digest(COMPONENT);
            let head = format!("// The component in this program: {size} bytes\n// sha256:{sum:x}");
            print(&format!("{head}\n\n{COMPONENT_WIT}"))?
        }
        Command::Setup(typed) => print(&check::in_colour(setup::run(typed)?))?,
    }
    Ok(0)
}

/// Closes what a client left open, hides this process's memory, and lets signals end it. `start` in
/// `keyhole_serve` gives up more, for the commands that load a file.
///
/// Fails if one of the three does not work, or if the limits on memory leave no room to read a map.
/// `inject` and `withhold` need no such room.
fn give_up_rights() -> io::Result<()> {
    keyhole_wall::close_inherited()?;
    keyhole_wall::hide_memory()?;
    keyhole_wall::set_signals()?;
    // These two must start, even without room: they tell an agent which resources they lack.
    if is_typed(&["inject", "withhold"]) {
        require_memory(0)
    } else {
        require_memory(MAP_BYTES)
    }
}

/// Has each panic tell only its place, as `internal error at loader.rs:12; …`: the message of a
/// panic may contain a key or a file's content.
fn hide_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let mut place = String::new();
        if let Some(location) = panic.location() {
            // The last name of the path `host/core/src/loader.rs`.
            let file = location.file().rsplit('/').next().unwrap_or_default();
            place = format!(" at {file}:{}", location.line());
        }
        let then = "raise ulimit -d and -v, or report it";
        say(&format!("internal error{place}; {then}"));
    }));
}
