//! Why there is no usable map: for the user at the terminal, never for a caller.

use crate::{limits::MAX_MAP_BYTES, refusal::Refusal};
use keyhole_walk::{Distrust, SystemError, printable::printable};
use std::path::PathBuf;

/// Why the map cannot be used. The text is for the user at `keyhole check`: it may name the map's
/// path, which is the first of each, and never quotes the map. A caller over MCP gets only
/// [`MapError::code`].
#[derive(Clone, Debug, thiserror::Error)]
pub enum MapError {
    /// There is no file.
    #[error("there is no map at {}; create it, or name another with --map", printable(.0))]
    Missing(PathBuf),
    /// It cannot be opened or read, as the operating system says.
    #[error("the map at {at} cannot be read: {1}; {then}", at = printable(.0), then = Self::what_to_do(*.1))]
    Unreadable(PathBuf, SystemError),
    /// It has so many bytes, and so more than [`MAX_MAP_BYTES`].
    #[error(
        "the map at {at} has {1} bytes, and at most {MAX_MAP_BYTES} are allowed; remove entries from it",
        at = printable(.0)
    )]
    TooLarge(PathBuf, u64),
    /// Others could have changed the map, or put another in its place.
    #[error("{0}")]
    Untrusted(Distrust),
    /// Its text is not a valid map.
    #[error("{at}:{1}", at = printable(.0))]
    Parse(PathBuf, MapMistake),
}

impl MapError {
    /// What a caller learns: [`Refusal::MapMissing`] if there is no file. If the system was out of
    /// resources, too slow, confined or busy, the refusal that says so. [`Refusal::MapInvalid`] for
    /// all else, as a map that is wrong, too large, denied, or not trusted.
    pub fn code(&self) -> Refusal {
        use SystemError::{Busy, Confined, Late, OutOfResources};
        match self {
            Self::Missing(_) => Refusal::MapMissing,
            Self::Unreadable(_, known @ (OutOfResources | Late | Confined | Busy)) => {
                (*known).into()
            }
            _ => Refusal::MapInvalid,
        }
    }

    /// What the user can do about a map that cannot be read.
    pub const fn what_to_do(source: SystemError) -> &'static str {
        match source {
            SystemError::NotAFile => "if it is a directory, add the file's name",
            SystemError::Busy => "save it by renaming a finished file over it",
            SystemError::Late => "look at that file system",
            SystemError::Confined => "start this program again",
            SystemError::OutOfResources => "raise the limits (ulimit -d, -n and -v)",
            _ => "fix its permissions, or name another file with --map",
        }
    }
}

/// What is wrong in the text of a map, and on which line. It neither quotes the text, which may be
/// a key, nor gives the position in the line, which may tell a key's length.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}: {message}{}", .help.iter().map(|help| format!("; {help}")).collect::<String>())]
pub struct MapMistake {
    /// The line, from 1.
    pub line: u32,
    /// What is wrong.
    pub message: String,
    /// What to write instead, if we know it.
    pub help: Option<String>,
}

#[cfg(test)]
mod tests;
