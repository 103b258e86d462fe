//! The rules by which Claude Code keeps the main conversation from what only an agent is to read.
#![allow(clippy::disallowed_methods, reason = "the client's own files")]

mod denied;

use crate::{
    Variables,
    paths::{holds_home, named_and_real, without_links},
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

/// Rules for what Claude Code lets a shell do in a folder, although other rules deny what is there.
/// FOLDER is the end of the folder's path. The last three are for a shell's own patterns.
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
pub const CAUTION: &str = "These rules bind Claude Code's tools in all projects. Newer versions of Claude Code then ask before some ordinary shell commands. With `claude -p`, nobody can answer, and these are refused.";

/// A variable of the environment, named here, leads to a place that no rule can name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0} must be an absolute path without any of * ? [ ] {{ }} ( ) ! \\ , and without a name that ends in a blank: the client's rules and texts cannot name another. Set it to such a path, or unset it"
)]
pub struct OddPlace(pub String);

/// Where Claude Code and our servers keep what must not reach the main conversation.
#[derive(Clone, Debug)]
pub struct Places {
    /// The user's home.
    pub home: PathBuf,
    /// Claude Code's own folder: `~/.claude`, or what `CLAUDE_CONFIG_DIR` names.
    pub claude: PathBuf,
    /// The same folder, for people.
    pub shown: String,
    /// The client's folder of plugins: `plugins` in its own folder, or what
    /// `CLAUDE_CODE_PLUGIN_CACHE_DIR` names.
    pub(crate) plugins: PathBuf,
    /// The map's file, where a server looks that is told of no other.
    map: PathBuf,
    /// Where the servers of the user's own agents keep their tickets.
    tickets: PathBuf,
    /// Where the client keeps agents' transcripts, and what tasks print: see
    /// [`places_kept_by_client`].
    kept: Vec<Kept>,
}

/// Files that a rule is to keep from the main conversation: this part of what is at this path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Kept {
    path: PathBuf,
    part: Part,
}

/// Which files at a path a rule is to keep from the main conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Part {
    /// The path is a file: this file.
    File,
    /// The path is a folder: all that is in the folder.
    Folder,
    /// The path is the client's folder `projects`: agents' transcripts there.
    Transcripts,
    /// The path is the beginning of folders' paths, as `/tmp/claude-`: what tasks print there.
    Tasks,
}

impl Part {
    /// What a rule is to keep: this part of what is at `path`.
    fn of(self, path: PathBuf) -> Kept {
        Kept { path, part: self }
    }

    /// What follows the path in its rule: `/**` for a folder, as in `Read(~/private/**)`.
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
    /// The rules to add to `permissions.deny`.
    pub rules: Vec<String>,
    /// Whether no rule can name one of the files or folders, and no rule in the settings denies it.
    pub no_rule_can_deny: bool,
    /// Whether a copy beside one of the files can be read, or the file itself by a shell that runs
    /// while it is saved anew: the folder holds more, so it is not denied as a whole.
    pub has_neighbours: bool,
}

/// Whether a client follows a variable with this value. It ignores an empty one, except an empty
/// `CLAUDE_CONFIG_DIR`: then its folder is the one where it is started.
pub fn is_followed(name: &str, value: &OsStr) -> bool {
    !value.is_empty() || name == "CLAUDE_CONFIG_DIR"
}

