//! Why a walk did not reach its end.

use super::{system::Fault, trust::Distrust};

/// Why a walk did not reach its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WalkError {
    /// Nothing has this name, or it is a file and should be a directory.
    #[error("nothing is there")]
    Missing,
    /// The operating system does not let us look or read.
    #[error("the operating system denies it")]
    Denied,
    /// It is a directory, FIFO, socket or device, and should be a file.
    #[error("it is not a regular file")]
    NotAFile,
    /// Others could have changed it, or what leads to it.
    #[error(transparent)]
    Untrusted(#[from] Distrust),
    /// It kept changing while it was looked at, or another process has it locked
    /// for writing.
    #[error("it keeps changing")]
    Unsteady,
    /// The process has too few descriptors, or too little memory.
    #[error("the process has too few file descriptors or too little memory")]
    OutOfResources,
    /// The file system failed.
    #[error("the file system failed: {0}")]
    Failed(std::io::ErrorKind),
}

impl From<Fault> for WalkError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Missing => Self::Missing,
            Fault::Denied => Self::Denied,
            Fault::NotAFile => Self::NotAFile,
            Fault::IsLink | Fault::Busy => Self::Unsteady,
            Fault::OutOfResources => Self::OutOfResources,
            Fault::Failed(kind) => Self::Failed(kind),
        }
    }
}
