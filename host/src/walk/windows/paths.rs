//! Splits and joins paths on Windows, for the walk.

use super::names;
use std::{
    ffi::{OsStr, OsString},
    path::PathBuf,
};

/// What the user can do if others may write.
pub(in super::super) const SHUT: &str = "take that right from them: icacls shows who has it";

/// What the user can do if a volume keeps no owners.
pub(in super::super) const OWNERS: &str = "use a place on an NTFS drive";

/// The names in a path, the last one first, with the empty ones. A path that is not
/// Unicode is returned as one name, which no file can have.
pub(in super::super) fn names(path: &OsStr) -> impl Iterator<Item = OsString> {
    let names = path.to_str().map(names::split).unwrap_or_else(|| vec!["?"]);
    let names: Vec<OsString> = names.into_iter().map(OsString::from).collect();
    names.into_iter()
}

/// Whether a link's target starts at the root of the walk.
pub(in super::super) fn is_from_root(target: &OsStr) -> bool {
    target.to_str().is_some_and(names::is_from_drive)
}

/// The path from there with these names.
pub(in super::super) fn path<'a>(names: impl Iterator<Item = &'a OsStr>) -> PathBuf {
    let mut path = OsString::new();
    for (index, name) in names.enumerate() {
        if index > 0 {
            path.push("\\");
        }
        path.push(name);
    }
    if path.len() == 2 {
        path.push("\\");
    }
    path.into()
}
