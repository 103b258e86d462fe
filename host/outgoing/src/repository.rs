//! Finds the repository of a folder as git does, and the folders that belong to it.

use crate::{Uncollected, file, refs::symref_target};
use rustix::fs::{Access, access};
use std::{
    env,
    ffi::OsStr,
    fs, io,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

/// The bytes of a file that names a folder, such as `.git` of a linked worktree: a path has at most
/// 4,096 on Linux.
const MAX_POINTER: usize = 8 << 10;

/// The bytes of HEAD by which git judges a folder, as in git (`validate_headref`).
const HEAD_START: u64 = 255;

/// The digits with which HEAD begins if it is at no branch. SHA-256 has more.
const HEAD_DIGITS: usize = 40;

/// Variables that make git use other files than those of its folder, whatever their value.
const REDIRECTING_VARIABLES: [&str; 9] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    // Attributes of a commit, in the place of those of the checkout.
    "GIT_ATTR_SOURCE",
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_REFERENCE_BACKEND",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// A git repository, seen from one of its checkouts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    /// The checkout's folder, or None of a bare repository.
    pub(crate) checkout: Option<PathBuf>,
    /// The folder with HEAD and index: `.git`, or the like. Its path has no links.
    pub(crate) git: PathBuf,
    /// The folder with objects and branches. Linked worktrees have it in common. Its path has no
    /// links.
    pub(crate) common: PathBuf,
}

impl Repository {
    /// The repository in which `folder` lies: the first one on the way up, from `folder` itself on.
    /// None if `folder` does not exist, or if no repository is on the way.
    ///
    /// In each folder on the way, `.git` may be a repository, or a file that names the folder of
    /// one. Else the folder may be a bare repository itself. A folder `.git` that is no repository,
    /// such as an empty one, is passed by, as git does. The checkout is always the folder in which
    /// `.git` is: the setting `core.worktree` does not count.
    ///
    /// # Errors
    /// [`Uncollected::Unreadable`] if `folder` cannot be looked up, or if a `.git` that is no
    /// folder does not name a repository.
    #[expect(clippy::disallowed_methods, reason = "a repository may be anybody's")]
    pub fn find(folder: &Path) -> Result<Option<Self>, Uncollected> {
        let start = match fs::canonicalize(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            found => found?,
        };
        for checkout in start.ancestors() {
            let dot_git = checkout.join(".git");
            // If `.git` cannot be looked up, it counts as missing, as for git.
            if let Ok(found) = fs::metadata(&dot_git) {
                let is_folder = found.is_dir();
                let git = git_folder(dot_git, &found)?;
                if let Some(common) = common_if_repository(&git)? {
                    return Ok(Some(Self {
                        checkout: Some(checkout.to_owned()),
                        git,
                        common,
                    }));
                }
                // Only a folder that is no repository is passed by.
                if !is_folder {
                    return Err(Uncollected::Unreadable);
                }
            }
            // This is a bare repository.
            if let Some(common) = common_if_repository(checkout)? {
                return Ok(Some(Self {
                    checkout: None,
                    git: checkout.to_owned(),
                    common,
                }));
            }
        }
        Ok(None)
    }

    /// The repository that [`find`](Self::find) finds, for a hook of a session: git has the same
    /// variables there as the hook.
    ///
    /// # Errors
    /// [`Uncollected::Elsewhere`] if a variable makes git use other files, or if the repository's
    /// folders are not those of its checkout; and see `find`.
    pub fn of_session(folder: &Path) -> Result<Option<Self>, Uncollected> {
        for variable in REDIRECTING_VARIABLES {
            if env::var_os(variable).is_some() {
                return Err(Uncollected::Elsewhere);
            }
        }
        let found = Self::find(folder)?;
        if found.as_ref().is_some_and(|it| !it.has_own_folders()) {
            return Err(Uncollected::Elsewhere);
        }
        Ok(found)
    }

