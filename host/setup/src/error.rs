//! Why setup changes nothing. No text holds a key, or content of a file.

use keyhole_claude::rules::OddPlace;
use keyhole_core::MapError;
use keyhole_walk::printable::printable;
use std::{fmt::Display, io, path::Path};

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EditError {
    #[error("it is not valid {0}; fix that first")]
    Syntax(&'static str),
    /// Claude Code takes such a text, but an edit would lose the half character.
    #[error("it has an escape such as \\ud83d, which is half a character; take that out first")]
    HalfCharacter,
    #[error("\"{0}\" stands there twice; remove one")]
    Twice(&'static str),
    #[error("{0} is there, and is something else than Claude Code takes; fix that first")]
    OtherKind(&'static str),
    #[error("it cannot be changed there without changing more. Do it yourself")]
    ChangesMore,
}

/// Why a name or a place will not do that the user gave, or a file is not read, edited or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unfit(pub(crate) String);

impl Unfit {
    /// Of a file. The text names its path.
    pub(crate) fn file(file: &Path, why: impl Display) -> Self {
        Self(format!("{}: {why}", printable(file)))
    }
}

impl From<OddPlace> for Unfit {
    fn from(place: OddPlace) -> Self {
        Self(place.to_string())
    }
}

impl From<&str> for Unfit {
    fn from(why: &str) -> Self {
        Self(why.to_owned())
    }
}

/// What setup has done, or why not.
pub type Result<T, E = SetupError> = std::result::Result<T, E>;

/// Why nothing was changed, or not all.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// It would be of no use, or would replace what is there.
    #[error("nothing is changed: {0}")]
    Refused(String),
    /// The map cannot be used.
    #[error("nothing is changed: {}", .0.code().says())]
    Map(#[from] MapError),
    /// A name or a place will not do, or a file cannot be read or edited.
    #[error("nothing is changed: {0}")]
    Unfit(#[from] Unfit),
    /// The terminal failed.
    #[error("nothing is changed: {0}")]
    Terminal(#[from] io::Error),
    /// Anything else, in these words.
    #[error("{0}")]
    Said(String),
}

impl From<OddPlace> for SetupError {
    fn from(place: OddPlace) -> Self {
        Self::Unfit(place.into())
    }
}

/// The error [`SetupError::Refused`], with this reason.
pub fn refused<T>(why: impl Into<String>) -> Result<T> {
    Err(SetupError::Refused(why.into()))
}

/// The error [`SetupError::Said`], in these words.
pub fn stop_with<T>(why: impl Into<String>) -> Result<T> {
    Err(SetupError::Said(why.into()))
}
