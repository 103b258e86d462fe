//! Windows.

use crate::walk::windows::{api, names};
use cap_std::fs::Dir;
use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};
use tokio::signal::windows::{
    CtrlBreak, CtrlC, CtrlClose, CtrlLogoff, CtrlShutdown, ctrl_break, ctrl_c, ctrl_close,
    ctrl_logoff, ctrl_shutdown,
};
use windows_sys::Win32::Foundation as code;

pub(crate) use std::os::windows::io::{AsHandle as AsHeld, OwnedHandle as Held};

/// Nothing limits address space here.
pub(crate) fn limit_arenas() {}

/// The variable that says where the user's home is.
pub(crate) const HOME: &str = "USERPROFILE";

/// What to set if nothing says where the user's configuration is.
pub(crate) const NO_HOME: &str =
    "APPDATA is not an absolute path; set it, or name the map with --map";

/// The user's directory of configuration.
pub(crate) fn configuration(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    variable("APPDATA")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
}

/// Whether a path as written begins at the root: at that of a drive.
pub(crate) fn is_from_root(path: &str) -> bool {
    names::is_from_drive(path)
}

/// Why a path as written means nothing here. None means that it may mean something. The
/// walk refuses all of these as well; this tells the user.
pub(crate) fn odd_path(path: &str) -> Option<&'static str> {
    let rest = match path.get(..3) {
        Some(_) if names::is_from_drive(path) => path.get(2..).unwrap_or_default(),
        _ if path.starts_with(['\\', '/']) => {
            return Some(
                "a path begins with a drive (C:\\), with ~/, or with a name; no other computer, device or current drive",
            );
        }
        _ => path,
    };
    let rest = rest.strip_prefix('~').unwrap_or(rest);
    let is_odd = |name: &str| !matches!(name, "" | "." | "..") && !names::is_plain(name);
    rest.split(['\\', '/']).any(is_odd).then_some(
        "a name in this path is a device's or a stream's, or ends in a dot or blank, or holds what no name may",
    )
}

/// Whether an error of a stream only means that the other end was closed. A named pipe,
/// which some clients use instead of an anonymous one, reports it in its own way.
pub(crate) fn has_hung_up(error: &io::Error) -> bool {
    let not_connected = code::ERROR_PIPE_NOT_CONNECTED.cast_signed();
    matches!(
        error.kind(),
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
    ) || error.raw_os_error() == Some(not_connected)
}

/// The error if the system refuses a thread.
pub(crate) fn no_thread() -> io::Error {
    io::Error::from_raw_os_error(code::ERROR_NOT_ENOUGH_MEMORY.cast_signed())
}

/// Nothing to check: only memory limits the number of handles.
///
/// # Errors
/// None.
pub(crate) fn spare_descriptors(_: usize) -> io::Result<()> {
    Ok(())
}

/// How many handles the process may have: Windows sets no limit.
pub(crate) fn most_descriptors() -> Option<u64> {
    None
}

/// Prevents a report of a crash, because the memory may hold a map and a file. An
/// administrator may have configured dumps that are written nevertheless.
///
/// # Errors
/// None.
pub(crate) fn leave_no_core() -> io::Result<()> {
    api::report_no_crash();
    Ok(())
}

/// Identifies a directory. On Windows we do not ask, so each directory counts as
/// another one.
///
/// # Errors
/// None.
pub(crate) fn identity(_: &Dir) -> io::Result<Option<(u64, u64)>> {
    Ok(None)
}

/// The signals that ask a server to end.
pub(crate) struct Signals {
    interrupt: CtrlC,
    stop: CtrlBreak,
    close: CtrlClose,
    logoff: CtrlLogoff,
    shutdown: CtrlShutdown,
}

impl Signals {
    /// Listens from now on. Call it within a runtime.
    ///
    /// # Errors
    /// Those of the operating system.
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: ctrl_c()?,
            stop: ctrl_break()?,
            close: ctrl_close()?,
            logoff: ctrl_logoff()?,
            shutdown: ctrl_shutdown()?,
        })
    }

    /// Waits for any of them.
    pub(crate) async fn any(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.stop.recv() => {}
            _ = self.close.recv() => {}
            _ = self.logoff.recv() => {}
            _ = self.shutdown.recv() => {}
        }
    }
}

/// Nothing to do: a file in the user's own directory for temporary files is already
/// accessible to the user only.
///
/// # Errors
/// None.
pub(crate) fn make_private(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Makes a link to a file.
///
/// # Errors
/// Those of the operating system: not every user may do this.
pub(crate) fn link(target: &str, at: &Path) -> io::Result<()> {
    std::os::windows::fs::symlink_file(target.replace('/', "\\"), at)?;
    // Wine reports that it has made a link, but has not.
    at.symlink_metadata().map(drop)
}

/// A path in the form that the walk expects: with its real names, and without `\\?\`,
/// which Windows puts before the paths that it returns.
pub(crate) fn plain_path(path: PathBuf) -> PathBuf {
    match path.to_str().and_then(|path| path.strip_prefix(r"\\?\")) {
        Some(plain) if names::is_from_drive(plain) => plain.into(),
        _ => path,
    }
}
