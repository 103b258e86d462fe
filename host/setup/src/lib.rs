//! `keyhole setup`: what it changes in the user's files, shown before, asked, and written.
//!
//! It edits the map and Claude Code's `settings.json`, and makes files that are the user's agents'
//! alone. All else it prints. Nothing else in the program writes.
//!
//! The way of one setup, under one lock (`flow.rs` of the command keeps the order and asks):
//!
//! 1. [`clients`] has the client's row of `clients.toml`. [`recipe`] fills in the client's
//!    examples.
//! 2. `install` plans the changes of each file. `json` adds lines to Claude Code's settings, and
//!    `map` adds lines to the map. Both parse the new text, and stop if it is more than the old
//!    text and the lines that were shown.
//! 3. The loader says whether the file would be served. Then the plan is shown, and the user asked.
//! 4. `disk` reads each file again, and stops if the file changed. Then it writes a new file beside
//!    the old one, syncs and renames it. Rules are written first.
//!
//! `remove` builds a name's texts again, and deletes equal texts from the files: there is no record
//! of what was written.
#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, reason = "the user's own files")]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::panic, reason = "tests"))]

pub mod agents;
pub mod ask;
pub mod clients;
mod disk;
mod error;
pub mod file;
mod install;
mod json;
mod map;
mod own;
pub mod paste;
mod plan;
pub mod program;
pub mod recipe;
mod remove;
pub mod shells;
mod shown;
#[cfg(test)]
mod tests;

pub(crate) use error::EditError;
pub use {
    disk::{Lock, lock},
    error::{Result, SetupError, Unfit, refused, stop_with},
    install::{Chosen, Request, Walls},
    map::{Asked, Named, Printed, all_entries, entry},
    plan::Plan,
    remove::{Rules, removable_names},
};

use clients::Folder;
use keyhole_claude::{
    Variables,
    rules::{self, OddPlace},
    state_folder,
};
use keyhole_core::{LiveMap, Map, MapError};
use keyhole_walk::{normal, printable::visible};
use program::Program;
use std::{path::PathBuf, sync::Arc};

/// The user for whom setup works.
pub struct User<'a> {
    /// The home.
    pub home: PathBuf,
    /// The map.
    pub map: LiveMap,
    /// The environment.
    pub variable: Variables<'a>,
    /// This program.
    pub program: Program,
}

impl User<'_> {
    /// The folder in which the server and the guard of a user's own agent in Claude Code keep their
    /// tickets, and nothing else. Both get the path as an argument, and not by a variable, since a
    /// project can set variables.
    pub fn tickets(&self) -> PathBuf {
        state_folder(&self.home, self.variable).join("claude-code")
    }

    /// The path of a client's folder:
    ///
    /// - The folder that its variable names. For a variable such as `XDG_CONFIG_HOME/opencode`,
    ///   that is the folder `opencode` in the one that `XDG_CONFIG_HOME` names.
    /// - The usual path in the home, such as `~/.codex`, if the variable is not set, or has a value
    ///   that the client does not follow, such as an empty one (`rules::is_followed`).
    ///
    /// # Errors
    /// If the path that the variable names is relative, or has a character that nobody sees.
    pub fn folder(&self, folder: &Folder) -> Result<PathBuf, Unfit> {
        let (name, subfolder) = folder
            .variable
            .split_once('/')
            .unwrap_or((folder.variable, ""));
        let value = (self.variable)(name);
        let Some(set) = value.filter(|set| rules::is_followed(name, set)) else {
            return Ok(self.home.join(folder.usual.trim_start_matches("~/")));
        };
        let moved = normal(&PathBuf::from(set).join(subfolder));
        if !moved.is_absolute() || visible(&moved).is_none() {
            return Err(OddPlace(name.to_owned()).into());
        }
        Ok(moved)
    }

    /// The user's map. None if there is none.
    ///
    /// # Errors
    /// If the map is there, but cannot be used, as one that does not parse.
    pub fn map_now(&self) -> Result<Option<Arc<Map>>> {
        match self.map.current() {
            Err(MapError::Missing(_)) => Ok(None),
            result => Ok(Some(result?)),
        }
    }
}
