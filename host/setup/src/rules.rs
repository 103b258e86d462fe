//! The rules by which Claude Code keeps the main conversation from what only an agent is to
//! read.
#![expect(
    clippy::disallowed_methods,
    reason = "it looks at what the client may be asked to read, and opens its settings alone"
)]

mod denied;

pub use denied::Denied;
pub(crate) use denied::stands_for;
use keyhole_walk::printable::visible;
use serde_json::Value;
use std::{
    env::consts::OS,
    ffi::OsString,
    fs,
    path::{Component, Path, PathBuf},
};

/// The links to transcripts, in a shell's command.
const LINKS: &str = "Bash(*/tasks/a*)";

/// What Claude Code lets a shell do in a folder, past the rules for what is in it: what stands
/// before the folder in the command, and after it. The last three are patterns of a shell's.
const SHELLS: [(&str, &str); 5] = [
    ("grep*", ""),
    ("rg *", ""),
    ("", "\\**"),
    ("", "?*"),
    ("", "[*"),
];

/// What the rules do beside what they are for.
pub const CAUTION: &str = "These rules bind Claude Code's tools in all projects. They make newer clients ask about ordinary shell reads, which `claude -p` cannot answer.";

/// A name that only a pattern means.
const ANY: &str = "\u{1}\u{1}";

/// Where Claude Code keeps what tells of an agent's document.
#[derive(Clone, Debug)]
pub struct Places {
    home: PathBuf,
    /// Its folder.
    pub claude: PathBuf,
    /// The same, for people.
    pub shown: String,
    projects: Vec<PathBuf>,
    tasks: Vec<PathBuf>,
}

impl Places {
    /// None if a variable names a place that is not absolute, or has a character that is not
    /// shown, or that a rule would read in another way.
    pub fn find(home: &Path, variable: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let set = |name| variable(name).filter(|set| !set.is_empty());
        let own = set("CLAUDE_CONFIG_DIR").map(PathBuf::from);
        let shown = own
            .as_deref()
            .map_or(Some("~/.claude"), visible)?
            .to_owned();
        let claude = match own {
            Some(own) => in_a_rule(&own)?,
            None => home.join(".claude"),
        };
        let temporary = ["TMPDIR", "TMP", "TEMP"].into_iter().find_map(set);
        let (own, usual) = (set("CLAUDE_CODE_TMPDIR"), temporary);
        let mut tasks = Vec::new();
        for folder in folders_of_tasks(OS, own.map(PathBuf::from), usual.map(PathBuf::from)) {
            // The last name is a pattern.
            let (above, name) = (in_a_rule(folder.parent()?)?, folder.file_name()?);
            tasks.extend(both(&above).map(|above| above.join(name)));
        }
        Some(Self {
            home: home.to_owned(),
            projects: without_doubles(both(&claude.join("projects"))),
            claude,
            shown,
            tasks: without_doubles(tasks),
        })
    }

    /// The client's settings.
    pub(crate) fn settings(&self) -> PathBuf {
        self.claude.join("settings.json")
    }

    /// Whether the client is here.
    pub fn are_there(&self) -> bool {
        self.claude.is_dir()
    }

    /// The rules for what the client keeps of agents, as far as `denied` has no such rule:
    /// their transcripts, and the links to these among what its tasks print. All else there is
    /// the main conversation's own.
    pub fn missing(&self, denied: &Denied) -> Option<Vec<String>> {
        let mut missing = Vec::new();
        for projects in &self.projects {
            let transcript = [ANY, ANY, "subagents", ANY, ANY];
            let transcript = projects.join(transcript.iter().collect::<PathBuf>());
            if !denied.has(&transcript, &self.home) {
                missing.push(format!("Read({}/**/subagents/**)", self.written(projects)?));
            }
            if !denied.has(&projects.join(ANY), &self.home) {
                let names: Vec<_> = projects.iter().rev().take(2).map(Path::new).collect();
                let folder = names
                    .iter()
                    .rev()
                    .map(|name| format!("/{}", name.display()));
                missing.extend(shells(&folder.collect::<String>(), denied));
            }
        }
        for folder in &self.tasks {
            if denied.has(&folder.join(ANY), &self.home) {
                continue;
            }
            let written = self.written_tasks(folder)?;
            let link = folder.join(ANY).join(ANY).join("tasks");
            if !denied.has(&link.join(format!("a{ANY}.output")), &self.home) {
                missing.push(format!("Read({written}/**/tasks/a*.output)"));
            }
            let above = folder.parent().and_then(Path::file_name);
            let above = above.map_or_else(String::new, |name| format!("/{}", name.display()));
            missing.extend(Some(LINKS.to_owned()).filter(|rule| !denied.covers(rule)));
            missing.extend(shells(&format!("{above}/claude-"), denied));
        }
        Some(without_doubles(missing))
    }

