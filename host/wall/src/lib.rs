//! The second wall: a process gives up its own rights before it serves.
//!
//! The sandbox limits a guest to one file. The second wall is behind it: if
//! somebody broke out of the sandbox, or found a bug in the host, the operating
//! system would still refuse them nearly everything. [`put_up`] puts it up when everything
//! is loaded, before the server reads anything from the client, and nothing can take it
//! down.
//!
//! Every server does this ([`Rights::Read`]). It can then still
//!
//! - read what its user may read, and get its metadata: a map and its files may be
//!   anywhere, and the server looks both up at each call;
//! - use its standard streams;
//! - use memory and processor time, and start threads.
//!
//! It cannot open files to write, delete or change anything, start a program or a
//! process, make a socket, make machine code, or signal or trace another process. With
//! [`Rights::Tickets`] it can also delete files in the folder of tickets.
//!
//! `serve --sealed` ([`Rights::Sealed`]) reads the map once and gives up more. It
//! can open files in the mapped files' directories, and in directories under them.
//! Landlock grants whole hierarchies, and a grant for a single file would not work:
//! a file that is saved by renaming is another file each time. For any path, the
//! process can still ask whether something is there, and its size, owner, times and
//! number of names, because Landlock does not restrict this. It can also open the path
//! with `O_PATH`, which shows the same and no more. It can see neither where a symbolic
//! link leads nor extended attributes.
//!
//! Two mechanisms enforce this together. Landlock judges the object of a call: a
//! file, a port, a process. The filter judges the call itself, by a list of what is
//! allowed, and also those of its arguments that are numbers. The list with its
//! reasons is in `docs/second-wall.md`. If a kernel lacks one of the two, `serve`
//! says so and serves; `serve --sealed` does not start.
//!
//! Only Linux can do this without a privileged helper. macOS has nothing like it
//! for a program that is not packaged as an application: `sandbox_init` is
//! deprecated and undocumented. Windows has job objects and app containers, which a
//! parent puts around a program that it starts.
//!
//! `process` has what every command gives up first.
#![deny(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make files"))]

#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
pub mod list;
#[cfg(unix)]
mod process;

#[cfg(target_os = "linux")]
pub use linux::put_up;
#[cfg(unix)]
pub use process::{close_inherited, hide_memory};

use std::{fmt, io};

/// Gives nothing up, because the system has no wall, and reports this.
///
/// # Errors
/// [`WallError::Elsewhere`] for [`Rights::Sealed`].
#[cfg(not(target_os = "linux"))]
pub fn put_up<D>(rights: Rights, _: impl IntoIterator<Item = D>) -> Result<Standing, WallError> {
    match rights {
        Rights::Sealed => Err(WallError::Elsewhere),
        Rights::Read | Rights::Tickets => Ok(Standing::default()),
    }
}

/// What a process can still do behind the wall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rights {
    /// It can read whatever its user may read.
    Read,
    /// The same, and it can delete files in the folder of tickets.
    Tickets,
    /// It can read in the mapped files' directories.
    Sealed,
}

/// The parts of the wall that stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// The version of Landlock's interface that is in force.
    pub landlock: Option<u32>,
    /// Whether system calls are filtered.
    pub system_calls: bool,
}

impl Standing {
    /// The parts that would stand if a server put the wall up on this system now.
    /// To find out, it does so in a thread that then ends.
    pub fn here() -> Self {
        #[cfg(target_os = "linux")]
        let standing = linux::standing();
        #[cfg(not(target_os = "linux"))]
        let standing = Self::default();
        standing
    }

    /// Whether all parts stand.
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

/// Why there is no wall, or not the whole wall.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WallError {
    /// The system is not Linux.
    #[error("--sealed needs Linux; serve without it here")]
    Elsewhere,
    /// Landlock is missing, switched off, or too old: `--sealed` needs its ABI 4,
    /// of Linux 6.7.
    #[error(
        "--sealed needs Linux 6.7 or newer with Landlock switched on, and this system refused it ({0}); serve without --sealed, or on another system"
    )]
    Landlock(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The kernel accepts no filter of system calls.
    #[error(
        "--sealed needs a kernel with seccomp filters, and this system refused one ({0}); serve without --sealed, or on another system"
    )]
    Seccomp(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// There is no file descriptor, or no memory, for the wall.
    #[error(
        "too few file descriptors or too little memory ({0}); raise the limits (ulimit -n and -v)"
    )]
    OutOfResources(#[source] io::Error),
    /// The process has another thread, or `/proc` is missing to count threads. The
    /// wall covers only the thread that puts it up and the threads that it starts.
    #[error("the second wall needs /proc, and a process with a single thread")]
    NotAlone,
}
