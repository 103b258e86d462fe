//! Which files of a project the client reads when a session starts in a folder.

use crate::paths::both;
use std::path::{Path, PathBuf};

/// A file that a project may have.
pub(super) struct File {
    pub(super) path: PathBuf,
    /// The same for people.
    pub(super) shown: &'static str,
}

/// The settings of the folder, and the list of servers. What is in the home is the user's.
pub(super) fn files(folder: &Path, home: &Path) -> Vec<File> {
    let own = folder.join(".claude");
    let mut files = vec![
        File {
            path: own.join("settings.json"),
            shown: ".claude/settings.json of this folder",
        },
        File {
            path: own.join("settings.local.json"),
            shown: ".claude/settings.local.json of this folder",
        },
    ];
    if !both(home).iter().any(|home| home == folder) {
        files.push(File {
            path: folder.join(".mcp.json"),
            shown: ".mcp.json of this folder",
        });
    }
    files
}
