//! The rules by which Claude Code keeps the main conversation from what only an agent is to read.
#![allow(clippy::disallowed_methods, reason = "the client's own files")]

mod denied;

use crate::{
    Variables,
    paths::{named_and_real, without_links},
    settings::parsed,
    state_folder, usual_map,
};
pub use denied::Denied;
use keyhole_walk::{normal, printable::visible};
use std::{
    collections::HashSet,
    env::consts::OS,
    ffi::OsStr,
    fs,
    hash::Hash,
    path::{Path, PathBuf},
};

/// The links to transcripts, in a shell's command.
const RULE_FOR_LINKS_OF_TASKS: &str = "Bash(*/tasks/a*)";

/// What Claude Code lets a shell do in a folder, past the rules for what is in it. FOLDER is the
/// end of the folder's path. The last three are patterns of a shell's.
const RULES_FOR_SHELLS: [&str; 5] = [
    "Bash(*grep*FOLDER*)",
    "Bash(*rg *FOLDER*)",
    "Bash(*FOLDER*\\**)",
    "Bash(*FOLDER*?*)",
    "Bash(*FOLDER*[*)",
];

/// How a shell calls our own programs, which would pass the rules about files: by the name, or by
/// a path, also the plugin's.
const PROGRAMS: [&str; 2] = ["keyhole", "*/keyhole*"];

/// What our own programs must not be called for.
const COMMANDS: [&str; 5] = ["gate", "inject", "scan", "serve", "withhold"];

/// What the rules do beside what they are for.
pub const CAUTION: &str = "These rules bind Claude Code's tools in all projects. They make newer clients ask about ordinary shell reads, which `claude -p` cannot answer.";

/// A variable of the environment, named here, leads to a place that no rule can name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0} must be an absolute path without any of * ? [ ] {{ }} ( ) ! \\ , and without a name that ends in a blank: the client's rules and texts cannot name another. Set it to such a path, or unset it"
)]
pub struct OddPlace(pub String);

/// Where Claude Code keeps what tells of an agent's file.
#[derive(Clone, Debug)]
pub struct Places {
    /// The user's home.
    pub home: PathBuf,
    /// Claude Code's own folder: `~/.claude`, or what `CLAUDE_CONFIG_DIR` names.
    pub claude: PathBuf,
    /// The same folder, for people.
    pub shown: String,
    /// The map.
    map: PathBuf,
    /// Where the servers of the user's own agents keep their tickets.
    tickets: PathBuf,
    /// Where the client keeps transcripts of agents, and what tasks print.
    kept: Vec<Kept>,
}

/// A part of a path that a rule is to keep from the main conversation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Kept {
    path: PathBuf,
    part: Part,
}

/// What of a path is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Part {
    /// The file that is there.
    File,
    /// All that is in the folder.
    Folder,
    /// The transcripts of agents in this folder of the client's.
    Transcripts,
    /// What tasks print, in all folders whose paths begin like this.
    Tasks,
}

impl Part {
    /// This part of that path.
    fn of(self, path: PathBuf) -> Kept {
        Kept { path, part: self }
    }

    /// What follows the path in its rule.
    fn tail(self) -> &'static str {
        match self {
            Self::File => "",
            Self::Folder => "/**",
            Self::Transcripts => "/**/subagents/**",
            Self::Tasks => "*/**/tasks/a*.output",
        }
    }
}

/// The rules that are missing, and what no rule can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// To add to `permissions.deny`.
    pub rules: Vec<String>,
    /// Whether no rule can name one of the files or folders, and none that is there denies it.
    pub no_rule_can_deny: bool,
    /// Whether other things are beside one of the files, so a copy there is not denied.
    pub has_neighbours: bool,
}

/// Whether a client follows a variable with this value. It ignores an empty one, except an empty
/// `CLAUDE_CONFIG_DIR`: then its folder is the one where it is started.
pub fn is_followed(name: &str, value: &OsStr) -> bool {
    !value.is_empty() || name == "CLAUDE_CONFIG_DIR"
}

