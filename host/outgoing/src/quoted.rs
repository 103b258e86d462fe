//! The names of files, as git prints them.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::PathBuf,
};

/// The path that git prints: as it is, or in quotes as in C, if the path has a character such as a
/// quote or a line's end. What is behind the closing quote does not count.
pub fn unquoted_path(printed: &[u8]) -> PathBuf {
    let Some(quoted) = printed.strip_prefix(b"\"") else {
        return OsStr::from_bytes(printed).into();
    };
    let mut bytes = Vec::new();
    let mut rest = quoted.iter().copied();
    while let Some(byte) = rest.next()
        && byte != b'"'
    {
        bytes.push(match byte {
            b'\\' => unescaped(&mut rest),
            other => other,
        });
    }
    OsString::from_vec(bytes).into()
}

/// The byte that is meant by what stands behind a backslash. A letter means what it does in C (`n`
/// is a line's end), and three octal digits mean the byte of this number. Any other byte means
/// itself. A backslash with nothing behind it means itself, too.
fn unescaped(rest: &mut impl Iterator<Item = u8>) -> u8 {
    match rest.next().unwrap_or(b'\\') {
        b'a' => 7,
        b'b' => 8,
        b't' => b'\t',
        b'n' => b'\n',
        b'v' => 11,
        b'f' => 12,
        b'r' => b'\r',
        first @ b'0'..=b'3' => rest
            .take(2)
            .fold(first & 7, |number, digit| number * 8 + (digit & 7)),
        other => other,
    }
}

/// PATH of `a/PATH b/PATH`, where both are the same. If they are not, this is any path: the file
/// has a new name, and a line `rename to` tells it.
pub(crate) fn path_if_same(names: &[u8]) -> PathBuf {
    let half = names.get(..names.len() / 2).unwrap_or_default();
    let first = unquoted_path(half);
    first.strip_prefix("a").unwrap_or(&first).to_owned()
}
