//! The user's map: which key, or which binding, stands for which file.
//!
//! [`Location`] says where the map is. [`LiveMap`] reads it at each call. [`Map::parse`] turns its
//! text into entries. [`locate()`] turns one entry into an open directory and a name in it.

mod binding;
mod error;
mod key;
mod live;
mod location;
mod reader;
mod resolve;

pub use binding::{Binding, BindingName};
pub use error::{MapError, MapMistake};
pub use key::Key;
pub use live::LiveMap;
pub use location::{Location, LocationError, absolute, map_in};
pub use resolve::locate;

use crate::{agent::AgentName, grant::Granted, refusal::Refusal};
use std::{collections::HashMap, path::PathBuf, sync::Arc, time::Instant};

/// Where a call gets its map from, and how its entries are resolved: a [`LiveMap`], or what
/// takes its place in a test. After `deadline`, nobody waits for the answer any more.
pub trait Maps: Send + Sync + 'static {
    /// An open directory.
    type Directory;

    /// The map that is valid for this call.
    fn map_now(&self, deadline: Instant) -> Result<Arc<Map>, Refusal>;

    /// The right to read the file of an entry of `map`; or why there is none.
    fn resolve(&self, map: &Map, entry: &Entry, deadline: Instant) -> Granted<Self::Directory>;
}

/// A valid map, as it was at one moment. It is never changed, only replaced. It has no `Debug`, so
/// nothing prints it by accident.
pub struct Map {
    location: Location,
    /// The folders in which all files are, as absolute paths. None: files may be anywhere.
    roots: Option<Box<[PathBuf]>>,
    /// The hash (SipHash) has a random seed, and keys are compared in constant time: see [`Key`].
    entries: HashMap<Key, Entry>,
    /// In the order of the text.
    bindings: Vec<(BindingName, Binding)>,
}

/// The two tables of a map that have entries. In each, an entry has a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Table {
    /// `[keys]`: the name of an entry is a [`Key`], a secret.
    #[default]
    Key,
    /// `[bindings]`: the name of an entry is a [`BindingName`], which anybody may see.
    Binding,
}

impl Table {
    /// The name of the table in the text of a map.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Key => "keys",
            Self::Binding => "bindings",
        }
    }
}

/// What the map says of one key, or of one binding.
pub struct Entry {
    /// The path as the user wrote it: not empty, without NUL, absolute, under `~/`, or relative.
    pub path: Box<str>,
    /// The largest file that may be returned, in bytes.
    pub max_bytes: u64,
    /// The agents that may have the file. None means any agent. The list is never empty.
    pub agents: Option<Box<[AgentName]>>,
    /// Whether what its agents report is compared with the file, and quotes are taken out.
    pub withhold: bool,
    /// The folders whose repositories may publish what the file has, as absolute paths; no folder
    /// means nowhere. None: nothing that is published is compared with the file.
    pub publish_only_in: Option<Box<[PathBuf]>>,
    /// The line of the map on which the entry begins, from 1.
    pub line: u32,
    /// The place in the text, in bytes. Do not show it: it may tell how long a key is.
    place: usize,
}

impl Entry {
    /// Whether the entry has agents, and `agent` is one of them.
    fn names(&self, agent: &AgentName) -> bool {
        let mut names = self.agents.iter().flatten();
        names.any(|name| name.means(agent))
    }

    /// Whether `agent` may have the file. None means that nobody knows who asks: then only an
    /// entry without agents is for it.
    pub fn is_for(&self, agent: Option<&AgentName>) -> bool {
        self.agents.is_none() || agent.is_some_and(|agent| self.names(agent))
    }
}

impl Map {
    /// The entry of `key`, if it has one, in a time that tells nothing of other keys: see [`Key`].
    pub fn find(&self, key: &Key) -> Option<&Entry> {
        self.entries.get(key)
    }

    /// The key of the one entry that names `agent`. None if no entry names the agent, if more than
    /// one does, or if the entry names it with a marketplace, as `acme@market:reviewer`: nobody has
    /// said from which marketplace the caller is. Bindings do not count: their agents are those of
    /// one server.
    pub fn only_key_of(&self, agent: &AgentName) -> Option<&Key> {
        let [(key, entry)] = self.entries_of(agent)[..] else {
            return None;
        };
        for name in entry.agents.iter().flatten() {
            if name.means(agent) && name.without_marketplace().is_some() {
                return None;
            }
        }
        Some(key)
    }

    /// The entries that name `agent`, with their keys, in the order of the text.
    pub fn entries_of(&self, agent: &AgentName) -> Vec<(&Key, &Entry)> {
        let mut entries = self.entries();
        entries.retain(|(_, entry)| entry.names(agent));
        entries
    }

    /// The roots, as absolute paths; none if files may be anywhere.
    pub fn roots(&self) -> Vec<PathBuf> {
        self.roots.iter().flatten().cloned().collect()
    }

    /// The binding of this name, if there is one.
    pub fn binding(&self, name: &str) -> Option<&Binding> {
        let mut bindings = self.bindings.iter();
        let (_, binding) = bindings.find(|(own, _)| **own == *name)?;
        Some(binding)
    }

    /// All bindings with their names, in the order of the text: for what the user runs, not for a
    /// call.
    pub fn bindings(&self) -> &[(BindingName, Binding)] {
        &self.bindings
    }

    /// All keys with their entries, in the order of the text. No answer to a caller may depend on
    /// the entries of others.
    pub fn entries(&self) -> Vec<(&Key, &Entry)> {
        let mut entries: Vec<_> = self.entries.iter().collect();
        entries.sort_unstable_by_key(|(_, entry)| entry.place);
        entries
    }
}
