//! Attacks that once worked. Each test has the name of what was broken, and asserts
//! the right behaviour.

#[cfg(target_os = "linux")]
mod core_file;
mod echoed_key;
#[cfg(target_os = "linux")]
mod fuse;
#[cfg(target_os = "linux")]
mod hung_read;
mod low_resources;
/// A store through a mapping of the map, for which the kernel notes no time.
mod mapped_store;
mod namespace;
mod pasted;
mod saved_in_place;
#[cfg(target_os = "linux")]
mod ticket_folder;
mod traces;
#[cfg(target_os = "linux")]
mod write_lease;

use keyhole_tests::skipped;
use rustix::process::geteuid;
use std::{
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt as _, chown},
    path::Path,
};

/// A user who is neither root nor the one who runs the server, and who has no name.
pub(crate) const STRANGER: u32 = 54_321;

/// Whether the test can run here: only root can act as two users.
pub(crate) fn can_be_two_users() -> bool {
    let can = geteuid().is_root();
    if !can {
        skipped("only root can act as two users");
    }
    can
}

pub(crate) fn owned(path: &Path, user: u32, mode: u32) {
    chown(path, Some(user), Some(user)).unwrap();
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}
