//! Keyhole over a file system in memory, with an attacker between any two steps.
//!
//! Most breaks of such a program are orders of events that no test had. Here a
//! machine tries them all: the host's own code, from the map to the guest, runs over
//! [`files::Files`], a model of a Unix file system. Before each of its steps, another
//! user may make any move of a closed list that this user's rights allow, or the
//! user's own editor takes its next step. After each call, the checks are:
//!
//! - the host served a text that the map, as its owner left it since the call began,
//!   grants to this key;
//! - that text is one complete saved version, not half written, and not older than the
//!   call;
//! - the host believed no map and no key that another user could have written;
//! - the call ended, within its bounds of steps and time, and did not hang;
//! - the host serves a valid key of another file afterwards.
//!
//! | file | what is in it |
//! |---|---|
//! | `disk.rs`, `setting.rs`, `lookup.rs` | nodes, modes, times, how they are set up, and the way from a path to a node |
//! | `moves.rs`, `save.rs` | what the attacker, and the user's editor, may do |
//! | `world.rs`, `files.rs` | one run, and the host's view of it |
//! | `guest.rs`, `play.rs` | a call from the map to the guest, and the checks after it |
//! | `explore.rs`, `walks.rs` | all orders up to a depth; random ones beyond |
//! | `story.rs` | a run in words |
//! | `scenes/` | the trees, and who may do what in them |
//! | `old/` | the bad example: the code before the walker |
//! | `decision.rs`, `contract.rs` | the guest's decision in all worlds, and what it should be |
//!
//! The following is allowed, since [SECURITY.md] says so: whoever may write to a mapped
//! file's directory decides what is there, also by renaming the user's own files in it;
//! a hard link is the file; a writer that pauses for longer than 20 ms has saved.
//!
//! [SECURITY.md]: https://github.com/keyhole-mcp/keyhole/blob/main/SECURITY.md
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    reason = "tests"
)]

mod contract;
pub mod decision;
pub mod disk;
pub mod explore;
pub mod files;
pub mod guest;
pub mod lookup;
pub mod moves;
mod old;
pub mod play;
pub mod save;
pub mod scene;
pub mod scenes;
mod setting;
pub mod story;
pub mod walks;
pub mod world;
