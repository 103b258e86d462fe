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
use project::{open_variables, sets_variable, what_projects_undo};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// What `sandbox` must say: a shell is in it, no call leaves it, and the client does not start
/// without it.
const SWITCHES: [(&str, bool); 3] = [
    ("enabled", true),
    ("allowUnsandboxedCommands", false),
    ("failIfUnavailable", true),
];

/// Where `sandbox` opens it if it is true: to each socket, behind which a program may run commands
/// outside; to namespaces in which a shell renames the folder above what is denied; to the
/// machine's own `/proc`; and to all files.
const OPENING_SWITCHES: [&str; 4] = [
    "network/allowAllUnixSockets",
    "allowNestedUserNamespaces",
    "enableWeakerNestedSandbox",
    "filesystem/disabled",
];

/// Where `sandbox` opens it for what is listed: to programs, and to sockets. Elsewhere than on
/// macOS, the client takes no notice of the second (2.1.332).
const OPENING_LISTS: &[&str] = if cfg!(target_os = "macos") {
    &["excludedCommands", "network/allowUnixSockets"]
} else {
    &["excludedCommands"]
};

/// Variables by which a project chooses what starts the sandbox, outside of it: the folders of
/// programs, the shell and what it runs first, and what is loaded into a program. By the last two
/// it chooses what a program of the client's own runs, and who is sent the conversation.
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
const IN_SANDBOX: &str = "The client's own sandbox is on (Claude Code 2.1.290 or newer)";
const BY_MANAGED: &str = "the administrator's settings keep shell commands from your files";
const BY_USER: &str = "your settings keep shell commands from your files, as long as no project's settings switch that off";
const COPIES: &str = "A copy elsewhere, as an editor keeps one, stays open.";
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
    /// What stands there; or, if this is a list, what the list there holds at least.
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
    /// lists; of a switch, the switch, if no file sets it. None if nothing is missing. A switch
    /// that a file sets to another value is not missing: [`Shells::weak`] tells of it.
    fn missing_in(&self, files: &[&Value]) -> Option<Self> {
        let at = pointer(&self.place);
        let there: Vec<&Value> = files.iter().filter_map(|one| one.pointer(&at)).collect();
        let mut missing = self.clone();
        if let Value::Array(wanted) = &mut missing.value {
            let listed: Vec<&Value> = there.into_iter().flat_map(items).collect();
            wanted.retain(|item| !listed.iter().any(|one| is_same_or_above(one, item)));
            if wanted.is_empty() {
                return None;
            }
        } else if !there.is_empty() {
            // It is set, to whatever value.
            return None;
        }
        Some(missing)
    }
}

/// Whether an item of a list is this one, or a folder above it.
fn is_same_or_above(listed: &Value, wanted: &Value) -> bool {
    let (Some(listed), Some(wanted)) = (listed.as_str(), wanted.as_str()) else {
        return false;
    };
    let below = wanted.strip_prefix(listed.trim_end_matches('/'));
    below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
}

/// All settings without which the sandbox does not hold shells: the switches; the list that keeps
/// agents' conversations also from a shell that runs already; the list that keeps shells from what
/// the client starts outside, as these `programs`; and rules that keep Claude from these settings.
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
    /// Whether an administrator's do, which no other settings take down.
    pub are_managed: bool,
    /// What the user's and the administrator's settings lack.
    pub lacks: Vec<Needed>,
    /// What of the user's or the administrator's settings lets a shell past, with its file. Empty
    /// if nothing does.
    pub weak: String,
    /// The lists, with their files, by which a command costs more the more files there are. Empty
    /// if none does.
    pub slow_lists: String,
    /// By which of a project's settings a shell may get past the sandbox, in sentences. Empty if by
    /// none.
    projects_undo: String,
}

