//! Whether the settings of Claude Code hold its shells in its own sandbox, and what lets a shell
//! past. What was seen of that sandbox stands in docs/shells.md.
#![allow(clippy::disallowed_methods, reason = "the client's own files")]

mod project;

use crate::{
    paths::{named_and_real, without_links},
    rules::{Denied, Places},
    settings::{Settings, items, lines_at, pointer},
};
use keyhole_walk::normal;
use project::{sets_variable, still_open, what_projects_undo};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The switches in `sandbox`, each with the value that it must have: a shell runs in the sandbox,
/// no call may leave the sandbox, and the client does not start without one.
const SWITCHES: [(&str, bool); 3] = [
    ("enabled", true),
    ("allowUnsandboxedCommands", false),
    ("failIfUnavailable", true),
];

/// The switches in `sandbox` that open the sandbox if they are true: to each socket, behind which a
/// program may run commands outside; to namespaces in which a shell renames the folder above what
/// is denied; to the machine's own `/proc`; and to all files.
const OPENING_SWITCHES: [&str; 4] = [
    "network/allowAllUnixSockets",
    "allowNestedUserNamespaces",
    "enableWeakerNestedSandbox",
    "filesystem/disabled",
];

/// The lists in `sandbox` that open the sandbox for what they name: programs, and sockets. The list
/// of sockets counts only on macOS: elsewhere, the client takes no notice of it (2.1.332).
const OPENING_LISTS: &[&str] = if cfg!(target_os = "macos") {
    &["excludedCommands", "network/allowUnixSockets"]
} else {
    &["excludedCommands"]
};

/// Variables by which a project chooses what starts the sandbox, outside of it: the folders of
/// programs, the shell and what it runs first, and what is loaded into a program. By the last two,
/// a project chooses what a program of the client's own runs, and who is sent the conversation.
const PINNED: [&str; 15] = [
    "PATH",
    "SHELL",
    "CLAUDE_CODE_SHELL",
    "CLAUDE_CODE_SHELL_PREFIX",
    "BASH_ENV",
    "SHELLOPTS",
    "PS4",
    "ZDOTDIR",
    "LD_PRELOAD",
    "LD_AUDIT",
    "LD_LIBRARY_PATH",
    "NODE_OPTIONS",
    "OPENSSL_CONF",
    "GIT_EXEC_PATH",
    "ANTHROPIC_BASE_URL",
];

const DENY_READ: [&str; 3] = ["sandbox", "filesystem", "denyRead"];
const DENY_WRITE: [&str; 3] = ["sandbox", "filesystem", "denyWrite"];

/// The lists of paths in `sandbox.filesystem`.
const LISTS: [&str; 4] = ["allowRead", "allowWrite", "denyRead", "denyWrite"];

const NO_SANDBOX: &str = "any shell command of the main conversation can read your files: Claude Code's own sandbox is off. In a terminal, `keyhole setup`, or for the plugin `keyhole setup plugin`, offers to switch it on";
const IN_SANDBOX: &str = "The client's own sandbox is on (Claude Code newer than 2.1.290)";
const BY_MANAGED: &str = "the administrator's settings keep shell commands from your files";
const BY_USER: &str = "your settings keep shell commands from your files, as long as no project's settings switch that off";
const COPIES: &str = "A copy elsewhere, as an editor keeps one, stays open. If a file is denied without its folder, a shell that is still running can read the file once an editor has saved it by renaming.";
const PAST_BY_PROJECT: &str =
    "a shell command may get past Claude Code's own sandbox, by what a project says";
const WHAT_TO_DO: &str = concat!(
    "Take these lines out, or have an administrator hold the sandbox: ",
    env!("CARGO_PKG_REPOSITORY"),
    "/blob/main/docs/shells.md says how"
);
const GETS_PAST: &str = "a shell command can get past Claude Code's own sandbox";

/// A setting without which the sandbox does not hold shells.
#[derive(Clone, Debug, PartialEq)]
pub struct Needed {
    /// The keys that lead to it, from the outermost one.
    pub place: Vec<&'static str>,
    /// The value at this place; or, if this is a list, items that the list there must have.
    pub value: Value,
}

