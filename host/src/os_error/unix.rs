//! Linux and macOS.

use super::OsErrorKind;
use rustix::io::Errno;
use std::io;

impl OsErrorKind {
    /// The kind of `error`. None means that it is not the operating system's.
    pub(crate) fn of(error: &io::Error) -> Option<Self> {
        if is_exhaustion(error) {
            return Some(Self::OutOfResources);
        }
        Some(match Errno::from_io_error(error)? {
            Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG => Self::Missing,
            Errno::ACCESS | Errno::PERM => Self::Denied,
            Errno::LOOP => Self::Link,
            Errno::WOULDBLOCK => Self::Busy,
            // The error for opening a socket or a device without a driver; we use it for
            // everything that is not a regular file.
            Errno::NXIO | Errno::NODEV | Errno::OPNOTSUPP => Self::NotAFile,
            _ => Self::Other,
        })
    }
}

/// Whether the operating system reports that there are too few file descriptors, or too
/// little memory. `EAGAIN` does not count: for a file it means something else.
pub(crate) fn is_exhaustion(error: &io::Error) -> bool {
    let error = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(error, Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM))
}
