//! The rules by which Claude Code keeps the main conversation from what only an agent is to read.

mod denied;

use crate::{
    Variables,
    paths::{both, normal},
    state_folder,
};
pub use denied::Denied;
use keyhole_walk::printable::visible;
use std::{
    collections::HashSet,
    env::consts::OS,
    ffi::OsStr,
    fs,
    hash::Hash,
    path::{Path, PathBuf},
};

/// The links to transcripts, in a shell's command.
const LINKS: &str = "Bash(*/tasks/a*)";

/// What Claude Code lets a shell do in a folder, past the rules for what is in it. The last three
/// are patterns of a shell's.
const SHELLS: [&str; 5] = [
    "Bash(*grep*FOLDER*)",
    "Bash(*rg *FOLDER*)",
    "Bash(*FOLDER*\\**)",
    "Bash(*FOLDER*?*)",
    "Bash(*FOLDER*[*)",
];

/// How a shell calls our own programs, which would pass the rules about files: by the name, or by
/// a path, also the plugin's.
const PROGRAMS: [&str; 2] = ["keyhole", "*/keyhole*"];

/// What the rules do beside what they are for.
pub const CAUTION: &str = "These rules bind Claude Code's tools in all projects. They make newer clients ask about ordinary shell reads, which `claude -p` cannot answer.";

/// A name that only a pattern means.
const ANY: &str = "\u{1}\u{1}";

/// What follows the folder in the rule for transcripts of agents, and in the one for what tasks
/// print, whose folders have names that begin alike.
const TRANSCRIPTS: &str = "/**/subagents/**";
const TASKS: &str = "*/**/tasks/a*.output";

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
    /// Its folder.
    pub claude: PathBuf,
    /// The same, for people.
    pub shown: String,
    tickets: PathBuf,
    /// Folders, each with what follows it in its rule.
    kept: Vec<(PathBuf, &'static str)>,
}

/// Whether a client follows a variable that says this. If its folder's is empty, Claude Code takes
/// the one where it is started.
pub fn is_set(name: &str, value: &OsStr) -> bool {
    !value.is_empty() || name == "CLAUDE_CONFIG_DIR"
}

impl Places {
    /// # Errors
    /// If a variable names a place that no rule can name, or none at all.
    pub fn find(home: &Path, variable: Variables<'_>) -> Result<Self, OddPlace> {
        let tickets = normal(&state_folder(home, variable));
        let set = |name: &str| {
            let set = variable(name).filter(|set| is_set(name, set));
            let path = set.map(|set| normal(Path::new(&set)));
            let is_odd = |path: &PathBuf| path.is_relative() || literal(path).is_none();
            if path.as_ref().is_some_and(is_odd) {
                return Err(OddPlace(name.to_owned()));
            }
            Ok(path)
        };
        let own = set("CLAUDE_CONFIG_DIR")?;
        let shown = own.as_deref().and_then(visible).unwrap_or("~/.claude");
        let shown = shown.to_owned();
        let claude = own.unwrap_or_else(|| home.join(".claude"));
        let mut usual = ["TMPDIR", "TMP", "TEMP"].into_iter().map(set);
        let usual = usual.find_map(Result::transpose).transpose()?;
        let projects = both(&claude.join("projects")).map(|folder| (folder, TRANSCRIPTS));
        let mut kept = projects.to_vec();
        for folder in folders_of_tasks(OS, set("CLAUDE_CODE_TMPDIR")?, usual) {
            kept.extend(both(&folder).map(|above| (above.join("claude-"), TASKS)));
        }
        Ok(Self {
            home: home.to_owned(),
            claude,
            shown,
            tickets,
            kept: without_doubles(kept),
        })
    }

    /// The client's settings.
    pub fn settings(&self) -> PathBuf {
        self.claude.join("settings.json")
    }

    /// The client's settings, for people.
    pub fn shown_settings(&self) -> String {
        format!("{}/settings.json", self.shown)
    }

