//! The Claude Code plugin, as it is packaged. `tests/client` tests it with the client
//! itself.

/// Who gets which file: guard, tickets, binding.
mod callers;
/// The launcher, whatever happens to an installation.
pub(crate) mod launcher;
/// The agent's own server, for clients that load the plugin's module.
mod own_server;
/// What is in the package, and that it fits together.
mod package;

use keyhole_tests::{MARKER, Ran, binary, workspace};
use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;

/// What `./x dist` makes of the program under test.
pub(crate) struct Package {
    temp: TempDir,
}

impl Package {
    pub(crate) fn new() -> Self {
        let package = Self { temp: temporary() };
        Ran::of(
            Command::new("./x")
                .current_dir(workspace())
                .args(["dist", "--server"])
                .arg(binary())
                .arg("--out")
                .arg(package.marketplace()),
            b"",
        )
        .exits(0);
        package
    }

    /// The folder that a user adds as a marketplace.
    pub(crate) fn marketplace(&self) -> PathBuf {
        self.temp.path().join("dist")
    }

    /// The plugin's root.
    pub(crate) fn plugin(&self) -> PathBuf {
        self.marketplace().join("plugin")
    }
}

/// A directory whose name would be visible in a message, and which breaks a script
/// that does not quote it.
fn temporary() -> TempDir {
    let temp = tempfile::Builder::new()
        .prefix(&format!("key hole's $x *-{MARKER}-"))
        .tempdir()
        .unwrap();
    // So that a test can let another user into a directory in it.
    mode(temp.path(), 0o711);
    temp
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}
