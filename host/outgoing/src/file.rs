//! Reads single files of a repository, which may be anything: a FIFO, a device, a link.
//!
//! No link is followed, also not in a folder's place: a shell of the session could put one there
//! after the path was judged, and have us read what the shell itself may not.

use crate::{Uncollected, budget::at_most};
use keyhole_walk::{FileSystem as _, Handle, Kind, System, SystemError};
use std::{
    borrow::Cow,
    ffi::OsStr,
    fs::File,
    io::Read as _,
    os::unix::ffi::OsStringExt as _,
    path::{Component, Path},
};

/// So many characters in a row count as a text in a file that is mostly no text, as for the command
/// `strings`: `Text` does, and `abc` does not.
const SHORTEST_RUN: usize = 4;

/// All of the regular file `path`, or None if nothing is there. It opens the file as the walk does,
/// so it waits for no other process. It asks for no trust: a repository may be anybody's.
///
/// # Errors
/// [`Uncollected::TooMuch`] if the file has more than `most` bytes; and those of [`first_bytes`].
pub(crate) fn contents(path: &Path, most: usize) -> Result<Option<Vec<u8>>, Uncollected> {
    // One byte more, to see that there is more.
    let bytes = first_bytes(path, most as u64 + 1)?;
    check_length(bytes, most)
}

/// All bytes of the file `path` beneath the open folder `top`; or if `path` is a link, the bytes of
/// the path to which the link leads. None if nothing is there, or if a folder of `path` is a link:
/// git takes nothing from behind a link.
///
/// # Errors
/// [`Uncollected::TooMuch`] if the file has more than `most` bytes; [`Uncollected::Unreadable`] if
/// it is a FIFO, a folder or the like, or if we may not read it.
pub(crate) fn contents_or_target(
    top: &Handle,
    path: &Path,
    most: usize,
) -> Result<Option<Vec<u8>>, Uncollected> {
    let name = path.file_name().ok_or(Uncollected::Unreadable)?;
    let above = path.parent().unwrap_or(Path::new(""));
    let below = match enter(top, above) {
        Err(SystemError::Missing | SystemError::IsLink) => return Ok(None),
        entered => entered?,
    };
    let folder = below.as_ref().unwrap_or(top);
    if let Ok((held, found)) = System.hold(folder, name)
        && found.kind == Kind::Link
    {
        let target = System.read_link(&held, folder, name)?;
        return Ok(Some(target.into_vec()));
    }
    // This is None if the file is missing.
    let bytes = first_bytes_in(folder, name, most as u64 + 1)?;
    check_length(bytes, most)
}

/// The first bytes of the regular file `path`, at most `count`. None if nothing is there.
///
/// # Errors
/// [`Uncollected::Unreadable`] if the file is a FIFO, a link, a folder or the like, if a folder
/// above it is a link, or if we may not read it.
pub(crate) fn first_bytes(path: &Path, count: u64) -> Result<Option<Vec<u8>>, Uncollected> {
    let name = path.file_name().ok_or(Uncollected::Unreadable)?;
    let above = path.parent().ok_or(Uncollected::Unreadable)?;
    match folder(above) {
        Err(SystemError::Missing) => Ok(None),
        opened => first_bytes_in(&opened?, name, count),
    }
}

/// The folder with this path, which is absolute and has no link and no `..`. Whoever may write in a
/// project can put a link in the place of a folder after its path was judged, so none is followed.
///
/// # Errors
/// [`SystemError::IsLink`] if a part of the path is a link by now; otherwise why it cannot be
/// opened.
pub(crate) fn folder(path: &Path) -> Result<Handle, SystemError> {
    let (root, _) = System.root()?;
    let below = enter(&root, path.strip_prefix("/").unwrap_or(path))?;
    Ok(below.unwrap_or(root))
}

/// The folder `path` beneath the folder `start`: with `a/b`, the folder `b` in the folder `a`. None
/// if `path` is empty: then it is `start` itself.
///
/// # Errors
/// [`SystemError::IsLink`] if `a` or `b` is a link; [`SystemError::Missing`] if one is not there;
/// [`SystemError::NotAFile`] for `..`;
/// otherwise why it cannot be opened.
fn enter(start: &Handle, path: &Path) -> Result<Option<Handle>, SystemError> {
    let mut entered: Option<Handle> = None;
    for part in path.components() {
        // `..` would lead out of `start`: a project's index may have any name.
        let Component::Normal(name) = part else {
            return Err(SystemError::NotAFile);
        };
        let (held, found) = System.hold(entered.as_ref().unwrap_or(start), name)?;
        if found.kind == Kind::Link {
            return Err(SystemError::IsLink);
        }
        entered = Some(held);
    }
    Ok(entered)
}

