//! Why setup changes nothing. No text holds a key, or content of a file.

use crate::{FileError, ask::AskError, rules::PlaceError};
use keyhole_core::MapError;
use std::io;

/// Why a file cannot be edited safely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EditError {
    /// It is not valid in its format.
    #[error("it is not valid {0}; fix that first")]
    Syntax(&'static str),
    /// Claude Code takes it, but it would be lost.
    #[error("it has an escape such as \\ud83d, which is half a character; take that out first")]
    Half,
    /// Programs differ in which one counts.
    #[error("\"{0}\" stands there twice; remove one")]
    Twice(&'static str),
    /// Something else stands where ours would be.
    #[error("{0} is there, and is something else than Claude Code takes; fix that first")]
    Differs(&'static str),
    /// The result would change something else.
    #[error("it cannot be changed there without changing more. Do it yourself")]
    Unsafe,
}

/// Why a name or a path will not do that the user gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NameError(pub(crate) &'static str);

/// Why nothing was changed, or not all.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// It would be of no use, or would replace what is there.
    #[error("nothing is changed: {0}")]
    Refused(String),
    /// A name or the file's path will not do.
    #[error("nothing is changed: {0}")]
    Name(#[from] NameError),
    /// The places of the client cannot be told.
    #[error("nothing is changed: {0}")]
    Places(#[from] PlaceError),
    /// The map cannot be used.
    #[error("nothing is changed: {}", .0.code().says())]
    Map(#[from] MapError),
    /// A file cannot be read or edited.
    #[error("nothing is changed: {0}")]
    File(#[from] FileError),
    /// A file cannot be edited, and these lines are what it needs.
    #[error("nothing is changed: {0}. It needs these lines:\n\n{1}")]
    ByHand(#[source] FileError, String),
    /// A file could not be written.
    #[error("stopped, and nothing further is changed: {0}\n\nThe whole plan was:\n{1}")]
    Stopped(#[source] FileError, String),
    /// Nobody can be asked.
    #[error("{0}")]
    Ask(#[from] AskError),
    /// The terminal failed, or the user ended it.
    #[error("nothing is changed")]
    NoAnswer(#[from] io::Error),
}

/// That it would be of no use, or would replace what is there.
pub(crate) fn refused<T>(why: impl Into<String>) -> Result<T, SetupError> {
    Err(SetupError::Refused(why.into()))
}
