//! What a tree can hold on Linux and macOS.

use super::Entry;
use std::{
    fs, io,
    os::unix::{
        self,
        fs::{DirBuilderExt, PermissionsExt},
        net::UnixListener,
    },
    path::Path,
    process::Command,
};

/// Why this system cannot have it: it can have all of it.
pub(crate) fn lacks(_: &Entry) -> Option<&'static str> {
    None
}

pub(super) fn link(target: &Path, path: &Path) -> io::Result<()> {
    unix::fs::symlink(target, path)
}

pub(crate) fn directory(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().mode(0o700).create(path)
}

pub(super) fn set_mode(path: &Path, mode: Option<u32>) -> io::Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode.unwrap_or(0o600)))
}

/// The name stays after the listener is closed.
pub(super) fn socket(path: &Path) -> io::Result<()> {
    UnixListener::bind(path).map(drop)
}

/// Makes a FIFO. The standard library cannot do this, and every Unix has `mkfifo`.
pub(super) fn fifo(path: &Path) -> io::Result<()> {
    let status = Command::new("mkfifo").arg("--").arg(path).status()?;
    if status.success() {
        Ok(())
    } else {
        Err(io::Error::other(format!("mkfifo: {status}")))
    }
}
