//! What git ignores by the settings of the user or of the system.

use crate::{
    Repository, Uncollected, file,
    git::Git,
    scratch::MAX_COPIED,
    settings::{MAX_FILE_BYTES, own_files, real_path, settings_in, users_files},
};
use std::{env, path::PathBuf};

/// The setting that names the file with the patterns, as git prints its name.
const SETTING: &str = "core.excludesfile";

/// The patterns of the repository's own, in our git's folder.
const OWN_PATTERNS: &str = "info/exclude";

/// Has our git ignore what the user's git ignores by the patterns of [`users_patterns`]. They stand
/// before the repository's own: with `*.log` of the user and `!a.log` of the repository, `a.log` is
/// not ignored. Without patterns of the user, it does nothing.
///
/// # Errors
/// [`Uncollected::TooMuch`] if the user's patterns are more than the budget;
/// [`Uncollected::NoScratch`] if they cannot be written.
pub(crate) fn add_users(repository: &Repository, git: &mut Git<'_>) -> Result<(), Uncollected> {
    let Some(mut patterns) = users_patterns(repository, git) else {
        return Ok(());
    };
    git.budget.take_bytes(patterns.len())?;
    let own = file::contents(&git.scratch.path().join(OWN_PATTERNS), MAX_COPIED)?;
    patterns.push(b'\n');
    patterns.extend(own.unwrap_or_default());
    git.scratch.write(OWN_PATTERNS, &patterns)
}

/// The text of the file that [`users_file`] finds, to which a link may lead. None if it finds none,
/// if the file is missing or too long, or if it lies in the checkout: then the project has written
/// it.
fn users_patterns(repository: &Repository, git: &mut Git<'_>) -> Option<Vec<u8>> {
    let path = real_path(&users_file(repository, git)?)?;
    if path.starts_with(repository.top()) {
        return None;
    }
    file::contents(&path, MAX_FILE_BYTES).ok()?
}

/// The file with what the user's git ignores: the one that `core.excludesFile` of the user's or the
/// system's settings names, if its path is absolute or begins with `~/`; without this setting,
/// `git/ignore` in `XDG_CONFIG_HOME`, or if this variable is not set or empty, in `~/.config`.
///
/// None if the project may have chosen another file, or none: by this setting or a file that its
/// settings include, or by a variable such as `GIT_CONFIG_GLOBAL`. Files that the user's settings
/// include do not count. None also if settings cannot be read, or without `HOME`.
fn users_file(repository: &Repository, git: &mut Git<'_>) -> Option<PathBuf> {
    for (name, _) in env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"GIT_CONFIG") {
            return None;
        }
    }
    for path in own_files(repository) {
        for setting in settings_in(git, &path).ok()?? {
            if setting.key == SETTING || setting.key.starts_with("include") {
                return None;
            }
        }
    }
    let home = PathBuf::from(env::var_os("HOME")?);
    for path in users_files().iter().filter_map(|file| real_path(file)) {
        let mut settings = settings_in(git, &path).ok()??.into_iter();
        // Of one file, the last line counts.
        if let Some(setting) = settings.rfind(|setting| setting.key == SETTING) {
            let chosen = match setting.value.strip_prefix("~/") {
                Some(below) => home.join(below),
                None => PathBuf::from(setting.value),
            };
            return Some(chosen).filter(|path| path.is_absolute());
        }
    }
    let named = env::var_os("XDG_CONFIG_HOME").filter(|folder| !folder.is_empty());
    let folder = named.map_or_else(|| home.join(".config"), PathBuf::from);
    Some(folder.join("git/ignore"))
}
