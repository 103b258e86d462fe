//! Why there is no usable map: for the user at the terminal, never for a caller.

use crate::{code::Code, printable::printable, walk::Distrust};
use std::{fmt, io, ops::Range, path::PathBuf};

/// Why the map cannot be used.
///
/// `Display` is for the user at `keyhole check`: it may name the map's path. It never
/// quotes the map. A caller over MCP gets only [`MapError::code`].
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
    /// The operating system does not let us open or read it.
    #[error(
        "the map at {} cannot be read: {kind}; fix its permissions, or name another with --map",
        printable(path)
    )]
    Unreadable {
        /// Where the map is.
        path: PathBuf,
        /// What the operating system says.
        kind: io::ErrorKind,
    },
    /// There is no file descriptor, or no memory, to read it.
    #[error(
        "the map at {} cannot be read: too few file descriptors or too little memory; raise the limits (ulimit -n and -v)",
        printable(path)
    )]
    OutOfResources {
        /// Where the map is.
        path: PathBuf,
    },
    /// It is a directory, FIFO, socket or device.
    #[error(
        "the map at {} is not a regular file; name a file with --map",
        printable(path)
    )]
    NotAFile {
        /// Where the map is.
        path: PathBuf,
    },
    /// It is larger than [`crate::limits::MAX_MAP_BYTES`].
    #[error(
        "the map at {} is larger than {} bytes; remove entries from it",
        printable(path),
        crate::limits::MAX_MAP_BYTES
    )]
    TooLarge {
        /// Where the map is.
        path: PathBuf,
    },
    /// It was written to again and again while we waited for a complete map.
    #[error(
        "the map at {} is being written to all the time; save it by renaming a finished file over it",
        printable(path)
    )]
    Unsettled {
        /// Where the map is.
        path: PathBuf,
    },
    /// Others could have changed the map, or put another in its place.
    #[error("{0}")]
    Untrusted(Distrust),
    /// Its text is not a valid map.
    #[error("{}:{source}", printable(path))]
    Parse {
        /// Where the map is.
        path: PathBuf,
        /// The position and the reason.
        source: ParseError,
    },
}

impl MapError {
    /// What a caller learns: `map-missing`, `map-invalid` or `out-of-resources`.
    #[must_use]
    pub const fn code(&self) -> Code {
        match self {
            Self::Missing { .. } => Code::MapMissing,
            Self::OutOfResources { .. } => Code::OutOfResources,
            _ => Code::MapInvalid,
        }
    }

    /// What a server that needs a map says before it ends. It does not contain the
    /// map's path.
    pub(crate) const fn at_start(&self) -> &'static str {
        match self {
            Self::Missing { .. } => {
                "map-missing: there is no context map; `keyhole check` says where it belongs"
            }
            Self::OutOfResources { .. } => {
                "out-of-resources: too few file descriptors or too little memory to read the context map; raise the limits (ulimit -n and -v)"
            }
            _ => "map-invalid: the context map cannot be used; `keyhole check` shows why",
        }
    }
}

/// Why a text is not a valid map, and where.
///
/// Neither `Display` nor `Debug` quotes the text, because anything in it may be a key.
/// Neither gives the position in the line, because it may tell a key's length.
#[derive(Clone, PartialEq, Eq)]
pub struct ParseError {
    /// Line, from 1.
    pub line: usize,
    /// Column, in characters, from 1. Do not show it: it may tell how long a key is.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What to write instead, if we can guess it.
    pub help: Option<String>,
}

impl ParseError {
    /// An error about the bytes `span` of `text`. It does not keep the text. If the
    /// span begins after the end of the text, or within a character, it is moved back
    /// to the nearest valid position.
    pub(crate) fn new(
        text: &str,
        span: Range<usize>,
        message: String,
        help: Option<String>,
    ) -> Self {
        let start = text.floor_char_boundary(span.start);
        let before = text.get(..start).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Self {
            line: before.bytes().filter(|byte| *byte == b'\n').count() + 1,
            column: before.get(line_start..).unwrap_or_default().chars().count() + 1,
            message,
            help,
        }
    }
}

impl fmt::Display for ParseError {
    /// `line: message; help`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.line, self.message)?;
        match &self.help {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ParseError({self})")
    }
}

impl std::error::Error for ParseError {}

#[cfg(test)]
mod tests {
    use super::ParseError;

    fn at(text: &str, span: std::ops::Range<usize>) -> (usize, usize) {
        let error = ParseError::new(text, span, String::new(), None);
        (error.line, error.column)
    }

    #[test]
    fn a_place_is_a_line_and_a_column_in_characters() {
        let text = "é = 1\r\nab = 2\n";
        assert_eq!(at(text, 0..1), (1, 1));
        assert_eq!(at(text, 3..4), (1, 3));
        assert_eq!(at(text, 8..9), (2, 1));
        assert_eq!(at(text, text.len()..text.len()), (3, 1));
        assert_eq!(at("", 0..0), (1, 1));
        // Within a character, and beyond the text.
        assert_eq!(at(text, 1..2), (1, 1));
        assert_eq!(at(text, 99..100), (3, 1));
    }

    #[test]
    fn neither_display_nor_debug_quotes_the_line_or_tells_a_length() {
        let error = ParseError::new("k-secret = 1", 11..12, "no".into(), Some("yes".into()));
        assert_eq!(format!("{error}"), "1: no; yes");
        assert_eq!(format!("{error:?}"), "ParseError(1: no; yes)");
    }
}
