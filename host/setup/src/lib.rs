//! `keyhole setup`: what it changes in the user's files, shown before, asked, and written.
//!
//! Nothing else in the program writes. `serve`, `guard` and `inject` do not use this crate.
//!
//! A plan ([`Door::install`], [`Door::remove`]) is a list of files, each with its new bytes. Every other
//! byte of a file stays (`json`, `map`); each file is replaced in one step, if it is still
//! what was shown (`disk`); and a record of our own lines makes it possible to take them away
//! (`record`). All commands and paths that are printed come from [`paste`].
#![forbid(unsafe_code)]
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::panic,
        clippy::disallowed_methods,
        reason = "tests"
    )
)]

pub mod agents;
pub mod ask;
pub mod clients;
mod disk;
pub mod document;
mod door;
mod edit;
pub mod hook;
mod intent;
mod json;
mod map;
pub mod paste;
mod plan;
pub mod program;
pub mod recipe;
mod record;
pub mod rules;
#[cfg(test)]
mod tests;

pub use {
    disk::{Disk, FileError},
    door::{Door, Judge, Outcome, Request, SetupError},
};

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

/// The plugin's agent, and the key that it has in its text.
pub const PLUGIN: (&str, &str) = ("keyhole:privacy-scanner", "keyhole-privacy-catalog");

/// The name in the record for what the plugin needs.
pub const PLUGIN_NAME: &str = "plugin";

/// Where setup keeps its record, and the servers of own agents their tickets.
pub fn state_folder(home: &Path, variable: impl Fn(&str) -> Option<OsString>) -> PathBuf {
    let set = variable("XDG_STATE_HOME").map(PathBuf::from);
    let state = set.filter(|set| set.is_absolute());
    state
        .unwrap_or_else(|| home.join(".local/state"))
        .join("keyhole")
}

/// Whether this runs as root for another user, by sudo or its like.
pub fn is_under_sudo(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    ["SUDO_UID", "SUDO_USER", "DOAS_USER", "PKEXEC_UID"]
        .iter()
        .any(|name| variable(name).is_some())
}

/// What the user wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A server for a binding.
    Bind {
        /// The client.
        client: String,
        /// The binding, and the agent of a client that has agents.
        name: String,
        /// As whom its server calls, if that is said.
        agent: Option<String>,
    },
    /// A client's hook for an agent.
    Inject {
        /// The client.
        client: String,
        /// The agent.
        agent: String,
    },
    /// The plugin's agent.
    Plugin,
}
