//! The second wall: what a process behind it tries, and cannot do.
//!
//! `attempts` and `reach` make system calls from behind the wall, each in a process
//! of its own (`world`), which is this program started again. `walk` makes every system
//! call. `process` is about what every command gives up first. tests/tests/sealed.rs tests
//! the real program.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "tests"
)]

#[cfg(target_os = "linux")]
mod attempts;
#[cfg(target_os = "linux")]
mod process;
#[cfg(target_os = "linux")]
mod reach;
#[cfg(target_os = "linux")]
mod walk;
#[cfg(target_os = "linux")]
mod world;

use keyhole_wall::{Rights, Wall};
use libtest_mimic::{Arguments, Trial};
use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    if let Some(done) = world::child() {
        return done;
    }
    let arguments = Arguments::from_args();
    libtest_mimic::run(&arguments, trials()).exit_code()
}

#[cfg(target_os = "linux")]
fn trials() -> Vec<Trial> {
    let refused = Wall::new(Rights::Sealed).err();
    if let Some(error) = &refused {
        eprintln!("ignored here: {error}");
    }
    world::trials()
        .into_iter()
        .chain(walk::trials())
        .map(|trial| trial.with_ignored_flag(refused.is_some()))
        .chain(process::trials())
        .collect()
}

#[cfg(not(target_os = "linux"))]
fn trials() -> Vec<Trial> {
    vec![Trial::test("is_refused_elsewhere_than_on_linux", || {
        let error = Wall::new(Rights::Sealed).unwrap_err();
        assert!(matches!(error, keyhole_wall::WallError::Elsewhere));
        Ok(())
    })]
}
