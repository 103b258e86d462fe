//! What a project says that may let a shell past the sandbox. What can is not listed here, but what
//! cannot: all else is named.

use crate::settings::{ProjectFile, items, members};
use keyhole_walk::printable::printable_text;
use serde_json::Value;

/// Keys that let no shell past, whatever they say: they choose a model and how it is used, words
/// and looks, or switch something off.
const HARMLESS: [&str; 23] = [
    "$schema",
    "model",
    "fallbackModel",
    "effortLevel",
    "alwaysThinkingEnabled",
    "autoCompactEnabled",
    "language",
    "theme",
    "verbose",
    "spinnerTipsEnabled",
    "spinnerVerbs",
    "companyAnnouncements",
    "attribution",
    "includeCoAuthoredBy",
    "includeGitInstructions",
    "respectGitignore",
    "cleanupPeriodDays",
    "claudeMdExcludes",
    "disableAllHooks",
    "disabledMcpjsonServers",
    "deniedMcpServers",
    "disableBundledSkills",
    "disableWorkflows",
];

/// What of `permissions` opens nothing. A mode is here, since no mode that a project chooses lets
/// the conversation write what the client starts.
const HARMLESS_PERMISSIONS: [&str; 5] = [
    "deny",
    "ask",
    "defaultMode",
    "disableAutoMode",
    "disableBypassPermissionsMode",
];

/// The tools that may be allowed: a shell's command is in the sandbox all the same, deny rules bind
/// the client's own readers, and a search writes nothing. A rule to edit also opens the folder to
/// the sandbox, and one to fetch the host.
const HARMLESS_TOOLS: [&str; 5] = ["Bash", "Glob", "Grep", "Read", "WebSearch"];

/// By what a project may let a shell past.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Means {
    Programs,
    Sandbox,
    Variables,
    Permissions,
    Texts,
}

/// The words for [`Means::Variables`].
const VARIABLES: &str = "Variables of what starts it";

/// The means, each with the words for it.
const MEANS: [(Means, &str); 5] = [
    (Means::Programs, "What may start programs outside of it"),
    (Means::Sandbox, "What changes the sandbox itself"),
    (Means::Variables, VARIABLES),
    (
        Means::Permissions,
        "What opens folders or needs no question",
    ),
    (Means::Texts, "What the client itself reads, also by a link"),
];

/// The keys by which these files may let a shell past the sandbox, with the files, in a sentence
/// for each of [`MEANS`]. Each sentence begins with a blank. Empty if no file has such a key.
pub(super) fn what_projects_undo(projects: &[ProjectFile]) -> String {
    let mut sentences = String::new();
    for (means, words) in MEANS {
        let files = projects.iter().filter_map(|project| means.used_by(project));
        sentences += &sentence(words, &files.collect::<Vec<_>>());
    }
    sentences
}

/// The files that set a variable which none of the administrator's settings sets, in a sentence
/// that begins with a blank. Empty if no file does. A file that cannot be read sets nothing.
pub(super) fn open_variables(projects: &[ProjectFile], managed: &[Value]) -> String {
    let mut files = Vec::new();
    for project in projects {
        let Ok(settings) = &project.read else {
            continue;
        };
        let mut variables = members(&settings["env"]);
        if variables.any(|(name, _)| !sets_variable(managed, name)) {
            files.push(format!("env in {}", project.shown));
        }
    }
    sentence(VARIABLES, &files)
}

/// Whether one of these settings sets this variable.
pub(super) fn sets_variable(managed: &[Value], name: &str) -> bool {
    managed.iter().any(|one| one["env"][name].is_string())
}

/// A sentence of what is told of these files. Empty if there are none.
fn sentence(words: &str, files: &[String]) -> String {
    if files.is_empty() {
        return String::new();
    }
    format!(" {words}: {}.", files.join("; "))
}

impl Means {
    /// The keys of this file by which a shell may get out of the sandbox by this means, with the
    /// file's name. None if the file has none. A file that cannot be read may have any key: it is
    /// named once, with the reason, for [`Means::Programs`].
    fn used_by(self, project: &ProjectFile) -> Option<String> {
        let file = project.shown;
        let settings = match &project.read {
            Ok(settings) => settings,
            Err(why) if self == Self::Programs => {
                return Some(format!("perhaps {file}, which {why}"));
            }
            Err(_) => return None,
        };
        let mut keys = Vec::new();
        for (key, value) in members(settings) {
            if Self::of(key, value) == Some(self) {
                keys.push(printable_text(key));
            }
        }
        if keys.is_empty() {
            return None;
        }
        Some(format!("{} in {file}", keys.join(", ")))
    }

    /// The means that this setting is. A key that nobody knows is taken for the first one.
    fn of(key: &str, value: &Value) -> Option<Self> {
        match key {
            "sandbox" => Some(Self::Sandbox),
            "env" => Some(Self::Variables),
            "outputStyle" => Some(Self::Texts),
            "permissions" if are_harmless(value) => None,
            "permissions" => Some(Self::Permissions),
            _ if HARMLESS.contains(&key) => None,
            _ => Some(Self::Programs),
        }
    }
}

/// Whether these permissions open nothing.
fn are_harmless(permissions: &Value) -> bool {
    members(permissions).all(|(key, value)| match key.as_str() {
        "allow" => items(value).iter().all(is_harmless_rule),
        other => HARMLESS_PERMISSIONS.contains(&other),
    })
}

/// Whether an allow rule is for a harmless tool.
fn is_harmless_rule(rule: &Value) -> bool {
    let text = rule.as_str().unwrap_or_default();
    let tool = text.split('(').next().unwrap_or_default();
    HARMLESS_TOOLS.contains(&tool)
}
