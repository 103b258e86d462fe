//! A binding: a name under which one server serves one file, without any key.

use super::{Entry, Key, Map};
use crate::agent::Malformed;
use std::{ops::Deref, str::FromStr, sync::Arc};

/// The name of a binding: 1 to 64 of `a` to `z`, digits and `-`. A model reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindingName(Arc<str>);

impl FromStr for BindingName {
    type Err = Malformed;

    fn from_str(name: &str) -> Result<Self, Malformed> {
        let is_known = |byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
        let fits = (1..=64).contains(&name.len());
        let fits = fits && name.bytes().all(is_known);
        let malformed = "a binding's name is 1 to 64 of a to z, digits and -";
        fits.then(|| Self(name.into())).ok_or(Malformed(malformed))
    }
}

impl Deref for BindingName {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// What the map says about one binding.
pub struct Binding {
    /// Which file it stands for, and who may have it.
    pub entry: Entry,
    /// What a client shows its user instead of the tool's name, if the map says.
    pub title: Option<Box<str>>,
    /// What the document is, for the model that may ask for it, if the map says.
    pub description: Option<Box<str>>,
}

impl Binding {
    /// The longest title, in characters: a line in a client's list of tools.
    pub const MAX_TITLE: usize = 80;
    /// The longest description, in characters: a model reads it with each of its requests.
    pub const MAX_DESCRIPTION: usize = 400;

    /// Whether a client would show a key of `map` that is too long to be a word.
    pub fn shows_a_key(&self, name: &str, map: &Map) -> bool {
        let texts = [self.title.as_deref(), self.description.as_deref()];
        let shown = || texts.iter().flatten().chain([&name]);
        let shows = |key: &str| shown().any(|text| text.contains(key));
        let mut keys = map.entries.keys().map(Key::expose);
        keys.any(|key| !Key::is_guessable(key) && shows(key))
    }
}

#[cfg(test)]
mod tests;
