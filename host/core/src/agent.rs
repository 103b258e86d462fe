//! The name of an agent, as a client gives it.

use keyhole_walk::printable::is_visible;
use std::{ops::Deref, sync::Arc};

/// The name of an agent: `plugin:agent`, or `agent` if it comes from no plugin. It has 1 to
/// [`AgentName::MAX_BYTES`] bytes and no control character; in a map, see [`AgentName::in_map`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AgentName(Arc<str>);

/// A text cannot be a name of an agent, a name of a binding, or a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(
    /// What such a name or key is. It repeats nothing of the text, which may be a secret.
    pub(crate) &'static str,
);

impl AgentName {
    /// The longest name, in bytes.
    pub const MAX_BYTES: usize = 512;

    /// The longest name in a map, in characters.
    pub const MAX_CHARS: usize = 128;

    /// The name as a map may have it, such as `acme:reviewer`: 1 to 128 visible characters of any
    /// script ([`Self::MAX_CHARS`]). `two words`, `*` and the empty text are refused.
    pub fn in_map(text: &str) -> Result<Self, Malformed> {
        let chars = text.chars().count();
        if (1..=Self::MAX_CHARS).contains(&chars) && text.chars().all(may_be_in_map) {
            return Ok(Self(text.into()));
        }
        Err(Malformed(
            "an agent's name is 1 to 128 visible characters, no blanks and no *",
        ))
    }

    /// Whether this name, as a map has it, means the agent `caller`: both are equal, or are equal
    /// without this name's marketplace. `acme:reviewer` and `acme@market:reviewer` in a map both
    /// mean the caller `acme:reviewer`; `acme@other:scout` does not.
    ///
    /// No caller's name has a marketplace. In clients with mods, the plugin's own mod compares that
    /// part.
    pub fn means(&self, caller: &Self) -> bool {
        if self == caller {
            return true;
        }
        let plain = self.without_marketplace();
        plain.is_some_and(|plain| plain == **caller)
    }

    /// The name without the marketplace that its plugin is from: `acme:reviewer` for
    /// `acme@market:reviewer`. None if the name says no marketplace.
    pub(crate) fn without_marketplace(&self) -> Option<String> {
        let (plugin, agent) = self.split_once(':')?;
        let (plugin, _) = plugin.split_once('@')?;
        Some(format!("{plugin}:{agent}"))
    }
}

/// Whether an agent's name in a map may have this character.
fn may_be_in_map(c: char) -> bool {
    is_visible(c) && !c.is_whitespace() && c != '*'
}

impl TryFrom<&str> for AgentName {
    type Error = Malformed;

    fn try_from(name: &str) -> Result<Self, Malformed> {
        if (1..=Self::MAX_BYTES).contains(&name.len()) && !name.contains(char::is_control) {
            return Ok(Self(name.into()));
        }
        Err(Malformed("the agent's name cannot be used"))
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
