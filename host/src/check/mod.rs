//! `keyhole check`: says whether the map is valid, and whether each of its files would
//! be served.

mod json;
mod text;
mod wall;

use crate::{
    caller::Caller,
    code::Code,
    limits::MAX_CLAUDE_CHARS,
    map::{BindingError, Entry, Key, LiveMap, Location, Map, MapError},
    seal::Standing,
    walk::{Distrust, Policy, System, Walker},
};
use std::{
    collections::{BTreeSet, HashSet},
    path::{Path, PathBuf},
};

/// The result of a check. It contains no key, nothing from which a key's length could be
/// told, and no text from the map that may be a key.
#[derive(Debug)]
pub struct Report {
    /// The map's path. None if an argument names it and no readable file is there:
    /// then the text may be anything, even a key.
    map: Option<PathBuf>,
    outcome: Result<Vec<EntryReport>, MapError>,
    bindings: Vec<BindingReport>,
    /// The roots in which no file is served, because others could put another
    /// directory in their place.
    roots: Vec<Distrust>,
    /// The parts of the second wall that stand. None if the check did not look.
    wall: Option<Standing>,
}

/// The result for one binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindingReport {
    /// Its name. None if the name contains a key.
    pub name: Option<String>,
    /// The line of the map on which it starts, counted from 1.
    pub line: u32,
    /// Whether it has a key that has an entry in the map. The entry's report says
    /// whether the file would load.
    pub result: Result<(), BindingError>,
}

impl BindingReport {
    /// Whether it would be served. None means that only its server's environment can
    /// tell.
    #[must_use]
    pub fn is_served(&self) -> Option<bool> {
        match self.result {
            Ok(()) => Some(true),
            Err(BindingError::NoVariable) => None,
            Err(_) => Some(false),
        }
    }
}

/// The result for one entry. The line identifies the entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryReport {
    /// The line of the map on which the entry stands, counted from 1.
    pub line: u32,
    /// The path as the map has it. None if it may be a key in the wrong place: if it
    /// does not end in `.md`, or contains one of the map's keys.
    pub path: Option<String>,
    /// Whether the key is bound to agents. The report does not name them: a name may
    /// be a key in the wrong place. The check cannot tell whether such agents exist.
    pub is_bound: bool,
    /// The file's size in bytes, or why it is not served.
    pub result: Result<u64, Code>,
    /// What else the user should know. A warning alone does not keep the file from
    /// being served.
    pub warnings: Vec<Warning>,
}

/// A problem that is not an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[non_exhaustive]
pub enum Warning {
    /// The key is so short, or so simple, that somebody might guess it.
    #[error(
        "a key of fewer than {} characters, or fewer than {} different ones, may be guessed",
        Key::STRONG_LEN,
        Key::STRONG_CHARS
    )]
    WeakKey,
    /// The file may be longer than what Claude Code shows its model in one result: it
    /// has more bytes than Claude Code takes characters.
    #[error(
        "in Claude Code, a file of more than {MAX_CLAUDE_CHARS} characters is refused as too-large"
    )]
    LongForClaude,
    /// The file's directory is the user's home, or a directory above it.
    #[error(
        "the file lies directly in your home, or above it: `serve --sealed` would keep all of that directory readable; move the file into a directory of its own"
    )]
    WideDirectory,
}

