//! The keys of the map, which no text that is printed may show.

use keyhole_claude::{PLUGIN, rules::as_literal_pattern};
use keyhole_core::{Key, Map};
use std::collections::{BTreeSet, HashSet};

/// The keys of a map, in each form in which a text may have them. Two kinds of keys are left out: a
/// key that can be guessed, since it may be a word that a text needs; and the key of the plugin's
/// agent, which is public.
#[derive(Default)]
pub(crate) struct MapKeys {
    /// What is replaced where a text has it.
    forms: HashSet<String>,
    /// The lengths of the forms, in bytes.
    lengths: BTreeSet<usize>,
}

impl MapKeys {
    /// The keys of this map; no keys without a map. Each key is added in three forms: as the map
    /// has it, as a pattern of Claude Code's rules has it, and as a hook's command has it.
    pub(crate) fn of(map: Option<&Map>) -> Self {
        let mut keys = Self::default();
        for (key, _) in map.into_iter().flat_map(Map::entries) {
            let secret = key.expose();
            if Key::is_guessable(secret) || secret == PLUGIN.key {
                continue;
            }
            keys.add(secret);
            keys.add(&as_literal_pattern(secret));
            // A hook's command has words between single quotes: there, `a'b` is written `a'\''b`.
            keys.add(&secret.replace('\'', r"'\''"));
        }
        keys
    }

    /// Adds a form of a key twice: unchanged, and as JSON and TOML write it between double quotes
    /// (`a\"b` for `a"b`).
    fn add(&mut self, form: &str) {
        // Of the characters of a key, only these two have an escape.
        let escaped = form.replace('\\', r"\\").replace('"', "\\\"");
        for written in [form.to_owned(), escaped] {
            self.lengths.insert(written.len());
            self.forms.insert(written);
        }
    }

    /// The text, with `…` in the place of each key: `/x/…/y` for `/x/kk-0123456789abcdef/y`. A text
    /// without keys stays as it is.
    pub(crate) fn text_without_keys(&self, text: &str) -> String {
        let mut shown = String::new();
        let mut remaining = text.chars();
        loop {
            if let Some(behind) = self.text_behind_key(remaining.as_str()) {
                shown.push('…');
                remaining = behind.chars();
            } else if let Some(next) = remaining.next() {
                shown.push(next);
            } else {
                return shown;
            }
        }
    }

    /// What follows the key with which the text begins. None if the text begins with no key.
    ///
    /// A map may have very many keys. So they are not tried one by one: for each length of a key,
    /// the beginning of the text that has this length is looked up.
    fn text_behind_key<'t>(&self, text: &'t str) -> Option<&'t str> {
        // The longest length comes first: a key may begin with a shorter key.
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
