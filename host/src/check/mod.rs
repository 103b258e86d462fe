//! `keyhole check`: is the map right, and would each of its files be served?

mod json;
mod text;

use crate::{
    Caller, Code,
    map::{BindingError, Key, LiveMap, MapError},
};
use std::path::PathBuf;

/// What came of a check. It holds keys only if the user asked to see them.
#[derive(Debug)]
pub struct Report {
    map: PathBuf,
    show_keys: bool,
    outcome: Result<Vec<EntryReport>, MapError>,
    bindings: Vec<BindingReport>,
}

/// What came of one binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindingReport {
    /// Its name.
    pub name: String,
    /// The line of the map on which it stands, from 1.
    pub line: u32,
    /// Whether it has a key that the map has an entry for. Whether that would load
    /// is said of the entry.
    pub result: Result<(), BindingError>,
}

impl BindingReport {
    /// Whether it would be served; none where only its server's environment tells.
    #[must_use]
    pub fn is_served(&self) -> Option<bool> {
        match self.result {
            Ok(()) => Some(true),
            Err(BindingError::NoVariable) => None,
            Err(_) => Some(false),
        }
    }
}

/// What came of one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryReport {
    /// The key, or enough of it to be known by: see [`Key::redacted`].
    pub key: String,
    /// The line of the map on which the entry stands, from 1.
    pub line: u32,
    /// The path as the map has it.
    pub path: String,
    /// The agents that the key is bound to; none: any caller may use it. Whether
    /// there are such agents cannot be checked here.
    pub agents: Option<Vec<String>>,
    /// The file's size in bytes, or why it is not served.
    pub result: Result<u64, Code>,
    /// Whether the key is so short that it might be guessed. It is a warning.
    pub weak_key: bool,
}

/// Checks the map, and loads every file in it through `load`, one after another,
/// which answers with the file's size in bytes. It has to be the way that calls
/// go, so that the report says what a caller would get.
///
/// Keys are redacted in the report unless `show_keys`. Reading the map blocks for
/// a moment.
pub async fn check(
    live: &LiveMap,
    show_keys: bool,
    load: impl AsyncFn(&Key, &Caller) -> Result<u64, Code>,
) -> Report {
    let mut bindings = Vec::new();
    let outcome = match live.current() {
        Err(error) => Err(error),
        Ok(map) => {
            let mut entries = Vec::new();
            for (key, entry) in map.entries() {
                // As one who may: what is checked is whether the file would load.
                let agent = entry.agents().and_then(|agents| agents.first());
                let caller = agent.map_or(Caller::Nobody, |agent| Caller::Agent((**agent).into()));
                entries.push(EntryReport {
                    key: if show_keys {
                        key.expose().to_owned()
                    } else {
                        key.redacted()
                    },
                    line: entry.line(),
                    path: entry.path().to_owned(),
                    agents: entry
                        .agents()
                        .map(|agents| agents.iter().map(|agent| (**agent).to_owned()).collect()),
                    result: load(key, &caller).await,
                    weak_key: key.is_weak(),
                });
            }
            for (name, binding) in map.bindings() {
                let key = binding.key(&map);
                let shows_a_key = binding.shows_a_key(name, key.as_ref().ok(), &map);
                bindings.push(BindingReport {
                    // The name itself may be what holds it.
                    name: match shows_a_key && !show_keys {
                        true => "…".to_owned(),
                        false => name.to_owned(),
                    },
                    line: binding.line(),
                    result: match key {
                        _ if shows_a_key => Err(BindingError::ShowsAKey),
                        Ok(key) if map.find(&key).is_none() => Err(BindingError::NoEntry),
                        Ok(_) => Ok(()),
                        Err(error) => Err(error),
                    },
                });
            }
            Ok(entries)
        }
    };
    Report {
        map: live.location().file().to_owned(),
        show_keys,
        outcome,
        bindings,
    }
}

impl Report {
    /// The entries in the order of the map, or why there are none.
    ///
    /// # Errors
    /// What is wrong with the map itself.
    pub fn entries(&self) -> Result<&[EntryReport], &MapError> {
        self.outcome.as_deref()
    }

    /// The bindings in the order of the map; none where the map is wrong.
    #[must_use]
    pub fn bindings(&self) -> &[BindingReport] {
        &self.bindings
    }

    /// What the process should exit with: 0 if every file and binding would be
    /// served (also where the map has no keys), 1 if one would not, 2 if there is no
    /// map or it is invalid. Weak keys do not count.
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
}

/// What the user does about a code at the terminal. [`Code::advice`] speaks to an
/// agent instead, who is to ask the user.
const fn remedy(code: Code) -> &'static str {
    match code {
        Code::CallerNotVerified | Code::UnknownKey => {
            "the key left the map during the check; check again"
        }
        Code::MapMissing | Code::MapInvalid => "the map changed during the check; check again",
        Code::NotMarkdown => {
            "the name in the map, and that of the real file behind any link, must end in .md"
        }
        Code::NotFound => {
            "nothing is there; create the file or mend the path, which is taken as written: only ~/ is expanded, and a relative one starts at the map's directory"
        }
        Code::NotAFile => "this is no regular file; map a Markdown file",
        Code::OutsideRoot => {
            "the real file lies in none of the map's roots (a root must be a directory that is there), or is a link that changes; move it, or add its directory to roots"
        }
        Code::PermissionDenied => {
            "you may not read the file, or enter its directory; mend their permissions"
        }
        Code::TooLarge => "the file is larger than its limit; shorten it or raise max_bytes",
        Code::NotUtf8 => "the file is not UTF-8 text; convert it",
        Code::Changed => "the file was being written to; check again",
        Code::TimedOut => "the file could not be read in time; look at the file system it is on",
        Code::Busy => "too much was going on; check again",
        Code::OutOfResources => {
            "too few file descriptors, threads or memory are allowed; raise the limits (ulimit -n, -u and -v)"
        }
        Code::Internal => "Keyhole failed at this; if it repeats, please report it",
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