impl Needed {
    /// The setting at this place, with this value.
    fn new(place: &[&'static str], value: impl Into<Value>) -> Self {
        Self {
            place: place.to_vec(),
            value: value.into(),
        }
    }

    /// The part of this setting that none of these files has: of a list, the items that no file
    /// lists, nor a folder above them; of a switch, the switch, if no file sets it. None if nothing
    /// is missing. A switch that a file sets to another value is not missing: [`Shells::weak`]
    /// tells of it.
    fn missing_in(&self, files: &[&Value]) -> Option<Self> {
        let at = pointer(&self.place);
        let values: Vec<&Value> = files.iter().filter_map(|file| file.pointer(&at)).collect();
        let mut missing = self.clone();
        if let Value::Array(wanted) = &mut missing.value {
            let listed: Vec<&Value> = values.into_iter().flat_map(items).collect();
            wanted.retain(|item| !listed.iter().any(|one| is_same_or_above(one, item)));
            if wanted.is_empty() {
                return None;
            }
        } else if !values.is_empty() {
            // The switch is set, to whatever value.
            return None;
        }
        Some(missing)
    }
}

/// Whether an item of a list is the wanted path, or a folder above it: `~/.claude` is above
/// `~/.claude/projects`. False if one of the two is no text.
fn is_same_or_above(listed: &Value, wanted: &Value) -> bool {
    let (Some(listed), Some(wanted)) = (listed.as_str(), wanted.as_str()) else {
        return false;
    };
    let below = wanted.strip_prefix(listed.trim_end_matches('/'));
    below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
}

/// All settings without which the sandbox does not hold shells: the switches; in `denyRead`, the
/// client's folder `projects` with agents' transcripts, also for a shell that runs already; in
/// `denyWrite`, what the client reads or starts outside of the sandbox, as these `programs`; and
/// deny rules that keep Claude from changing these settings.
fn needed_settings(places: &Places, programs: &[PathBuf]) -> Vec<Needed> {
    let mut all = Vec::new();
    for (switch, wanted) in SWITCHES {
        all.push(Needed::new(&["sandbox", switch], wanted));
    }
    let conversations = json!([format!("{}/projects", places.shown)]);
    all.push(Needed::new(&DENY_READ, conversations));
    all.push(Needed::new(&DENY_WRITE, places.outside(programs)));
    all.push(Needed::new(&["permissions", "deny"], places.edit_rules()));
    all
}

/// Whether the settings keep shells in the sandbox, and by what a shell gets past it.
#[derive(Debug)]
pub struct Shells {
    /// Whether an administrator's settings alone do that, so that no other settings undo it.
    pub are_managed: bool,
    /// The needed settings that neither the user nor an administrator has set.
    pub lacks: Vec<Needed>,
    /// The keys of the user's or an administrator's settings that let a shell past the sandbox,
    /// each with its file. Empty if there are none.
    pub weak: String,
    /// The lists with a pattern for which the client looks through folders at each command, each
    /// with its file. Empty if there are none.
    pub slow_lists: String,
    /// The keys of a project's settings by which a shell may get past the sandbox, in sentences.
    /// Empty if there are none.
    projects_undo: String,
}

impl Shells {
    /// Whether these settings keep shells from `files`, and by what a shell gets past the sandbox:
    /// see the fields. The client starts the `programs` itself, outside of the sandbox, so no shell
    /// may write them. None if a variable leads to a place that no rule can name, or if the client
    /// does not load the user's settings.
    pub fn of(settings: &Settings, files: &[PathBuf], programs: &[PathBuf]) -> Option<Self> {
        let places = settings.places.as_ref().ok()?;
        let user_file = settings.rules_file()?;
        let are_managed = holds_alone(&settings.managed, places, files);
        let mut slow_lists = slow_lists_in(&user_file, &settings.value);
        let mut weak = Vec::new();
        for managed in &settings.managed {
            let file = "the administrator's settings";
            let mut keys = keys_that_open(managed);
            keys.extend(keys_that_weaken(managed, places, files));
            weak.extend(keys_in_file(file, &keys));
            slow_lists.extend(slow_lists_in(file, managed));
        }
        // If an administrator's settings alone hold shells, the user's keys that open the sandbox
        // still count, and what projects may do all the same.
        let mut keys = keys_that_open(&settings.value);
        let projects_undo = if are_managed {
            still_open(&settings.projects, &settings.managed)
        } else {
            keys.extend(keys_that_weaken(&settings.value, places, files));
            what_projects_undo(&settings.projects)
        };
        weak.extend(keys_in_file(&user_file, &keys));
        let counting: Vec<_> = settings.users_and_managed().collect();
        let mut lacks: Vec<_> = needed_settings(places, programs)
            .iter()
            .filter_map(|needed| needed.missing_in(&counting))
            .collect();
        if are_managed {
            // Of what is missing, an administrator's settings replace all but `denyWrite`.
            lacks.retain(|needed| needed.place == DENY_WRITE);
        }
        Some(Self {
            are_managed,
            lacks,
            weak: weak.join("; "),
            slow_lists: slow_lists.join(", "),
            projects_undo,
        })
    }

