//! A whole server on a simulated clock, file system and client, from one seed.
//!
//! It runs the program's own code: the session (`mcp::run_session`, with rmcp under it),
//! the loader with its gates, permits, guesses and watches, the live map, the walk and
//! the resolution, and the guest's decision. All around it is simulated, and one number
//! of 64 bits decides all of that:
//!
//! - a client of either generation of the protocol. It writes in any pieces, reads
//!   slowly or not at all, cancels, reuses ids, sends lines that are not requests, ends
//!   its input, or disappears;
//! - a file system in memory (that of `keyhole-model`). It fails, runs out of
//!   descriptors, is interrupted, reads short or takes seconds for a step, and its clock
//!   is fine or coarse. On it, the user saves files and the map in every style, also
//!   when the disk is full, and another user makes every move that the rights allow;
//! - one clock, for timers and for files;
//! - threads: each call has a stack of its own and yields before each of its steps, and
//!   the seed says who is next;
//! - kills, at any point, and a new server over the same disk.
//!
//! | file | what is in it |
//! |---|---|
//! | `play.rs`, `session.rs` | one run; one server from its start to its end, and who is next |
//! | `sim.rs`, `rng.rs` | what all parts share: chance, faults, trace, story, mistakes |
//! | `files.rs`, `host.rs`, `pipe.rs` | replacements for the program's system, threads, streams |
//! | `world.rs`, `maps.rs` | the disk, who works on it (`world/users.rs`), and what may be served |
//! | `client.rs` | the requests, and the answers that they must get |
//!
//! Each run checks that
//!
//! - each request gets one answer, and not another's; only a request that was cancelled,
//!   or whose server was killed, may get none; and output is only lines of JSON-RPC;
//! - each text that is served was saved so, and a map that was there since the call began
//!   granted it: so the next call refuses a key that was removed;
//! - no error contains a key, a path or a content;
//! - each answer comes within its bound, and the server ends within its own;
//! - afterwards all that calls hold is released, and a valid key is served.
//!
//! Not simulated: the seal and the start of the process (the kernel's part), tickets (they
//! are files of the real system), signals beyond their effect, WebAssembly (the guest's
//! logic runs natively, over the model's version of `sandbox/granted.rs`), and two threads
//! within one step: a step is not divided.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    reason = "tests"
)]

pub mod client;
pub mod files;
pub mod host;
pub mod maps;
pub mod pipe;
pub mod play;
pub mod rng;
pub mod session;
pub mod sim;
pub mod world;

pub use play::{Played, play};
pub use sim::Broken;
