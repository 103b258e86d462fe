//! A settings file, as the client reads it.

use super::shapes::{WrongValue, require_right_values};
use crate::javascript::of_javascript;
use serde_json::Value;
use std::{fs, io::ErrorKind, path::Path};

/// Why nobody can tell what a settings file says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unread {
    /// There is a folder, a pipe or the like.
    #[error("is not a file")]
    NotAFile,
    /// The system does not let us read the file, for this reason.
    #[error("cannot be read ({0})")]
    Refused(String),
    /// The file's bytes are no text.
    #[error("is not JSON: it is neither UTF-8 nor UTF-16")]
    NotText,
    /// The file's text is not JSON, first in this line.
    #[error("is not JSON (line {0})")]
    NotJson(usize),
}

/// Why the client loads nothing of a settings file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub enum NotLoaded {
    /// Nobody can tell what the file says.
    Unread(#[from] Unread),
    /// A value in the file is not what the client demands.
    WrongValue(#[from] WrongValue),
}

/// The JSON value of a settings file, if the client loads the file. Null if there is no file.
pub(super) fn loaded(file: &Path) -> Result<Value, NotLoaded> {
    let settings = parsed(file)?;
    require_right_values(&settings)?;
    Ok(settings)
}

/// The JSON value of a settings file, whether the client loads the file or not. Null if there is no
/// file, or if the file is blank.
///
/// # Errors
/// If there is something else than a file, such as a pipe; if the file cannot be read; if it is
/// neither UTF-8 nor UTF-16; or if it is not JSON: then with the line.
pub(crate) fn parsed(file: &Path) -> Result<Value, Unread> {
    // To read a pipe would wait for another program.
    if fs::metadata(file).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(Unread::NotAFile);
    }
    let bytes = match fs::read(file) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Value::Null),
        Err(error) => return Err(Unread::Refused(error.to_string())),
    };
    let text = decoded(&bytes).ok_or(Unread::NotText)?;
    json(&text).map_err(|error| Unread::NotJson(error.line()))
}

/// The JSON value of a text, as the client reads it: a byte order mark is left out. Null if the
/// text is blank.
///
/// # Errors
/// If the text is not JSON.
pub fn json(text: &str) -> serde_json::Result<Value> {
    let json = text.trim_start_matches('\u{feff}');
    if json.trim().is_empty() {
        return Ok(Value::Null);
    }
    of_javascript(json)
}

/// The text of a file, without its byte order mark. Bytes that begin with FF FE are little-endian
/// UTF-16: FF FE 61 00 is `a`. All others are UTF-8. None if the bytes are no such text, such as
/// UTF-16 with an odd number of bytes.
fn decoded(bytes: &[u8]) -> Option<String> {
    match bytes {
        [0xff, 0xfe, utf16 @ ..] => {
            let (pairs, odd_byte) = utf16.as_chunks();
            if !odd_byte.is_empty() {
                return None;
            }
            let units: Vec<u16> = pairs.iter().map(|pair| u16::from_le_bytes(*pair)).collect();
            String::from_utf16(&units).ok()
        }
        // EF BB BF is the byte order mark in UTF-8.
        [0xef, 0xbb, 0xbf, text @ ..] | text => String::from_utf8(text.to_owned()).ok(),
    }
}
