//! The path at which a client should start this program, also after an update.

use super::{
    SetupError,
    given::{is_expanded, plain},
};
use crate::{
    os::plain_path,
    printable::printable,
    walk::{Policy, System, WalkError, Walker},
};
use std::{
    env::consts::EXE_SUFFIX,
    ffi::OsString,
    path::{Component, Path, PathBuf},
};

/// This program's path.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) path: String,
    /// Why a client should not start it there.
    pub(super) caution: Option<String>,
}

impl Program {
    /// # Errors
    /// If the path cannot be found, or cannot be written so that all clients accept
    /// it.
    pub(super) fn this() -> Result<Self, SetupError> {
        let exe = std::env::current_exe()
            .and_then(|exe| exe.canonicalize())
            .map(plain_path)
            .map_err(SetupError::NoProgram)?;
        let named = on_path(&exe, std::env::var_os("PATH"));
        // The path of a package manager's symbolic link survives an update; the
        // link's target may not.
        let path = match named {
            Some(named) if fleeting(&named).is_none() => named,
            _ => exe,
        };
        let text = plain(&path)
            .filter(|text| !is_expanded(text))
            .ok_or(SetupError::OddProgram)?;
        let caution = match fleeting(&path) {
            Some(why) => Some(format!(
                "this program lies in {why}. Install it (README, Install), and run `keyhole setup` from there"
            )),
            None => replaceable(&path),
        };
        Ok(Self {
            path: text.to_owned(),
            caution,
        })
    }
}

/// The path of `exe` in a directory of `PATH`.
fn on_path(exe: &Path, path: Option<OsString>) -> Option<PathBuf> {
    std::env::split_paths(&path?)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(format!("keyhole{EXE_SUFFIX}")))
        .find(|named| {
            let real = named.canonicalize().map(plain_path);
            real.is_ok_and(|real| real == exe)
        })
}

/// Why a program at this path may be gone next week. None means that it should stay.
pub(super) fn fleeting(path: &Path) -> Option<&'static str> {
    let parts: Vec<&str> = path
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    let has = |names: &[&str]| parts.windows(names.len()).any(|part| part == names);
    let within = |place: &str| path.starts_with(place);
    if has(&[".claude", "plugins"]) || has(&["plugins", "cache"]) || has(&["plugins", "data"]) {
        Some("a plugin's folder, which the plugin's next version replaces")
    } else if has(&["Claude Extensions"]) {
        Some("an installed bundle's folder, which the bundle's next version replaces")
    } else if has(&["target", "debug"]) || has(&["target", "release"]) || has(&["target", "dist"]) {
        Some("a folder of cargo's, which `cargo clean` empties")
    } else if has(&["nix", "store"])
        || has(&["gnu", "store"])
        || has(&["Cellar"])
        || has(&[".pnpm"])
    {
        Some("the folder of one version, which the next version removes")
    } else if has(&[".cache"]) || has(&["Caches"]) || has(&["_npx"]) {
        Some("a cache, which may be emptied at any time")
    } else if path.starts_with(std::env::temp_dir())
        || ["/tmp", "/var/tmp", "/private/tmp", "/dev/shm", "/run"]
            .iter()
            .chain(&["/var/folders", "/private/var/folders"])
            .any(|place| within(place))
    {
        Some("a folder for temporary files, which may be emptied at any time")
    } else {
        None
    }
}

/// A warning if other users could put another program there, which would then run as
/// the user.
fn replaceable(path: &Path) -> Option<String> {
    let walked = Walker::new(System).walk(path, Policy::TRUSTED_FILE);
    match walked {
        Err(WalkError::Untrusted(distrust)) => Some(format!(
            "other users could replace this program, because of {}. Install it where only you can write",
            printable(&distrust.path)
        )),
        _ => None,
    }
}