    /// Whether the repository's folders are those of its checkout: `.git` in it, a folder for which
    /// the repository knows this worktree, or that of a submodule in a repository above. Its `refs`
    /// and `objects` are folders, and no links to those of another repository. A shell that may
    /// write to the checkout can have `.git`, or what is in it, lead to any other repository, which
    /// the shell itself may not read.
    #[expect(clippy::disallowed_methods, reason = "a repository may be anybody's")]
    fn has_own_folders(&self) -> bool {
        let folders = ["refs", "objects"];
        if !folders
            .iter()
            .all(|name| is_own_folder(&self.common.join(name)))
        {
            return false;
        }
        let Some(checkout) = &self.checkout else {
            return self.common == self.git;
        };
        let dot_git = checkout.join(".git");
        let is_usual = self.git == dot_git && self.common == dot_git && !dot_git.is_symlink();
        is_usual || self.is_linked_worktree() || self.is_submodule_of_one_above(checkout)
    }

    /// Whether this is the repository of a submodule: it lies in the folder `modules`, which is no
    /// link, of the repository above, which has its own folders.
    fn is_submodule_of_one_above(&self, checkout: &Path) -> bool {
        let Some(Ok(Some(above))) = checkout.parent().map(Self::find) else {
            return false;
        };
        let modules = above.git.join("modules");
        let is_there = is_own_folder(&modules) && self.git.starts_with(modules);
        is_there && self.common == self.git && above.has_own_folders()
    }

    /// The checkout's folder, without links; of a bare repository, the repository itself.
    pub fn top(&self) -> &Path {
        self.checkout.as_deref().unwrap_or(&self.git)
    }

    /// Checks that `.git` in this folder does not lead to this repository itself, by a link or as a
    /// file: then git takes the folder's files, and our git, which has another folder, does not.
    ///
    /// # Errors
    /// [`Uncollected::Unreadable`] if it does, or if it names no folder.
    #[expect(clippy::disallowed_methods, reason = "a repository may be anybody's")]
    pub(crate) fn require_other(&self, folder: &Path) -> Result<(), Uncollected> {
        let dot_git = folder.join(".git");
        let found = fs::metadata(&dot_git)?;
        let real = git_folder(dot_git, &found)?;
        if real == self.git || real == self.common {
            return Err(Uncollected::Unreadable);
        }
        Ok(())
    }

    /// Whether the repository that has the branches knows this checkout as one of its worktrees:
    /// the checkout's own folder is `NAME` in `worktrees` there, and the file `gitdir` in it names
    /// the checkout's `.git`. Any folder can say of itself that it is a worktree, so that does not
    /// count.
    #[expect(clippy::disallowed_methods, reason = "a repository may be anybody's")]
    fn is_linked_worktree(&self) -> bool {
        let named = folder_named_in(&self.git.join("gitdir"), b"")
            .ok()
            .flatten();
        let knows = named.and_then(|path| fs::canonicalize(path).ok());
        let own = self.top().join(".git");
        let is_in_common = self.git.parent() == Some(&*self.common.join("worktrees"));
        knows == Some(own) && is_in_common
    }

    /// The folder of the main checkout, without links: a linked worktree belongs to the checkout
    /// that it was made from, and to the repository's own folder if that is bare or a submodule. A
    /// worktree of `/src/app/.git` has `/src/app`, and one of `/src/app.git` has `/src/app.git`. Of
    /// any other checkout, such as a submodule's, it is [`top`](Self::top).
    pub fn main_checkout(&self) -> &Path {
        if !self.is_linked_worktree() {
            return self.top();
        }
        match self.common.parent() {
            Some(parent) if self.common.ends_with(".git") => parent,
            _ => &self.common,
        }
    }
}

/// Whether a folder has this path, and no link to one.
#[expect(clippy::disallowed_methods, reason = "a repository may be anybody's")]
fn is_own_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

