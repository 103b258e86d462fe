//! The path at which a client should start this program, also after an update.

use crate::{
    file::repository_above,
    paste::{may_be_expanded, text_if_printable},
};
use keyhole_walk::{Policy, System, WalkError, Walker, printable::printable};
use std::{
    env,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

/// The page that says how to install the program.
const INSTALL: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/install.md");

/// The path by which clients start this program.
#[derive(Debug, Default)]
pub struct Program {
    /// The path, without a character that a client would replace or misread.
    pub path: String,
    /// A sentence that says why a client should not start the program there. None if a client may.
    pub caution: Option<String>,
}

impl Program {
    /// This program, and the path at which clients should start it:
    ///
    /// - that of the command `keyhole` on the `PATH`, such as `/usr/local/bin/keyhole`, if that
    ///   starts this program, and is not in a place like `/tmp` (`is_fleeting`);
    /// - else the path without links where the program is.
    ///
    /// # Errors
    /// If the program's path cannot be found, or has a character that clients would replace (`$`,
    /// `{`, `}`) or that is not shown as itself.
    pub fn this() -> Result<Self, String> {
        let found = env::current_exe().and_then(|exe| exe.canonicalize());
        let exe =
            found.map_err(|why| format!("the path of this program cannot be found: {why}"))?;
        // A package manager's link on the `PATH` survives an update. What it leads to may not.
        let path = match on_path(&exe, env::var_os("PATH")) {
            Some(named) if !is_fleeting(&named) => named,
            _ => exe,
        };
        let Some(text) = text_if_printable(&path).filter(|text| !may_be_expanded(text)) else {
            return Err("the path of this program holds a character that clients would replace or misread; install it in another place".to_owned());
        };
        Ok(Self {
            path: text.to_owned(),
            caution: caution(&path),
        })
    }
}

/// A sentence that says why a client should not start a program at this path: the path is in a
/// place like `/tmp` (`is_fleeting`), or other users could replace the program. None if a client
/// may.
fn caution(path: &Path) -> Option<String> {
    if is_fleeting(path) {
        return Some(format!(
            "Careful: this program lies in a folder that is emptied, or that the next version replaces. Install it ({INSTALL} says how), and run `keyhole setup` from there."
        ));
    }
    let place = where_replaceable(path)?;
    Some(format!(
        "Careful: other users could replace this program, because of {place}. Install it where only you can write."
    ))
}

/// Whether the command `keyhole` starts this program: the first file of that name on the `PATH` is
/// this program. True if there is no `PATH`; false if no file on it has that name.
pub fn is_found_by_name(program: &Path) -> bool {
    let real = program.canonicalize().unwrap_or_default();
    let Some(path) = env::var_os("PATH") else {
        return true;
    };
    let first = names_on(&path).find(|name| name.is_file());
    first.is_some_and(|name| is_name_of(&real, &name))
}

/// The first path in a folder of this `PATH` by which the command `keyhole` starts `exe`. None if
/// there is no such path, or no `PATH`.
fn on_path(exe: &Path, path: Option<OsString>) -> Option<PathBuf> {
    names_on(path.as_ref()?).find(|name| is_name_of(exe, name))
}

/// The paths at which the command `keyhole` is looked for, in order.
fn names_on(path: &OsStr) -> impl Iterator<Item = PathBuf> {
    env::split_paths(path).map(|folder| folder.join("keyhole"))
}

/// Whether the absolute path `name` leads to `exe`. A path in a git repository counts only if `exe`
/// is in the same repository: else the path could go while the program stays.
fn is_name_of(exe: &Path, name: &Path) -> bool {
    if !name.is_absolute() || !name.canonicalize().is_ok_and(|real| real == exe) {
        return false;
    }
    match repository_above(name) {
        Some(repository) => exe.starts_with(repository),
        None => true,
    }
}

/// Parts of the path of a place that is emptied, or that the next version replaces.
const FLEETING_PLACES: [&str; 14] = [
    "/.claude/plugins/",
    "/plugins/cache/",
    "/plugins/data/",
    "/Claude Extensions/",
    "/target/debug/",
    "/target/release/",
    "/target/dist/",
    "/nix/store/",
    "/gnu/store/",
    "/Cellar/",
    "/.pnpm/",
    "/.cache/",
    "/Caches/",
    "/_npx/",
];

/// The folders of temporary files. The variable `TMPDIR` may name another one.
const TEMPORARY_FOLDERS: [&str; 7] = [
    "/tmp",
    "/var/tmp",
    "/private/tmp",
    "/dev/shm",
    "/run",
    "/var/folders",
    "/private/var/folders",
];

/// Whether a program at this absolute path may be gone there next week, as `/tmp/keyhole` and
/// `/home/theo/target/debug/keyhole` may. `/usr/local/bin/keyhole` should stay.
fn is_fleeting(path: &Path) -> bool {
    let text = path.to_string_lossy();
    FLEETING_PLACES.iter().any(|place| text.contains(place))
        || TEMPORARY_FOLDERS
            .iter()
            .any(|folder| path.starts_with(folder))
        || path.starts_with(env::temp_dir())
}

/// The file or folder whose rights let other users put another program at this path, which would
/// then run as the user. None if they cannot, or if nobody can tell.
fn where_replaceable(path: &Path) -> Option<String> {
    match Walker::new(System).walk(path, Policy::File) {
        Err(WalkError::Untrusted(distrust)) => Some(printable(&distrust.path)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