impl Places {
    /// The places of a client that is started with these variables. The client's own folder is
    /// what `CLAUDE_CONFIG_DIR` names, or else `~/.claude`. Where tasks print is what
    /// `CLAUDE_CODE_TMPDIR` or `TMPDIR`, `TMP` or `TEMP` names: for these four, a value under `env`
    /// in the user's settings counts before the environment.
    ///
    /// # Errors
    /// [`OddPlace`] if one of these variables is a path that no rule can name, such as `/a*` or the
    /// relative `notes`.
    pub fn find(home: &Path, variable: Variables<'_>) -> Result<Self, OddPlace> {
        let configured = folder_named_by("CLAUDE_CONFIG_DIR", variable)?;
        let claude = configured.unwrap_or_else(|| home.join(".claude"));
        // How people read the folder: `~/.claude`. Where no rule can name it, they read the usual
        // one.
        let shown = shown_pattern(&claude, home).unwrap_or("~/.claude".to_owned());
        // The client sets the variables under `env` before it asks where to keep what tasks print.
        let settings = parsed(&claude.join("settings.json")).unwrap_or_default();
        let kept = places_kept_by_client(&claude, &|name| match settings["env"][name].as_str() {
            Some(set) => Some(set.into()),
            None => variable(name),
        })?;
        let moved = variable("CLAUDE_CODE_PLUGIN_CACHE_DIR");
        Ok(Self {
            plugins: moved.map_or_else(|| claude.join("plugins"), PathBuf::from),
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

    /// The deny rules that are missing in `denied` to keep `files` from the main conversation's
    /// tools. All rules together deny agents' transcripts; what tasks print; each file, and its
    /// folder if nothing else is in the folder; the folder of tickets, if a file is `served` to an
    /// agent by a server of its own; and shell calls of our own programs. See [`Missing`] for what
    /// no rule can do.
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
        for to_keep in without_doubles(kept) {
            if let Some(pattern) = self.pattern(&to_keep.path, to_keep.part) {
                rules.push(format!("Read({pattern})"));
                rules.extend(rules_for_shells(&to_keep));
            } else if !denied.denies_place(&to_keep.path, &self.home) {
                // A rule of the user's may still deny a folder above the place.
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

    /// The file's folder, if the folder is to be denied as a whole: a rule can name the file, and
    /// nothing else is in the folder ([`is_alone_in_folder`]). Else None.
    fn folder_if_alone(&self, file: &Path) -> Option<Kept> {
        path_pattern(file, &self.home)?;
        if !is_alone_in_folder(file, &self.home) {
            return None;
        }
        let folder = file.parent()?;
        Some(Part::Folder.of(folder.to_owned()))
    }

    /// Whether a copy beside this file, such as `ids.md~` beside `ids.md`, can be read: a rule can
    /// name the file, and no rule in `denied` denies its folder as a whole.
    fn is_copy_open(&self, file: &Path, denied: &Denied) -> bool {
        let is_folder_denied = denied.denies_folder_of(file, &self.home);
        path_pattern(file, &self.home).is_some() && !is_folder_denied
    }

    /// The rules `Edit(PATTERN)` that keep Claude from changing these: the settings in any folder's
    /// `.claude`, which could switch the sandbox for shells off; the user's settings, if they are
    /// elsewhere; and the map with its folder. Each pattern begins at the root (`//`) or the home
    /// (`~/`): any other would count only from the session's folder.
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

    /// The paths that shells must not write, since the client reads or starts what is there outside
    /// of their sandbox: of the client's plugins, the map, and these programs of ours, what
    /// [`Self::folders_and_targets`] says. A path that no rule can name is left out.
    pub(crate) fn outside(&self, programs: &[PathBuf]) -> Vec<String> {
        // The name `any` stands for all that is in the folder of plugins.
        let plugin = self.claude.join("plugins/any");
        let mut files = vec![&plugin, &self.map];
        files.extend(programs);
        let paths = self.folders_and_targets(&files);
        paths
            .iter()
            .filter_map(|path| path_pattern(path, &self.home))
            .collect()
    }

    /// For each file, three paths: its folder ([`folder_to_guard`]), what that folder leads to by
    /// links, and what the file leads to. A path is left out if it is, or is in, one that is taken
    /// already; or if it is or holds the home. Of `/h/b/x`, with no links, that is only `/h/b`.
    fn folders_and_targets(&self, files: &[&PathBuf]) -> Vec<PathBuf> {
        let mut taken: Vec<PathBuf> = Vec::new();
        for file in files {
            let [named, real] = named_and_real(&folder_to_guard(file));
            for path in [named, real, without_links(file)] {
                let is_taken = taken.iter().any(|above| path.starts_with(above));
                if !is_taken && !self.home.starts_with(&path) {
                    taken.push(path);
                }
            }
        }
        taken
    }

    /// The pattern in the rule for this part of a path: `~/private/**` for the folder `private` in
    /// the home, `//srv/ids.md` for the file `/srv/ids.md`. None if no rule can name the path.
    fn pattern(&self, path: &Path, part: Part) -> Option<String> {
        let path = path_pattern(path, &self.home)?;
        // In a rule, one slash would mean the folder of the settings.
        let root = if path.starts_with('/') { "/" } else { "" };
        Some(format!("{root}{path}{}", part.tail()))
    }
}

/// The path as a pattern that means it: `~/a/b` in the home, else from the root (`/srv/a`). None if
/// no pattern can: the path has a character that is not shown, or is not UTF-8.
fn path_pattern(path: &Path, home: &Path) -> Option<String> {
    match path.strip_prefix(home) {
        Ok(below_home) => Some(format!("~/{}", as_literal_pattern(visible(below_home)?))),
        Err(_) => Some(as_literal_pattern(visible(path)?)),
    }
}

/// The path as [`path_pattern`] gives it, but from the root if the home's own path has a character
/// of patterns, such as `[`: in `denyRead`, Claude Code 2.1.290 replaces `~` by the home's path,
/// and then takes this for a pattern. None if no pattern means the path or the home.
fn shown_pattern(path: &Path, home: &Path) -> Option<String> {
    let text = visible(home)?;
    if as_literal_pattern(text) == text {
        return path_pattern(path, home);
    }
    visible(path).map(as_literal_pattern)
}

/// Where a client keeps what its agents read and do, each path also without links:
///
/// - agents' transcripts, in the folder `projects` of the client's folder `claude`;
/// - what tasks print, in `claude-UID` in each folder that [`folders_of_tasks`] says, by the
///   variables `CLAUDE_CODE_TMPDIR`, and the first of `TMPDIR`, `TMP` and `TEMP` that is set.
///
/// # Errors
/// [`OddPlace`] if one of these variables is a path that no rule can name.
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

/// The folder of `file`; but if the folder above that one is a plugin's, the plugin's folder. Of
/// `/p/bin/keyhole`, that is `/p` if `/p/.claude-plugin/plugin.json` exists, else `/p/bin`.
fn folder_to_guard(file: &Path) -> PathBuf {
    let mut above = file.ancestors().skip(1);
    let folder = above.next().unwrap_or(file);
    let plugin = above
        .next()
        .filter(|one| one.join(".claude-plugin/plugin.json").is_file());
    plugin.unwrap_or(folder).to_owned()
}

/// The rules `Bash(…)` that keep a shell from transcripts or from what tasks print: a rule for
/// reading binds only the client's own tools. They name the last two names of the path: for
/// `/h/.claude/projects`, one rule is `Bash(*grep*/.claude/projects*)`. Empty for a file or folder
/// of the user's.
fn rules_for_shells(kept: &Kept) -> Vec<String> {
    let mut rules = Vec::new();
    match kept.part {
        Part::File | Part::Folder => return rules,
        Part::Transcripts => {}
        Part::Tasks => rules.push(RULE_FOR_LINKS_OF_TASKS.to_owned()),
    }
    let path = kept.path.to_string_lossy();
    // The last slash but one is before the last two names.
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

/// The folder that the variable of this name is set to, without `.` and `..`. None if the variable
/// is not set; or if it is empty, since clients ignore that ([`is_followed`]).
///
/// # Errors
/// [`OddPlace`] if the path is relative (`notes`), or is the empty `CLAUDE_CONFIG_DIR`, which
/// clients do follow; or if no rule can name the path: it has a character of patterns (`/a*`), or
/// one that is not shown.
fn folder_named_by(name: &str, variable: Variables<'_>) -> Result<Option<PathBuf>, OddPlace> {
    let Some(set) = variable(name).filter(|set| is_followed(name, set)) else {
        return Ok(None);
    };
    let folder = normal(Path::new(&set));
    // No character of the path may need a `?` in its place, or be a `?`.
    let is_literal = visible(&folder)
        .is_some_and(|text| text == as_literal_pattern(text) && !text.contains('?'));
    if folder.is_relative() || !is_literal {
        return Err(OddPlace(name.to_owned()));
    }
    Ok(Some(folder))
}

/// Each value once, where it is first: `b`, `a` for `b`, `a`, `b`.
fn without_doubles<T: Clone + Eq + Hash>(mut all: Vec<T>) -> Vec<T> {
    let mut seen = HashSet::new();
    all.retain(|one| seen.insert(one.clone()));
    all
}

/// A pattern that means this path in a rule: `/a?b` for `/a*b`, and `/a?/b` for `/a /b`. `?` stands
/// for each character that has a meaning in patterns, and for a blank at the end of a name, which
/// the client would take away. Other paths stay as they are.
pub fn as_literal_pattern(path: &str) -> String {
    let special = ['*', '[', ']', '{', '}', '(', ')', '!', '\\', ','];
    let pattern = path.replace(special, "?").replace(" /", "?/");
    match pattern.strip_suffix(' ') {
        Some(rest) => format!("{rest}?"),
        None => pattern,
    }
}

/// Whether nothing but `file` is in its folder. In `~/private`, other Markdown files may be there,
/// too. True also if the folder does not exist. False if the folder cannot be read, has a folder in
/// it, or is or holds the home. Names with `.keyhole-` do not count.
fn is_alone_in_folder(file: &Path, home: &Path) -> bool {
    let folder = file.parent().unwrap_or(file);
    if holds_home(folder, home) {
        return false;
    }
    let Ok(entries) = fs::read_dir(folder) else {
        return !folder.exists();
    };
    let is_private_folder = named_and_real(&home.join("private")).contains(&folder.to_owned());
    for entry in entries.flatten() {
        let path = entry.path();
        // A `setup` that was killed leaves such a file, and the next `setup` removes it.
        if entry.file_name().to_string_lossy().contains(".keyhole-") {
            continue;
        }
        let is_markdown = path.extension().is_some_and(|ending| ending == "md");
        let may_be_there = path == file || is_private_folder && is_markdown;
        let may_be_folder = entry.file_type().map_or(true, |kind| kind.is_dir());
        if may_be_folder || !may_be_there {
            return false;
        }
    }
    true
}

/// The folders that hold the folder `claude-UID`, in which Claude Code keeps what its tasks print:
/// `own`, to which `CLAUDE_CODE_TMPDIR` is set; or, if it is not set, `usual`, to which a variable
/// of the system is set, but not on macOS. `/tmp` always comes last, since the client may be
/// started without these variables. On `linux`, `usual` `/t` gives `/t` and `/tmp`.
///
/// In a shell of Claude Code's, the variables name the folder `claude-UID` itself: for
/// `/t/claude-501`, `/t` is taken. On `macos`, `/private/var/x` becomes `/var/x`.
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
        // On macOS, /tmp and /var are links into /private. Which of the two paths the client
        // compares with a rule is not known: the caller adds the second by `named_and_real`.
        if is_macos && let Ok(below) = folder.strip_prefix("/private") {
            *folder = Path::new("/").join(below);
        }
    }
    without_doubles(folders)
}

#[cfg(test)]
mod tests;
