//! Reads git's configuration as data: where the checkout is, where a push goes, and what it sends
//! besides what is named. None of it counts for the git that we run.

use crate::{Extra, Repository, Uncollected, file, git::Git};
use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    env, fs,
    path::{Path, PathBuf},
};

/// The bytes of a file of settings at most, and of one that they name.
pub(crate) const MAX_FILE_BYTES: usize = 1 << 20;

/// How many files of settings are read for one push.
const MAX_SETTINGS_FILES: usize = 20;

/// The system's files, of the gits that are looked for.
const SYSTEM_FILES: [&str; 3] = [
    "/etc/gitconfig",
    "/usr/local/etc/gitconfig",
    "/opt/homebrew/etc/gitconfig",
];

/// Variables that name further files.
const VARIABLES: [&str; 2] = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"];

/// Values of `push.default` with which a push sends one branch.
const ONE_BRANCH_VALUES: [&str; 5] = ["current", "nothing", "simple", "tracking", "upstream"];

/// Values that switch a setting off.
const OFF_VALUES: [&str; 5] = ["", "0", "false", "no", "off"];

/// What git's settings say of a push.
#[derive(Default)]
pub(crate) struct PushSettings {
    /// The most that a setting sends besides what the push's words name.
    pub(crate) extra: Extra,
    /// The value of each setting, by its name as in [`Setting::key`].
    values: BTreeMap<String, String>,
    /// The names of all remotes.
    remotes: BTreeSet<String>,
}

/// The files of settings that were read for one call, each by its path. A file is read once: all
/// that is judged by it is judged by the same state.
#[derive(Default)]
pub(crate) struct SettingsFiles(BTreeMap<PathBuf, Option<Vec<Setting>>>);

/// A setting, such as `push.default` with `matching`.
#[derive(Clone)]
pub(crate) struct Setting {
    /// Its name, in small letters but for the part in quotes.
    pub(crate) key: String,
    pub(crate) value: String,
}

/// Checks that each `core.worktree` that git reads in the repository's own settings names the
/// folder of our checkout, and that none of them has git take a message or attributes from
/// elsewhere.
///
/// # Errors
/// [`Uncollected::Elsewhere`] if one names another folder, or one that does not exist; if
/// `attr.tree` or `core.attributesFile` is set, or `commit.template` to a file outside of the
/// checkout; or if a file of these settings is a link or is no regular file; and see [`Git::run`].
#[expect(clippy::disallowed_methods, reason = "a repository may be anybody's")]
pub(crate) fn check_checkout(
    repository: &Repository,
    files: &mut SettingsFiles,
    git: &mut Git<'_>,
) -> Result<(), Uncollected> {
    // In a linked worktree, git reads `core.worktree` only if the extension below is set.
    let mut is_read_by_git = repository.git == repository.common;
    for path in own_files(repository) {
        // A file that git does not understand (None) counts as empty: with it, git publishes
        // nothing.
        let found = match files.read(git, &path) {
            Err(Uncollected::Unreadable) => return Err(Uncollected::Elsewhere),
            read => read?.unwrap_or_default(),
        };
        is_read_by_git |= found
            .iter()
            .any(|setting| setting.key == "extensions.worktreeconfig");
        for setting in found {
            let is_elsewhere = match &*setting.key {
                "attr.tree" | "core.attributesfile" => true,
                // A message may begin with a file of the project's.
                "commit.template" => !fs::canonicalize(repository.top().join(&setting.value))
                    .is_ok_and(|real| real.starts_with(repository.top())),
                "core.worktree" if is_read_by_git => {
                    let named = fs::canonicalize(repository.git.join(&setting.value)).ok();
                    named.is_none() || named != repository.checkout
                }
                _ => false,
            };
            if is_elsewhere {
                return Err(Uncollected::Elsewhere);
            }
        }
    }
    Ok(())
}

