//! What git ignores by the settings of the user or of the system.

use crate::{Repository, Uncollected, file, git::Git, scratch::MAX_COPIED};
use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// The bytes of a file of settings or of patterns at most.
const MAX_FILE_BYTES: usize = 1 << 20;

/// The system's settings.
const SYSTEM_FILE: &str = "/etc/gitconfig";

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

/// The file with what the user's git ignores: what the last `core.excludesFile` of the system's and
/// the user's settings names, if it is an absolute path or begins with `~/`; without this setting,
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
    let projects_files = [
        repository.common.join("config"),
        repository.git.join("config.worktree"),
    ];
    for setting in settings(projects_files, git).ok()? {
        if setting.starts_with(SETTING) || setting.starts_with("include") {
            return None;
        }
    }
    let home = PathBuf::from(env::var_os("HOME")?);
    let named = env::var_os("XDG_CONFIG_HOME").filter(|folder| !folder.is_empty());
    let folder = named.map_or_else(|| home.join(".config"), PathBuf::from);
    let users_files = [
        PathBuf::from(SYSTEM_FILE),
        folder.join("git/config"),
        home.join(".gitconfig"),
    ];
    let found = settings(users_files.iter().filter_map(|file| real_path(file)), git);
    let mut chosen = folder.join("git/ignore");
    for setting in found.ok()? {
        let value = setting.strip_prefix(SETTING);
        if let Some(path) = value.and_then(|it| it.strip_prefix('\n')) {
            chosen = match path.strip_prefix("~/") {
                Some(below) => home.join(below),
                None => PathBuf::from(path),
            };
        }
    }
    Some(chosen).filter(|path| path.is_absolute())
}

/// The settings in these files, without those of files that they include, in their order. Each is
/// its name in small letters, a line's end and its value. A file that is missing has none.
///
/// # Errors
/// [`Uncollected::Unreadable`] if one is a link or no regular file, or if git does not understand
/// them; [`Uncollected::TooMuch`] if one has more than [`MAX_FILE_BYTES`]; and see [`Git::run`].
fn settings(
    files: impl IntoIterator<Item = PathBuf>,
    git: &mut Git<'_>,
) -> Result<Vec<String>, Uncollected> {
    let mut bytes = Vec::new();
    for path in files {
        bytes.extend(file::contents(&path, MAX_FILE_BYTES)?.unwrap_or_default());
        bytes.push(b'\n');
    }
    let arguments = ["config", "--file", "-", "--no-includes", "--list", "-z"];
    let printed = git.run(&arguments, bytes)?;
    let text = String::from_utf8_lossy(&printed);
    Ok(text.split('\0').map(str::to_owned).collect())
}

/// The path without links to which this one leads. None if nothing is there.
#[expect(clippy::disallowed_methods, reason = "nothing is read there")]
fn real_path(path: &Path) -> Option<PathBuf> {
    fs::canonicalize(path).ok()
}
