//! What the systems with `/` have in common.

use super::system::Fault;
use rustix::io::Errno;
use std::{
    ffi::OsStr,
    fs::File,
    io,
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
    path::PathBuf,
};

/// What the user can do if others may write.
pub(super) const SHUT: &str = "run: chmod go-w on it";

/// What the user can do if a volume keeps no owners.
pub(super) const OWNERS: &str =
    "use another place, or run: sudo diskutil enableOwnership on its volume";

/// The names in a path, the last one first, with the empty ones.
pub(super) fn names(path: &OsStr) -> impl Iterator<Item = &OsStr> {
    let names = path.as_bytes().rsplit(|byte| *byte == b'/');
    names.map(OsStr::from_bytes)
}

/// Whether a link's target starts at the root of the walk.
pub(super) fn is_from_root(target: &OsStr) -> bool {
    target.as_bytes().starts_with(b"/")
}

/// The path from there with these names.
pub(super) fn path<'a>(names: impl Iterator<Item = &'a OsStr>) -> PathBuf {
    let mut path = PathBuf::from("/");
    path.extend(names);
    path
}

/// An open descriptor as a file of the standard library.
pub(crate) fn into_file(handle: OwnedFd) -> Option<File> {
    Some(File::from(handle))
}

impl From<Errno> for Fault {
    fn from(error: Errno) -> Self {
        match error {
            Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG => Self::Missing,
            Errno::ACCESS | Errno::PERM => Self::Denied,
            Errno::LOOP => Self::IsLink,
            // The error for opening a socket, or a device without a driver.
            Errno::NXIO | Errno::NODEV | Errno::OPNOTSUPP => Self::NotAFile,
            Errno::AGAIN => Self::Busy,
            Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS => Self::OutOfResources,
            other => Self::Failed(io::Error::from(other).kind()),
        }
    }
}