/// What git's settings say of a push: those of the system, the user and the repository. A setting
/// that git reads later takes the place of the one before. Of files that these include, only what a
/// push sends besides counts ([`PushSettings::extra`]).
///
/// If the settings are not all known, the answer has [`Extra::All`], and those that were read
/// before. That is so if a file of settings cannot be read or understood; if there are more than 20
/// files; if a variable may have a setting of a push; if there is a file or folder `remotes`; or if
/// a setting includes a file that nobody knows, or one of the project's includes one outside the
/// checkout.
///
/// # Errors
/// [`Uncollected::TooSlow`], and if git cannot be started.
pub(crate) fn of_push(
    repository: &Repository,
    files: &mut SettingsFiles,
    git: &mut Git<'_>,
) -> Result<PushSettings, Uncollected> {
    let mut found = PushSettings::default();
    // Git reads a remote of the old form here, if its settings do not have it. Anything that is
    // there counts, also what cannot be read.
    let has_old_remotes = file::first_bytes(&repository.common.join("remotes"), 0) != Ok(None);
    if has_old_remotes || names_push_in_variables() {
        return Ok(found.with_unknown());
    }
    let mut queue = Queue::of(repository);
    let mut count = 0;
    while let Some(path) = queue.left.pop() {
        count += 1;
        // The project's own files have no links in their paths. Another file that is not there has
        // no settings.
        let real = if queue.own.contains(&path) {
            Some(path.clone())
        } else {
            real_path(&path)
        };
        let Some(path_to_read) = real else {
            continue;
        };
        let known = match files.read(git, &path_to_read) {
            Err(Uncollected::Unreadable | Uncollected::TooMuch) => None,
            read => read?,
        };
        // With too many files, the settings are not known either.
        let Some(settings) = known.filter(|_| count <= MAX_SETTINGS_FILES) else {
            return Ok(found.with_unknown());
        };
        for setting in settings {
            // Each condition counts as true.
            let is_conditional = setting.key.starts_with("includeif.");
            let includes = setting.key == "include.path" || is_conditional;
            if includes && !queue.include(&path, &setting.value) {
                return Ok(found.with_unknown());
            }
            found.extra = found.extra.max(setting.extra());
            // Nobody knows whether a condition is true: an included file chooses no remote.
            if !queue.included.contains(&path) {
                found.add(setting.clone());
            }
        }
    }
    Ok(found)
}

/// The files that are read for one push.
struct Queue<'r> {
    /// The checkout's folder.
    top: &'r Path,
    /// The project's: the repository's own, and those that these include.
    own: Vec<PathBuf>,
    /// Those that another one includes.
    included: Vec<PathBuf>,
    /// Those that are not read yet. The last is read next.
    left: Vec<PathBuf>,
}

impl<'r> Queue<'r> {
    /// The system's, then the user's, then the repository's: what is read later counts.
    fn of(repository: &'r Repository) -> Self {
        let own = own_files(repository);
        let mut left = own.clone();
        left.reverse();
        left.extend(users_files());
        Self {
            top: repository.top(),
            own,
            included: Vec::new(),
            left,
        }
    }

    /// Adds the file that the file `from` includes by this value. False if nobody knows which file
    /// it is, or if `from` is the project's and the file lies outside of the checkout: a project
    /// could otherwise have us read any file.
    fn include(&mut self, from: &Path, value: &str) -> bool {
        let Some(mut included) = included_path(from, value) else {
            return false;
        };
        if self.own.iter().any(|file| file == from) {
            let Some(real) = real_path(&included) else {
                return true;
            };
            if !real.starts_with(self.top) {
                return false;
            }
            self.own.push(real.clone());
            included = real;
        }
        self.included.push(included.clone());
        self.left.push(included);
        true
    }
}

impl SettingsFiles {
    /// What [`settings_in`] says of this file. If it was read before, what it said then.
    ///
    /// # Errors
    /// Those of [`settings_in`].
    pub(crate) fn read(
        &mut self,
        git: &mut Git<'_>,
        path: &Path,
    ) -> Result<Option<&[Setting]>, Uncollected> {
        let settings = match self.0.entry(path.to_owned()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unread) => unread.insert(settings_in(git, path)?),
        };
        Ok(settings.as_deref())
    }
}

