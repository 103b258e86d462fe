//! Which files of a project the client reads when a session starts in a folder.

use crate::paths::named_and_real;
use keyhole_walk::normal;
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

/// The files that the client reads of the project of this folder, whether they are there or not:
/// the folder's settings; the local settings at the top of its repository; and `.mcp.json` in the
/// folder and in each one above it, up to the home, which is the user's.
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
    let homes = named_and_real(home);
    for top in tops(folder) {
        if top != folder && !homes.contains(&top) {
            files.push(File {
                path: top.join(".claude/settings.local.json"),
                shown: ".claude/settings.local.json at the top of this repository",
            });
        }
    }
    for above in folder.ancestors() {
        if homes.iter().any(|home| home.starts_with(above)) {
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

/// The top of the folder's repository; and, if that is a worktree, the top of the main checkout. The
/// client uses the main checkout only if its `.git` lists the worktree, which is not checked here.
/// Empty if neither the folder nor one above it has `.git`.
pub(super) fn tops(folder: &Path) -> Vec<PathBuf> {
    let mut above = folder.ancestors();
    let Some(top) = above.find(|above| above.join(".git").exists()) else {
        return Vec::new();
    };
    let mut tops = vec![top.to_owned()];
    if let Some(own) = resolved_path_after_label(&top.join(".git"), "gitdir:")
        // `commondir` holds a path from its own folder, mostly `../..`.
        && let Some(common) = resolved_path_after_label(&own.join("commondir"), "")
        && common.ends_with(".git")
    {
        tops.extend(common.parent().map(Path::to_owned));
    }
    tops
}

/// The path that this file has behind a label, resolved: it starts at the file's folder, and has no
/// `..`. None if the text has no such label, or if the file is too long, no regular one, or cannot
/// be read.
fn resolved_path_after_label(file: &Path, label: &str) -> Option<PathBuf> {
    let found = fs::metadata(file).ok()?;
    // A pipe would hold us up.
    if !found.is_file() || found.len() > MAX_POINTER {
        return None;
    }
    let text = fs::read_to_string(file).ok()?;
    let named = text.trim().strip_prefix(label)?.trim();
    Some(normal(&file.parent()?.join(named)))
}
