//! A binding: a name under which one server serves one file, without any key.

use super::{Entry, Key, Map};
use std::{borrow::Borrow, fmt, ops::Deref, str::FromStr, sync::Arc};

/// The name of a binding: 1 to [`BindingName::MAX_CHARS`] of `a` to `z`, digits and `-`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BindingName(Arc<str>);

/// The name is empty, too long, or holds another character.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a binding's name is 1 to 64 of a to z, digits and -")]
pub struct BadBindingName;

impl BindingName {
    /// The longest name, in characters. It stands in texts that a model reads.
    pub const MAX_CHARS: usize = 64;
}

impl FromStr for BindingName {
    type Err = BadBindingName;

    fn from_str(name: &str) -> Result<Self, BadBindingName> {
        let is_known = |byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
        let fits = (1..=Self::MAX_CHARS).contains(&name.len());
        let fits = fits && name.bytes().all(is_known);
        fits.then(|| Self(name.into())).ok_or(BadBindingName)
    }
}

impl Deref for BindingName {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for BindingName {
    fn borrow(&self) -> &str {
        self
    }
}

impl fmt::Display for BindingName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

/// What the map says about one binding.
pub struct Binding {
    pub(super) entry: Entry,
    pub(super) title: Option<Box<str>>,
    pub(super) description: Option<Box<str>>,
}

impl Binding {
    /// The longest title, in characters: a line in a client's list of tools.
    pub const MAX_TITLE: usize = 80;
    /// The longest description, in characters: a paragraph that a model reads
    /// with each of its requests.
    pub const MAX_DESCRIPTION: usize = 400;

    /// Which file it stands for, and who may have it.
    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Whether a client would show a key of `map` that is too long to be a word.
    pub fn shows_a_key(&self, name: &str, map: &Map) -> bool {
        let shown = [Some(name), self.title(), self.description()];
        let shows = |key: &str| shown.iter().flatten().any(|text| text.contains(key));
        let mut keys = map.entries.keys().map(Key::expose);
        keys.any(|key| !Key::is_guessable(key) && shows(key))
    }

    /// What a client shows its user instead of the tool's name, if the map says.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// What the document is, for the model that may ask for it, if the map says.
    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }
}

#[cfg(test)]
mod tests;
