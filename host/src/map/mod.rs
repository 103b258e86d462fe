//! The user's map: which key stands for which file.
//!
//! [`Location`] says where the map is. [`LiveMap`] reads it again whenever it has
//! changed. [`Map::parse`] turns its text into entries. [`resolve()`] turns one entry
//! into an open directory and a name in it. [`MapSource`] is where a server gets its
//! map from: a [`LiveMap`], or a [`FrozenMap`], which keeps what it has read once.

mod binding;
mod entries;
mod error;
mod events;
mod fields;
mod frozen;
mod key;
mod live;
mod location;
mod parse;
mod reader;
mod resolve;
mod source;
mod trusted;

pub use binding::{BadBindingName, Binding, BindingError, BindingName};
use entries::Entries;
pub use entries::Entry;
pub use error::{MapError, ParseError};
pub use frozen::{FreezeError, FrozenMap};
pub use key::{Key, KeyError};
pub use live::LiveMap;
pub use location::{Location, LocationError};
use resolve::resolve_along;
pub use resolve::{locate, resolve};
pub use source::{MapSource, Maps};

use crate::agent::AgentName;
use std::{collections::BTreeMap, fmt};
use zeroize::Zeroizing;

/// A valid map, as it was at one moment. It is never changed, only replaced.
///
/// `Debug` shows nothing of it, not even how many keys there are.
pub struct Map {
    location: Location,
    /// Its entries are where they stand in it.
    text: Zeroizing<String>,
    said: Said,
}

/// What the text of a map says.
struct Said {
    /// Absolute, or under `~/`; as written. None means that files may be anywhere.
    roots: Option<Box<[Box<str>]>>,
    /// For entries that set no limit.
    max_bytes: u64,
    entries: Entries,
    bindings: BTreeMap<BindingName, Binding>,
}

impl Map {
    /// The entry of `key`, if it has one. The time that this takes does not tell how
    /// close a wrong key came; see [`Key`].
    #[must_use]
    pub fn find(&self, key: &Key) -> Option<Entry<'_>> {
        self.said.entries.find(&self.text, key)
    }

    /// The entry of `key`, if `agent` may use it. An agent of None means that nobody
    /// knows who asks. An entry that is bound to others is not found.
    #[must_use]
    pub fn find_for(&self, key: &Key, agent: Option<&AgentName>) -> Option<Entry<'_>> {
        self.find(key).filter(|entry| match entry.agents() {
            None => true,
            Some(agents) => agent.is_some_and(|agent| agents.contains(agent)),
        })
    }

    /// The binding of this name, if there is one.
    #[must_use]
    pub fn binding(&self, name: &str) -> Option<&Binding> {
        self.said.bindings.get(name)
    }

    /// Gives `other` the rules of this map: its roots, and its size limit for entries
    /// that set none.
    pub(crate) fn apply_rules_to(&self, mut other: Self) -> Self {
        other.said.roots.clone_from(&self.said.roots);
        let before = other.said.max_bytes;
        other.said.max_bytes = self.said.max_bytes;
        other
            .said
            .entries
            .change_limits(before, self.said.max_bytes);
        other
    }

    /// All bindings with their names, in the order of the file. Only for the user's own
    /// `check`.
    #[must_use]
    pub fn bindings(&self) -> Vec<(&BindingName, &Binding)> {
        let mut bindings: Vec<_> = self.said.bindings.iter().collect();
        bindings.sort_unstable_by_key(|(_, binding)| binding.at);
        bindings
    }

    /// All entries, in the order of the file. Only for the user's own `check`: a call
    /// must not learn of any entry but its own.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry<'_>> {
        self.said.entries.in_order(&self.text)
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

#[cfg(test)]
pub(crate) mod tests;