    /// The rules that deny all of these places, as far as `denied` has no such rule. An older
    /// client needs them.
    pub fn wider(&self, denied: &Denied) -> Option<Vec<String>> {
        let all = self.projects.iter().chain(&self.tasks);
        let open = all.filter(|folder| !denied.has(&folder.join(ANY), &self.home));
        open.map(|folder| self.of_all(folder)).collect()
    }

    /// What to say if `denied` has them.
    pub(crate) fn too_wide(&self, denied: &Denied) -> Option<String> {
        let all = self.projects.iter().chain(&self.tasks);
        let rules = all.filter_map(|folder| self.of_all(folder));
        let rules: Vec<_> = rules.filter(|rule| denied.0.contains(rule)).collect();
        (!rules.is_empty()).then(|| {
            format!(
                "{} also keep the main conversation from its own background output, long outputs and memory. Unless you use Claude Code 2.1.197, take them out, and run this again: it writes narrower rules.",
                rules.join(" and ")
            )
        })
    }

    /// Whether a text has a rule, a narrow or a wide one, that denies the transcripts of agents.
    pub(crate) fn is_about_transcripts(&self, text: &str) -> bool {
        let written = self.projects.iter().filter_map(|one| self.written(one));
        let mut rules =
            written.flat_map(|one| ["/**/subagents/**)", "/**)"].map(|end| one.clone() + end));
        rules.any(|rule| text.contains(&format!("Read({rule}")))
    }

    fn of_all(&self, folder: &Path) -> Option<String> {
        Some(match self.tasks.contains(&folder.to_owned()) {
            true => format!("Read({}/**)", self.written_tasks(folder)?),
            false => format!("Read({}/**)", self.written(folder)?),
        })
    }

    /// The rules for a document, as far as `denied` has no such rule: for its folder, if that is
    /// the document's own, and for the file. Each alone has a hole: settings of a project can
    /// open the folder, and a program can put another file into the place of this one. None if
    /// a rule would read the path in another way.
    pub fn of_document(&self, file: &Path, denied: &Denied) -> Option<Vec<String>> {
        let mut rules = Vec::new();
        for file in without_doubles(both(file)) {
            let folder = file
                .parent()
                .filter(|folder| is_of_documents(folder, &file, &self.home));
            let folder = folder.filter(|folder| !denied.has(&folder.join(ANY), &self.home));
            let is_named = denied.names(&file, &self.home);
            if let Some(folder) = folder {
                rules.push(format!("Read({}/**)", self.written(folder)?));
            }
            match self.written(&file) {
                Some(file) => rules.extend((!is_named).then(|| format!("Read({file})"))),
                None if denied.has(&file, &self.home) => {}
                None => return None,
            }
        }
        Some(without_doubles(rules))
    }

    /// The rule for the folder of an own agent's tickets, as far as `denied` has no such rule:
    /// a shell that sees this folder could write one.
    pub fn of_tickets(&self, folder: &Path, denied: &Denied) -> Option<Vec<String>> {
        let folders = without_doubles(both(&normal(folder)));
        let open = folders
            .iter()
            .filter(|folder| !denied.has(&folder.join(ANY), &self.home));
        open.map(|folder| Some(format!("Read({}/**)", self.written(folder)?)))
            .collect()
    }

    /// The same of a folder of tasks, whose last name is a pattern.
    fn written_tasks(&self, folder: &Path) -> Option<String> {
        let above = self.written(folder.parent()?)?;
        Some(format!("{}/claude-*", above.trim_end_matches('/')))
    }

    /// A path as a rule has it.
    fn written(&self, path: &Path) -> Option<String> {
        Some(match path.strip_prefix(&self.home) {
            Ok(rest) => format!("~/{}", literal(rest)?),
            Err(_) => format!("/{}", literal(path)?),
        })
    }
}

/// The rules for shells in this folder, as far as `denied` has no such rule.
fn shells(folder: &str, denied: &Denied) -> impl Iterator<Item = String> {
    let rules = SHELLS.map(|(before, after)| format!("Bash(*{before}{folder}*{after})"));
    rules.into_iter().filter(|rule| !denied.covers(rule))
}

/// The path as the client has it, if a rule can name it.
fn in_a_rule(path: &Path) -> Option<PathBuf> {
    let path = normal(path);
    (literal(&path).is_some() && path.is_absolute()).then_some(path)
}

/// Without `.` and `..`, which the client takes out, too.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(normal.pop()),
            part => normal.push(part),
        }
    }
    normal
}

