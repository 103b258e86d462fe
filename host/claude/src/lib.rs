//! What Claude Code reads and says.
//!
//! It writes nothing, and starts nothing.
#![forbid(unsafe_code)]

pub mod hook;
pub mod javascript;

/// The plugin's agent, and the key that it has in its text.
pub const PLUGIN: (&str, &str) = ("keyhole:privacy-scanner", "keyhole-privacy-catalog");
