//! The entries of a map: where their names and paths stand in its text, and which key has
//! which of them.
//!
//! A map of 100,000 keys is read at a start, and most of what that takes is memory: for two
//! copies of what the text says already, and for finding a place for each. So the text is
//! kept, and an entry says where in it its name and its path are.

use super::{Key, Position};
use crate::agent::AgentName;
use hashbrown::{HashTable, hash_table::Entry as Place};
use memchr::memchr_iter;
use std::{
    fmt,
    hash::{BuildHasher as _, RandomState},
    ops::Range,
};
use zeroize::Zeroizing;

/// What the map says of one key. `Debug` shows nothing of it.
#[derive(Clone, Copy)]
pub struct Entry<'a> {
    key: &'a str,
    /// Not empty, without NUL, absolute, under `~/`, or relative; as written.
    pub(super) path: &'a str,
    pub(super) max_bytes: u64,
    pub(super) agents: Option<&'a [AgentName]>,
    /// The offset of its name in the text, so that no two have the same.
    pub(super) at: u32,
    text: &'a str,
    /// Its own position, or one before it from which lines can be counted on.
    counted: Position,
}

impl<'a> Entry<'a> {
    /// Its key. Only for the user's own `check`; see also [`Key::expose`].
    #[must_use]
    pub fn expose_key(&self) -> &'a str {
        self.key
    }

    /// Its key.
    #[must_use]
    pub fn key(&self) -> Key {
        Key::of_valid(self.key)
    }

    /// The path as the user wrote it. Only its form has been checked.
    #[must_use]
    pub fn path(&self) -> &'a str {
        self.path
    }

    /// The largest file that may be returned, in bytes: the entry's own limit,
    /// else the map's, else [`crate::limits::DEFAULT_MAX_BYTES`].
    #[must_use]
    pub fn max_bytes(&self) -> u64 {
        self.max_bytes
    }

    /// The agents that may use the key. None means any agent. The list is never
    /// empty.
    #[must_use]
    pub fn agents(&self) -> Option<&'a [AgentName]> {
        self.agents
    }

    /// The line of the map on which the entry begins, from 1.
    #[must_use]
    pub fn line(&self) -> u32 {
        self.counted.on(self.text, self.at).line
    }
}

impl Position {
    pub(super) const START: Self = Self { line: 1, byte: 0 };

    /// The position of a byte that is not before this one.
    pub(super) fn on(self, text: &str, byte: u32) -> Self {
        let between = text.as_bytes().get(self.byte as usize..byte as usize);
        let ends = memchr_iter(b'\n', between.unwrap_or_default()).count();
        Self {
            line: self.line.saturating_add(narrow(ends)),
            byte,
        }
    }
}

impl fmt::Debug for Entry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").finish_non_exhaustive()
    }
}

/// The entries of one text. It is given to each function: a map keeps it, and whoever reads
/// one only borrows it.
#[derive(Default)]
pub(super) struct Entries {
    /// As they were read, by one thread after the other.
    lists: Vec<List>,
    /// The number of the row of each key, counted through all lists.
    index: HashTable<u32>,
    hasher: KeyHasher,
}

/// Entries that follow each other in the text, as one thread reads them.
#[derive(Default)]
pub(super) struct List {
    rows: Vec<Row>,
    /// What one or more of the rows say beside the path.
    rules: Vec<Rule>,
    /// What stands in the text in another form: with escapes, for example.
    decoded: Zeroizing<String>,
    /// All lists of a map have the same.
    hasher: KeyHasher,
}

struct Row {
    key: Part,
    path: Part,
    at: u32,
    /// Its number in its list.
    rule: u32,
    /// That of the key.
    hash: KeyHash,
}

/// The limits of an entry.
#[derive(PartialEq)]
struct Rule {
    /// Limits are far below 4 GiB.
    max_bytes: u32,
    agents: Option<Box<[AgentName]>>,
}

/// SipHash with a random seed; see [`Key`]. The user chooses the keys, and nobody gains by
/// filling one place of the table. But a caller chooses what is looked up and sees how long
/// it takes, and from a faster hash that may tell where the keys are.
#[derive(Clone, Default)]
pub(super) struct KeyHasher(RandomState);

/// Half of a hash. A table of all keys that fit in a map uses fewer bits of it.
#[derive(Clone, Copy, PartialEq)]
struct KeyHash(u32);

