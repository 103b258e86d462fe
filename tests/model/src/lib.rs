//! Keyhole over a file system in memory, with an attacker between any two steps.
//!
//! Most breaks of such a program are orders of events that no test had. Here a
//! machine tries them all: the host's own code, from the map to the guest, runs over
//! a model of a Unix file system. Before each of its steps, another user may make any move
//! of a closed list that this user's rights allow, or the user's own editor takes its next
//! step. After each call, the checks are:
//!
//! - the host served a text that the map, as its owner left it since the call began,
//!   grants to this key;
//! - that text is one complete saved version, not half written, and not older than the
//!   call;
//! - the host believed no map that its owner never saved so;
//! - the call ended, within its bounds of steps and time;
//! - the host serves a valid key of another file afterwards.
//!
//! | file | what is in it |
//! |---|---|
//! | `disk.rs`, `setting.rs`, `lookup.rs` | nodes, modes, times, how they are set up, and the way from a path to a node |
//! | `moves.rs`, `save.rs` | what the attacker, and the user's editor, may do |
//! | `world.rs`, `files.rs` | one run, and the host's view of it |
//! | `guest.rs`, `play.rs` | a call from the map to the guest, and the checks after it; three bad examples, to prove that the model finds what it looks for |
//! | `explore.rs`, `walks.rs` | all orders up to a depth; random ones beyond |
//! | `scenes/` | the trees, and who may do what in them |
//! | `decision.rs`, `contract.rs` | the guest's decision in all worlds, and what it should be |
//!
//! # Saving takes time
//!
//! While the host pauses, whoever saves a file goes on: until the file is saved, a write begins at
//! least every [`keyhole_walk::BETWEEN_LOOKS`], and the last one takes no longer. What the host
//! does with a slower writer is in [`scenes::not_promised`], with the other things of this sort
//! that [SECURITY.md] does not promise. A hard link is the file itself.
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
mod disk;
pub mod explore;
mod files;
mod guest;
mod lookup;
mod moves;
pub mod play;
mod save;
pub mod scene;
pub mod scenes;
mod setting;
pub mod walks;
mod world;
