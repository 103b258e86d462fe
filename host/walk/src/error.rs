//! Why a file or directory is not given.

use crate::trust::Distrust;
use rustix::io::Errno;
use std::io;

pub(crate) type Result<T, E = SystemError> = std::result::Result<T, E>;

/// Why the system did not do what it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SystemError {
    /// Nothing has this name, or nothing can have it; or a name in the path is a file, and should
    /// be a directory.
    #[error("nothing is there")]
    Missing,
    /// The operating system does not let us look or read.
    #[error("the operating system denies it")]
    Denied,
    /// It is a link, and the call follows none.
    #[error("it is a link")]
    IsLink,
    /// It is a directory, FIFO, socket or device, and should be a file.
    #[error("it is not a regular file")]
    NotAFile,
    /// Another process holds a lease on it, or keeps changing it.
    #[error("another process is writing to it")]
    Busy,
    /// The time of the call was over: its file system is slow, or did not answer.
    #[error("its file system does not answer in time")]
    Late,
    /// This process restricted itself at its start, and may not read there.
    #[error("this process may not read there since its start")]
    Confined,
    /// The process has too few descriptors, or too little memory.
    #[error("the process has too few file descriptors or too little memory")]
    OutOfResources,
    /// Anything else.
    #[error("the file system failed: {0}")]
    Failed(io::ErrorKind),
}

impl From<Errno> for SystemError {
    /// What this error of a system call means for a walk: `ENOENT` is [`Self::Missing`], for
    /// example. An error that is not listed here is [`Self::Failed`].
    fn from(error: Errno) -> Self {
        match error {
            Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG => Self::Missing,
            Errno::ACCESS | Errno::PERM => Self::Denied,
            // The error for opening a link with `O_NOFOLLOW`.
            Errno::LOOP => Self::IsLink,
            // The error for opening a socket, or a device without a driver.
            Errno::NXIO | Errno::NODEV | Errno::OPNOTSUPP => Self::NotAFile,
            // The error for opening a file under another process's lease.
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
            other => Self::Failed(other.kind()),
        }
    }
}

/// Whether the operating system reports that there are too few file descriptors, or too
/// little memory. `EAGAIN` does not count: for a file it means something else.
pub fn is_exhaustion(error: &io::Error) -> bool {
    let reported = Errno::from_io_error(error).map(SystemError::from);
    reported == Some(SystemError::OutOfResources)
}

/// Why a walk did not reach its end, or the file at its end cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WalkError {
    /// The system did not do what it was asked.
    #[error(transparent)]
    System(#[from] SystemError),
    /// Others could change it, or a folder or link on its path.
    #[error(transparent)]
    Untrusted(#[from] Distrust),
}