impl Shells {
    /// Whether these settings keep shells from `files`, and by what a shell gets past them: keys
    /// that open or weaken the sandbox (`weak`), what a project may undo (`projects_undo`), and
    /// settings that are missing (`lacks`). The client starts the `programs` itself, so no shell
    /// may write them. None if it is unknown where the client's places are, or which settings
    /// count.
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
        // These keys count whatever an administrator has set: they add to what others say.
        let mut keys = keys_that_open(&settings.value);
        // If an administrator's settings hold shells alone, no others undo their switches, but a
        // project can set a variable that they leave open.
        let projects_undo = if are_managed {
            open_variables(&settings.projects, &settings.managed)
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
            // An administrator's settings do what the others would, but for this list.
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

    /// Ok if the sandbox holds shell commands: a sentence that says by whose settings. `file` is
    /// the user's file of settings, as it is shown: what is missing is to be added there.
    ///
    /// # Errors
    /// A sentence about the first of these by which a shell gets past the sandbox: it is off; a key
    /// of the user's or of an administrator's settings opens it (`weak`); a project may open it
    /// (`projects_undo`); or settings are missing (`lacks`).
    pub fn held_or_why_not(&self, file: &str) -> Result<String, String> {
        let mut lacks = self.lacks.iter();
        if lacks.any(|needed| needed.place == ["sandbox", "enabled"]) {
            return Err(NO_SANDBOX.to_owned());
        }
        if !self.weak.is_empty() {
            let weak = &self.weak;
            return Err(format!("{GETS_PAST}, since these settings let it: {weak}"));
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
/// user or of a project undo that: they set its switches, let only their own paths be read, set
/// each variable of [`PINNED`], and deny every read of these files.
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

/// Whether one of these settings has this value at this place in `sandbox`.
fn is_set_in_sandbox(managed: &[Value], key: &str, wanted: bool) -> bool {
    let pointer = format!("/sandbox/{key}");
    managed
        .iter()
        .any(|one| one.pointer(&pointer) == Some(&Value::Bool(wanted)))
}

/// The keys of these settings that open the sandbox, whatever other settings say of it: switches
/// that are on, and lists that have an item. Empty if none does.
fn keys_that_open(settings: &Value) -> Vec<String> {
    let sandbox = &settings["sandbox"];
    let mut keys = Vec::new();
    for key in OPENING_SWITCHES {
        if sandbox.pointer(&format!("/{key}")) == Some(&Value::Bool(true)) {
            keys.push(key_for_people(key));
        }
    }
    for key in OPENING_LISTS {
        let listed = sandbox.pointer(&format!("/{key}"));
        if listed.is_some_and(|list| !items(list).is_empty()) {
            keys.push(key_for_people(key));
        }
    }
    keys
}

/// A key of `sandbox` for people.
fn key_for_people(key: &str) -> String {
    format!("sandbox.{}", key.replace('/', "."))
}

/// The keys of the user's or of an administrator's settings that take down a part of the sandbox:
/// switches that are set otherwise than [`SWITCHES`], `allowRead` if it opens one of the files or
/// conversations, and a list of platforms without this one. Empty if none does.
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

/// The keys with the name of their file. None if there are none.
fn keys_in_file(file: &str, keys: &[String]) -> Option<String> {
    if keys.is_empty() {
        return None;
    }
    Some(format!("{} in {file}", keys.join(", ")))
}

/// The lists with a pattern for which the client looks through folders at each command, with the
/// name of this file.
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

/// Whether an entry of `allowRead` opens what a shell is not to read: the record of sessions, a
/// folder in it or above it, or one of these files. An entry may be one of the files if its last
/// name is a pattern, or is the file's. A folder above a file opens nothing: the deny rules for the
/// file and for its folder still hold.
fn opens_denied_path(entry: &Value, places: &Places, files: &[PathBuf]) -> bool {
    let text = entry.as_str().unwrap_or_default().trim();
    // An older setup wrote this pattern itself.
    if text == places.older_pattern_for_outputs() {
        return false;
    }
    let full = match text.strip_prefix('~') {
        Some(rest) => places.home.join(rest.trim_start_matches('/')),
        None => PathBuf::from(text),
    };
    let path = normal(Path::new(full.to_string_lossy().trim_end_matches("/**")));
    let mut allowed = vec![path.clone()];
    // From where the client takes a relative path is not known.
    if path.is_absolute() {
        allowed.push(without_links(&path));
    }
    for record in named_and_real(&places.claude.join("projects")) {
        for allowed in &allowed {
            if allowed.starts_with(&record) || record.starts_with(allowed) {
                return true;
            }
        }
    }
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

/// Whether a list of platforms switches the sandbox off on this one.
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
