//! The name of an agent, as a client gives it.

use keyhole_walk::printable::is_visible;
use std::{ops::Deref, sync::Arc};

/// The name of an agent: `plugin:agent`, or `agent` if it comes from no plugin. It has 1 to
/// [`AgentName::MAX_BYTES`] bytes and no control character; in a map, see [`AgentName::in_map`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AgentName(Arc<str>);

/// The text is no name or key of its kind: what one is. It holds nothing of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(pub(crate) &'static str);

impl AgentName {
    /// The longest name, in bytes.
    pub const MAX_BYTES: usize = 512;

    /// The longest name in a map, in characters.
    pub const MAX_CHARS: usize = 128;

    /// The name as a map may have it: 1 to [`Self::MAX_CHARS`] visible characters of any script,
    /// and no `*`. It means the agent whose name has the same bytes.
    pub fn in_map(text: &str) -> Result<Self, Malformed> {
        let is_seen = |c: char| is_visible(c) && !c.is_whitespace() && c != '*';
        let fits = (1..=Self::MAX_CHARS).contains(&text.chars().count());
        let fits = fits && text.chars().all(is_seen);
        let malformed = "an agent's name is 1 to 128 visible characters, no blanks and no *";
        fits.then(|| Self(text.into())).ok_or(Malformed(malformed))
    }

    /// Whether a map that has this name means `caller`. A map may say which marketplace a
    /// plugin is from, as in `acme@market:reviewer`. No caller's name says it: the
    /// plugin's module compares that part, where the client tells a module.
    pub fn means(&self, caller: &Self) -> bool {
        self == caller || self.without_marketplace().as_deref() == Some(&**caller)
    }

    /// The name without the marketplace that its plugin is from. None if it says none.
    pub(crate) fn without_marketplace(&self) -> Option<String> {
        let (plugin, agent) = self.split_once(':')?;
        let (plugin, _) = plugin.split_once('@')?;
        Some(format!("{plugin}:{agent}"))
    }
}

impl TryFrom<&str> for AgentName {
    type Error = Malformed;

    fn try_from(name: &str) -> Result<Self, Malformed> {
        let fits = (1..=Self::MAX_BYTES).contains(&name.len());
        let fits = fits && !name.contains(char::is_control);
        let malformed = "the agent's name cannot be used";
        fits.then(|| Self(name.into())).ok_or(Malformed(malformed))
    }
}

impl Deref for AgentName {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests;
