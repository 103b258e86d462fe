//! The entries of a map, and how one is found by its key.

use super::{Entry, Key};
use std::hash::{BuildHasher as _, RandomState};

/// Entries by their keys.
///
/// It is a table of places in a list, so that 100,000 entries are written one after
/// another, and what is written all over the memory is 4 bytes for each. Which place is
/// looked at is decided by SipHash with a random seed: see [`Key`].
#[derive(Default)]
pub(super) struct Entries {
    /// In the order in which they were added.
    list: Vec<(Key, Entry)>,
    /// Never full, and its length is a power of two, or it is empty.
    places: Vec<Place>,
    seed: RandomState,
}

/// Where an entry is, or where one could be: one more than the index in the list, or 0 if
/// there is none, and above it a part of the key's hash. Keys are compared only if that
/// part is the same.
#[derive(Clone, Copy, Default)]
struct Place(u32);

impl Place {
    /// A map of 16 MiB has fewer entries than these bits can count.
    const NUMBER: u32 = (1 << 22) - 1;

    /// None if there are too many entries.
    fn new(mark: u32, index: usize) -> Option<Self> {
        let number = u32::try_from(index).ok()?.checked_add(1)?;
        (number <= Self::NUMBER).then_some(Self(mark & !Self::NUMBER | number))
    }

    /// The index of the entry. None if there is none here.
    fn index(self) -> Option<usize> {
        ((self.0 & Self::NUMBER) as usize).checked_sub(1)
    }

    fn has(self, mark: u32) -> bool {
        (self.0 ^ mark) & !Self::NUMBER == 0
    }
}

impl Entries {
    /// Makes room for so many more.
    pub(super) fn reserve(&mut self, more: usize) {
        self.list.reserve(more);
        self.spread(self.list.len() + more);
    }

    /// Adds an entry. False if its key has one already, which then stays, or if there
    /// are too many.
    pub(super) fn insert(&mut self, key: Key, entry: Entry) -> bool {
        self.spread(self.list.len() + 1);
        let (mark, first) = self.hash(&key);
        let Err(free) = self.look(&key, mark, first) else {
            return false;
        };
        let new = Place::new(mark, self.list.len());
        let (Some(place), Some(new)) = (self.places.get_mut(free), new) else {
            return false;
        };
        *place = new;
        self.list.push((key, entry));
        true
    }

    /// The entry of `key`, if it has one.
    pub(super) fn get(&self, key: &Key) -> Option<&Entry> {
        let (mark, first) = self.hash(key);
        let found = self.look(key, mark, first).ok()?;
        self.list.get(found).map(|(_, entry)| entry)
    }

    /// All of them, in the order in which they were added.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Key, &Entry)> {
        self.list.iter().map(|(key, entry)| (key, entry))
    }

    /// The same, to change what the map says of the keys.
    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.list.iter_mut().map(|(_, entry)| entry)
    }

    /// The key's mark, and the place to look at first.
    fn hash(&self, key: &Key) -> (u32, usize) {
        let hash = self.seed.hash_one(key);
        ((hash >> 32) as u32, hash as u32 as usize)
    }

    /// The index of the key's entry, or else the free place for one.
    fn look(&self, key: &Key, mark: u32, first: usize) -> Result<usize, usize> {
        let last = self.places.len().wrapping_sub(1);
        let mut at = first & last;
        while let Some(place) = self.places.get(at) {
            let Some(index) = place.index() else {
                break;
            };
            let is_it = |(other, _): &(Key, Entry)| other == key;
            if place.has(mark) && self.list.get(index).is_some_and(is_it) {
                return Ok(index);
            }
            at = (at + 1) & last;
        }
        Err(at)
    }

    /// Sees to it that at least half of the places stay free with so many entries.
    fn spread(&mut self, entries: usize) {
        if entries * 2 <= self.places.len() {
            return;
        }
        let places = (entries * 2).next_power_of_two();
        self.places = vec![Place::default(); places];
        for (index, (key, _)) in self.list.iter().enumerate() {
            let (mark, first) = self.hash(key);
            let mut at = first & (places - 1);
            while self
                .places
                .get(at)
                .is_some_and(|place| place.index().is_some())
            {
                at = (at + 1) & (places - 1);
            }
            if let (Some(place), Some(known)) = (self.places.get_mut(at), Place::new(mark, index)) {
                *place = known;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::{Entries, Entry, Key};
    use std::collections::HashMap;

    fn key(text: &str) -> Key {
        Key::try_from(text).unwrap()
    }

    fn entry(line: u32) -> Entry {
        Entry {
            path: "a.md".into(),
            max_bytes: 1,
            agents: None,
            at: (line, 0),
        }
    }

    #[test]
    fn an_entry_is_found_by_its_key_and_by_no_other() {
        let mut entries = Entries::default();
        assert!(entries.get(&key("k")).is_none());
        let mut known = HashMap::new();
        for n in 0..1000_u32 {
            // Most come twice.
            let name = format!("k-{}", n.wrapping_mul(2_654_435_761) % 700);
            let is_new = !known.contains_key(&name);
            assert_eq!(entries.insert(key(&name), entry(n)), is_new);
            known.entry(name).or_insert(n);
        }
        assert_eq!(entries.iter().count(), known.len());
        for (name, line) in &known {
            assert_eq!(entries.get(&key(name)).unwrap().line(), *line);
            assert!(entries.get(&key(&format!("{name}x"))).is_none());
        }
    }

    #[test]
    fn room_that_was_made_is_enough() {
        let mut entries = Entries::default();
        assert!(entries.insert(key("first"), entry(7)));
        entries.reserve(999);
        let places = entries.places.len();
        let list = entries.list.capacity();
        for n in 0..999 {
            assert!(entries.insert(key(&format!("k-{n}")), entry(n)));
        }
        assert_eq!((places, list), (2048, entries.list.capacity()));
        assert_eq!(places, entries.places.len());
        assert_eq!(entries.get(&key("first")).unwrap().line(), 7);
    }
}
