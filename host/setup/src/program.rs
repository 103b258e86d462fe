//! The path at which a client should start this program, also after an update.

use crate::{
    file::repository_above,
    paste::{is_expanded, plain},
};
use keyhole_walk::{Policy, System, WalkError, Walker, printable::printable};
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

/// This program's path.
#[derive(Debug, Default)]
pub struct Program {
    /// As clients take it.
    pub path: String,
    /// A sentence that says why a client should not start it there.
    pub caution: Option<String>,
}

impl Program {
    /// # Errors
    /// Why the path cannot be told, or not be written so that all clients accept it.
    pub fn this() -> Result<Self, String> {
        let exe = std::env::current_exe().and_then(|exe| exe.canonicalize());
        let exe = exe.map_err(|why| format!("the path of this program cannot be found: {why}"))?;
        let named = on_path(&exe, std::env::var_os("PATH"));
        // The path of a package manager's symbolic link survives an update; the
        // link's target may not.
        let named = named.filter(|named| fleeting(named).is_none());
        let path = named.unwrap_or(exe);
        let text = plain(&path).filter(|text| !is_expanded(text));
        let caution = fleeting(&path).map(|why| format!("Careful: this program lies in {why}. Install it (README, Install), and run `keyhole setup` from there."));
        let text = text.ok_or("the path of this program holds a character that clients would replace or misread; install it in another place")?;
        let caution = caution.or_else(|| replaceable(&path));
        let path = text.to_owned();
        Ok(Self { path, caution })
    }
}

/// Whether `keyhole` is the command for this program, as far as anybody knows.
pub fn is_command(program: &Path) -> bool {
    let real = program.canonicalize().unwrap_or_default();
    let path = std::env::var_os("PATH");
    path.is_none() || on_path(&real, path).is_some()
}

/// The path of `exe` in a directory of `PATH`. One in a git repository comes and goes with that,
/// and so counts only for a program that does too.
fn on_path(exe: &Path, path: Option<OsString>) -> Option<PathBuf> {
    let is_it = |named: &PathBuf| {
        named.is_absolute()
            && named.canonicalize().is_ok_and(|real| real == exe)
            && repository_above(named).is_none_or(|repository| exe.starts_with(repository))
    };
    let mut named = std::env::split_paths(path.as_ref()?).map(|folder| folder.join("keyhole"));
    named.find(is_it)
}

/// Why a program may be gone next week, and places where it may. One that begins with `/`
/// is one of the whole system; any other may be anywhere.
const FLEETING: &str = "\
a plugin's folder, which the plugin's next version replaces: .claude/plugins/|plugins/cache/|plugins/data/
an installed bundle's folder, which the bundle's next version replaces: Claude Extensions/
a folder of cargo's, which `cargo clean` empties: target/debug/|target/release/|target/dist/
the folder of one version, which the next version removes: nix/store/|gnu/store/|Cellar/|.pnpm/
a cache, which may be emptied at any time: .cache/|Caches/|_npx/
a folder for temporary files, which may be emptied at any time: /tmp/|/var/tmp/|/private/tmp/|/dev/shm/|/run/|/var/folders/|/private/var/folders/";

/// Why a program at this path may be gone next week. None means that it should stay.
fn fleeting(path: &Path) -> Option<&'static str> {
    let text = path.to_string_lossy();
    let is_in = |place: &str| {
        text.starts_with(place) || !place.starts_with('/') && text.contains(&format!("/{place}"))
    };
    let is_temporary = path.starts_with(std::env::temp_dir());
    let mut rows = FLEETING.lines().filter_map(|row| row.split_once(": "));
    let found = rows.find(|(_, places)| {
        is_temporary && places.starts_with("/tmp/") || places.split('|').any(is_in)
    });
    Some(found?.0)
}

/// A warning if other users could put another program there, which would then run as the user.
fn replaceable(path: &Path) -> Option<String> {
    let place = match Walker::new(System).walk(path, Policy::File) {
        Err(WalkError::Untrusted(distrust)) => Some(printable(&distrust.path)),
        _ => None,
    };
    place.map(|place| format!("Careful: other users could replace this program, because of {place}. Install it where only you can write."))
}

#[cfg(test)]
mod tests;
