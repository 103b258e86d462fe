//! [`Walker`]: a file system, and the time when the call has to end. All rules of this crate are
//! methods of it.

use crate::{
    error::SystemError,
    system::{FileSystem, System},
};
use std::time::Instant;

/// What a walk must lead to. All on the way must be trusted, whatever the policy: see `trust.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// A file, open for reading: a map.
    File,
    /// A directory: a root, the folder of tickets.
    Directory,
    /// A name in a directory, and the directory open: a mapped file, which
    /// [`GrantedFile`](crate::GrantedFile) opens and judges later.
    Name,
    /// A file that says who is in a group, open for reading. It is refused if any group may write
    /// to it: only this file could say who is in that group.
    GroupFile,
}

impl Policy {
    /// Whether the walk ends with a file that is open for reading.
    pub(crate) const fn opens_file(self) -> bool {
        matches!(self, Self::File | Self::GroupFile)
    }
}

/// Walks paths in one file system.
#[derive(Clone, Debug, Default)]
pub struct Walker<F = System> {
    pub(crate) files: F,
    /// When the call has to end for which this walks. None: there is no such time.
    pub(crate) deadline: Option<Instant>,
}

impl<F: FileSystem> Walker<F> {
    /// Walks in `files`, as long as it takes.
    pub const fn new(files: F) -> Self {
        Self {
            files,
            deadline: None,
        }
    }

    /// The same walker, for a call that has to end at `deadline`. After that time, the walker takes
    /// no further step, and fails with [`SystemError::Late`]. A system call that hangs is not
    /// ended.
    #[must_use]
    pub fn until(self, deadline: Instant) -> Self {
        Self {
            deadline: Some(deadline),
            ..self
        }
    }

    /// Whether the call may take another step. After its deadline: [`SystemError::Late`].
    pub(crate) fn in_time(&self) -> Result<(), SystemError> {
        match self.deadline {
            Some(deadline) if deadline <= Instant::now() => Err(SystemError::Late),
            _ => Ok(()),
        }
    }
}
