//! What is special about Windows, paths above all.

use super::names;
use crate::error::SystemError;
use std::{
    ffi::{OsStr, OsString},
    io,
    path::{Path, PathBuf},
};
use windows_sys::Win32::Foundation as code;

/// What the user can do if others may write.
pub(crate) const SHUT: &str = "take that right from them: icacls shows who has it";

/// What the user can do if a volume keeps no owners.
pub(crate) const OWNERS: &str = "use a place on an NTFS drive";

/// The names in a path, the last one first, with the empty ones. A path that is not
/// Unicode is returned as one name, which no file can have.
pub(crate) fn names(path: &OsStr) -> impl Iterator<Item = &OsStr> {
    let names = path.to_str().map_or_else(|| vec!["?"], names::split);
    names.into_iter().map(OsStr::new)
}

/// Whether a link's target starts at the root of the walk.
pub(crate) fn is_from_root(target: &OsStr) -> bool {
    target.to_str().is_some_and(names::is_from_drive)
}

/// The path from there with these names.
pub(crate) fn path<'a>(names: impl Iterator<Item = &'a OsStr>) -> PathBuf {
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

/// Whether a path as a user writes it begins at the root: at that of a drive.
pub fn begins_at_root(path: &str) -> bool {
    names::is_from_drive(path)
}

/// Why a path as a user writes it means nothing here. None means that it may mean
/// something. The walk refuses all of these as well; this tells the user.
pub fn odd_path(path: &str) -> Option<&'static str> {
    let rest = match path.get(..3) {
        Some(_) if names::is_from_drive(path) => path.get(2..).unwrap_or_default(),
        _ if path.starts_with(['\\', '/']) => {
            return Some(
                "a path begins with a drive (C:\\), with ~/, or with a name; no other computer, device or current drive",
            );
        }
        _ => path,
    };
    let rest = rest.strip_prefix('~').unwrap_or(rest);
    let is_odd = |name: &str| !matches!(name, "" | "." | "..") && !names::is_plain(name);
    rest.split(['\\', '/']).any(is_odd).then_some(
        "a name in this path is a device's or a stream's, or ends in a dot or blank, or holds what no name may",
    )
}

/// A path in the form that the walk expects: with its real names, and without `\\?\`,
/// which Windows puts before the paths that it returns.
pub fn plain_path(path: &Path) -> PathBuf {
    match path.to_str().and_then(|path| path.strip_prefix(r"\\?\")) {
        Some(plain) if names::is_from_drive(plain) => plain.into(),
        _ => path.to_owned(),
    }
}

/// Whether the operating system reports that there are too few handles, or too little
/// memory.
pub fn is_exhaustion(error: &io::Error) -> bool {
    error_of(error) == SystemError::OutOfResources
}

pub(super) fn error_of(error: &io::Error) -> SystemError {
    match error.raw_os_error().map(i32::cast_unsigned) {
        Some(
            code::ERROR_FILE_NOT_FOUND
            | code::ERROR_PATH_NOT_FOUND
            | code::ERROR_INVALID_DRIVE
            | code::ERROR_NOT_READY
            | code::ERROR_BAD_NETPATH
            | code::ERROR_BAD_NET_NAME
            | code::ERROR_INVALID_NAME
            | code::ERROR_BAD_PATHNAME
            | code::ERROR_FILENAME_EXCED_RANGE
            | code::ERROR_DIRECTORY,
        ) => SystemError::Missing,
        Some(code::ERROR_ACCESS_DENIED | code::ERROR_PRIVILEGE_NOT_HELD) => SystemError::Denied,
        Some(code::ERROR_STOPPED_ON_SYMLINK | code::ERROR_REPARSE_POINT_ENCOUNTERED) => {
            SystemError::IsLink
        }
        Some(
            code::ERROR_SHARING_VIOLATION
            | code::ERROR_LOCK_VIOLATION
            | code::ERROR_USER_MAPPED_FILE,
        ) => SystemError::Busy,
        Some(code::ERROR_BAD_FILE_TYPE) => SystemError::NotAFile,
        Some(
            code::ERROR_TOO_MANY_OPEN_FILES
            | code::ERROR_NOT_ENOUGH_MEMORY
            | code::ERROR_OUTOFMEMORY
            | code::ERROR_NO_SYSTEM_RESOURCES
            | code::ERROR_COMMITMENT_LIMIT
            | code::ERROR_NOT_ENOUGH_QUOTA,
        ) => SystemError::OutOfResources,
        _ => SystemError::Failed(error.kind()),
    }
}

impl From<io::Error> for SystemError {
    fn from(error: io::Error) -> Self {
        error_of(&error)
    }
}