/// Checks the map, and loads every file in it, one after another. `load` returns the
/// file's size in bytes. It must load files as calls do, so that the report says what
/// a caller would get.
///
/// Reading the map blocks for a moment.
pub async fn check(
    live: &LiveMap,
    load: impl AsyncFn(&Key, &Caller) -> Result<u64, Code>,
) -> Report {
    let (mut bindings, mut roots) = (Vec::new(), Vec::new());
    let outcome = match live.current() {
        Err(error) => Err(error),
        Ok(map) => {
            let keys: Vec<_> = map.bindings().iter().map(|(_, b)| b.key(&map)).collect();
            let secrets = Secrets::of(&map, keys.iter().flatten());
            roots = map.distrusted_roots();
            roots.iter_mut().for_each(|root| secrets.hide(root));
            let mut entries = Vec::new();
            for entry in map.entries() {
                entries.push(judge(&entry, &secrets, live.location(), &load).await);
            }
            for ((name, binding), key) in map.bindings().into_iter().zip(&keys) {
                let shows_a_key = binding.shows_a_key(name, key.as_ref().ok(), &map);
                bindings.push(BindingReport {
                    name: (!shows_a_key && !secrets.are_in(name)).then(|| name.to_string()),
                    line: binding.line(),
                    result: match key {
                        _ if shows_a_key => Err(BindingError::ShowsAKey),
                        Ok(key) if map.find(key).is_none() => Err(BindingError::NoEntry),
                        Ok(_) => Ok(()),
                        Err(BindingError::Untrusted(distrust)) => {
                            let mut distrust = distrust.clone();
                            secrets.hide(&mut distrust);
                            Err(BindingError::Untrusted(distrust))
                        }
                        Err(error) => Err(error.clone()),
                    },
                });
            }
            Ok(entries)
        }
    };
    let location = live.location();
    let is_known = !location.is_named()
        || !matches!(
            outcome,
            Err(MapError::Missing { .. } | MapError::Unreadable { .. })
        );
    Report {
        map: is_known.then(|| location.file().to_owned()),
        outcome,
        bindings,
        roots,
        wall: None,
    }
}

/// Loads one entry as a call would.
pub(crate) async fn judge(
    entry: &Entry<'_>,
    secrets: &Secrets<'_>,
    location: &Location,
    load: &impl AsyncFn(&Key, &Caller) -> Result<u64, Code>,
) -> EntryReport {
    // The call is made as an agent that may use the key, because the check asks
    // whether the file would load.
    let agent = entry.agents().and_then(|agents| agents.first());
    let caller = agent.map_or(Caller::Nobody, |agent| Caller::Agent(agent.clone()));
    let (key, path) = (entry.key(), entry.path());
    let is_shown = path.ends_with(".md") && !secrets.are_in(path);
    let result = load(&key, &caller).await;
    let is_wide = result.is_ok() && is_wide(path, location);
    let warnings = [
        key.is_weak().then_some(Warning::WeakKey),
        result
            .is_ok_and(|bytes| bytes > MAX_CLAUDE_CHARS as u64)
            .then_some(Warning::LongForClaude),
        is_wide.then_some(Warning::WideDirectory),
    ];
    EntryReport {
        line: entry.line(),
        path: is_shown.then(|| path.to_owned()),
        is_bound: agent.is_some(),
        result,
        warnings: warnings.into_iter().flatten().collect(),
    }
}

/// The keys of a map and its bindings, short ones too.
pub(crate) struct Secrets<'a> {
    keys: HashSet<&'a [u8]>,
    lengths: BTreeSet<usize>,
}

impl<'a> Secrets<'a> {
    pub(crate) fn of(map: &'a Map, bound: impl Iterator<Item = &'a Key>) -> Self {
        let entries = map.entries().into_iter();
        let keys: HashSet<&[u8]> = entries
            .map(|entry| entry.expose_key())
            .chain(bound.map(Key::expose))
            .map(str::as_bytes)
            .collect();
        let lengths = keys.iter().map(|key| key.len()).collect();
        Self { keys, lengths }
    }

    /// Hides the path if it contains one of the keys.
    fn hide(&self, distrust: &mut Distrust) {
        if self.are_in(&distrust.path.to_string_lossy()) {
            distrust.path = "…".into();
        }
    }

    /// Whether `text`, which does not come from the map, reveals a key: it is one of
    /// the keys, or contains one that is too long to be a word.
    pub(crate) fn are_told_by(&self, text: &str) -> bool {
        let is_key = |part: &[u8]| self.keys.contains(part);
        let is_strong = |part: &[u8]| str::from_utf8(part).is_ok_and(|key| !Key::is_guessable(key));
        is_key(text.as_bytes())
            || self.lengths.range(Key::STRONG_LEN..).any(|length| {
                let mut parts = text.as_bytes().windows(*length);
                parts.any(|part| is_key(part) && is_strong(part))
            })
    }

