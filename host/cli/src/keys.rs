//! The keys of the map, which no text that is printed may show.

use keyhole_claude::{PLUGIN, rules::as_literal_pattern};
use keyhole_core::{Key, Map};
use std::collections::{BTreeSet, HashSet};

/// The keys of a map, in each form in which a text may have one. A key that can be guessed is not
/// among them, since it may be a word. The key of the plugin's agent is not either: it is public.
#[derive(Default)]
pub(crate) struct MapKeys {
    forms: HashSet<String>,
    /// The lengths of the forms, in bytes.
    lengths: BTreeSet<usize>,
}

impl MapKeys {
    /// The keys of this map. None has no keys.
    pub(crate) fn of(map: Option<&Map>) -> Self {
        let mut keys = Self::default();
        for (key, _) in map.into_iter().flat_map(Map::entries) {
            let key = key.expose();
            if Key::is_guessable(key) || key == PLUGIN.key {
                continue;
            }
            keys.add(key);
            keys.add(&as_literal_pattern(key));
            // In a hook's command, a word stands between single quotes.
            keys.add(&key.replace('\'', r"'\''"));
        }
        keys
    }

    /// Adds a form of a key: as it is, and as it stands between double quotes in JSON and TOML.
    fn add(&mut self, form: &str) {
        // Of the characters of a key, only these two have an escape.
        let escaped = form.replace('\\', r"\\").replace('"', "\\\"");
        for form in [form.to_owned(), escaped] {
            self.lengths.insert(form.len());
            self.forms.insert(form);
        }
    }

    /// The text, with `…` in the place of each key.
    pub(crate) fn text_without_keys(&self, text: &str) -> String {
        let mut shown = String::new();
        let mut rest = text.chars();
        loop {
            if let Some(behind) = self.text_behind_key(rest.as_str()) {
                shown.push('…');
                rest = behind.chars();
            } else if let Some(next) = rest.next() {
                shown.push(next);
            } else {
                return shown;
            }
        }
    }

    /// What follows the key with which the text begins. None if it begins with none. Each beginning
    /// that has a key's length is looked up: a map may have very many keys.
    fn text_behind_key<'t>(&self, text: &'t str) -> Option<&'t str> {
        // The longest comes first: a key may begin with another one.
        for length in self.lengths.iter().rev() {
            if let Some((start, behind)) = text.split_at_checked(*length)
                && self.forms.contains(start)
            {
                return Some(behind);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
