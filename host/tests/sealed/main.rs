//! `serve --sealed`: what a sealed process tries, and does not get.
//!
//! `attempts` are system calls made from inside a sealed process: each in a
//! process of its own, which is this program started again. `server` is the real
//! program.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "tests"
)]

#[cfg(target_os = "linux")]
mod attempts;
#[cfg(target_os = "linux")]
mod server;

use keyhole::seal::Seal;
use libtest_mimic::{Arguments, Trial};
use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    if let Some(done) = attempts::child() {
        return done;
    }
    let arguments = Arguments::from_args();
    libtest_mimic::run(&arguments, trials()).exit_code()
}

#[cfg(target_os = "linux")]
fn trials() -> Vec<Trial> {
    let refused = Seal::new().err();
    if let Some(error) = &refused {
        eprintln!("ignored here: {error}");
    }
    attempts::trials()
        .into_iter()
        .chain(server::trials())
        .map(|trial| trial.with_ignored_flag(refused.is_some()))
        .chain([server::a_system_without_landlock()])
        .collect()
}

#[cfg(not(target_os = "linux"))]
fn trials() -> Vec<Trial> {
    vec![Trial::test("is_refused_elsewhere_than_on_linux", || {
        let error = Seal::new().unwrap_err();
        assert!(matches!(error, keyhole::seal::SealError::Elsewhere));
        Ok(())
    })]
}
