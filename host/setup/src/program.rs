//! The path at which a client should start this program, also after an update.
#![expect(
    clippy::disallowed_methods,
    reason = "this program's own path, to print it"
)]

use crate::paste::{is_expanded, plain};
use keyhole_walk::{Policy, System, WalkError, Walker, printable::printable};
use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};

/// Why the program's path cannot be told.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// The system does not say.
    #[error("the path of this program cannot be found ({0}); start it by its full path")]
    Unknown(#[source] io::Error),
    /// Clients would read it in another way.
    #[error(
        "the path of this program holds a character that clients would replace or misread; install it in another place"
    )]
    Odd,
}

/// This program's path.
#[derive(Debug)]
pub struct Program {
    /// As clients take it.
    pub path: String,
    /// A sentence that says why a client should not start it there.
    pub caution: Option<String>,
}

impl Program {
    /// # Errors
    /// If the path cannot be found, or cannot be written so that all clients accept
    /// it.
    pub fn this() -> Result<Self, ProgramError> {
        let exe = std::env::current_exe().and_then(|exe| exe.canonicalize());
        let exe = exe.map_err(ProgramError::Unknown)?;
        let named = on_path(&exe, std::env::var_os("PATH"));
        // The path of a package manager's symbolic link survives an update; the
        // link's target may not.
        let path = match named {
            Some(named) if fleeting(&named).is_none() => named,
            _ => exe,
        };
        let text = plain(&path)
            .filter(|text| !is_expanded(text))
            .ok_or(ProgramError::Odd)?;
        let caution = match fleeting(&path) {
            Some(why) => Some(format!(
                "Careful: this program lies in {why}. Install it (README, Install), and run `keyhole setup` from there."
            )),
            None => replaceable(&path),
        };
        Ok(Self {
            path: text.to_owned(),
            caution,
        })
    }
}

/// Whether `keyhole` is the command for this program, as far as anybody knows.
pub fn is_command(program: &Path) -> bool {
    let path = std::env::var_os("PATH");
    path.is_none()
        || program
            .canonicalize()
            .is_ok_and(|real| on_path(&real, path).is_some())
}

/// The path of `exe` in a directory of `PATH`.
fn on_path(exe: &Path, path: Option<OsString>) -> Option<PathBuf> {
    std::env::split_paths(&path?)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join("keyhole"))
        .find(|named| named.canonicalize().is_ok_and(|real| real == exe))
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
pub fn fleeting(path: &Path) -> Option<&'static str> {
    let text = path.to_string_lossy();
    let is_in = |place: &str| match place.starts_with('/') {
        true => text.starts_with(place),
        false => text.contains(&format!("/{place}")),
    };
    let mut rows = FLEETING.lines().filter_map(|row| row.split_once(": "));
    let last = rows
        .clone()
        .next_back()
        .filter(|_| path.starts_with(std::env::temp_dir()));
    let found = rows.find(|(_, places)| places.split('|').any(is_in));
    found.or(last).map(|(why, _)| why)
}

/// A warning if other users could put another program there, which would then run as
/// the user.
fn replaceable(path: &Path) -> Option<String> {
    let walked = Walker::new(System).walk(path, Policy::FILE);
    match walked {
        Err(WalkError::Untrusted(distrust)) => Some(format!(
            "Careful: other users could replace this program, because of {}. Install it where only you can write.",
            printable(&distrust.path)
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
