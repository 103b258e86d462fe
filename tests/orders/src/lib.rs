//! Keyhole's threads and tasks in all orders, on a clock that runs as it likes.
#![cfg(test)]
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "tests"
)]

#[path = "../breaks.rs"]
mod breaks;
mod host;
mod run;
mod shim;

mod gates;
mod guesses;
mod threads;

use run::is_broken;
