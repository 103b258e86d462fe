//! What depends on the system. Each is a function of the system's name (`env::consts::OS`),
//! so that what macOS does is tested elsewhere too.

#[cfg(test)]
mod tests;

use std::io;

const EPERM: i32 = 1;

/// What to do if [`keeps`].
pub(super) const KEPT: &str = "macOS does not let this app read it, whatever its mode: allow the app in System Settings under Privacy & Security, or move the file to ~/private";

/// Whether the system keeps the app that started us from a file, as macOS does in
/// Documents, Desktop, Downloads and cloud folders. A mode gives another error. It opens
/// nothing elsewhere.
pub(super) fn keeps<T>(system: &str, open: impl FnOnce() -> io::Result<T>) -> bool {
    let error = || open().err()?.raw_os_error();
    system == "macos" && error() == Some(EPERM)
}
