//! Which files of a project the client reads when a session starts in a folder.

use crate::paths::{holds_home, named_and_real};
use keyhole_walk::normal;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The most bytes of a `.git` or `commondir` file with a path. The client reads no longer one.
const MAX_POINTER_BYTES: u64 = 65_536;

/// A file that a project may have.
pub(super) struct File {
    pub(super) path: PathBuf,
    /// Which file this is, for people.
    pub(super) shown: &'static str,
}

/// The files of a project that the client reads for a session in this folder, whether they exist or
/// not. For `/home/theo/p/a` in the repository `/home/theo/p`, these are:
///
/// - `settings.json` and `settings.local.json` in `/home/theo/p/a/.claude`;
/// - `/home/theo/p/.claude/settings.local.json`: of each top of the repository that is neither this
///   folder nor the home. A worktree has two tops, its own and that of its main checkout ([`tops`]);
/// - `.mcp.json` in `/home/theo/p/a` and in each folder above, but not in the home `/home/theo` nor
///   above the home: those are the user's.
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
        if holds_home(above, home) {
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

/// The top of the folder's repository: the nearest folder, from this one upwards, with a `.git`. If
/// that `.git` is a worktree's file (`gitdir: /p/.git/worktrees/w`), also the top of the main
/// checkout (`/p`). The client uses the main checkout only if its `.git` lists the worktree, which
/// is not checked here. Empty if the folder is in no repository.
pub(super) fn tops(folder: &Path) -> Vec<PathBuf> {
    let mut above = folder.ancestors();
    let Some(top) = above.find(|above| above.join(".git").exists()) else {
        return Vec::new();
    };
    let mut tops = vec![top.to_owned()];
    if let Some(worktrees_git) = resolved_path_after_label(&top.join(".git"), "gitdir:")
        // `commondir` holds a path from its own folder, mostly `../..`.
        && let Some(main_git) = resolved_path_after_label(&worktrees_git.join("commondir"), "")
        && main_git.ends_with(".git")
    {
        tops.extend(main_git.parent().map(Path::to_owned));
    }
    tops
}

/// The path that this file holds behind a label, from the file's folder and without `..`: for
/// `gitdir: ../b/.git` in `/p/a/.git`, that is `/p/b/.git`. None if the text does not begin with
/// the label; or if the file has more than 65,536 bytes, is no regular one, or cannot be read.
fn resolved_path_after_label(file: &Path, label: &str) -> Option<PathBuf> {
    let metadata = fs::metadata(file).ok()?;
    // To read a pipe would wait for another program.
    if !metadata.is_file() || metadata.len() > MAX_POINTER_BYTES {
        return None;
    }
    let text = fs::read_to_string(file).ok()?;
    let path = text.trim().strip_prefix(label)?.trim();
    Some(normal(&file.parent()?.join(path)))
}
