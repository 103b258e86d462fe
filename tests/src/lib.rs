//! Keyhole from the outside: the real program, as its users meet it.
//!
//! A test reads like a session. [`World`] is a home with files and a map in it,
//! [`Session`] an MCP client of a `keyhole serve` that runs there, [`Answer`] the
//! answer to one request, [`Ran`] the outcome of any other command:
//!
//! ```no_run
//! use keyhole_tests::World;
//!
//! let world = World::new()
//!     .file("notes/a.md", "# A\n")
//!     .map("[keys]\nk-a = '~/notes/a.md'\n");
//! let mut client = world.serve();
//! client.handshake();
//! client.load("k-a").is("# A\n");
//! client.load("k-b").refused("unknown-key");
//! client.end();
//!
//! world.run(["check", "--json"]).exits(0).says_nothing_on_stderr();
//! ```
//!
//! The program is built once a process, or is the one that `KEYHOLE_BIN` names.
//! It gets an empty environment and a home of its own. Each wait is bounded by
//! [`PATIENCE`], and a wait that is too long fails with the transcript. Drop kills
//! each process, by its handle.
//!
//! Only tests use this crate, so it panics where a library would return an error.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

mod answer;
mod binary;
#[cfg(target_os = "linux")]
mod lacking;
mod process;
mod protocol;
mod ran;
mod session;
#[cfg(target_os = "linux")]
mod terminal;
mod transcript;
mod world;

pub use answer::Answer;
pub use binary::{binary, cargo, copy_program, demo, workspace, write_program};
pub use keyhole_tree::skipped;
#[cfg(target_os = "linux")]
pub use lacking::{lacking, with_failing_disk, without_large_memory};
pub use protocol::Protocol;
pub use ran::Ran;
pub use session::{Ended, Session, without_start};
pub use world::{NOBODY, World};

use std::{
    sync::mpsc::{self, TryRecvError},
    thread,
    time::Duration,
};

/// How long anything may take before it counts as hung. It measures nothing: the
/// slowest operation that a test waits for takes some seconds, and on a busy machine more than
/// half a minute. Under an emulator, it takes ten times as long; `./x release arm` sets the variable.
pub const PATIENCE: Duration = Duration::from_secs(match option_env!("KEYHOLE_EMULATED") {
    None => 120,
    Some(_) => 300,
});

/// A word in the path of every [`World`]. Put it into every key, file name and
/// content that must stay secret: if it turns up in an output, something leaked.
pub const MARKER: &str = "hunter2";

/// Does something again and again in another thread, from the beginning of `then` to its end.
pub fn while_repeating<T>(mut again: impl FnMut() + Send, then: impl FnOnce() -> T) -> T {
    thread::scope(|scope| {
        // Dropped at the end, also if `then` fails.
        let (_until, ended) = mpsc::channel::<()>();
        scope.spawn(move || {
            while ended.try_recv() == Err(TryRecvError::Empty) {
                again();
            }
        });
        then()
    })
}
