//! Which files of a project the client reads when a session starts in a folder.

use crate::paths::{named_and_real, normal};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// A longer file says to no client where a repository is.
const MAX_POINTER: u64 = 65_536;

/// A file that a project may have.
pub(super) struct File {
    pub(super) path: PathBuf,
    /// The same for people.
    pub(super) shown: &'static str,
}

/// The settings of the folder, local ones at the top of its repository, and the lists of servers in
/// the folder and in each one above it. What is in the home or above is the user's.
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
    let users = named_and_real(home);
    for top in tops(folder) {
        if top != folder && !users.contains(&top) {
            files.push(File {
                path: top.join(".claude/settings.local.json"),
                shown: ".claude/settings.local.json at the top of this repository",
            });
        }
    }
    for above in folder.ancestors() {
        if users.iter().any(|home| home.starts_with(above)) {
            break;
        }
        let shown = if above == folder {
            ".mcp.json of this folder"
        } else {
            ".mcp.json of a folder above"
        };
        files.push(File {
            path: above.join(".mcp.json"),
            shown,
        });
    }
    files
}

/// The top of the folder's repository; if that is a worktree, also the top of the main checkout.
/// The client takes the second instead, but only if both name each other.
pub(super) fn tops(folder: &Path) -> Vec<PathBuf> {
    let mut above = folder.ancestors();
    let Some(top) = above.find(|above| above.join(".git").exists()) else {
        return Vec::new();
    };
    let mut tops = vec![top.to_owned()];
    if let Some(own) = named_in(&top.join(".git"), "gitdir:")
        && let Some(common) = named_in(&own.join("commondir"), "")
        && common.ends_with(".git")
    {
        tops.extend(common.parent().map(Path::to_owned));
    }
    tops
}

/// The path that this file has behind a label, from the file's folder.
fn named_in(file: &Path, label: &str) -> Option<PathBuf> {
    let found = fs::metadata(file).ok()?;
    // A pipe would hold us up.
    if !found.is_file() || found.len() > MAX_POINTER {
        return None;
    }
    let text = fs::read_to_string(file).ok()?;
    let named = text.trim().strip_prefix(label)?.trim();
    Some(normal(&file.parent()?.join(named)))
}
