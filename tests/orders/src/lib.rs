//! Keyhole's threads and tasks in all orders, on a clock that runs at any speed.
//!
//! The build compiles the host's own files once more, over locks, threads, semaphores and
//! timers that [shuttle] schedules. Each scenario runs in thousands of orders: random
//! ones, and some in which a few threads are delayed at a few places; the smallest run in
//! every possible order. A scenario fails if a promise is broken, if nothing can continue,
//! or if it never ends. The output of a failure can replay it.
//!
//! | file | what is in it |
//! |---|---|
//! | `build.rs` | how the host's files come here |
//! | `breaks.rs` | what is broken on purpose in them, which the tests have to find |
//! | `shim/` | what they use instead of `std`, `tokio` and `rustix` |
//! | `host.rs`, `host/mcp/service.rs` | stand-ins for what they call: map, walk, rmcp |
//! | `guest.rs` | a sandbox that hangs, panics or is slow when a test says so |
//! | `run.rs` | how a scenario runs |
//! | the others | a scenario or two for each part, and what it promises |
//!
//! The tests cannot show: weak memory (all threads see each step at once), what is inside
//! tokio's own semaphores and channels, which tokio checks with loom, and what rmcp does
//! between the transport and the server.
//!
//! [shuttle]: https://docs.rs/shuttle
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

/// Otherwise the output of a failure would be of no use.
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
        requests::BEHIND_ANOTHER,
    ] {
        scenario.goes_the_same_way_again();
    }
}