impl PushSettings {
    /// Takes a setting. One of the same name that was read before counts no longer.
    fn add(&mut self, setting: Setting) {
        // `remote.pushDefault` has no second dot: it is no remote's.
        if let Some(rest) = setting.key.strip_prefix("remote.")
            && let Some((name, _variable)) = rest.rsplit_once('.')
        {
            self.remotes.insert(name.to_owned());
        }
        self.values.insert(setting.key, setting.value);
    }

    /// These settings, if there are others that nobody knows.
    fn with_unknown(mut self) -> Self {
        self.extra = Extra::All;
        self
    }

    /// The remote to which git pushes HEAD's branch, such as `refs/heads/main`, if a call names no
    /// remote. The first of these settings that is there says it: `branch.main.pushRemote`,
    /// `remote.pushDefault`, `branch.main.remote`. One that says `.`, the repository itself, does
    /// not count. Without these, the only remote that the settings have; or `origin` if they have
    /// none or several. If HEAD is on no branch (None), only `remote.pushDefault` is asked.
    pub(crate) fn default_remote(&self, branch: Option<&str>) -> &str {
        let full_name = branch.unwrap_or_default();
        let name = full_name.trim_start_matches("refs/heads/");
        let keys = [
            format!("branch.{name}.pushremote"),
            "remote.pushdefault".to_owned(),
            format!("branch.{name}.remote"),
        ];
        for key in &keys {
            if let Some(remote) = self.values.get(key)
                && remote != "."
            {
                return remote;
            }
        }
        match self.remotes.first() {
            Some(only) if self.remotes.len() == 1 => only,
            _ => "origin",
        }
    }

    /// Whether the settings have a remote of this name. An address is the name of none.
    pub(crate) fn has_remote(&self, name: &str) -> bool {
        self.remotes.contains(name)
    }

    /// Whether the settings have a remote of this name at another machine's address, such as
    /// `git@host:app.git` or `https://host/app.git`. False for a folder: `../app`, `file:///srv/app`.
    pub(crate) fn is_elsewhere(&self, name: &str) -> bool {
        let address = self.values.get(&format!("remote.{name}.url"));
        address.is_some_and(|it| it.contains(':') && !it.starts_with("file:"))
    }

    /// The remote and the branch of `origin/x/y`: `origin` and `x/y`, or if the settings have a
    /// remote `origin/x`, this and `y`. None without a slash.
    pub(crate) fn split_at_remote<'n>(&self, name: &'n str) -> Option<(&'n str, &'n str)> {
        // The longest name stands last.
        for remote in self.remotes.iter().rev() {
            if let Some(rest) = name.strip_prefix(remote.as_str())
                && let Some(branch) = rest.strip_prefix('/')
            {
                return Some((name.strip_suffix(rest)?, branch));
            }
        }
        name.split_once('/')
    }
}

impl Setting {
    /// What a push sends by this setting, besides what its words name.
    fn extra(&self) -> Extra {
        let is_off = OFF_VALUES.contains(&&*self.value.to_ascii_lowercase());
        let is_of_a_remote = self.key.starts_with("remote.");
        match &*self.key {
            "push.default" if !ONE_BRANCH_VALUES.contains(&&*self.value) => Extra::All,
            "push.followtags" if !is_off => Extra::Tags,
            key if is_of_a_remote && key.ends_with(".push") => Extra::All,
            key if is_of_a_remote && key.ends_with(".mirror") && !is_off => Extra::All,
            _ => Extra::Nothing,
        }
    }
}

/// The repository's own files.
pub(crate) fn own_files(repository: &Repository) -> Vec<PathBuf> {
    vec![
        repository.common.join("config"),
        repository.git.join("config.worktree"),
    ]
}

