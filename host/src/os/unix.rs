//! Linux and macOS.

use cap_std::fs::{Dir, MetadataExt as _};
use rustix::{
    io::Errno,
    process::{Resource, Rlimit, getrlimit, setrlimit},
};
use std::{
    ffi::OsString,
    fs, io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};
use tokio::signal::unix::{Signal, SignalKind, signal};

pub(crate) use crate::arenas::limit_arenas;
pub(crate) use std::os::fd::{AsFd as AsHeld, OwnedFd as Held};

/// The variable that says where the user's home is.
pub(crate) const HOME: &str = "HOME";

/// What to set if nothing says where the user's configuration is.
pub(crate) const NO_HOME: &str =
    "neither HOME nor XDG_CONFIG_HOME is an absolute path; set HOME, or name the map with --map";

/// The user's configuration directory. A variable that is not an absolute path counts
/// as unset.
pub(crate) fn configuration(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |name| {
        variable(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute(HOME)?.join(".config")))
}

/// Whether a path as written begins at the root.
pub(crate) fn is_from_root(path: &str) -> bool {
    path.starts_with('/')
}

/// Why a path as written means nothing here. None means that it may mean something.
pub(crate) fn odd_path(_: &str) -> Option<&'static str> {
    None
}

/// Whether an error of a stream only means that the other end was closed.
pub(crate) fn has_hung_up(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
    )
}

/// The error if the system refuses a thread.
pub(crate) fn no_thread() -> io::Error {
    Errno::AGAIN.into()
}

/// Whether this many descriptors can be open at the same time.
///
/// # Errors
/// What the operating system refuses.
pub(crate) fn spare_descriptors(most: usize) -> io::Result<()> {
    let stdin = io::stdin();
    let spare: io::Result<Vec<_>> = (0..most)
        .map(|_| stdin.as_fd().try_clone_to_owned())
        .collect();
    spare.map(drop)
}

/// How many descriptors the process may have, if there is a limit.
pub(crate) fn most_descriptors() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

/// Runs `make` while this process can open nothing, if the system allows to forbid
/// that. The process must have no other thread.
///
/// # Errors
/// Those of the operating system.
#[cfg(target_os = "linux")]
pub(crate) fn opening_nothing<T>(make: impl FnOnce() -> T) -> io::Result<T> {
    let limit = getrlimit(Resource::Nofile);
    let none = Rlimit {
        current: Some(0),
        ..limit
    };
    let is_forbidden = setrlimit(Resource::Nofile, none).is_ok();
    let made = make();
    if is_forbidden {
        setrlimit(Resource::Nofile, limit)?;
    }
    Ok(made)
}

/// Prevents a core file, whatever happens to this process: its memory may hold a map
/// and a file.
///
/// # Errors
/// Those of the operating system.
pub(crate) fn leave_no_core() -> io::Result<()> {
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    Ok(setrlimit(Resource::Core, none)?)
}

/// Identifies a directory.
///
/// # Errors
/// Those of the operating system.
pub(crate) fn identity(directory: &Dir) -> io::Result<Option<(u64, u64)>> {
    let metadata = directory.dir_metadata()?;
    Ok(Some((metadata.dev(), metadata.ino())))
}

/// The signals that ask a server to end.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// Listens from now on. Call it within a runtime.
    ///
    /// # Errors
    /// Those of the operating system.
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for any of them.
    pub(crate) async fn any(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Makes a file accessible to the user only.
///
/// # Errors
/// Those of the operating system.
pub(crate) fn make_private(file: &Path) -> io::Result<()> {
    fs::set_permissions(file, fs::Permissions::from_mode(0o600))
}

/// Makes a link to a file.
///
/// # Errors
/// Those of the operating system.
pub(crate) fn link(target: &str, at: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, at)
}

/// A path in the form that the walk expects.
pub(crate) fn plain_path(path: PathBuf) -> PathBuf {
    path
}
