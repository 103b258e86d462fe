//! A binding: a name under which one server serves one key, so that no prompt needs to
//! hold it.

use super::{Key, KeyError, Map, Position};
use crate::code::Code;
use keyhole_walk::{Distrust, FileSystem, Policy, System, SystemError, WalkError, Walker};
use std::{borrow::Borrow, env, fmt, ops::Deref, path::PathBuf, str, sync::Arc};

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

impl TryFrom<&str> for BindingName {
    type Error = BadBindingName;

    fn try_from(name: &str) -> Result<Self, BadBindingName> {
        let is_known = |byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
        let fits = (1..=Self::MAX_CHARS).contains(&name.len());
        match fits && name.bytes().all(is_known) {
            true => Ok(Self(name.into())),
            false => Err(BadBindingName),
        }
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
    pub(super) source: KeySource,
    pub(super) title: Option<Box<str>>,
    pub(super) description: Option<Box<str>>,
    pub(super) at: Position,
}

/// Where a binding's key is. It is never on a command line, which every process of the
/// machine may read.
pub(super) enum KeySource {
    /// In the map itself.
    Here(Key),
    /// Alone in a file. This is the path as written.
    File(Box<str>),
    /// In a variable of the server's environment.
    Variable(Box<str>),
}

/// Why a binding has no key now. This is for the user at `keyhole check`; a caller gets
/// only `unknown-key`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BindingError {
    /// The map has no entry for the key.
    #[error("its key has no entry; add [keys.\"…\"] for it, or fix the key")]
    NoEntry,
    /// The key's file cannot be read.
    #[error("its key_file cannot be read ({0}); create it, or fix its path or permissions")]
    Unreadable(SystemError),
    /// Others could put another key there, and so choose which file is served.
    #[error("its key_file cannot be trusted: {0}")]
    Untrusted(Distrust),
    /// A client would be shown a key.
    #[error("its name, title or description holds a key, and clients show them; reword it")]
    ShowsAKey,
    /// The variable is not set in this environment, or not UTF-8.
    #[error(
        "its key_env is not set here, so this cannot be checked; set it where the server is started"
    )]
    NoVariable,
    /// The content of the file or the variable is no key.
    #[error("what its key_file or key_env holds is not a key: {0}")]
    NotAKey(#[from] KeyError),
}

impl Binding {
    /// The longest title, in characters: a line in a client's list of tools.
    pub const MAX_TITLE: usize = 80;
    /// The longest description, in characters: a paragraph that a model reads
    /// with each of its requests.
    pub const MAX_DESCRIPTION: usize = 400;

    /// Whether a client would show a key: this binding's `own` key, or another key of
    /// `map` that is too long to be a word.
    pub fn shows_a_key(&self, name: &str, own: Option<&Key>, map: &Map) -> bool {
        let shown = [Some(name), self.title(), self.description()];
        let shows = |key: &Key| {
            shown
                .iter()
                .flatten()
                .any(|text| text.contains(key.expose()))
        };
        let mut keys = map.entries.keys();
        own.is_some_and(shows) || keys.any(|key| !key.is_weak() && shows(key))
    }

    /// What a client shows its user instead of the tool's name, if the map says.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// What the document is, for the model that may ask for it, if the map says.
    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    /// The file that holds the key, if it is in a file of its own.
    pub fn key_file(&self, map: &Map) -> Option<PathBuf> {
        match &self.source {
            KeySource::File(path) => map.location.expand(path),
            KeySource::Here(_) | KeySource::Variable(_) => None,
        }
    }

    /// The line in the map on which the binding stands, from 1.
    pub fn line(&self) -> u32 {
        self.at.line
    }

    /// The key, as it is now: this reads the file or the variable each time. It may
    /// block. It does not ask whether the map has an entry for the key.
    ///
    /// # Errors
    /// [`BindingError`], all but [`BindingError::NoEntry`].
    pub fn key(&self, map: &Map) -> Result<Key, BindingError> {
        self.key_in(&Walker::new(System), map)
    }

    /// Like [`Self::key`], in any file system.
    pub(super) fn key_in<F: FileSystem>(
        &self,
        walker: &Walker<F>,
        map: &Map,
    ) -> Result<Key, BindingError> {
        match &self.source {
            KeySource::Here(key) => Ok(key.clone()),
            KeySource::File(path) => {
                // Without a home, a map that uses `~/` was refused as a whole before.
                let path = map.location.expand(path).ok_or(SystemError::Missing);
                let file = walker.walk(&path.map_err(WalkError::from)?, Policy::FILE)?;
                // The longest key, with the longest line end.
                let most = Key::MAX_LEN as u64 + 2;
                let bytes = walker.read_at_rest(&file.handle, most, None)?;
                let bytes = bytes.ok_or(KeyError::TooLong)?;
                let text = str::from_utf8(&bytes).map_err(|_| KeyError::NotVisibleAscii)?;
                // `echo` and editors end a file with a newline.
                let line = text
                    .strip_suffix('\n')
                    .map_or(text, |line| line.strip_suffix('\r').unwrap_or(line));
                Ok(Key::try_from(line)?)
            }
            KeySource::Variable(name) => {
                let value = env::var(&**name).map_err(|_| BindingError::NoVariable)?;
                Ok(Key::try_from(&*value)?)
            }
        }
    }
}

impl BindingError {
    /// What a caller learns. If it is clear that there is no key, this is the same as if the
    /// key had left the map.
    pub const fn code(&self) -> Code {
        match self {
            Self::Unreadable(SystemError::OutOfResources) => Code::OutOfResources,
            Self::Unreadable(SystemError::Late) => Code::TimedOut,
            Self::Unreadable(SystemError::Confined) => Code::RestartNeeded,
            Self::Unreadable(SystemError::Busy) => Code::Changed,
            Self::Unreadable(SystemError::Failed(_)) => Code::Internal,
            _ => Code::UnknownKey,
        }
    }
}

impl From<WalkError> for BindingError {
    fn from(error: WalkError) -> Self {
        match error {
            WalkError::System(error) => Self::Unreadable(error),
            WalkError::Untrusted(distrust) => Self::Untrusted(distrust),
        }
    }
}

#[cfg(test)]
mod tests;
