//! Keyhole's tests from the outside, a module for each behaviour.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

/// A document's bytes arrive as they are.
mod content;
/// The guest's one table of cases, through the embedded component, and what the
/// component may import.
mod component;
/// What the program is built of.
mod build;
/// Every code there is, earned from the real program, in both protocols.
mod codes;
/// A client that means ill: its bytes, its floods, its ends.
mod hostile_client;
