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

#[allow(dead_code, reason = "the build script reads the rest")]
#[path = "../breaks.rs"]
mod breaks;
mod host;
mod run;
mod shim;

mod gates;
mod guess_limit;
mod guest;
mod lazy_start;
mod loader;
mod requests;
mod threads;
mod tickets;

use run::is_broken;

/// What a failure prints would be of no use otherwise.
#[test]
fn an_order_that_is_played_again_goes_the_same_way() {
    for scenario in [
        gates::CALLS,
        guess_limit::GUESSING,
        threads::JOBS,
        loader::CALLS,
        loader::STUCK,
        loader::IN_TIME,
        tickets::ASKED_WHILE_LEFT,
        tickets::IN_A_CALL,
        lazy_start::SESSION,
        requests::SESSION,
    ] {
        scenario.goes_the_same_way_again();
    }
}
