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
        if (1..=64).contains(&name.len()) && name.bytes().all(may_be_in_name) {
            return Ok(Self(name.into()));
        }
        Err(Malformed(
            "a binding's name is 1 to 64 of a to z, digits and -",
        ))
    }
}

/// Whether a binding's name may have this character.
fn may_be_in_name(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-')
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

    /// Whether a client that shows this binding would show a key of `map`: its `name`, title or
    /// description contains one, as the title `Notes of 7d1f0c3a9b2e4f68`. A key that can be
    /// guessed does not count: it may be a usual word.
    pub fn shows_a_key(&self, name: &str, map: &Map) -> bool {
        let title = self.title.as_deref();
        let description = self.description.as_deref();
        for key in map.entries.keys().map(Key::expose) {
            let shown = [Some(name), title, description];
            let is_shown = shown.iter().flatten().any(|text| text.contains(key));
            if is_shown && !Key::is_guessable(key) {
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests;
