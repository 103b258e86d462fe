//! A settings file, as the client reads it.

use super::shapes::WrongValue;
use crate::javascript::of_javascript;
use serde_json::Value;
use std::{fs, io::ErrorKind, path::Path};

/// Why nobody can tell what a settings file says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unread {
    /// It is a folder, a pipe or the like.
    #[error("is not a file")]
    NotAFile,
    /// The system does not let us read it, and says this.
    #[error("cannot be read ({0})")]
    Refused(String),
    /// Its bytes are no text.
    #[error("is not JSON: it is neither UTF-8 nor UTF-16")]
    NotText,
    /// Its text is not JSON, as this line shows.
    #[error("is not JSON (line {0})")]
    NotJson(usize),
}

/// Why the client loads nothing of a settings file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub enum NotLoaded {
    /// It cannot be read.
    Unread(#[from] Unread),
    /// One of its values is not what the client demands.
    WrongValue(#[from] WrongValue),
}

/// The JSON value of a settings file, if the client loads it. Null if no file is there.
pub(super) fn loaded(file: &Path) -> Result<Value, NotLoaded> {
    let settings = parsed(file)?;
    match WrongValue::first(&settings) {
        Some(wrong) => Err(wrong.into()),
        None => Ok(settings),
    }
}

/// The JSON value of a settings file, whether the client loads it or not. Null if no file is there.
///
/// # Errors
/// If it is no file, cannot be read, is neither UTF-8 nor UTF-16, or is not JSON.
pub(crate) fn parsed(file: &Path) -> Result<Value, Unread> {
    // A pipe would hold us up.
    if fs::metadata(file).is_ok_and(|found| !found.is_file()) {
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

/// The value of a text, as the client reads it. Null if the text is blank.
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

/// The text of a file: little-endian UTF-16 if it begins with that byte order mark, else UTF-8,
/// with or without one. None if the bytes are no such text.
fn decoded(bytes: &[u8]) -> Option<String> {
    match bytes {
        [0xff, 0xfe, utf16 @ ..] => {
            let (pairs, rest) = utf16.as_chunks();
            if !rest.is_empty() {
                return None;
            }
            let units = pairs.iter().map(|pair| u16::from_le_bytes(*pair));
            char::decode_utf16(units).collect::<Result<_, _>>().ok()
        }
        [0xef, 0xbb, 0xbf, text @ ..] | text => String::from_utf8(text.to_owned()).ok(),
    }
}
