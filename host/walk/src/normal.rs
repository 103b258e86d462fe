//! Paths without `.` and `..`.

use std::path::{Component, Path, PathBuf};

/// The path without `.` and `..`: `/a/c` for `/a/b/./../c`. Each `..` takes out the name before it,
/// even if that name is a link, as in git and in Claude Code. A `..` without a name before it is
/// left out: `/a` for `/../a`. Nothing is looked up on the disk.
pub fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(normal.pop()),
            part => normal.push(part),
        }
    }
    normal
}
