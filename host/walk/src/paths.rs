//! What the systems with `/` have in common, paths above all.

use crate::error::SystemError;
use rustix::io::Errno;
use std::{
    ffi::OsStr,
    io,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

/// What the user can do if others may write.
pub(crate) const SHUT: &str =
    "keep your file, or a copy of it, in a folder that only you can write to, such as ~/private";

/// What the user can do if a volume keeps no owners.
pub(crate) const OWNERS: &str = "use another place, or, unless it is FAT or exFAT, have the volume keep owners (diskutil enableOwnership)";

/// The names in a path, the last one first, with the empty ones.
pub(crate) fn names(path: &OsStr) -> impl Iterator<Item = &OsStr> {
    let names = path.as_bytes().rsplit(|byte| *byte == b'/');
    names.map(OsStr::from_bytes)
}

/// Whether a link's target starts at the root of the walk.
pub(crate) fn is_from_root(target: &OsStr) -> bool {
    target.as_bytes().starts_with(b"/")
}

/// The path from there with these names.
pub(crate) fn path<'a>(names: impl Iterator<Item = &'a OsStr>) -> PathBuf {
    let mut path = PathBuf::from("/");
    path.extend(names);
    path
}

/// Whether a path as a user writes it begins at the root.
pub fn begins_at_root(path: &str) -> bool {
    path.starts_with('/')
}

/// Why a path as a user writes it means nothing here. None means that it may mean
/// something.
pub fn odd_path(_: &str) -> Option<&'static str> {
    None
}

/// A path in the form that the walk expects.
pub fn plain_path(path: &Path) -> PathBuf {
    path.to_owned()
}

/// Whether the operating system reports that there are too few file descriptors, or too
/// little memory. `EAGAIN` does not count: for a file it means something else.
pub fn is_exhaustion(error: &io::Error) -> bool {
    let error = error.raw_os_error().map(Errno::from_raw_os_error);
    error.is_some_and(|error| SystemError::from(error) == SystemError::OutOfResources)
}

impl From<Errno> for SystemError {
    fn from(error: Errno) -> Self {
        match error {
            Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG => Self::Missing,
            Errno::ACCESS | Errno::PERM => Self::Denied,
            Errno::LOOP => Self::IsLink,
            // The error for opening a socket, or a device without a driver.
            Errno::NXIO | Errno::NODEV | Errno::OPNOTSUPP => Self::NotAFile,
            Errno::AGAIN => Self::Busy,
            Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS => Self::OutOfResources,
            // What served the file system has gone, or cannot be reached.
            Errno::NOTCONN
            | Errno::CONNABORTED
            | Errno::CONNREFUSED
            | Errno::CONNRESET
            | Errno::HOSTDOWN
            | Errno::HOSTUNREACH
            | Errno::NETDOWN
            | Errno::NETUNREACH
            | Errno::SHUTDOWN
            | Errno::STALE
            | Errno::TIMEDOUT => Self::Late,
            other => Self::Failed(io::Error::from(other).kind()),
        }
    }
}
