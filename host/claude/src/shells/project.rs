//! What a project's settings say that may let a shell past the sandbox. Listed here is what cannot
//! do that: any other key is named to the user.

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

/// The keys of `permissions` that open nothing. `defaultMode` is one of them, since no mode that a
/// project chooses lets the conversation write what the client starts.
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

/// The ways by which a project may let a shell past the sandbox: [`MEANS`] has words for them.
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

/// The words for [`Means::Texts`].
const TEXTS: &str = "What the client itself reads, also by a link";

/// The key by which a project chooses the folder of the client's memory.
const MEMORY_FOLDER: &str = "autoMemoryDirectory";

/// The means, each with the words that the user reads. "It" is the sandbox.
const MEANS: [(Means, &str); 5] = [
    (Means::Programs, "What may start programs outside of it"),
    (Means::Sandbox, "What changes the sandbox itself"),
    (Means::Variables, VARIABLES),
    (
        Means::Permissions,
        "What opens folders or needs no question",
    ),
    (Means::Texts, TEXTS),
];

/// A sentence for each of [`MEANS`] by which these files may let a shell past the sandbox, with the
/// keys and the files: ` What changes the sandbox itself: sandbox in .claude/settings.json of this
/// folder.` Each sentence begins with a blank. Empty if no file has such a key.
pub(super) fn what_projects_undo(projects: &[ProjectFile]) -> String {
    let mut sentences = String::new();
    for (means, words) in MEANS {
        let files = projects.iter().filter_map(|project| means.used_by(project));
        sentences += &sentence(words, &files.collect::<Vec<_>>());
    }
    sentences
}

/// Sentences about what these files may do although an administrator's settings, `managed`, keep
/// the sandbox on:
///
/// - set a variable that none of `managed` sets;
/// - choose a folder for the client's memory, if none of `managed` switches the memory off. Such a
///   folder may hold a link to any file, which the client then reads at its start.
///
/// Each sentence begins with a blank: ` Variables of what starts it: env in .mcp.json of this
/// folder.` Empty if no file does one of these. A file that cannot be read is left out.
pub(super) fn still_open(projects: &[ProjectFile], managed: &[Value]) -> String {
    let has_memory = !managed.iter().any(|one| one["autoMemoryEnabled"] == false);
    let mut with_variables = Vec::new();
    let mut with_memory = Vec::new();
    for project in projects {
        let Ok(settings) = &project.read else {
            continue;
        };
        let mut variables = members(&settings["env"]);
        if variables.any(|(name, _)| !sets_variable(managed, name)) {
            with_variables.push(format!("env in {}", project.shown));
        }
        if has_memory && !settings[MEMORY_FOLDER].is_null() {
            with_memory.push(format!("{MEMORY_FOLDER} in {}", project.shown));
        }
    }
    sentence(VARIABLES, &with_variables) + &sentence(TEXTS, &with_memory)
}

/// Whether one of these settings sets this variable, to a text.
pub(super) fn sets_variable(managed: &[Value], name: &str) -> bool {
    managed.iter().any(|one| one["env"][name].is_string())
}

/// A sentence with these words about these files, behind a blank. Empty if there are no files.
fn sentence(words: &str, files: &[String]) -> String {
    if files.is_empty() {
        return String::new();
    }
    format!(" {words}: {}.", files.join("; "))
}

impl Means {
    /// The keys of this file by which a shell may get past the sandbox by this means, with the
    /// file's name: `env in .claude/settings.json of this folder` for [`Means::Variables`]. None if
    /// the file has no such key. A file that cannot be read may have any key: [`Means::Programs`]
    /// names the file with the reason, and all other means give None.
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

    /// By which means a setting with this key may let a shell past. None if the setting cannot: the
    /// key is in [`HARMLESS`], or is `permissions` that open nothing. A key that is not known here
    /// counts as [`Means::Programs`].
    fn of(key: &str, value: &Value) -> Option<Self> {
        match key {
            "sandbox" => Some(Self::Sandbox),
            "env" => Some(Self::Variables),
            "outputStyle" | MEMORY_FOLDER => Some(Self::Texts),
            "permissions" if are_harmless(value) => None,
            "permissions" => Some(Self::Permissions),
            _ if HARMLESS.contains(&key) => None,
            _ => Some(Self::Programs),
        }
    }
}

/// Whether these permissions open nothing: they have only [`HARMLESS_PERMISSIONS`], and `allow`
/// with rules for harmless tools.
fn are_harmless(permissions: &Value) -> bool {
    members(permissions).all(|(key, value)| match key.as_str() {
        "allow" => items(value).iter().all(is_harmless_rule),
        other => HARMLESS_PERMISSIONS.contains(&other),
    })
}

/// Whether an allow rule is for one of [`HARMLESS_TOOLS`]: `Bash(ls *)` is, `Edit(a)` is not.
fn is_harmless_rule(rule: &Value) -> bool {
    let text = rule.as_str().unwrap_or_default();
    let tool = text.split('(').next().unwrap_or_default();
    HARMLESS_TOOLS.contains(&tool)
}
