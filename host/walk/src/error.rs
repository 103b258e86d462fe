//! Why a file or directory is not given.

use crate::trust::Distrust;
use std::io;

/// Why the system did not do what it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SystemError {
    /// No file has this name, or none can have it; or it is a file and should be a
    /// directory.
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
    /// Another process has it locked for writing, or keeps changing it.
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
