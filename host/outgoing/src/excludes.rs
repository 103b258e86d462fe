//! What git ignores by the settings of the user or of the system.

use crate::{
    Repository, Uncollected, file,
    git::Git,
    scratch::MAX_COPIED,
    settings::{MAX_FILE_BYTES, SettingsFiles, own_files, real_path, users_files, users_folder},
};
use std::{
    env,
    path::{Path, PathBuf},
};

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
pub(crate) fn add_users(
    repository: &Repository,
    files: &mut SettingsFiles,
    git: &mut Git<'_>,
) -> Result<(), Uncollected> {
    let Some(mut patterns) = users_patterns(repository, files, git) else {
        return Ok(());
    };
    git.budget.take_bytes(patterns.len())?;
    let own = file::contents(&git.scratch.path().join(OWN_PATTERNS), MAX_COPIED)?;
    patterns.push(b'\n');
    patterns.extend(own.unwrap_or_default());
    git.scratch.write(OWN_PATTERNS, &patterns)
}

/// The text of the user's own ignore file. A link in its place, or in the place of a folder below
/// the home, is not followed, and its name must have `ignore` in it: a project can set `HOME`, and
/// the text stands for a while where a shell may read it. None if the file is missing, too long or
/// reached by a link, if it lies in the checkout, or if [`users_file`] knows none.
fn users_patterns(
    repository: &Repository,
    files: &mut SettingsFiles,
    git: &mut Git<'_>,
) -> Option<Vec<u8>> {
    let home = real_path(Path::new(&env::var_os("HOME")?))?;
    let path = users_file(repository, files, git, &home)?;
    let name = path.file_name()?.to_string_lossy();
    if !name.contains("ignore") || path.starts_with(repository.top()) {
        return None;
    }
    file::contents(&path, MAX_FILE_BYTES).ok()?
}

/// The file with what the git of the user with this home ignores: the one that `core.excludesFile`
/// of the user's or the system's settings names, if its path is absolute or begins with `~/`; without
/// this setting, `git/ignore` in `XDG_CONFIG_HOME`, or if this variable is not set or empty, in
/// `~/.config`.
///
/// None if it may be another file, or none: by this setting of the project, by a file that the
/// project's or the user's settings include, or by a variable such as `GIT_CONFIG_GLOBAL`. None also
/// if settings cannot be read.
fn users_file(
    repository: &Repository,
    files: &mut SettingsFiles,
    git: &mut Git<'_>,
    home: &Path,
) -> Option<PathBuf> {
    for (name, _) in env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"GIT_CONFIG") {
            return None;
        }
    }
    for path in own_files(repository) {
        for setting in files.read(git, &path).ok()?? {
            if setting.key == SETTING || setting.key.starts_with("include") {
                return None;
            }
        }
    }
    let mut named = None;
    // The first file that has the setting counts, and of one file its last line.
    for path in users_files().iter().filter_map(|file| real_path(file)) {
        let mut named_here = None;
        for setting in files.read(git, &path).ok()?? {
            if setting.key.starts_with("include") {
                return None;
            }
            if setting.key == SETTING {
                named_here = Some(&setting.value);
            }
        }
        named = named.or_else(|| named_here.cloned());
    }
    let Some(typed) = named else {
        return Some(users_folder(home).join("ignore"));
    };
    let chosen = match typed.strip_prefix("~/") {
        Some(below) => home.join(below),
        None => PathBuf::from(typed),
    };
    Some(chosen).filter(|path| path.is_absolute())
}
