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

/// This program's path.
#[derive(Debug, Default)]
pub struct Program {
    /// As clients take it.
    pub path: String,
    /// A sentence that says why a client should not start it there.
    pub caution: Option<String>,
}

impl Program {
    /// This program, and the path at which clients should start it: that of the command `keyhole`
    /// on the `PATH`, if that starts this program, and is at no place that is emptied or replaced
    /// (`why_fleeting`); else the path where the program really is.
    ///
    /// # Errors
    /// If the program's path cannot be found, or has a character that not all clients accept.
    pub fn this() -> Result<Self, String> {
        let found = env::current_exe().and_then(|exe| exe.canonicalize());
        let exe =
            found.map_err(|why| format!("the path of this program cannot be found: {why}"))?;
        // A package manager's link on the `PATH` survives an update. What it leads to may not.
        let path = match on_path(&exe, env::var_os("PATH")) {
            Some(named) if why_fleeting(&named).is_none() => named,
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

/// A sentence that says why a client should not start a program there. None if it may.
fn caution(path: &Path) -> Option<String> {
    if let Some(why) = why_fleeting(path) {
        return Some(format!(
            "Careful: this program lies in {why}. Install it ({INSTALL} says how), and run `keyhole setup` from there."
        ));
    }
    let place = where_replaceable(path)?;
    Some(format!(
        "Careful: other users could replace this program, because of {place}. Install it where only you can write."
    ))
}

/// Whether `keyhole` is the command for this program, as far as anybody knows: no other program of
/// that name comes first.
pub fn is_found_by_name(program: &Path) -> bool {
    let real = program.canonicalize().unwrap_or_default();
    let Some(path) = env::var_os("PATH") else {
        return true;
    };
    let first = names_on(&path).find(|name| name.is_file());
    first.is_some_and(|name| is_name_of(&real, &name))
}

/// The first path in a directory of `PATH` that is a name of `exe`.
fn on_path(exe: &Path, path: Option<OsString>) -> Option<PathBuf> {
    names_on(path.as_ref()?).find(|name| is_name_of(exe, name))
}

/// The paths at which the command `keyhole` is looked for, in order.
fn names_on(path: &OsStr) -> impl Iterator<Item = PathBuf> {
    env::split_paths(path).map(|folder| folder.join("keyhole"))
}

/// Whether the command `name` starts `exe`. A name in a git repository comes and goes with that,
/// and so counts only for a program that does too.
fn is_name_of(exe: &Path, name: &Path) -> bool {
    if !name.is_absolute() || !name.canonicalize().is_ok_and(|real| real == exe) {
        return false;
    }
    match repository_above(name) {
        Some(repository) => exe.starts_with(repository),
        None => true,
    }
}

/// Why a program may be gone next week, and the places where it may.
struct Fleeting {
    why: &'static str,
    /// Parts of a path, wherever they stand in it.
    anywhere: &'static [&'static str],
    /// The beginnings of a path.
    at_start: &'static [&'static str],
}

/// The reason for a folder of temporary files.
const IN_A_TEMPORARY_FOLDER: &str =
    "a folder for temporary files, which may be emptied at any time";

const FLEETING_PLACES: [Fleeting; 6] = [
    Fleeting {
        why: "a plugin's folder, which the plugin's next version replaces",
        anywhere: &["/.claude/plugins/", "/plugins/cache/", "/plugins/data/"],
        at_start: &[],
    },
    Fleeting {
        why: "an installed bundle's folder, which the bundle's next version replaces",
        anywhere: &["/Claude Extensions/"],
        at_start: &[],
    },
    Fleeting {
        why: "a folder of cargo's, which `cargo clean` empties",
        anywhere: &["/target/debug/", "/target/release/", "/target/dist/"],
        at_start: &[],
    },
    Fleeting {
        why: "the folder of one version, which the next version removes",
        anywhere: &["/nix/store/", "/gnu/store/", "/Cellar/", "/.pnpm/"],
        at_start: &[],
    },
    Fleeting {
        why: "a cache, which may be emptied at any time",
        anywhere: &["/.cache/", "/Caches/", "/_npx/"],
        at_start: &[],
    },
    Fleeting {
        why: IN_A_TEMPORARY_FOLDER,
        anywhere: &[],
        at_start: &[
            "/tmp/",
            "/var/tmp/",
            "/private/tmp/",
            "/dev/shm/",
            "/run/",
            "/var/folders/",
            "/private/var/folders/",
        ],
    },
];

/// Which place a program at this absolute path is in, if it may be gone there next week, as
/// `/tmp/keyhole` and `/home/theo/target/debug/keyhole` may. None if it should stay, as
/// `/usr/local/bin/keyhole`.
fn why_fleeting(path: &Path) -> Option<&'static str> {
    let text = path.to_string_lossy();
    for places in &FLEETING_PLACES {
        let mut anywhere = places.anywhere.iter();
        let mut at_start = places.at_start.iter();
        if anywhere.any(|place| text.contains(place))
            || at_start.any(|place| text.starts_with(place))
        {
            return Some(places.why);
        }
    }
    // The variable `TMPDIR` may name another folder for temporary files.
    if path.starts_with(env::temp_dir()) {
        return Some(IN_A_TEMPORARY_FOLDER);
    }
    None
}

/// The file or folder because of which other users could put another program there, which would
/// then run as the user. None if they cannot.
fn where_replaceable(path: &Path) -> Option<String> {
    match Walker::new(System).walk(path, Policy::File) {
        Err(WalkError::Untrusted(distrust)) => Some(printable(&distrust.path)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