/// The paths of the files with settings of the user and of the system, whether the files exist or
/// not: those that the variables [`VARIABLES`] name, those in the home and in `XDG_CONFIG_HOME` if
/// these variables are set, and those of the system. Git takes the first that has a setting.
pub(crate) fn users_files() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = VARIABLES
        .iter()
        .filter_map(env::var_os)
        .map(PathBuf::from)
        .collect();
    if let Some(home) = env::var_os("HOME").map(PathBuf::from) {
        files.push(home.join(".gitconfig"));
        files.push(users_folder(&home).join("config"));
    }
    files.extend(SYSTEM_FILES.map(PathBuf::from));
    files
}

/// The folder of git's files of the user with this home: `git` in `XDG_CONFIG_HOME`, or if this
/// variable is not set or empty, in `~/.config`.
pub(crate) fn users_folder(home: &Path) -> PathBuf {
    let named = env::var_os("XDG_CONFIG_HOME").filter(|folder| !folder.is_empty());
    let folder = named.map_or_else(|| home.join(".config"), PathBuf::from);
    folder.join("git")
}

/// Whether a variable of the environment may have a setting that counts for a push: one of git's
/// variables for settings (`GIT_CONFIG_KEY_…`, `GIT_CONFIG_PARAMETERS`) has `push`, `remote.`,
/// `branch.` or `include` in it, in capitals or not.
fn names_push_in_variables() -> bool {
    for (name, content) in env::vars_os() {
        let variable = name.to_string_lossy();
        let text = content.to_string_lossy().to_ascii_lowercase();
        let has_settings =
            variable.starts_with("GIT_CONFIG_KEY_") || variable == "GIT_CONFIG_PARAMETERS";
        let words = ["push", "remote.", "branch.", "include"];
        if has_settings && words.iter().any(|word| text.contains(word)) {
            return true;
        }
    }
    false
}

/// The file that the file `from` includes by this value: for `a` in `/w/config`, `/w/a`; for `~/a`,
/// `a` in `HOME`. None if nobody knows which file it is: the value begins with `%`, or with `~` but
/// not with `~/`; the value is no UTF-8; or `~/` is used and there is no `HOME`.
fn included_path(from: &Path, value: &str) -> Option<PathBuf> {
    if let Some(rest) = value.strip_prefix("~/") {
        return Some(PathBuf::from(env::var_os("HOME")?).join(rest));
    }
    if value.starts_with(['~', '%']) || value.contains(char::REPLACEMENT_CHARACTER) {
        return None;
    }
    Some(from.parent()?.join(value))
}

/// The path without links to which this one leads. None if nothing is there.
#[expect(clippy::disallowed_methods, reason = "nothing is read there")]
pub(crate) fn real_path(path: &Path) -> Option<PathBuf> {
    fs::canonicalize(path).ok()
}

/// The settings in this file, without those of files that it includes. An empty list if there is no
/// file. None if git does not understand the file.
///
/// # Errors
/// [`Uncollected::Unreadable`] if it is no regular file, such as a link; [`Uncollected::TooMuch`]
/// if it has more than [`MAX_FILE_BYTES`]; and those of [`Git::run`] but `Unreadable`.
fn settings_in(git: &mut Git<'_>, path: &Path) -> Result<Option<Vec<Setting>>, Uncollected> {
    let Some(bytes) = file::contents(path, MAX_FILE_BYTES)? else {
        return Ok(Some(Vec::new()));
    };
    let arguments = ["config", "--file", "-", "--no-includes", "--list", "-z"];
    let printed = match git.run(&arguments, &bytes) {
        Err(Uncollected::Unreadable) => return Ok(None),
        ran => ran?,
    };
    let mut settings = Vec::new();
    for line in String::from_utf8_lossy(&printed).split_terminator('\0') {
        // `[push] followTags` without a value is true.
        let (key, value) = line.split_once('\n').unwrap_or((line, "true"));
        settings.push(Setting {
            key: key.to_owned(),
            value: value.to_owned(),
        });
    }
    Ok(Some(settings))
}