impl Places {
    /// Where a client that is started with these variables keeps things. `CLAUDE_CONFIG_DIR` names
    /// its own folder, else it is `~/.claude`. Other variables name the folder for what tasks
    /// print: for these, what `env` has in the user's settings counts before the environment.
    ///
    /// # Errors
    /// If a variable names a place that no rule can name, as `/a*` or `notes`: see [`OddPlace`].
    pub fn find(home: &Path, variable: Variables<'_>) -> Result<Self, OddPlace> {
        let own = folder_named_by("CLAUDE_CONFIG_DIR", variable)?;
        let claude = own.unwrap_or_else(|| home.join(".claude"));
        let shown = shown_pattern(&claude, home).unwrap_or("~/.claude".to_owned());
        // The client sets the variables under `env` before it asks where to keep what tasks print.
        let settings = parsed(&claude.join("settings.json")).unwrap_or_default();
        let kept = places_kept_by_client(&claude, &|name| match settings["env"][name].as_str() {
            Some(set) => Some(set.into()),
            None => variable(name),
        })?;
        Ok(Self {
            home: home.to_owned(),
            claude,
            shown,
            map: normal(&usual_map(home, variable)),
            tickets: normal(&state_folder(home, variable)),
            kept,
        })
    }

    /// The file of the client's settings.
    pub fn settings(&self) -> PathBuf {
        self.claude.join("settings.json")
    }

    /// The pattern that setup wrote into the sandbox's lists before 0.6.0: the client's long
    /// outputs.
    pub fn older_pattern_for_outputs(&self) -> String {
        format!("{}/projects/**/tool-results/**", self.shown)
    }

    /// The file of the client's settings, for people.
    pub fn shown_settings(&self) -> String {
        format!("{}/settings.json", self.shown)
    }

    /// The deny rules that these files need, without those that `denied` has already; whether some
    /// place can be named by no rule; and whether a copy beside a file stays open.
    ///
    /// The rules are for the main conversation's tools. They deny agents' transcripts, what tasks
    /// print, each file, its folder if nothing else is in it, calls of our own programs, and the
    /// folder of tickets if a file is `served` to an agent by a server of its own.
    pub fn missing(&self, denied: &Denied, files: &[PathBuf], served: bool) -> Missing {
        let mut kept = self.kept.clone();
        let mut has_neighbours = false;
        for file in files {
            for path in named_and_real(file) {
                if let Some(folder) = self.folder_if_alone(&path) {
                    kept.push(folder);
                } else if self.is_copy_open(&path, denied) {
                    has_neighbours = true;
                }
                kept.push(Part::File.of(path));
            }
        }
        if served {
            for folder in named_and_real(&self.tickets) {
                kept.push(Part::Folder.of(folder));
            }
        }
        let mut rules = Vec::new();
        let mut no_rule_can_deny = false;
        for one in without_doubles(kept) {
            if let Some(pattern) = self.pattern(&one.path, one.part) {
                rules.push(format!("Read({pattern})"));
                rules.extend(rules_for_shells(&one));
            } else if !denied.denies_place(&one.path, &self.home) {
                no_rule_can_deny = true;
            }
        }
        rules.extend(rules_for_programs());
        rules.retain(|rule| !denied.covers(rule, &self.home));
        Missing {
            rules: without_doubles(rules),
            no_rule_can_deny,
            has_neighbours,
        }
    }

    /// The file's folder, if it is to be denied as a whole: a rule can name the file, and nothing
    /// else is in the folder. Else None.
    fn folder_if_alone(&self, file: &Path) -> Option<Kept> {
        path_pattern(file, &self.home)?;
        if !is_alone_in_folder(file, &self.home) {
            return None;
        }
        let folder = file.parent()?;
        Some(Part::Folder.of(folder.to_owned()))
    }

    /// Whether the rules let a copy of this file be read that is beside it.
    fn is_copy_open(&self, file: &Path, denied: &Denied) -> bool {
        let copy = file.with_extension("md~");
        path_pattern(file, &self.home).is_some() && !denied.denies_place(&copy, &self.home)
    }

    /// The rules `Edit(PATTERN)` that keep Claude from the settings of each folder, by which it
    /// could switch the sandbox for shells off; from the user's settings; and from the map. Each
    /// pattern begins at the root or the home: one from the session's folder would bind only there.
    pub fn edit_rules(&self) -> Vec<String> {
        let mut patterns = vec![
            "//**/.claude/settings.json".to_owned(),
            "//**/.claude/settings.local.json".to_owned(),
        ];
        for file in named_and_real(&self.settings()) {
            // The first pattern has each such file already.
            if !file.ends_with(".claude/settings.json") {
                patterns.extend(self.pattern(&file, Part::File));
            }
        }
        for path in self.folders_and_targets(&[&self.map]) {
            let part = if path.is_file() {
                Part::File
            } else {
                Part::Folder
            };
            patterns.extend(self.pattern(&path, part));
        }
        let rules = patterns.iter().map(|pattern| format!("Edit({pattern})"));
        without_doubles(rules.collect())
    }

