//! A whole server on a simulated clock, file system and client, from one seed.
//!
//! What runs is the program's own code: the session (`mcp::serve`, with rmcp beneath),
//! the loader with its gates, places, guesses and watches, the live map, the walk and
//! the resolution, and the guest's decision. What is around it is made up, and one number
//! of 64 bits decides all of it:
//!
//! - a client of either generation of the protocol, which writes in any pieces, reads
//!   slowly or not at all, cancels, uses ids again, sends what is no request, ends its
//!   input, or goes;
//! - a file system in memory (that of `keyhole-model`), which fails, runs out of
//!   descriptors, is interrupted, reads short or takes seconds for a step, whose clock is
//!   fine or coarse; on which the user saves his files and his map in every style, also
//!   when the disk is full, and another moves as far as his rights allow;
//! - one clock, for timers and for files;
//! - threads: each call has a stack of its own and gives way before each of its steps,
//!   and the seed says who is next;
//! - kills, at any point, and a new server over the same disk.
//!
//! | file | what is in it |
//! |---|---|
//! | `play.rs`, `session.rs` | one run; one server from its start to its end, and who is next |
//! | `sim.rs`, `rng.rs` | what all parts share: chance, faults, trace, story, mistakes |
//! | `files.rs`, `host.rs`, `pipe.rs` | where the program has its system, threads and streams |
//! | `world.rs`, `maps.rs` | the disk, who works on it, and what may be served |
//! | `client.rs` | what is asked, and what must be answered |
//!
//! Asked is that
//!
//! - each request gets one answer and no other's; none, at most, if it was cancelled or
//!   the server was killed; and output is lines of JSON-RPC and nothing else;
//! - what is given was saved so, and was granted by a map that was there since the call
//!   began: so a key that was removed is refused by the next call;
//! - no error tells a key, a path or a content;
//! - each answer comes within its bound, and the server ends within its own;
//! - afterwards all that calls hold is given back, and a valid key is served.
//!
//! Not simulated: the seal and the start of the process (the kernel's part), tickets (they
//! are files of the real system), signals beyond their effect, WebAssembly (the guest's
//! logic runs natively, over the model's account of `sandbox/granted.rs`), and two threads
//! within one step: what is between two steps is not divided.
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
