//! What a caller must know to get a file. It is a secret, and is handled as one.

use crate::agent::Malformed;
use std::fmt;
use subtle::ConstantTimeEq;

/// A well-formed key: 1 to 128 visible ASCII characters, as `wit/context.wit` says. It is not
/// printed by accident.
///
/// The time of a lookup in a map does not tell how close a wrong key came: two keys are compared
/// in constant time, and a hash with a random seed (SipHash) decides which are compared at all.
/// There is no `Borrow<str>`, which would bring back the plain comparison.
#[derive(Clone, Eq, Hash)]
#[allow(clippy::derived_hash_with_manual_eq, reason = "equal keys hash alike")]
pub struct Key(Box<str>);

impl Key {
    /// The longest key, in characters; `wit/context.wit` says so.
    pub const MAX_LEN: usize = 128;

    /// A key with fewer characters than this counts as one that can be guessed: a server answers
    /// some ten thousand calls a second. 16 hexadecimal characters are 64 bits, which nobody
    /// guesses.
    pub const STRONG_LEN: usize = 16;

    /// A key with fewer different characters than this counts as one that can be guessed, too. 16
    /// random hexadecimal digits have so few different ones once in 25,000 times.
    pub const STRONG_CHARS: u32 = 6;

    /// Whether somebody could guess `text`, which need not be a key, as far as
    /// [`Self::STRONG_LEN`] and [`Self::STRONG_CHARS`] say. No rule can tell a random key from a
    /// phrase.
    pub fn is_guessable(text: &str) -> bool {
        if text.len() < Self::STRONG_LEN {
            return true;
        }
        // One bit for each ASCII character.
        let mut seen = 0_u128;
        for byte in text.bytes() {
            seen |= 1 << (byte & 127);
        }
        seen.count_ones() < Self::STRONG_CHARS
    }

    /// The key itself. Log it nowhere, and send it only to the guest and the user.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl TryFrom<&str> for Key {
    type Error = Malformed;

    fn try_from(text: &str) -> Result<Self, Malformed> {
        let is_visible = text.bytes().all(|byte| byte.is_ascii_graphic());
        if is_visible && (1..=Self::MAX_LEN).contains(&text.len()) {
            return Ok(Self(text.into()));
        }
        Err(Malformed(
            "a key is 1 to 128 visible ASCII characters, no blanks",
        ))
    }
}

/// In constant time.
impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_bytes().ct_eq(other.0.as_bytes()).into()
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(<redacted>)")
    }
}

#[cfg(test)]
mod tests;
