//! Reads git's configuration as data: where the checkout is, and what a push sends besides what is
//! named. None of it counts for the git that we run.

use crate::{Repository, Uncollected, file, git::Git};
use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

/// The bytes of a file of settings at most.
const FILE: usize = 1 << 20;

/// How many files of settings are read for one push.
const MAX_FILES: usize = 20;

/// The system's files, of the gits that are looked for.
const OF_SYSTEM: [&str; 3] = [
    "/etc/gitconfig",
    "/usr/local/etc/gitconfig",
    "/opt/homebrew/etc/gitconfig",
];

/// Variables that name further files.
const NAMING: [&str; 2] = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"];

/// Values of `push.default` with which a push sends one branch.
const ONE_BRANCH: [&str; 5] = ["current", "nothing", "simple", "tracking", "upstream"];

/// Values that switch a setting off.
const OFF: [&str; 5] = ["", "0", "false", "no", "off"];

/// What a push sends besides what its words name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Added {
    Nothing,
    /// The tags that lead to what is sent. All are taken for such.
    Tags,
    /// Perhaps all that has a name.
    All,
}

/// A setting, such as `push.default` with `matching`.
struct Setting {
    /// Its name, in small letters but for the part in quotes.
    key: String,
    value: String,
}

/// Checks that git takes the checkout of this repository where we do.
///
/// # Errors
/// [`Uncollected::Elsewhere`] if `core.worktree` names another folder.
#[expect(clippy::disallowed_methods, reason = "a repository may be anybody's")]
pub(crate) fn check_checkout(
    repository: &Repository,
    git: &mut Git<'_>,
) -> Result<(), Uncollected> {
    // A linked worktree has no such setting, but with this extension.
    let mut counts = repository.git == repository.common;
    for path in own_files(repository) {
        // Where git understands nothing, it publishes nothing.
        let read = settings(git, &path)?.unwrap_or_default();
        counts |= read
            .iter()
            .any(|setting| setting.key == "extensions.worktreeconfig");
        for setting in read {
            if counts && setting.key == "core.worktree" {
                let named = fs::canonicalize(repository.git.join(setting.value)).ok();
                if named.is_none() || named != repository.checkout {
                    return Err(Uncollected::Elsewhere);
                }
            }
        }
    }
    Ok(())
}

/// What a push adds by the settings of the repository, the user and the system.
///
/// # Errors
/// [`Uncollected::TooSlow`], or git cannot be started.
pub(crate) fn added(repository: &Repository, git: &mut Git<'_>) -> Result<Added, Uncollected> {
    // Git reads this one as well, where there is no such remote in its settings.
    let is_old = file::start(&repository.common.join("remotes"), 0) != Ok(None);
    if is_old || names_push_in_variables() {
        return Ok(Added::All);
    }
    let mut left = own_files(repository);
    left.extend(users_files());
    let mut added = Added::Nothing;
    let mut count = 0;
    while let Some(path) = left.pop() {
        count += 1;
        let read = match settings(git, &path) {
            Err(Uncollected::Unreadable | Uncollected::TooMuch) => None,
            read => read?,
        };
        let Some(settings) = read.filter(|_| count <= MAX_FILES) else {
            return Ok(Added::All);
        };
        for setting in settings {
            let is_condition = setting.key.starts_with("includeif.");
            if setting.key == "include.path" || is_condition {
                let Some(included) = included(&path, &setting.value) else {
                    return Ok(Added::All);
                };
                left.push(included);
            }
            added = added.max(setting.adds());
        }
    }
    Ok(added)
}

impl Setting {
    /// What a push adds by this setting.
    fn adds(&self) -> Added {
        let is_off = OFF.contains(&&*self.value.to_ascii_lowercase());
        let is_remotes = self.key.starts_with("remote.");
        match &*self.key {
            "push.default" if !ONE_BRANCH.contains(&&*self.value) => Added::All,
            "push.followtags" if !is_off => Added::Tags,
            key if is_remotes && key.ends_with(".push") => Added::All,
            key if is_remotes && key.ends_with(".mirror") && !is_off => Added::All,
            _ => Added::Nothing,
        }
    }
}

/// The repository's own files.
fn own_files(repository: &Repository) -> Vec<PathBuf> {
    vec![
        repository.common.join("config"),
        repository.git.join("config.worktree"),
    ]
}

/// The files of the user and of the system.
fn users_files() -> Vec<PathBuf> {
    let mut files = OF_SYSTEM.map(PathBuf::from).to_vec();
    if let Some(home) = env::var_os("HOME").map(PathBuf::from) {
        files.push(home.join(".gitconfig"));
        files.push(home.join(".config/git/config"));
    }
    if let Some(folder) = env::var_os("XDG_CONFIG_HOME").map(PathBuf::from) {
        files.push(folder.join("git/config"));
    }
    files.extend(NAMING.iter().filter_map(env::var_os).map(PathBuf::from));
    files
}

/// Whether a variable such as `GIT_CONFIG_KEY_0` may have a setting of a push.
fn names_push_in_variables() -> bool {
    for (name, content) in env::vars_os() {
        let variable = name.to_string_lossy();
        let text = content.to_string_lossy().to_ascii_lowercase();
        let has_setting =
            variable.starts_with("GIT_CONFIG_KEY_") || variable == "GIT_CONFIG_PARAMETERS";
        let words = ["push", "remote.", "include"];
        if has_setting && words.iter().any(|word| text.contains(word)) {
            return true;
        }
    }
    false
}

/// The file that a file of settings includes by this value. None if nobody knows which one.
fn included(from: &Path, value: &str) -> Option<PathBuf> {
    if let Some(rest) = value.strip_prefix("~/") {
        return Some(PathBuf::from(env::var_os("HOME")?).join(rest));
    }
    if value.starts_with(['~', '%']) || value.contains(char::REPLACEMENT_CHARACTER) {
        return None;
    }
    Some(from.parent()?.join(value))
}

/// The settings of this file, whose links are followed: none if there is no file. None if git does
/// not understand the file.
///
/// # Errors
/// [`Uncollected::Unreadable`] if it is no regular file; and see [`Git::run`].
#[expect(clippy::disallowed_methods, reason = "a repository may be anybody's")]
fn settings(git: &mut Git<'_>, path: &Path) -> Result<Option<Vec<Setting>>, Uncollected> {
    let real = match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Some(Vec::new())),
        found => found?,
    };
    let bytes = file::contents(&real, FILE)?.unwrap_or_default();
    let arguments = ["config", "--file", "-", "--no-includes", "--list", "-z"];
    let printed = match git.run(&arguments, &String::from_utf8_lossy(&bytes)) {
        Err(Uncollected::Unreadable) => return Ok(None),
        ran => ran?,
    };
    let mut settings = Vec::new();
    for line in String::from_utf8_lossy(&printed).split_terminator('\0') {
        let (key, value) = line.split_once('\n').unwrap_or((line, "true"));
        settings.push(Setting {
            key: key.to_owned(),
            value: value.to_owned(),
        });
    }
    Ok(Some(settings))
}