    /// All rules that keep these files, and what the client keeps of their agents, from the main
    /// conversation, less those that `denied` has: for transcripts, for what tasks print, for
    /// each file and its folder, for the folder of tickets if a file is `served` to an agent by a
    /// server of its own, and for our own programs. And whether no rule can name one of the files
    /// or folders.
    pub fn missing(&self, denied: &Denied, files: &[PathBuf], served: bool) -> (Vec<String>, bool) {
        let (mut rules, mut is_unnamed) = (Vec::new(), false);
        let mut wanted = self.kept.clone();
        for file in files.iter().flat_map(|file| both(file)) {
            let has_folder = self.rule(&file, "").is_some() && is_alone(&file, &self.home);
            let folder = file.parent().filter(|_| has_folder);
            wanted.extend(folder.map(|folder| (folder.to_owned(), "/**")));
            wanted.push((file, ""));
        }
        let tickets = both(&self.tickets).map(|folder| (folder, "/**"));
        wanted.extend(tickets.into_iter().filter(|_| served));
        for (path, tail) in without_doubles(wanted) {
            let Some(rule) = self.rule(&path, tail) else {
                is_unnamed |= !denied.has(&path, &self.home);
                continue;
            };
            rules.push(rule);
            rules.extend((tail == TASKS).then(|| LINKS.to_owned()));
            if [TRANSCRIPTS, TASKS].contains(&tail) {
                let path = path.to_string_lossy();
                let two_names = path.rmatch_indices('/').nth(1).map_or(0, |(at, _)| at);
                rules.extend(SHELLS.map(|rule| rule.replace("FOLDER", &path[two_names..])));
            }
        }
        for command in ["inject", "serve", "withhold"] {
            rules.extend(PROGRAMS.map(|program| format!("Bash({program} {command}*)")));
        }
        rules.retain(|rule| !denied.covers(rule, &self.home));
        (without_doubles(rules), is_unnamed)
    }

    /// The rules that keep Claude from the settings that switch the sandbox for shells off, in each
    /// folder: a rule for a path from the session's folder does not bind in others.
    pub fn guards(&self) -> Vec<String> {
        let own = self.rule(&self.settings(), "");
        let own = own.filter(|_| !self.claude.ends_with(".claude"));
        let own = own.map(|rule| rule.replacen("Read", "Edit", 1));
        let all = ["settings.json", "settings.local.json"];
        let all = all.map(|name| format!("Edit(//**/.claude/{name})"));
        all.into_iter().chain(own).collect()
    }

    fn rule(&self, path: &Path, tail: &str) -> Option<String> {
        Some(match path.strip_prefix(&self.home) {
            Ok(rest) => format!("Read(~/{}{tail})", literal(rest)?),
            Err(_) => format!("Read(/{}{tail})", literal(path)?),
        })
    }
}

fn without_doubles<T: Clone + Eq + Hash>(mut all: Vec<T>) -> Vec<T> {
    let mut seen = HashSet::new();
    all.retain(|one| seen.insert(one.clone()));
    all
}

/// The path, if a rule reads it as it stands.
fn literal(path: &Path) -> Option<&str> {
    let special = ['*', '?', '[', ']', '{', '}', '(', ')', '!', '\\', ','];
    let mut names = path.iter().map(|name| name.as_encoded_bytes());
    let ends_in_blank = names.any(|name| name.ends_with(b" "));
    visible(path).filter(|text| !text.contains(special) && !ends_in_blank)
}

/// Whether a file's folder holds nothing else; or, if it is `~/private`, no other kind of file.
/// One that is not there yet will.
fn is_alone(file: &Path, home: &Path) -> bool {
    let folder = file.parent().unwrap_or(file);
    if both(home).iter().any(|home| home.starts_with(folder)) {
        return false;
    }
    let Ok(inside) = fs::read_dir(folder) else {
        return !folder.exists();
    };
    let is_private = both(&home.join("private")).iter().any(|one| folder == one);
    inside.flatten().all(|found| {
        let (kind, path) = (found.file_type(), found.path());
        let is_markdown = path.extension().is_some_and(|ending| ending == "md");
        kind.is_ok_and(|kind| !kind.is_dir()) && (path == file || is_markdown && is_private)
    })
}

/// The folders in which Claude Code keeps what its tasks print (in `claude-UID`). `own` is its
/// variable `CLAUDE_CODE_TMPDIR`, `usual` what the system's variables say. It sets both for its own
/// shell, to `claude-UID` itself. The client may be started without them.
fn folders_of_tasks(system: &str, own: Option<PathBuf>, usual: Option<PathBuf>) -> Vec<PathBuf> {
    let is_macos = system == "macos";
    let set = own.or(usual.filter(|_| !is_macos));
    let folder = |above: PathBuf| {
        let name = above.file_name().unwrap_or_default().to_string_lossy();
        let parent = above.parent().filter(|_| name.starts_with("claude-"));
        let folder = parent.unwrap_or(&above);
        // On macOS, /tmp and /var are links into /private. Nobody has seen which of both paths
        // the client compares with a rule.
        let plain = folder.strip_prefix("/private").ok().filter(|_| is_macos);
        plain.map_or_else(|| folder.to_owned(), |rest| Path::new("/").join(rest))
    };
    let all = set.into_iter().chain([PathBuf::from("/tmp")]);
    without_doubles(all.map(folder).collect())
}

#[cfg(test)]
mod tests;