    /// What shells are not to write: the client reads and starts it outside of their sandbox. That
    /// is its plugins, the map, and these programs of ours.
    pub(crate) fn outside(&self, programs: &[PathBuf]) -> Vec<String> {
        // Of the plugins, all that is in their folder.
        let plugin = self.claude.join("plugins/any");
        let mut files = vec![&plugin, &self.map];
        files.extend(programs);
        let paths = self.folders_and_targets(&files);
        paths
            .iter()
            .filter_map(|path| path_pattern(path, &self.home))
            .collect()
    }

    /// For each file: its folder, what that folder leads to by links, and what the file leads to. A
    /// path is left out if it is in one that is taken already, or if it is or holds the home.
    fn folders_and_targets(&self, files: &[&PathBuf]) -> Vec<PathBuf> {
        let mut taken: Vec<PathBuf> = Vec::new();
        for file in files {
            let [named, real] = named_and_real(&folder_to_guard(file));
            for path in [named, real, without_links(file)] {
                let is_in = taken.iter().any(|above| path.starts_with(above));
                if !is_in && !self.home.starts_with(&path) {
                    taken.push(path);
                }
            }
        }
        taken
    }

    /// The pattern of the rule for this part of a path. None if no rule can name the path.
    fn pattern(&self, path: &Path, part: Part) -> Option<String> {
        let path = path_pattern(path, &self.home)?;
        // In a rule, one slash would mean the folder of the settings.
        let root = if path.starts_with('/') { "/" } else { "" };
        Some(format!("{root}{path}{}", part.tail()))
    }
}

/// The path as a pattern that means it, from the home or from the root. None if none can.
fn path_pattern(path: &Path, home: &Path) -> Option<String> {
    match path.strip_prefix(home) {
        Ok(below_home) => Some(format!("~/{}", as_literal_pattern(visible(below_home)?))),
        Err(_) => Some(as_literal_pattern(visible(path)?)),
    }
}

/// The same, but from the root if the home's own path has a character of patterns. In `denyRead`,
/// Claude Code 2.1.290 takes `~` for that path, and then for a pattern.
fn shown_pattern(path: &Path, home: &Path) -> Option<String> {
    let text = visible(home)?;
    if as_literal_pattern(text) == text {
        return path_pattern(path, home);
    }
    visible(path).map(as_literal_pattern)
}

/// The places of what a client keeps of its agents: the transcripts in `projects` in its folder
/// `claude`; and what tasks print, in `claude-UID` in the folders that [`folders_of_tasks`] finds
/// by these variables: `CLAUDE_CODE_TMPDIR`, and the first of `TMPDIR`, `TMP` and `TEMP` that is
/// set.
///
/// # Errors
/// If one of these variables names a place that no rule can name.
fn places_kept_by_client(claude: &Path, variable: Variables<'_>) -> Result<Vec<Kept>, OddPlace> {
    let mut temporary = None;
    for name in ["TMPDIR", "TMP", "TEMP"] {
        if temporary.is_none() {
            temporary = folder_named_by(name, variable)?;
        }
    }
    let of_tasks = folder_named_by("CLAUDE_CODE_TMPDIR", variable)?;
    let mut kept = Vec::new();
    for folder in named_and_real(&claude.join("projects")) {
        kept.push(Part::Transcripts.of(folder));
    }
    for above in folders_of_tasks(OS, of_tasks, temporary) {
        for folder in named_and_real(&above) {
            kept.push(Part::Tasks.of(folder.join("claude-")));
        }
    }
    Ok(without_doubles(kept))
}

/// The folder of a file of ours: of a plugin's program, all that the client starts of the plugin.
fn folder_to_guard(file: &Path) -> PathBuf {
    let mut above = file.ancestors().skip(1);
    let folder = above.next().unwrap_or(file);
    let plugin = above
        .next()
        .filter(|one| one.join(".claude-plugin/plugin.json").is_file());
    plugin.unwrap_or(folder).to_owned()
}

/// The rules that keep a shell from the transcripts or from what tasks print there: the rule for
/// reading binds only the client's own tools. Empty for a file or folder of the user's.
fn rules_for_shells(kept: &Kept) -> Vec<String> {
    let mut rules = Vec::new();
    match kept.part {
        Part::File | Part::Folder => return rules,
        Part::Transcripts => {}
        Part::Tasks => rules.push(RULE_FOR_LINKS_OF_TASKS.to_owned()),
    }
    let path = kept.path.to_string_lossy();
    // The rules have the last two names of the folder, each with its slash.
    let start = path.rmatch_indices('/').nth(1).map_or(0, |(at, _)| at);
    for rule in RULES_FOR_SHELLS {
        rules.push(rule.replace("FOLDER", &path[start..]));
    }
    rules
}

