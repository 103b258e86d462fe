//! The `keyhole` command: its subcommands, and their exit codes. `arguments` has what is typed,
//! and `wish` what that means.
#![forbid(unsafe_code)]

mod arguments;
mod check;
mod mistake;
mod setup;
mod wish;

use arguments::Cli;
use clap::Parser as _;
use keyhole_core::sandbox::{COMPONENT, COMPONENT_WIT};
use keyhole_serve::{
    guard, inject,
    resources::{OF_A_MAP, room},
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

/// First, each command closes what its client left open, and hides its memory. `start` has what
/// `serve`, `inject` and `withhold` give up besides.
fn main() -> ExitCode {
    hide_panics();
    let given_up = give_up().map_err(|error| {
        // The guard denies its call with 2.
        let is_guard = env::args_os().nth(1).is_some_and(|it| it == "guard");
        Failure(1 + u8::from(is_guard), StartError::from(error).to_string())
    });
    let done = given_up.and_then(|()| match Cli::try_parse() {
        Err(error) => mistake::explain(&error),
        Ok(cli) => run(Wish::of(cli.command)?),
    });
    ExitCode::from(done.unwrap_or_else(|Failure(code, why)| {
        say(&why);
        code
    }))
}

fn run(wish: Wish) -> Result<u8, Failure> {
    match wish {
        Wish::Serve(wanted) => session::serve(wanted)?,
        Wish::Guard(call) => guard::run(call).map_err(|why| Failure(2, why.to_string()))?,
        Wish::Inject(map) => inject::inject(map)?,
        Wish::Withhold { map, is_stop } => withhold::withhold(map, is_stop)?,
        Wish::Tickets(tickets) => tickets.make()?,
        Wish::Check(wanted) => return check::run(wanted),
        Wish::Agents(map) => print(&guard::agents(&map)?)?,
        Wish::Contract => {
            let (size, sum) = (COMPONENT.len(), Sha256::digest(COMPONENT));
            let head = format!("// The component in this program: {size} bytes\n// sha256:{sum:x}");
            print(&format!("{head}\n\n{COMPONENT_WIT}"))?
        }
        Wish::Setup(arguments) => print(&setup::run(&arguments)?)?,
    }
    Ok(0)
}

/// Closes what a client left open, leaves no core file, and lets signals end this process, which
/// must have room to read a map.
fn give_up() -> io::Result<()> {
    keyhole_wall::close_inherited()?;
    keyhole_wall::hide_memory()?;
    keyhole_wall::set_signals()?;
    // An agent reads what these two lack.
    let is_told = env::args_os().nth(1);
    let is_told = is_told.is_some_and(|it| it == "inject" || it == "withhold");
    room(if is_told { 0 } else { OF_A_MAP })
}

/// Reports only where a panic was: its message may contain a key or a file's content.
fn hide_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map_or_else(String::new, |location| {
            let file = location.file().rsplit('/').next().unwrap_or_default();
            format!(" at {file}:{}", location.line())
        });
        let then = "raise ulimit -d and -v, or report it";
        say(&format!("internal error{place}; {then}"));
    }));
}
