//! The rules by which Claude Code keeps the main conversation from what only an agent is to
//! read.
#![expect(
    clippy::disallowed_methods,
    reason = "it looks at what the client may be asked to read, and opens its settings alone"
)]

use keyhole_walk::printable::visible;
use serde_json::Value;
use std::{
    env::{self, consts::OS},
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

/// Our own programs, which would pass the rules about files.
const PROGRAMS: [&str; 4] = [
    "Bash(*keyhole* inject*)",
    "Bash(*keyhole* serve*)",
    "Bash(*keyhole* setup*)",
    "Bash(*keyhole* withhold*)",
];

/// What the rules do beside what they are for.
pub const CAUTION: &str = "These rules bind Claude Code's tools in all projects. They make newer clients ask about ordinary shell reads, which `claude -p` cannot answer.";

/// Where Claude Code keeps what tells of an agent's document.
#[derive(Clone, Debug)]
pub struct Places {
    home: PathBuf,
    /// Its folder.
    pub claude: PathBuf,
    /// The same, in a rule and for people.
    pub shown: String,
    tasks: Vec<PathBuf>,
}

impl Places {
    /// None if a variable names a place with a character that is not shown, or that a rule
    /// would read in another way.
    pub fn find(home: &Path, variable: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let own = variable("CLAUDE_CONFIG_DIR")
            .filter(|own| !own.is_empty())
            .map(PathBuf::from);
        let temporary = variable("CLAUDE_CODE_TMPDIR").map(PathBuf::from);
        let tasks = folders_of_tasks(OS, temporary, env::temp_dir());
        // A path has a `\` between its names on Windows.
        let fits = |folder: &Path| match cfg!(windows) {
            true => visible(folder).is_some(),
            false => literal(folder).is_some(),
        };
        // The last name of a folder of tasks is a pattern.
        let mut folders = tasks.iter().filter_map(|folder| folder.parent());
        if !folders.all(fits) || !own.as_deref().is_none_or(fits) {
            return None;
        }
        let shown = own.as_deref().and_then(visible).unwrap_or("~/.claude");
        let shown = shown.to_owned();
        Some(Self {
            home: home.to_owned(),
            claude: own.unwrap_or_else(|| home.join(".claude")),
            shown,
            tasks,
        })
    }

    /// The client's settings.
    pub(crate) fn settings(&self) -> PathBuf {
        self.claude.join("settings.json")
    }

    /// The rules for what the client keeps, as far as `denied` has no such rule.
    pub fn missing(&self, denied: &Denied) -> Vec<String> {
        let mut missing = Vec::new();
        if !denied.has(&self.claude.join("projects/x"), &self.home) {
            let slash = if self.shown.starts_with('~') { "" } else { "/" };
            missing.push(format!("Read({slash}{}/projects/**)", self.shown));
        }
        let open = self
            .tasks
            .iter()
            .filter(|folder| !denied.has(&folder.join("x"), &self.home));
        missing.extend(open.filter_map(|folder| Some(format!("Read(/{}/**)", visible(folder)?))));
        missing
    }

    /// Whether the main conversation may read this file. A rule for a link is none for what it
    /// leads to.
    pub fn is_open(&self, file: &Path, denied: &Denied) -> bool {
        let real = fs::canonicalize(file);
        !denied.has(file, &self.home) || real.is_ok_and(|real| !denied.has(&real, &self.home))
    }

    /// The rules for a document: its folder if that is the document's own, or the file. None if
    /// a rule would read the path in another way.
    pub fn of_document(&self, file: &Path, denied: &Denied) -> Option<Vec<String>> {
        let real = without_links(file);
        let mut rules = Vec::new();
        for file in [file, &*real] {
            let rule = match file
                .parent()
                .filter(|folder| is_of_documents(folder, file, &self.home))
            {
                Some(folder) => format!("Read({}/**)", self.written(folder)?),
                None => format!("Read({})", self.written(file)?),
            };
            if !denied.has(file, &self.home) && !rules.contains(&rule) {
                rules.push(rule);
            }
        }
        Some(rules)
    }

    /// A path as a rule has it.
    fn written(&self, path: &Path) -> Option<String> {
        Some(match path.strip_prefix(&self.home) {
            Ok(rest) => format!("~/{}", literal(rest)?),
            Err(_) => format!("/{}", literal(path)?),
        })
    }
}

/// The path, if a rule reads it as it stands.
fn literal(path: &Path) -> Option<&str> {
    let special = ['*', '?', '[', ']', '{', '}', '(', ')', '!', '\\', ','];
    visible(path).filter(|text| !text.contains(special))
}

/// What a path leads to; or will, if only the file itself is not there yet.
pub(crate) fn without_links(file: &Path) -> PathBuf {
    let real = fs::canonicalize(file).ok().or_else(|| {
        let above = fs::canonicalize(file.parent()?).ok()?;
        Some(above.join(file.file_name()?))
    });
    real.unwrap_or_else(|| file.to_owned())
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
    inside.flatten().all(|found| {
        let is_file = found
            .file_type()
            .is_ok_and(|kind| kind.is_file() || kind.is_symlink());
        let is_markdown = found
            .path()
            .extension()
            .is_some_and(|ending| ending == "md");
        is_file && (found.path() == file || is_markdown && folder == home.join("private"))
    })
}

/// What settings deny to read.
#[derive(Clone, Debug, Default)]
pub struct Denied(Vec<String>);

impl Denied {
    /// As `permissions.deny` has it.
    pub fn of(settings: &Value) -> Self {
        let rules = settings["permissions"]["deny"].as_array();
        let rules = rules.into_iter().flatten().filter_map(Value::as_str);
        Self(rules.map(str::to_owned).collect())
    }

    /// The rules for our own programs, as far as there is no such rule.
    pub fn missing_programs(&self) -> impl Iterator<Item = String> {
        let is_there = |wanted: &&str| self.0.iter().any(|rule| covers(rule, wanted));
        let missing = PROGRAMS.into_iter().filter(move |wanted| !is_there(wanted));
        missing.map(str::to_owned)
    }

    fn has(&self, place: &Path, home: &Path) -> bool {
        let mut of_files = self.0.iter().filter_map(|rule| match &**rule {
            "Read" => Some("//**"),
            rule => rule.strip_prefix("Read(")?.strip_suffix(')'),
        });
        of_files.any(|rule| {
            let pattern = match (rule.strip_prefix('/'), rule.strip_prefix("~/")) {
                (Some(rest), _) => PathBuf::from(rest),
                (_, Some(rest)) => home.join(rest),
                _ => return false,
            };
            let (pattern, place) = (pattern.as_os_str(), place.as_os_str());
            means(pattern.as_encoded_bytes(), place.as_encoded_bytes())
        })
    }
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

/// Whether a rule denies each command that the rule `other` does. There, `*` stands for any
/// text, also for a `*` of `other`, which has no `/`.
fn covers(rule: &str, other: &str) -> bool {
    let is_pattern = rule.starts_with("Bash(") && rule.ends_with(')') && !rule.contains('/');
    let pattern = rule.replace('*', "**");
    rule == "Bash" || is_pattern && means(pattern.as_bytes(), other.as_bytes())
}

/// Whether a rule's pattern means this place, or a folder above it: `*` stands for any text in
/// a name, and `**` for any text.
pub(crate) fn means(pattern: &[u8], place: &[u8]) -> bool {
    match (pattern, place) {
        ([], [] | [b'/', ..]) => true,
        ([b'*', b'*', b'/', rest @ ..], _) if means(rest, place) => true,
        ([b'*', b'*', rest @ ..], _) => (0..=place.len()).any(|at| means(rest, &place[at..])),
        ([b'*', rest @ ..], _) => {
            let name = place.split(|byte| *byte == b'/').next();
            let end = name.map_or(0, <[u8]>::len);
            (0..=end).any(|at| means(rest, &place[at..]))
        }
        ([wanted, rest @ ..], [found, more @ ..]) => wanted == found && means(rest, more),
        _ => false,
    }
}

/// Where Claude Code keeps what its tasks print, in each spelling for which it needs a
/// rule. `own` is its variable `CLAUDE_CODE_TMPDIR`, `usual` the system's temporary folder.
/// It sets both for its own shell, to the folder itself.
pub fn folders_of_tasks(system: &str, own: Option<PathBuf>, usual: PathBuf) -> Vec<PathBuf> {
    let is_macos = system == "macos";
    let usual = if is_macos { "/tmp".into() } else { usual };
    let above = own
        .filter(|set| !set.as_os_str().is_empty())
        .unwrap_or(usual);
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
    [Some(plain), real].into_iter().flatten().collect()
}

#[cfg(all(test, unix))]
mod tests;