/// The rules by which no shell starts our own programs.
fn rules_for_programs() -> Vec<String> {
    let mut rules = Vec::new();
    for command in COMMANDS {
        for program in PROGRAMS {
            rules.push(format!("Bash({program} {command}*)"));
        }
    }
    rules
}

/// The folder that a variable names. None if the variable is not set, or if it is empty and the
/// client does not follow it then ([`is_followed`]).
///
/// # Errors
/// If the path is relative (`notes`); or if no rule can name it, since it has a character of
/// patterns (`/a*`) or one that nobody sees.
fn folder_named_by(name: &str, variable: Variables<'_>) -> Result<Option<PathBuf>, OddPlace> {
    let Some(set) = variable(name).filter(|set| is_followed(name, set)) else {
        return Ok(None);
    };
    let folder = normal(Path::new(&set));
    let is_literal = visible(&folder)
        .is_some_and(|text| text == as_literal_pattern(text) && !text.contains('?'));
    if folder.is_relative() || !is_literal {
        return Err(OddPlace(name.to_owned()));
    }
    Ok(Some(folder))
}

/// Each value once, in the order in which it is first there: of `b`, `a`, `b`, these are `b` and
/// `a`.
fn without_doubles<T: Clone + Eq + Hash>(mut all: Vec<T>) -> Vec<T> {
    let mut seen = HashSet::new();
    all.retain(|one| seen.insert(one.clone()));
    all
}

/// A pattern that means this path in a rule: of `/a*b`, it is `/a?b`. `?` stands in the place of
/// each character that means something else there, and of a blank at the end of a name, which the
/// client would take away.
pub fn as_literal_pattern(path: &str) -> String {
    let special = ['*', '[', ']', '{', '}', '(', ')', '!', '\\', ','];
    let pattern = path.replace(special, "?").replace(" /", "?/");
    match pattern.strip_suffix(' ') {
        Some(rest) => format!("{rest}?"),
        None => pattern,
    }
}

/// Whether nothing but the file is in its folder; in `~/private`, whether nothing but Markdown
/// files is. True if the folder is not there yet. False if it cannot be read, holds a folder, or is
/// or holds the home.
fn is_alone_in_folder(file: &Path, home: &Path) -> bool {
    let folder = file.parent().unwrap_or(file);
    if named_and_real(home)
        .iter()
        .any(|home| home.starts_with(folder))
    {
        return false;
    }
    let Ok(inside) = fs::read_dir(folder) else {
        return !folder.exists();
    };
    let is_private_folder = named_and_real(&home.join("private"))
        .iter()
        .any(|one| folder == one);
    for found in inside.flatten() {
        let path = found.path();
        // What a `setup` that was killed has left, the next one takes away.
        if found.file_name().to_string_lossy().contains(".keyhole-") {
            continue;
        }
        let is_markdown = path.extension().is_some_and(|ending| ending == "md");
        let may_be_there = path == file || is_private_folder && is_markdown;
        let may_be_folder = found.file_type().map_or(true, |kind| kind.is_dir());
        if may_be_folder || !may_be_there {
            return false;
        }
    }
    true
}

/// The folders that have the folder `claude-UID`, in which Claude Code keeps what its tasks print.
///
/// `own` is what its variable `CLAUDE_CODE_TMPDIR` names, and `usual` what the system's variables
/// name, which counts if `own` is not set, and never on macOS. In a shell of Claude Code's, both
/// name the folder `claude-UID` itself: then the folder above is taken. `/tmp` is always among the
/// folders, as the client may be started without these variables.
fn folders_of_tasks(system: &str, own: Option<PathBuf>, usual: Option<PathBuf>) -> Vec<PathBuf> {
    let is_macos = system == "macos";
    let set = if is_macos { own } else { own.or(usual) };
    let mut folders = Vec::from_iter(set);
    folders.push(PathBuf::from("/tmp"));
    for folder in &mut folders {
        let name = folder.file_name().unwrap_or_default();
        if name.as_encoded_bytes().starts_with(b"claude-") {
            folder.pop();
        }
        // On macOS, /tmp and /var are links into /private. Nobody has seen which of both paths
        // the client compares with a rule.
        if is_macos && let Ok(below) = folder.strip_prefix("/private") {
            *folder = Path::new("/").join(below);
        }
    }
    without_doubles(folders)
}

#[cfg(test)]
mod tests;
