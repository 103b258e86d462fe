//! The `keyhole` command: its subcommands, and their exit codes. `arguments` has what is typed,
//! and `wish` what that means.
#![forbid(unsafe_code)]

mod arguments;
mod check;
mod keys;
mod mistake;
mod setup;
mod wish;

use arguments::Cli;
use clap::Parser as _;
use keyhole_core::sandbox::{COMPONENT, COMPONENT_WIT};
use keyhole_gate::{gate, hand_over, scan};
use keyhole_serve::{
    guard, inject,
    resources::{MAP_BYTES, require_memory},
    session,
    start::StartError,
    streams::{print, say},
    withhold,
};
use sha2::{Digest as _, Sha256};
use std::{env, fmt::Display, io, process::ExitCode};
use wish::Wish;

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

/// Whether the command that is typed is one of these. Its arguments need not be valid.
fn is_typed(commands: &[&str]) -> bool {
    let typed = env::args_os().nth(1);
    typed.is_some_and(|typed| commands.iter().any(|command| typed == *command))
}

/// Gives up rights, then does what the command line says, and returns the exit code. `start` has
/// what `serve`, `inject`, `withhold`, `gate` and `scan` give up besides.
fn run_command() -> Result<u8, Failure> {
    if let Err(error) = give_up_rights() {
        // With 2, the guard denies its call, and a scan says that it compared nothing.
        let code = if is_typed(&["guard", "scan"]) { 2 } else { 1 };
        return Err(Failure(code, StartError::from(error).to_string()));
    }
    match Cli::try_parse() {
        Ok(cli) => run(Wish::of(cli.command)?),
        Err(error) => mistake::explain(&error),
    }
}

/// Does what is wanted, and returns the exit code: that of `check` or of `scan`, and 0 for any
/// other command. A failure has exit code 1 if it names no other one. That of the guard has 2, with
/// which the client denies the call.
fn run(wish: Wish) -> Result<u8, Failure> {
    match wish {
        Wish::Serve(wanted) => session::serve(wanted)?,
        Wish::Guard(call) => guard::run(call).map_err(|why| Failure(2, why.to_string()))?,
        Wish::Inject(wanted) => inject::inject(wanted)?,
        Wish::Withhold { map, is_stop } => withhold::withhold(map, is_stop)?,
        Wish::Gate(call) => gate::gate(call)?,
        Wish::HandOver(scratch) => hand_over::hand_over(&scratch)?,
        Wish::Scan(wanted) => return Ok(scan::scan(wanted)),
        Wish::Tickets(tickets) => tickets.make()?,
        Wish::Check(wanted) => return check::run(wanted),
        Wish::Agents(map) => print(&guard::agents(&map)?)?,
        Wish::Contract => {
            let size = COMPONENT.len();
            let sum = Sha256::digest(COMPONENT);
            let head = format!("// The component in this program: {size} bytes\n// sha256:{sum:x}");
            print(&format!("{head}\n\n{COMPONENT_WIT}"))?
        }
        Wish::Setup(wanted) => print(&check::in_colour(setup::run(*wanted)?))?,
    }
    Ok(0)
}

/// Closes what a client left open, hides this process's memory, and lets signals end it. Fails if
/// one of these does not work, or if there is no room to read a map. `inject` and `withhold` need
/// none.
fn give_up_rights() -> io::Result<()> {
    keyhole_wall::close_inherited()?;
    keyhole_wall::hide_memory()?;
    keyhole_wall::set_signals()?;
    // These two must start: they tell an agent which resources they lack.
    if is_typed(&["inject", "withhold"]) {
        require_memory(0)
    } else {
        require_memory(MAP_BYTES)
    }
}

/// Reports only where a panic was: its message may contain a key or a file's content.
fn hide_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let mut place = String::new();
        if let Some(location) = panic.location() {
            let file = location.file().rsplit('/').next().unwrap_or_default();
            place = format!(" at {file}:{}", location.line());
        }
        let then = "raise ulimit -d and -v, or report it";
        say(&format!("internal error{place}; {then}"));
    }));
}
