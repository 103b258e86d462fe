//! Keyhole's tests from the outside, a module for each behaviour.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

/// A server for one context, with no key in its surface.
mod bound;
/// What the program is built of.
mod build;
/// Many calls at once, each with its own answer.
mod calls;
/// `keyhole check`, `contract`, `setup`, the command line itself, and the demonstration.
mod cli;
/// Every code, as the real program returns it, in both protocols.
mod codes;
/// What the component may import, and what it makes of what it finds.
mod component;
/// A document's bytes arrive unchanged.
mod content;
/// The documents, compared with the program and the repository.
mod docs;
/// The configurations for clients, as the documents give them.
mod examples;
/// A hostile guest and a hostile world.
mod hostile;
/// A malicious client: its bytes, its floods, how it ends.
mod hostile_client;
/// How a server starts and ends.
mod lifecycle;
/// Input that is not a request: garbage, long lines, odd ends.
mod lines;
/// The map is live: what the user changes counts from the next call on.
mod live;
/// What can be tested of programs for macOS without running them.
mod macos;
/// Sees that somebody opens a file.
mod opens;
/// Where the map is, and where its files are.
mod places;
/// The Claude Code plugin, as it is packaged.
mod plugin;
/// Attacks that once worked.
mod regressions;
/// Requests that are not quite right.
mod requests;
/// What the kernel lets a server read, and what works all the same.
#[cfg(target_os = "linux")]
mod roots;
/// Neither a refusal nor standard error contains a key, a path, content or a count.
mod secrecy;
/// Standard streams that do not block.
#[cfg(target_os = "linux")]
mod streams;
/// What a client sees of the server and its tool, to the letter.
mod surface;
/// A server behind its wall.
#[cfg(target_os = "linux")]
mod wall;
/// What a host with a bug reads.
#[cfg(target_os = "linux")]
mod wrong_host;