/// The path, without links, of the repository's folder to which this `.git` leads, of which `found`
/// was found: the folder `.git` itself, or if it is a file, the folder that it names.
///
/// # Errors
/// [`Uncollected::Unreadable`] if `.git` is no folder, and names none that is there.
#[expect(clippy::disallowed_methods, reason = "a repository may be anybody's")]
fn git_folder(dot_git: PathBuf, found: &fs::Metadata) -> Result<PathBuf, Uncollected> {
    if found.is_dir() {
        return Ok(fs::canonicalize(dot_git)?);
    }
    let named = folder_named_in(&dot_git, b"gitdir: ")?.ok_or(Uncollected::Unreadable)?;
    Ok(fs::canonicalize(named)?)
}

/// The folder with the objects and branches of the folder `git`, if that is a repository: `git`
/// itself, or without links the folder that its file `commondir` names. None if `git` is no
/// repository: its HEAD is not valid, or `objects` or `refs` is missing, or may not be entered.
///
/// # Errors
/// [`Uncollected::Unreadable`] if HEAD or `commondir` is no regular file, or `commondir` names a
/// folder that is not there.
#[expect(clippy::disallowed_methods, reason = "a repository may be anybody's")]
pub(crate) fn common_if_repository(git: &Path) -> Result<Option<PathBuf>, Uncollected> {
    if !is_valid_head(&git.join("HEAD"))? {
        return Ok(None);
    }
    let common = match folder_named_in(&git.join("commondir"), b"")? {
        Some(named) => fs::canonicalize(named)?,
        None => git.to_owned(),
    };
    for name in ["objects", "refs"] {
        if access(common.join(name), Access::EXEC_OK).is_err() {
            return Ok(None);
        }
    }
    Ok(Some(common))
}

/// Whether git takes this file for a HEAD: it begins with `ref: refs/` or with 40 hexadecimal
/// digits, or it is a link whose target begins with `refs/`. Not if the file is missing, or is any
/// other link.
#[expect(clippy::disallowed_methods, reason = "a repository may be anybody's")]
fn is_valid_head(path: &Path) -> Result<bool, Uncollected> {
    if let Ok(link) = fs::read_link(path) {
        return Ok(link.as_os_str().as_bytes().starts_with(b"refs/"));
    }
    let Some(bytes) = file::first_bytes(path, HEAD_START)? else {
        return Ok(false);
    };
    // `-`, which is no digit, stands for a text that is too short to begin with 40 digits.
    let digits = bytes.get(..HEAD_DIGITS).unwrap_or(b"-");
    let text = String::from_utf8_lossy(&bytes);
    let is_symref = symref_target(&text).is_some_and(|name| name.starts_with("refs/"));
    Ok(is_symref || digits.iter().all(u8::is_ascii_hexdigit))
}

/// The folder whose path stands behind `prefix` in the file `pointer`: `/a/b` for the file
/// `/a/.git` with `gitdir: b`, as the path is relative to the folder of `pointer`. None if there is
/// no file `pointer`. The folder need not exist.
///
/// # Errors
/// [`Uncollected::Unreadable`] if `pointer` is no regular file, or does not begin with `prefix`;
/// [`Uncollected::TooMuch`] if it has more than 8 KiB.
fn folder_named_in(pointer: &Path, prefix: &[u8]) -> Result<Option<PathBuf>, Uncollected> {
    let Some(bytes) = file::contents(pointer, MAX_POINTER)? else {
        return Ok(None);
    };
    let named = bytes.strip_prefix(prefix).ok_or(Uncollected::Unreadable)?;
    let folder = pointer.parent().ok_or(Uncollected::Unreadable)?;
    // As git does: the ends of lines go, and blanks stay.
    let last_kept = named.iter().rposition(|byte| !b"\r\n".contains(byte));
    let length = last_kept.map_or(0, |last| last + 1);
    let name = named.get(..length).unwrap_or_default();
    Ok(Some(folder.join(OsStr::from_bytes(name))))
}
