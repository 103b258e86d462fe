//! What Claude Code reads and says.
//!
//! This crate writes nothing, and starts nothing.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::panic, reason = "tests"))]

pub mod hook;
pub mod javascript;
pub mod paths;
pub mod rules;
pub mod settings;
pub mod shells;

use keyhole_core::{absolute, map_in};
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

/// The environment: the value of the variable with this name. None if the variable is not set.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// The folder in which the servers of the user's own agents keep their tickets: `keyhole` in
/// `XDG_STATE_HOME`, or else in `~/.local/state`.
pub fn state_folder(home: &Path, variable: impl Fn(&str) -> Option<OsString>) -> PathBuf {
    let folder = absolute(variable, "XDG_STATE_HOME");
    let state = folder.unwrap_or_else(|| home.join(".local/state"));
    state.join("keyhole")
}

/// The map of a server that is told of no other: `keyhole/context-map.toml` in `XDG_CONFIG_HOME`,
/// or else in `~/.config`.
pub fn usual_map(home: &Path, variable: impl Fn(&str) -> Option<OsString>) -> PathBuf {
    let folder = absolute(variable, "XDG_CONFIG_HOME");
    map_in(&folder.unwrap_or_else(|| home.join(".config")))
}

/// Who gets a file by our plugin.
pub struct Plugin {
    /// The name of its agent, as the client has it.
    pub agent: &'static str,
    /// The key that this agent has in its text. It is public.
    pub key: &'static str,
}

/// Our plugin's agent.
pub const PLUGIN: Plugin = Plugin {
    agent: "keyhole:privacy-scanner",
    key: "keyhole-privacy-catalog",
};
