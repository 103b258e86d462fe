//! The second wall: the server gives its own rights away before it serves.
//!
//! The sandbox keeps a guest to one file. This is the wall behind it: if
//! somebody broke out of the sandbox, or found a mistake in the host, the
//! operating system would still refuse them nearly everything. [`Seal::new`]
//! prepares it, [`Seal::apply`] puts it up before anything is read from the
//! client, and no way leads back.
//!
//! Every server does this ([`Reach::Reading`]). It can then still
//!
//! - read what its user may read, and ask about it: a map and its files may be
//!   anywhere, and both are looked up at each call;
//! - use what was open before: the standard streams, and whatever else its client
//!   let it inherit;
//! - use memory and processor time, and start threads.
//!
//! It opens nothing to write, deletes and changes nothing, starts no program and no
//! process, makes no socket, signals or traces no other process, leaves no core
//! file, and once the sandbox is loaded, makes no machine code. With
//! [`Reach::Tickets`] it also deletes files in the folder of tickets.
//!
//! `serve --sealed` ([`Reach::Sealed`]) reads the map once and gives up more. It
//! opens files in the mapped files' directories, and in directories beneath them.
//! Landlock grants whole hierarchies, and a single file would not do: one that is
//! saved by renaming is another file each time. Of any path it can still ask
//! whether something is there, its size, owner, times and number of names, which
//! Landlock does not restrict; it can open it with `O_PATH` for no more than that.
//! It cannot see where a link leads, nor extended attributes.
//!
//! Two mechanisms hold this together. Landlock judges what a call is about, a file,
//! a port, a process. The filter judges the call itself, by a list of what is
//! allowed, and of the call's arguments those that are numbers. The list with its
//! reasons is in `docs/second-wall.md`. Where a kernel lacks one of the two,
//! `serve` says so and serves; `serve --sealed` does not start.
//!
//! Only Linux can do this without a privileged helper. macOS has no such thing for
//! a program that is not packaged as an application: `sandbox_init` is deprecated
//! and undocumented. Windows has job objects and app containers, which a parent puts
//! around a program that it starts. There the server only leaves no core file.

#[cfg(target_os = "linux")]
mod calls;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
#[doc(hidden)]
pub mod list;
#[cfg(not(target_os = "linux"))]
mod none;

#[cfg(target_os = "linux")]
pub use linux::{Loading, Seal};
#[cfg(not(target_os = "linux"))]
pub use none::{Loading, Seal};

use std::{fmt, io};

/// What a process can still reach behind the wall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// It reads whatever its user may read.
    Reading,
    /// The same, and it deletes in the folder of tickets.
    Tickets,
    /// It reads in the mapped files' directories.
    Sealed,
}

/// What of the wall stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// The version of Landlock's interface that is in force.
    pub landlock: Option<u32>,
    /// Whether system calls are filtered.
    pub system_calls: bool,
}

impl Standing {
    /// What would stand on this system, if a server put it up now. It is found out
    /// by doing that, in a thread that then ends.
    #[must_use]
    pub fn here() -> Self {
        #[cfg(target_os = "linux")]
        let standing = linux::standing();
        #[cfg(not(target_os = "linux"))]
        let standing = Self::default();
        standing
    }

    /// Whether all of it stands.
    #[must_use]
    pub fn is_whole(self) -> bool {
        self.landlock.is_some() && self.system_calls
    }
}

/// The parts, for people: `Landlock ABI 7, no system-call filter`.
impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.landlock {
            Some(version) => write!(f, "Landlock ABI {version}")?,
            None => f.write_str("no Landlock")?,
        }
        f.write_str(match self.system_calls {
            true => ", system-call filter",
            false => ", no system-call filter",
        })
    }
}

/// Why there is no wall, or not the whole of it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// Not Linux.
    #[error("--sealed needs Linux; serve without it here")]
    Elsewhere,
    /// Landlock is missing, switched off, or too old: what is asked needs its
    /// ABI 4, of Linux 6.7.
    #[error(
        "--sealed needs Linux 6.7 or newer with Landlock switched on, and this system refused it ({0}); serve without --sealed, or on another system"
    )]
    Landlock(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The kernel takes no filter of system calls.
    #[error(
        "--sealed needs a kernel with seccomp filters, and this system refused one ({0}); serve without --sealed, or on another system"
    )]
    Seccomp(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// There is no descriptor, or no memory, for it.
    #[error(
        "too few file descriptors or too little memory ({0}); raise the limits (ulimit -n and -v)"
    )]
    OutOfResources(#[source] io::Error),
    /// The wall holds for the thread that puts it up and for those it starts, so
    /// that there must not be another; or `/proc` is not there to tell.
    #[error("the second wall needs /proc, and a process with a single thread")]
    NotAlone,
    /// The wall stood, but could not be finished.
    #[error("what only loading the sandbox needs could not be given up: {0}")]
    Unfinished(#[source] Box<dyn std::error::Error + Send + Sync>),
}
