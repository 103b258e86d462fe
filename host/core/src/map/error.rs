//! Why there is no usable map: for the user at the terminal, never for a caller.

use crate::{limits::MAX_MAP_BYTES, refusal::Refusal};
use keyhole_walk::{Distrust, SystemError, printable::printable};
use std::{fmt, path::PathBuf};

/// Why the map cannot be used. The text is for the user at `keyhole check`: it may name the map's
/// path, and never quotes the map. A caller over MCP gets only [`MapError::code`].
#[derive(Clone, Debug, thiserror::Error)]
pub enum MapError {
    /// There is no file.
    #[error(
        "there is no map at {}; create it, or name another with --map",
        printable(path)
    )]
    Missing {
        /// Where we looked for the map.
        path: PathBuf,
    },
    /// It cannot be opened or read.
    #[error("the map at {} cannot be read: {source}; {}", printable(path), what_to_do(*.source))]
    Unreadable {
        /// Where the map is.
        path: PathBuf,
        /// What the operating system says.
        source: SystemError,
    },
    /// It is larger than [`MAX_MAP_BYTES`].
    #[error(
        "the map at {} has {size} bytes, and at most {MAX_MAP_BYTES} are allowed; remove entries from it",
        printable(path)
    )]
    TooLarge {
        /// Where the map is.
        path: PathBuf,
        /// Its size in bytes.
        size: u64,
    },
    /// Others could have changed the map, or put another in its place.
    #[error("{0}")]
    Untrusted(Distrust),
    /// Its text is not a valid map.
    #[error("{}:{source}", printable(path))]
    Parse {
        /// Where the map is.
        path: PathBuf,
        /// The line and the reason.
        source: MapMistake,
    },
}

impl MapError {
    /// What a caller learns.
    pub fn code(&self) -> Refusal {
        use SystemError::{Confined, Late, OutOfResources};
        match self {
            Self::Missing { .. } => Refusal::MapMissing,
            Self::Unreadable {
                source: known @ (OutOfResources | Late | Confined),
                ..
            } => (*known).into(),
            _ => Refusal::MapInvalid,
        }
    }

    /// What a server says at its start, and then refuses each call with, without the map's path.
    pub fn at_start(&self) -> &'static str {
        match self.code() {
            Refusal::MapMissing => {
                "map-missing: there is no context map; `keyhole check` says where it belongs"
            }
            Refusal::TimedOut => {
                "timed-out: the file system of the context map does not answer; look at it"
            }
            Refusal::RestartNeeded => {
                "restart-needed: the kernel refuses the context map, which its permissions allow; `keyhole check` says more"
            }
            Refusal::OutOfResources => {
                "out-of-resources: too few file descriptors or too little memory to read the context map; raise the limits (ulimit -n and -v)"
            }
            _ => "map-invalid: the context map cannot be used; `keyhole check` shows why",
        }
    }
}

const fn what_to_do(source: SystemError) -> &'static str {
    match source {
        SystemError::NotAFile => "if it is a directory, add the file's name",
        SystemError::Busy => "save it by renaming a finished file over it",
        SystemError::Late => "look at that file system",
        SystemError::Confined => "start this program again",
        SystemError::OutOfResources => "raise the limits (ulimit -n and -v)",
        _ => "fix its permissions, or name another file with --map",
    }
}

/// Where an entry, a binding or a mistake stands in the map's text. The order is that of
/// the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    /// From 1.
    pub(super) line: u32,
    /// The offset in the text, so that no two things have the same. Do not show it: it may
    /// tell how long a key is.
    byte: usize,
}

/// Where the lines of a text end.
pub(super) struct Lines(Vec<usize>);

impl Lines {
    pub(super) fn of(text: &[u8]) -> Self {
        let ends = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        Self(ends.map(|(end, _)| end).collect())
    }

    pub(super) fn position(&self, byte: usize) -> Position {
        let before = self.0.partition_point(|end| *end < byte);
        Position {
            line: u32::try_from(before + 1).unwrap_or(u32::MAX),
            byte,
        }
    }
}

/// What is wrong in the text of a map, and on which line.
///
/// Neither `Display` nor `Debug` quotes the text, because anything in it may be a key.
/// Neither gives the position in the line, because it may tell a key's length.
#[derive(Clone, PartialEq, Eq)]
pub struct MapMistake {
    pub(super) at: Position,
    /// What is wrong.
    pub message: String,
    /// What to write instead, if we know it.
    pub help: Option<String>,
}

impl MapMistake {
    pub(super) fn new(at: Position, message: String, help: Option<&str>) -> Self {
        let help = help.map(str::to_owned);
        Self { at, message, help }
    }

    /// The one of our own names that differs from `word` in one place: by a letter more or
    /// less, or by two others.
    pub fn meant<T: AsRef<str>>(word: &str, mut known: impl Iterator<Item = T>) -> Option<T> {
        let same = |(a, b): &(u8, u8)| a == b;
        known.find(|known| {
            let (word, known) = (word.bytes(), known.as_ref().bytes());
            let longest = word.len().max(known.len());
            let begin = word.clone().zip(known.clone()).take_while(same).count();
            let end = word.rev().zip(known.rev()).take_while(same).count();
            begin + end + 2 >= longest
        })
    }

    /// The line of the mistake, from 1.
    pub fn line(&self) -> u32 {
        self.at.line
    }
}

impl fmt::Display for MapMistake {
    /// `line: message; help`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let help = self.help.as_deref();
        let (then, help) = help.map_or(("", ""), |help| ("; ", help));
        write!(f, "{}: {}{then}{help}", self.line(), self.message)
    }
}

impl fmt::Debug for MapMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MapMistake({self})")
    }
}

impl std::error::Error for MapMistake {}

#[cfg(test)]
mod tests;
