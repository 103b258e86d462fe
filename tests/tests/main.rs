//! Keyhole's tests from the outside, a module for each behaviour.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

/// A document's bytes arrive as they are.
mod content;
/// A hostile guest and a hostile world.
mod hostile;