    /// Whether `text` contains one of the keys anywhere.
    fn are_in(&self, text: &str) -> bool {
        let text = text.as_bytes();
        // This looks up each part of the text that has a key's length. To search for
        // each key by itself would take minutes with a large map.
        self.lengths
            .iter()
            .any(|length| text.windows(*length).any(|part| self.keys.contains(part)))
    }
}

/// Whether the real file's directory is the user's home or one above it.
fn is_wide(path: &str, location: &Location) -> bool {
    let walker = Walker::new(System);
    let file = location
        .expand(path)
        .and_then(|path| walker.walk(&path, Policy::FOLLOWED).ok());
    let Some(file) = file else { return false };
    // A process without a home can still have a file in `/`.
    let home = location.home().unwrap_or(Path::new("/"));
    let home = walker.walk(home, Policy::ROOT);
    home.is_ok_and(|home| home.is_beneath(&file))
}

impl Report {
    /// The entries in the order of the map, or the reason that there are none.
    ///
    /// # Errors
    /// What is wrong with the map itself.
    pub fn entries(&self) -> Result<&[EntryReport], &MapError> {
        self.outcome.as_deref()
    }

    /// The bindings in the order of the map. There are none if the map is invalid.
    #[must_use]
    pub fn bindings(&self) -> &[BindingReport] {
        &self.bindings
    }

    /// The exit code for the process: 0 if every file and binding would be served
    /// (also if the map has no keys), 1 if one would not, 2 if there is no map or it
    /// is invalid. Warnings do not count.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match &self.outcome {
            Ok(entries)
                if entries.iter().all(|entry| entry.result.is_ok())
                    && self.bindings.iter().all(|b| b.is_served() != Some(false)) =>
            {
                0
            }
            Ok(_) => 1,
            Err(_) => 2,
        }
    }

    /// The message about a map that cannot be used. It does not repeat an argument
    /// that names no readable file.
    fn said(&self, error: &MapError) -> String {
        match error {
            MapError::Missing { .. } if self.map.is_none() => {
                "there is no map where --map says; create it, or name another".to_owned()
            }
            MapError::Unreadable { kind, .. } if self.map.is_none() => format!(
                "the map that --map names cannot be read: {kind}; fix its permissions, or name another"
            ),
            MapError::Parse { source, .. } => source.message.clone(),
            other => other.to_string(),
        }
    }
}

/// What the user at the terminal can do about a code. [`Code::advice`] speaks to an
/// agent instead, which must ask the user.
pub(crate) const fn remedy(code: Code) -> &'static str {
    match code {
        Code::CallerNotVerified | Code::UnknownKey => {
            "the key was removed from the map during the check; check again"
        }
        Code::MapMissing | Code::MapInvalid => "the map changed during the check; check again",
        Code::NotMarkdown => {
            "the name in the map, and that of the real file behind any link, must end in .md"
        }
        Code::NotFound => {
            "nothing is there; create the file or fix the path, which is taken as written: only ~/ is expanded, and a relative one starts at the map's directory"
        }
        Code::NotAFile => "this is no regular file; map a Markdown file",
        Code::OutsideRoot => {
            "the real file lies in none of the map's roots (a root must be an existing directory), or is a link that changes; move it, or add its directory to roots"
        }
        Code::PermissionDenied => {
            "you may not read the file, or enter its directory; fix their permissions"
        }
        Code::TooLarge => "the file is larger than its limit; shorten it or raise max_bytes",
        Code::NotUtf8 => "the file is not UTF-8 text; convert it",
        Code::Changed => "the file was being written to; check again",
        Code::TimedOut => "the file could not be read in time; look at the file system it is on",
        Code::Busy => "the system was too busy; check again",
        Code::OutOfResources => {
            "too few file descriptors, threads or memory are allowed; raise the limits (ulimit -n, -u and -v)"
        }
        Code::Internal => "an error in Keyhole; if it happens again, please report it",
    }
}

#[cfg(test)]
mod tests;
