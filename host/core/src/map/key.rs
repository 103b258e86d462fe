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

    /// A key shorter than this, in characters, can be guessed: a server answers some ten thousand
    /// calls a second. 16 hexadecimal characters are 64 bits: nobody guesses them.
    pub const STRONG_LEN: usize = 16;

    /// So can a key with fewer different characters than this. 16 random hexadecimal digits have
    /// so few different ones once in 25,000 times.
    pub const STRONG_CHARS: u32 = 6;

    /// Whether somebody could guess `text`, which need not be a key, as far as the two numbers say.
    /// No rule can tell a random key from a phrase.
    pub fn is_guessable(text: &str) -> bool {
        let seen = |seen, byte| seen | 1_u128 << (byte & 127);
        text.len() < Self::STRONG_LEN
            || text.bytes().fold(0, seen).count_ones() < Self::STRONG_CHARS
    }

    /// The key itself. Log it nowhere, and send it only to the guest and the user.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl TryFrom<&str> for Key {
    type Error = Malformed;

    fn try_from(text: &str) -> Result<Self, Malformed> {
        let fits = (1..=Self::MAX_LEN).contains(&text.len());
        let fits = fits && text.bytes().all(|byte| byte.is_ascii_graphic());
        let malformed = "a key is 1 to 128 visible ASCII characters, no blanks";
        fits.then(|| Self(text.into())).ok_or(Malformed(malformed))
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
