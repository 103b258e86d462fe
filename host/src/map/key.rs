//! What a caller shows to get a file: a secret, and treated as one.

use std::{
    fmt,
    hash::{Hash, Hasher},
};
use subtle::ConstantTimeEq;

/// A well-formed key: 1 to 128 visible ASCII characters, the rule of
/// "What a key is" in `wit/context.wit`.
///
/// It cannot be printed by accident: there is no `Display`, and `Debug` hides it.
///
/// Two keys are compared in constant time. A lookup in a `HashMap` therefore
/// tells nothing by its timing about how close a wrong key came: which bucket is
/// looked at is decided by SipHash with a random seed of this process, and the
/// comparison in the bucket takes as long wherever the two first differ. For
/// this reason there is no `Borrow<str>`: it would bring back the plain
/// comparison of strings.
#[derive(Clone, Eq)]
pub struct Key(Box<str>);

/// Why a text is not a key. It carries nothing of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The text is empty.
    #[error("a key is empty")]
    Empty,
    /// The text is longer than [`Key::MAX_LEN`].
    #[error("a key is longer than 128 characters")]
    TooLong,
    /// A character is a blank, a control character or not ASCII.
    #[error("a key may hold visible ASCII characters only, no blanks")]
    NotVisibleAscii,
}

impl Key {
    /// The longest key, in characters; `wit/context.wit` says so.
    pub const MAX_LEN: usize = 128;

    /// Keys shorter than this, in characters, are called weak. 16 characters of
    /// hexadecimal are 64 bits: beyond guessing through calls that each take
    /// microseconds.
    pub const STRONG_LEN: usize = 16;

    /// The key itself. Whoever asks takes care that it is neither logged nor
    /// sent to anyone but the guest and the user.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether the key is so short that it might be guessed.
    #[must_use]
    pub fn is_weak(&self) -> bool {
        self.0.len() < Self::STRONG_LEN
    }
}

/// Whether `text` is what a key, or an agent's name, may be: 1 to 128 visible
/// ASCII characters.
pub(super) fn check(text: &str) -> Result<(), KeyError> {
    if text.is_empty() {
        Err(KeyError::Empty)
    } else if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        Err(KeyError::NotVisibleAscii)
    } else if text.len() > Key::MAX_LEN {
        Err(KeyError::TooLong)
    } else {
        Ok(())
    }
}

impl TryFrom<String> for Key {
    type Error = KeyError;

    fn try_from(text: String) -> Result<Self, KeyError> {
        check(&text)?;
        Ok(Self(text.into_boxed_str()))
    }
}

impl TryFrom<&str> for Key {
    type Error = KeyError;

    fn try_from(text: &str) -> Result<Self, KeyError> {
        check(text)?;
        Ok(Self(text.into()))
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_bytes().ct_eq(other.0.as_bytes()).into()
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(<redacted>)")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::{Key, KeyError};

    #[test]
    fn a_key_is_1_to_128_visible_ascii_characters() {
        for good in ["!", "~", "k-7f3a", &"k".repeat(128)] {
            assert_eq!(Key::try_from(good).unwrap().expose(), good);
        }
        for (bad, why) in [
            (String::new(), KeyError::Empty),
            ("k".repeat(129), KeyError::TooLong),
            ("a b".to_owned(), KeyError::NotVisibleAscii),
            ("a\n".to_owned(), KeyError::NotVisibleAscii),
            ("\u{7f}".to_owned(), KeyError::NotVisibleAscii),
            ("clé".to_owned(), KeyError::NotVisibleAscii),
        ] {
            assert_eq!(Key::try_from(bad), Err(why));
        }
    }

    #[test]
    fn keys_are_equal_when_all_bytes_are() {
        let key = Key::try_from("k-abc").unwrap();
        assert_eq!(key, Key::try_from("k-abc".to_owned()).unwrap());
        for other in ["k-abd", "x-abc", "k-ab", "k-abcd"] {
            assert_ne!(key, Key::try_from(other).unwrap());
        }
    }

    #[test]
    fn debug_hides_the_key() {
        let key = Key::try_from("k-secret-and-long-enough").unwrap();
        assert_eq!(format!("{key:?}"), "Key(<redacted>)");
    }

    #[test]
    fn a_key_of_fewer_than_16_characters_is_weak() {
        assert!(Key::try_from("k-7f3a8b1122334").unwrap().is_weak());
        assert!(!Key::try_from("k-7f3a8b11223344").unwrap().is_weak());
    }
}