    /// A sentence that the sandbox holds shell commands, by whose settings, and what it does not
    /// hold. `file` is the user's settings file, as people see its name.
    ///
    /// # Errors
    /// A sentence about the first of these reasons why a shell gets past the sandbox: a key of the
    /// user's or an administrator's settings opens it (`weak`), since setup switches no sandbox on
    /// that has such a key; no settings switch the sandbox on; a project may open it (`projects_undo`); or settings are missing, which the user is to add
    /// to `file` (`lacks`).
    pub fn held_or_why_not(&self, file: &str) -> Result<String, String> {
        if !self.weak.is_empty() {
            let weak = &self.weak;
            return Err(format!("{GETS_PAST}, since these settings let it: {weak}"));
        }
        let mut lacks = self.lacks.iter();
        if lacks.any(|needed| needed.place == ["sandbox", "enabled"]) {
            return Err(NO_SANDBOX.to_owned());
        }
        if !self.projects_undo.is_empty() {
            return Err(format!(
                "{PAST_BY_PROJECT}.{} {WHAT_TO_DO}",
                self.projects_undo
            ));
        }
        if self.lacks.is_empty() {
            let by = if self.are_managed {
                BY_MANAGED
            } else {
                BY_USER
            };
            return Ok(format!("{IN_SANDBOX}: {by}. {COPIES}"));
        }
        let lines: Vec<_> = self
            .lacks
            .iter()
            .flat_map(|needed| lines_at(&needed.place, &needed.value))
            .collect();
        Err(format!("{GETS_PAST}. Add to {file}: {}", lines.join(", ")))
    }
}

/// Whether an administrator's settings alone keep shells in the sandbox, so that no settings of the
/// user or of a project undo that. Four things are needed: the switches in [`SWITCHES`];
/// `allowManagedReadPathsOnly`, so that no other settings open a path for reading; a value for each
/// variable in [`PINNED`]; and all deny rules `Read(…)` for these files.
fn holds_alone(managed: &[Value], places: &Places, files: &[PathBuf]) -> bool {
    for (switch, wanted) in SWITCHES {
        if !is_set_in_sandbox(managed, switch, wanted) {
            return false;
        }
    }
    if !is_set_in_sandbox(managed, "filesystem/allowManagedReadPathsOnly", true) {
        return false;
    }
    for variable in PINNED {
        if !sets_variable(managed, variable) {
            return false;
        }
    }
    let missing = places.missing(&Denied::of(managed), files, false);
    !missing.rules.iter().any(|rule| rule.starts_with("Read("))
}

/// Whether one of these files has this value at this place in `sandbox`, as `filesystem/disabled`.
fn is_set_in_sandbox(managed: &[Value], key: &str, wanted: bool) -> bool {
    let pointer = format!("/sandbox/{key}");
    managed
        .iter()
        .any(|one| one.pointer(&pointer) == Some(&Value::Bool(wanted)))
}

/// The keys of these settings that open the sandbox, whatever other settings say: each of
/// [`OPENING_SWITCHES`] that is true, and each of [`OPENING_LISTS`] with an item. For example,
/// `sandbox.excludedCommands` if that list has `git`. Empty if no key does.
fn keys_that_open(settings: &Value) -> Vec<String> {
    let sandbox = &settings["sandbox"];
    let mut keys = Vec::new();
    for key in OPENING_SWITCHES {
        if sandbox.pointer(&format!("/{key}")) == Some(&Value::Bool(true)) {
            keys.push(key_for_people(key));
        }
    }
    for key in OPENING_LISTS {
        let list = sandbox.pointer(&format!("/{key}"));
        if list.is_some_and(|list| !items(list).is_empty()) {
            keys.push(key_for_people(key));
        }
    }
    keys
}

/// A key in `sandbox` for people: `sandbox.filesystem.disabled` for `filesystem/disabled`.
fn key_for_people(key: &str) -> String {
    format!("sandbox.{}", key.replace('/', "."))
}

/// The keys of the user's or an administrator's settings that take down a part of the sandbox: each
/// of [`SWITCHES`] that is set to another value; `allowRead`, if it opens one of `files` or the
/// client's transcripts; and `enabledPlatforms`, if this system is not in that list. Empty if no
/// key does.
fn keys_that_weaken(settings: &Value, places: &Places, files: &[PathBuf]) -> Vec<String> {
    let sandbox = &settings["sandbox"];
    let mut keys = Vec::new();
    for (switch, wanted) in SWITCHES {
        if sandbox.get(switch).is_some_and(|value| *value != wanted) {
            keys.push(key_for_people(switch));
        }
    }
    let mut allowed = items(&sandbox["filesystem"]["allowRead"]).iter();
    if allowed.any(|path| opens_denied_path(path, places, files)) {
        keys.push(key_for_people("filesystem/allowRead"));
    }
    if leaves_platform_out(&sandbox["enabledPlatforms"]) {
        keys.push(key_for_people("enabledPlatforms"));
    }
    keys
}

/// The keys with the name of their file: `sandbox.enabled in ~/.claude/settings.json`. None if
/// there are no keys.
fn keys_in_file(file: &str, keys: &[String]) -> Option<String> {
    if keys.is_empty() {
        return None;
    }
    Some(format!("{} in {file}", keys.join(", ")))
}

/// The lists of paths in the sandbox with a `**` in an item, each with the name of this file: for
/// `**`, the client looks through folders at each command.
fn slow_lists_in(file: &str, settings: &Value) -> Vec<String> {
    let filesystem = &settings["sandbox"]["filesystem"];
    let mut keys = Vec::new();
    for list in LISTS {
        let mut paths = items(&filesystem[list]).iter().filter_map(Value::as_str);
        if paths.any(|path| path.contains("**")) {
            keys.push(format!("sandbox.filesystem.{list} in {file}"));
        }
    }
    keys
}

/// Whether an entry of `allowRead` opens for shells what they must not read. These do:
///
/// - the client's folder `projects` with its transcripts, also what is in it or above it:
///   `~/.claude/projects/a/**`, `~`;
/// - an entry that is empty or no text: what the client makes of it is not known;
/// - any entry whose last name is a pattern, such as `/srv/*`;
/// - any entry whose last name is that of one of `files`, in any folder and letter case.
///
/// Other folders above a file do not: deny rules for the file and its folder still hold. Neither
/// does `~/.claude/projects/**/tool-results/**`, which an older setup wrote.
fn opens_denied_path(entry: &Value, places: &Places, files: &[PathBuf]) -> bool {
    // An entry that is no text, too, counts as empty.
    let text = entry.as_str().unwrap_or_default().trim();
    if text.is_empty() {
        return true;
    }
    if text == places.older_pattern_for_outputs() {
        return false;
    }
    let full = match text.strip_prefix('~') {
        Some(below_home) => places.home.join(below_home.trim_start_matches('/')),
        None => PathBuf::from(text),
    };
    let path = normal(Path::new(full.to_string_lossy().trim_end_matches("/**")));
    // A relative path stays: from which folder the client takes it is not known.
    let real = if path.is_absolute() {
        without_links(&path)
    } else {
        path.clone()
    };
    for transcripts in named_and_real(&places.claude.join("projects")) {
        for allowed in [&path, &real] {
            if allowed.starts_with(&transcripts) || transcripts.starts_with(allowed) {
                return true;
            }
        }
    }
    // A relative path such as `..` has no last name.
    let Some(last) = path.file_name() else {
        return false;
    };
    if last.to_string_lossy().contains(['*', '?', '[', '{']) {
        return true;
    }
    let mut paths = files.iter().flat_map(|file| named_and_real(file));
    paths.any(|path| {
        path.file_name()
            .is_some_and(|name| name.eq_ignore_ascii_case(last))
    })
}

/// Whether a list of platforms switches the sandbox off on this system. A value that is no list
/// does not.
fn leaves_platform_out(listed: &Value) -> bool {
    listed.is_array() && !items(listed).contains(&this_platform().into())
}

/// This system, as `enabledPlatforms` names it.
fn this_platform() -> &'static str {
    if cfg!(target_os = "macos") {
        return "macos";
    }
    let kernel = fs::read_to_string("/proc/version").unwrap_or_default();
    if kernel.to_lowercase().contains("microsoft") {
        "wsl"
    } else {
        "linux"
    }
}
