//! The user's map: which key stands for which file.
//!
//! [`Location`] says where the map is, [`LiveMap`] reads it afresh whenever it
//! changed, [`Map::parse`] turns its text into entries, [`resolve()`] turns one
//! entry into a directory that is opened and a name in it. [`MapSource`] is where a
//! server has its map from: it reads the map at each call, or [`FrozenMap`] keeps it.

mod binding;
mod error;
mod fields;
mod frozen;
mod key;
mod live;
mod location;
mod parse;
mod pieces;
mod resolve;
mod source;

pub use binding::{BadBindingName, Binding, BindingError, BindingName};
pub use error::{MapError, ParseError};
pub use frozen::{FreezeError, FrozenMap};
pub use key::{Key, KeyError};
pub use live::LiveMap;
pub use location::{Location, LocationError};
use resolve::resolve_along;
pub use resolve::{locate, resolve};
pub use source::{MapSource, Maps};

use crate::agent::AgentName;
use indexmap::IndexMap;
use std::{collections::BTreeMap, fmt};

/// A valid map, as it was at one moment. It is never changed, only replaced.
///
/// `Debug` shows nothing of it, not even how many keys there are.
pub struct Map {
    location: Location,
    /// Absolute, or under `~/`; as written. None means that files may be anywhere.
    roots: Option<Box<[Box<str>]>>,
    /// For entries that set no limit.
    max_bytes: u64,
    /// One after another in memory, as a large map has many.
    entries: IndexMap<Key, Entry>,
    bindings: BTreeMap<BindingName, Binding>,
}

impl Map {
    /// The entry of `key`, if it has one. The time that this takes does not tell how
    /// close a wrong key came; see [`Key`].
    #[must_use]
    pub fn find(&self, key: &Key) -> Option<&Entry> {
        self.entries.get(key)
    }

    /// The entry of `key`, if `agent` may use it. An agent of None means that nobody
    /// knows who asks. An entry that is bound to others is not found.
    #[must_use]
    pub fn find_for(&self, key: &Key, agent: Option<&AgentName>) -> Option<&Entry> {
        self.find(key).filter(|entry| match entry.agents() {
            None => true,
            Some(agents) => agent.is_some_and(|agent| agents.contains(agent)),
        })
    }

    /// The binding of this name, if there is one.
    #[must_use]
    pub fn binding(&self, name: &str) -> Option<&Binding> {
        self.bindings.get(name)
    }

    /// Gives `other` the rules of this map: its roots, and its size limit for entries
    /// that set none.
    pub(crate) fn ruling(&self, mut other: Self) -> Self {
        other.roots.clone_from(&self.roots);
        for entry in other.entries.values_mut() {
            if entry.max_bytes == other.max_bytes {
                entry.max_bytes = self.max_bytes;
            }
        }
        other.max_bytes = self.max_bytes;
        other
    }

    /// All bindings with their names, in the order of the file. Only for the user's own
    /// `check`.
    #[must_use]
    pub fn bindings(&self) -> Vec<(&BindingName, &Binding)> {
        let mut bindings: Vec<_> = self.bindings.iter().collect();
        bindings.sort_unstable_by_key(|(_, binding)| binding.at);
        bindings
    }

    /// All entries, in the order of the file. Only for the user's own `check`: a call
    /// must not learn of any entry but its own.
    #[must_use]
    pub fn entries(&self) -> Vec<(&Key, &Entry)> {
        let mut entries: Vec<_> = self.entries.iter().collect();
        entries.sort_unstable_by_key(|(_, entry)| entry.at);
        entries
    }
}

impl fmt::Debug for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Map").finish_non_exhaustive()
    }
}

/// Where an entry or a binding stands in the map's text. The order is that of the
/// text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Position {
    /// From 1.
    line: u32,
    /// The offset in the whole text, so that no two have the same.
    byte: u32,
}

/// What the map says of one key. `Debug` shows nothing of it.
pub struct Entry {
    /// Not empty, without NUL, absolute, under `~/`, or relative; as written.
    path: Box<str>,
    max_bytes: u64,
    agents: Option<Box<[AgentName]>>,
    at: Position,
}

impl Entry {
    /// The path as the user wrote it. Only its form has been checked.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The largest file that may be returned, in bytes: the entry's own limit,
    /// else the map's, else [`crate::limits::DEFAULT_MAX_BYTES`].
    #[must_use]
    pub fn max_bytes(&self) -> u64 {
        self.max_bytes
    }

    /// The agents that may use the key; none: any. Never an
    /// empty list.
    #[must_use]
    pub fn agents(&self) -> Option<&[AgentName]> {
        self.agents.as_deref()
    }

    /// The line of the map on which the entry begins, from 1.
    #[must_use]
    pub fn line(&self) -> u32 {
        self.at.line
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").finish_non_exhaustive()
    }
}

#[cfg(test)]
pub(crate) mod tests;