impl KeyHasher {
    fn hash(&self, key: &str) -> KeyHash {
        KeyHash((self.0.hash_one(key) >> 32) as u32)
    }
}

impl KeyHash {
    /// As the table wants it: it uses bits from both ends.
    fn for_table(self) -> u64 {
        u64::from(self.0) << 32 | u64::from(self.0)
    }
}

/// A part of the text, or, beyond its end, of what was decoded.
#[derive(Clone, Copy)]
struct Part {
    start: u32,
    len: u32,
}

/// What an entry says, as it is read.
pub(super) struct New<'a> {
    pub(super) key: (&'a str, Range<usize>),
    pub(super) path: (&'a str, Range<usize>),
    pub(super) max_bytes: u64,
    pub(super) agents: Option<Box<[AgentName]>>,
}

impl List {
    /// For the next part of the text.
    pub(super) fn hashed_by(hasher: KeyHasher) -> Self {
        Self {
            hasher,
            ..Self::default()
        }
    }

    /// Adds an entry. Its key and its path come with the places in the text where they
    /// stand, quotes included.
    pub(super) fn add(&mut self, text: &str, new: New<'_>) {
        let rule = Rule {
            max_bytes: u32::try_from(new.max_bytes).unwrap_or(u32::MAX),
            agents: new.agents,
        };
        // Most entries say the same as the one before.
        if self.rules.last() != Some(&rule) {
            self.rules.push(rule);
        }
        let row = Row {
            at: narrow(new.key.1.start),
            rule: narrow(self.rules.len() - 1),
            hash: self.hasher.hash(new.key.0),
            key: self.part(text, new.key),
            path: self.part(text, new.path),
        };
        self.rows.push(row);
    }

    fn entry<'a>(&'a self, text: &'a str, row: &Row) -> Entry<'a> {
        let rule = self.rules.get(row.rule as usize);
        Entry {
            key: self.get(text, row.key),
            path: self.get(text, row.path),
            max_bytes: rule.map_or(0, |rule| rule.max_bytes.into()),
            // A rule that is not found lets nobody in.
            agents: rule.map_or(Some(&[]), |rule| rule.agents.as_deref()),
            at: row.at,
            text,
            counted: Position::START,
        }
    }

    fn get<'a>(&'a self, text: &'a str, part: Part) -> &'a str {
        let (start, len) = (part.start as usize, part.len as usize);
        let found = match start.checked_sub(text.len()) {
            None => text.get(start..start + len),
            Some(start) => self.decoded.get(start..start + len),
        };
        found.unwrap_or_default()
    }

    /// Where `value` is kept: where it stands, if it stands there as it is.
    fn part(&mut self, text: &str, (value, place): (&str, Range<usize>)) -> Part {
        let len = narrow(value.len());
        // With one quote before it, with none or with three.
        for quotes in [1, 0, 3] {
            let start = place.start.saturating_add(quotes);
            if text.get(start..start.saturating_add(value.len())) == Some(value) {
                let start = narrow(start);
                return Part { start, len };
            }
        }
        let start = narrow(text.len() + self.decoded.len());
        self.keep(value);
        Part { start, len }
    }

    /// Adds a text to those that were decoded.
    fn keep(&mut self, value: &str) {
        let needed = self.decoded.len() + value.len();
        if needed > self.decoded.capacity() {
            // Not by growing, which leaves the old ones in memory.
            let mut larger = Zeroizing::new(String::with_capacity(2 * needed));
            larger.push_str(&self.decoded);
            self.decoded = larger;
        }
        self.decoded.push_str(value);
    }
}

impl Entries {
    /// Those of all parts of a text, in its order. None if a key stands twice.
    pub(super) fn of(text: &str, lists: Vec<List>) -> Option<Self> {
        let rows = lists.iter().map(|list| list.rows.len()).sum();
        let mut index = HashTable::with_capacity(rows);
        let entries = Self {
            hasher: lists.first()?.hasher.clone(),
            lists,
            index: HashTable::new(),
        };
        let rows = entries.lists.iter().flat_map(|list| &list.rows);
        for (number, row) in (0..).zip(rows) {
            let is_own = |other: &u32| {
                entries
                    .row(*other)
                    .is_some_and(|(_, other)| other.hash == row.hash)
                    && entries.key(text, *other) == entries.key(text, number)
            };
            let hash = |number: &u32| {
                let row = entries.row(*number);
                row.map_or(0, |(_, row)| row.hash.for_table())
            };
            match index.entry(row.hash.for_table(), is_own, hash) {
                Place::Occupied(_) => return None,
                Place::Vacant(place) => place.insert(number),
            };
        }
        Some(Self { index, ..entries })
    }

    /// The entry of `key`. The time that this takes does not tell how close a wrong key
    /// came; see [`Key`].
    pub(super) fn find<'a>(&'a self, text: &'a str, key: &Key) -> Option<Entry<'a>> {
        let hash = self.hasher.hash(key.expose()).for_table();
        let is_key = |number: &u32| self.key(text, *number).is_some_and(|own| key.is(own));
        let (list, row) = self.row(*self.index.find(hash, is_key)?)?;
        Some(list.entry(text, row))
    }

    /// All of them, in the order of the text.
    pub(super) fn in_order<'a>(&'a self, text: &'a str) -> Vec<Entry<'a>> {
        let mut entries: Vec<_> = self.all(text).collect();
        entries.sort_unstable_by_key(|entry| entry.at);
        let mut counted = Position::START;
        for entry in &mut entries {
            counted = counted.on(text, entry.at);
            entry.counted = counted;
        }
        entries
    }

    /// All of them.
    pub(super) fn all<'a>(&'a self, text: &'a str) -> impl Iterator<Item = Entry<'a>> {
        let lists = self.lists.iter();
        lists.flat_map(move |list| list.rows.iter().map(|row| list.entry(text, row)))
    }

    /// Gives each entry with the limit `from` the limit `to`.
    pub(super) fn change_limits(&mut self, from: u64, to: u64) {
        let rules = self.lists.iter_mut().flat_map(|list| &mut list.rules);
        for rule in rules.filter(|rule| u64::from(rule.max_bytes) == from) {
            rule.max_bytes = u32::try_from(to).unwrap_or(u32::MAX);
        }
    }

    fn key<'a>(&'a self, text: &'a str, number: u32) -> Option<&'a str> {
        self.row(number).map(|(list, row)| list.get(text, row.key))
    }

    /// The row of this number, and its list.
    fn row(&self, number: u32) -> Option<(&List, &Row)> {
        let mut number = number as usize;
        for list in &self.lists {
            match list.rows.get(number) {
                Some(row) => return Some((list, row)),
                None => number -= list.rows.len(),
            }
        }
        None
    }
}

/// A map's text is far shorter than 4 GiB: see [`super::Map::parse`].
pub(super) fn narrow(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::{Entries, Key, KeyHasher, List, New};
    use std::collections::HashMap;

    /// The entry of a key and a path that stand nowhere in the text.
    fn add(list: &mut List, key: &str, path: &str) {
        list.add(
            "",
            New {
                key: (key, 0..0),
                path: (path, 0..0),
                max_bytes: 1,
                agents: None,
            },
        );
    }

    #[test]
    fn two_keys_with_the_same_hash_are_two_keys() {
        let hasher = KeyHasher::default();
        let mut seen = HashMap::new();
        let (one, other) = (0..)
            .find_map(|n: u32| Some((seen.insert(hasher.hash(&n.to_string()).0, n)?, n)))
            .unwrap();
        let mut list = List::hashed_by(hasher);
        for key in [one, other] {
            add(&mut list, &key.to_string(), &format!("{key}.md"));
        }
        let entries = Entries::of("", vec![list]).unwrap();
        for key in [one, other] {
            let found = entries.find("", &Key::try_from(key.to_string()).unwrap());
            assert_eq!(found.unwrap().path(), format!("{key}.md"));
        }
    }

    /// A string that grows leaves what it held in memory.
    #[test]
    fn what_is_decoded_is_moved_to_twice_the_room_before_it_would_grow() {
        let mut list = List::default();
        let mut capacities = Vec::new();
        for key in ["k-1", "k-2", "k-3", "k-4"] {
            add(&mut list, key, "12.md");
            capacities.push((list.decoded.len(), list.decoded.capacity()));
        }
        assert_eq!(capacities, [(8, 16), (16, 16), (24, 38), (32, 38)]);
    }
}