/// The path as it is named, and what it leads to: clients compare both with a rule, or the
/// second alone.
fn both(path: &Path) -> [PathBuf; 2] {
    [path.to_owned(), without_links(path)]
}

fn without_doubles<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut single = Vec::new();
    for one in all {
        if !single.contains(&one) {
            single.push(one);
        }
    }
    single
}

/// The path, if a rule reads it as it stands.
fn literal(path: &Path) -> Option<&str> {
    let special = ['*', '?', '[', ']', '{', '}', '(', ')', '!', '\\', ','];
    visible(path).filter(|text| !text.contains(special))
}

/// What a path leads to; or will, as far as it is not there yet.
pub(crate) fn without_links(path: &Path) -> PathBuf {
    let real = path.ancestors().find_map(|above| {
        let rest = path.strip_prefix(above).ok()?;
        let real = fs::canonicalize(above).ok()?;
        // A path that is joined to nothing gets a slash.
        Some(real.components().chain(rest.components()).collect())
    });
    real.unwrap_or_else(|| path.to_owned())
}

/// Whether a folder holds nothing but this file; or, if it is `~/private`, no other kind of file.
/// One that is not there yet will.
fn is_of_documents(folder: &Path, file: &Path, home: &Path) -> bool {
    let real = fs::canonicalize(home);
    if home.starts_with(folder) || real.is_ok_and(|home| home.starts_with(folder)) {
        return false;
    }
    let Ok(inside) = fs::read_dir(folder) else {
        return !folder.exists();
    };
    let is_private = both(&home.join("private")).iter().any(|one| folder == one);
    inside.flatten().all(|found| {
        let is_file = found
            .file_type()
            .is_ok_and(|kind| kind.is_file() || kind.is_symlink());
        let is_markdown = found
            .path()
            .extension()
            .is_some_and(|ending| ending == "md");
        is_file && (found.path() == file || is_markdown && is_private)
    })
}

/// The client's settings.
#[derive(Debug)]
pub struct Settings {
    /// None if a rule cannot name the client's places.
    pub places: Option<Places>,
    /// None if they are no JSON. Without a file, they are null.
    pub value: Option<Value>,
}

impl Settings {
    /// Reads them as the client does.
    pub fn read(home: &Path, variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let places = Places::find(home, variable);
        let read = |places: &Places| fs::read(places.settings()).unwrap_or_default();
        let text = places.as_ref().and_then(|places| decoded(&read(places)));
        let value = text.and_then(|text| match text.trim() {
            "" => Some(Value::Null),
            _ => serde_json::from_str(&text).ok(),
        });
        Self { places, value }
    }
}

/// The text, as the client reads it: a byte order mark says which encoding it has.
fn decoded(bytes: &[u8]) -> Option<String> {
    match bytes {
        [0xff, 0xfe, units @ ..] => {
            let (units, rest) = units.as_chunks();
            let units = units.iter().map(|unit| u16::from_le_bytes(*unit));
            let text = char::decode_utf16(units).collect::<Result<_, _>>().ok();
            text.filter(|_| rest.is_empty())
        }
        [0xef, 0xbb, 0xbf, text @ ..] | text => String::from_utf8(text.to_owned()).ok(),
    }
}

/// Where Claude Code keeps what its tasks print, in each spelling for which it needs a
/// rule. `own` is its variable `CLAUDE_CODE_TMPDIR`, `usual` what the system's variables say. It
/// sets both for its own shell, to the folder itself. The client may be started without them.
pub fn folders_of_tasks(
    system: &str,
    own: Option<PathBuf>,
    usual: Option<PathBuf>,
) -> Vec<PathBuf> {
    let is_macos = system == "macos";
    let tmp = PathBuf::from("/tmp");
    let set = own.or(usual.filter(|_| !is_macos));
    let above = set.into_iter().chain([tmp]);
    let folders = above.flat_map(|above| {
        let name = above.file_name().unwrap_or_default().to_string_lossy();
        let folder = match above.parent() {
            Some(parent) if name.starts_with("claude-") => parent.join("claude-*"),
            _ => above.join("claude-*"),
        };
        // On macOS, /tmp and /var are links into /private. Nobody has seen which of both paths
        // the client compares with a rule.
        let plain = folder
            .strip_prefix("/private")
            .map(|rest| Path::new("/").join(rest));
        let plain = plain.ok().filter(|_| is_macos).unwrap_or(folder);
        let is_linked = is_macos && ["/tmp", "/var"].iter().any(|link| plain.starts_with(link));
        let real = plain
            .strip_prefix("/")
            .map(|rest| Path::new("/private").join(rest));
        let real = real.ok().filter(|_| is_linked);
        [Some(plain), real].into_iter().flatten()
    });
    without_doubles(folders)
}

#[cfg(test)]
mod tests;