/// The first bytes of the regular file `name` in this folder, at most `count`. None if nothing is
/// there.
///
/// # Errors
/// [`Uncollected::Unreadable`] if it is a FIFO, a link, a folder or the like, or if we may not read
/// it.
fn first_bytes_in(
    folder: &Handle,
    name: &OsStr,
    count: u64,
) -> Result<Option<Vec<u8>>, Uncollected> {
    let (file, stat) = match System.open(folder, name) {
        Err(SystemError::Missing) => return Ok(None),
        opened => opened?,
    };
    if stat.kind != Kind::File {
        return Err(Uncollected::Unreadable);
    }
    let mut bytes = Vec::new();
    File::from(file).take(count).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// These bytes of a file.
///
/// # Errors
/// [`Uncollected::TooMuch`] if there are more than `most`.
fn check_length(bytes: Option<Vec<u8>>, most: usize) -> Result<Option<Vec<u8>>, Uncollected> {
    if let Some(all) = &bytes {
        at_most(all.len(), most)?;
    }
    Ok(bytes)
}

/// The text that bytes of a file stand for: UTF-8; or UTF-16 without its mark, as of a line in the
/// middle of a file (see `without_nuls`); or if they begin with the mark of UTF-16, the text in
/// UTF-16, and behind it the other one, since anybody can write such a mark. A byte that is no text
/// becomes `U+FFFD`. Of a text without the mark that is mostly no text, such as an image, this is
/// only what can be read, as the command `strings` prints it.
pub fn text(bytes: &[u8]) -> String {
    let all = String::from_utf8_lossy(bytes);
    match bytes {
        [0xFF, 0xFE, rest @ ..] => utf16(rest, u16::from_le_bytes) + "\n" + &readable(all),
        [0xFE, 0xFF, rest @ ..] => utf16(rest, u16::from_be_bytes) + "\n" + &readable(all),
        _ => readable(without_nuls(bytes).map_or(all, Cow::Owned)).into_owned(),
    }
}

/// The text of bytes that look like UTF-16 in a language with Latin letters: more than half of all
/// pairs have a NUL at one place, and less than an eighth at the other. It is the bytes without
/// NULs, as UTF-8, or else each as a letter of Latin-1: `a\0b\0` and `\0a\0b` are `ab`. So it
/// makes no difference which byte of a letter is first, or whether a line begins in the middle of
/// one, as the lines that git prints do. None if the bytes do not look so, such as `ab`.
fn without_nuls(bytes: &[u8]) -> Option<String> {
    let (pairs, _) = bytes.as_chunks();
    let first_places = pairs.iter().filter(|[first, _]| *first == 0).count();
    let second_places = pairs.iter().filter(|[_, second]| *second == 0).count();
    let most = first_places.max(second_places);
    let fewest = first_places.min(second_places);
    if most * 2 <= pairs.len() || fewest * 8 >= pairs.len() {
        return None;
    }
    let kept: Vec<u8> = bytes.iter().copied().filter(|byte| *byte != 0).collect();
    match String::from_utf8(kept) {
        Ok(utf8) => Some(utf8),
        Err(error) => {
            let latin_letters = error.as_bytes().iter().map(|byte| char::from(*byte));
            Some(latin_letters.collect())
        }
    }
}

/// What can be read in a text of which more than one character in eight is invisible or no text,
/// such as an image: each run of [`SHORTEST_RUN`] (four) other characters or more, with a blank
/// behind it. Of `\0\x01Title\0ab\x02`, it is `Title `. If the text has fewer such characters, it
/// is the text as it is.
fn readable(text: Cow<'_, str>) -> Cow<'_, str> {
    let unreadable = text.chars().filter(|c| is_unreadable(*c)).count();
    if unreadable * 8 <= text.chars().count() {
        return text;
    }
    let mut runs = String::new();
    for run in text.split(is_unreadable) {
        if run.chars().count() >= SHORTEST_RUN {
            runs += run;
            runs.push(' ');
        }
    }
    Cow::Owned(runs)
}

/// Whether this is no character of a text: a control character such as NUL, or `U+FFFD`, which
/// stands for a byte that is no text. A line's end and a tabulator belong to a text.
fn is_unreadable(c: char) -> bool {
    c == char::REPLACEMENT_CHARACTER || (c.is_control() && !c.is_whitespace())
}

/// The text of these bytes in UTF-16, of which `unit` reads two at a time: `a\0b\0` is `ab` with
/// `u16::from_le_bytes`. A single byte at the end is left out, and half a character becomes
/// `U+FFFD`.
fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let (pairs, _) = bytes.as_chunks();
    let units: Vec<u16> = pairs.iter().map(|pair| unit(*pair)).collect();
    String::from_utf16_lossy(&units)
}

#[cfg(test)]
mod tests;
