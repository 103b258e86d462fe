//! What git ignores by the settings of the user or of the system.

use crate::{
    Repository, Uncollected, file,
    git::Git,
    scratch::MAX_COPIED,
    settings::{MAX_FILE_BYTES, own_files, real_path, settings_in, users_files, users_folder},
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
/// None if it may be another file, or none: by this setting of the project, by a file that the
/// project's or the user's settings include, or by a variable such as `GIT_CONFIG_GLOBAL`. None also
/// if settings cannot be read, or without `HOME`.
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
        let settings = settings_in(git, &path).ok()??;
        // Nobody knows what an included file says.
        let mut keys = settings.iter().map(|setting| &setting.key);
        if keys.any(|key| key.starts_with("include")) {
            return None;
        }
        // Of one file, the last line counts.
        let mut lines = settings.into_iter();
        if let Some(setting) = lines.rfind(|setting| setting.key == SETTING) {
            let chosen = match setting.value.strip_prefix("~/") {
                Some(below) => home.join(below),
                None => PathBuf::from(setting.value),
            };
            return Some(chosen).filter(|path| path.is_absolute());
        }
    }
    Some(users_folder(&home).join("ignore"))
}
