//! One entry of the map: whether its file would be served, and what to do.

use super::step;
use keyhole_core::{
    AgentName, Caller, Entry, Grant, Key, Loader, Location, Map, MapError, Maps, Refusal, Target,
    limits::MAX_CLAUDE_CHARS, locate, sandbox::Sandbox,
};
use keyhole_setup::PLUGIN;
use keyhole_walk::{Handle, System, Walker, printable::is_blank};
use keyhole_withhold::has_few_values;
use std::{
    collections::{BTreeSet, HashSet},
    path::PathBuf,
    sync::Arc,
    time::Instant,
};

/// What to do about a binding that shows a key.
pub(super) const SHOWS_A_KEY: &str =
    "the binding's name, title or description holds a key, and clients show them; reword it";

/// The result for one entry, or one binding. The line identifies it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EntryReport {
    pub(super) line: u32,
    /// The path as the map has it. None if it may be a key in the wrong place: if it
    /// does not end in `.md`, or contains one of the map's keys.
    pub(super) path: Option<String>,
    pub(super) is_binding: bool,
    /// A binding's name. None if it contains a key.
    pub(super) name: Option<String>,
    /// Whether a client would be shown a key. Then the binding's server does not start.
    pub(super) shows_a_key: bool,
    /// Whether it is for its agents only. The report does not name them: a name may
    /// be a key in the wrong place.
    pub(super) is_bound: bool,
    /// The file's size in bytes, or why it is not served.
    pub(crate) result: Result<u64, Refusal>,
    /// Its length as Claude Code counts: in UTF-16 code units.
    pub(crate) chars: usize,
    /// What is wrong with this one, or what others may read, and what to do. It may hold
    /// paths.
    pub(super) detail: Option<String>,
    /// What else the user should know. None of it keeps the file from being served.
    pub(crate) warnings: Vec<Warning>,
}

impl EntryReport {
    pub(super) fn is_served(&self) -> bool {
        !self.shows_a_key && self.result.is_ok()
    }

    /// For an agent of Claude Code, which takes no longer file.
    pub(super) fn refuse_if_long(&mut self) {
        if self.chars > MAX_CLAUDE_CHARS && self.result.is_ok() {
            self.result = Err(Refusal::TooLarge);
            self.warnings.clear();
            self.detail = Some(format!(
                "it has {} characters, and Claude Code takes {MAX_CLAUDE_CHARS} at most: shorten it",
                self.chars
            ));
        }
    }

    /// What to do about a file that is not served.
    pub(crate) fn message(&self) -> Option<String> {
        if self.shows_a_key {
            return Some(SHOWS_A_KEY.to_owned());
        }
        let code = self.result.err()?;
        Some(self.detail.clone().unwrap_or_else(|| code.remedy().into()))
    }
}

/// A problem that keeps no file from being served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub(crate) enum Warning {
    /// This one fails the check.
    #[error(
        "a key of fewer than {} characters, or fewer than {} different ones, can be guessed, and its entry has no agents; replace it by one that `keyhole setup key FILE` prints",
        Key::STRONG_LEN,
        Key::STRONG_CHARS
    )]
    GuessableKey,
    #[error("the file is empty, so a scan would find nothing. Write your list into it")]
    Blank,
    #[error(
        "the file holds NUL characters, so at least a part of it is not UTF-8 text, but perhaps UTF-16, and a scan may miss it. Save it as UTF-8"
    )]
    Nul,
    #[error(
        "withhold finds next to no value in the file, so it takes next to nothing out of a report: headings, labels and ordinary words stay. Write each value as an item of a list"
    )]
    FewValues,
    /// Only its agents get the file.
    #[error(
        "a key of fewer than {} characters, or fewer than {} different ones, may be guessed",
        Key::STRONG_LEN,
        Key::STRONG_CHARS
    )]
    WeakKey,
    #[error("the plugin's agent asks for the key {} only, so it never loads this file", PLUGIN.1)]
    NotItsKey,
    #[error(
        "in Claude Code, a file of more than {MAX_CLAUDE_CHARS} characters is refused as too-large"
    )]
    LongForClaude,
    /// The entry's detail says how to close it, so this one is the last.
    #[error("by its mode, a group or others may read the file")]
    Open,
}

/// A text, and the paths that it names.
pub(super) type Advice = (String, Vec<PathBuf>);

/// A map that is read once: for each of its entries, the next reading would be another map.
pub(crate) struct ReadMap(pub(crate) Result<Arc<Map>, MapError>);

impl Maps for ReadMap {
    type Directory = Handle;

    fn map_now(&self, _: Instant) -> Result<Arc<Map>, Refusal> {
        self.0.clone().map_err(|error| error.code())
    }

    fn resolve(&self, map: &Map, entry: &Entry, end: Instant) -> Result<Grant<Handle>, Refusal> {
        locate(&Walker::new(System).until(end), map, entry).map_err(|error| error.code())
    }
}

/// Whether a map that has this name means the plugin's agent.
pub(crate) fn is_the_plugins(name: &AgentName) -> bool {
    AgentName::try_from(PLUGIN.0).is_ok_and(|own| name.means(&own))
}

/// Loads one entry as a call for `target` would.
pub(crate) async fn entry_report(
    map: &Map,
    target: Target,
    entry: &Entry,
    secrets: &Secrets<'_>,
    location: &Location,
    loader: &Loader<ReadMap, Sandbox>,
) -> EntryReport {
    // The call is made as an agent that may have the file, because the check asks
    // whether the file would load.
    let agents = entry.agents().unwrap_or_default();
    let caller = agents
        .first()
        .map_or(Caller::Nobody, |agent| Caller::Agent(agent.clone()));
    let path = entry.path();
    // The agents of a binding are those of one server.
    let key = match &target {
        Target::Key(key) => Some(&**key),
        _ => None,
    };
    let is_weak = key.is_some_and(Key::is_guessable);
    let is_misspelt = |name: &AgentName| {
        let is_ours = name.starts_with("keyhole:") || name.starts_with("keyhole@");
        key.is_some() && is_ours && !is_the_plugins(name)
    };
    let is_not_its_key =
        key.is_some_and(|key| key != PLUGIN.1) && agents.iter().any(is_the_plugins);
    let loaded = if !agents.is_empty() && agents.iter().all(is_misspelt) {
        Err(Refusal::UnknownKey)
    } else {
        loader.load(target, caller).await
    };
    let text = loaded.as_ref().map(|document| &*document.text);
    let file = location.expand(path);
    let detail = file.and_then(|file| match text {
        Err(code) => step::to_a_file(*code, map, entry, &file, location),
        Ok(_) => step::closing(&file),
    });
    let has = |is: fn(&str) -> bool| text.is_ok_and(is);
    let chars = text.map_or(0, |text| text.encode_utf16().count());
    let mut warnings = vec![
        (has(is_blank), Warning::Blank),
        (has(|text| text.contains('\0')), Warning::Nul),
        (entry.withholds() && has(has_few_values), Warning::FewValues),
        (is_weak && !agents.is_empty(), Warning::WeakKey),
        (is_weak && agents.is_empty(), Warning::GuessableKey),
        (is_not_its_key, Warning::NotItsKey),
        (chars > MAX_CLAUDE_CHARS, Warning::LongForClaude),
        (text.is_ok() && detail.is_some(), Warning::Open),
    ];
    warnings.retain(|(is, _)| *is);
    EntryReport {
        line: entry.line(),
        path: (path.ends_with(".md") && !secrets.are_in(path)).then(|| path.to_owned()),
        is_binding: false,
        name: None,
        shows_a_key: false,
        is_bound: !agents.is_empty(),
        result: text.map(|text| text.len() as u64).map_err(|code| *code),
        chars,
        detail: detail.map(|text| secrets.hidden_in(text)),
        warnings: warnings.into_iter().map(|(_, warning)| warning).collect(),
    }
}

/// The keys of a map, short ones too.
pub(crate) struct Secrets<'a> {
    keys: HashSet<&'a [u8]>,
    lengths: BTreeSet<usize>,
}

impl<'a> Secrets<'a> {
    pub(crate) fn of(map: &'a Map) -> Self {
        let entries = map.entries().into_iter();
        let keys: HashSet<&[u8]> = entries.map(|(key, _)| key.expose().as_bytes()).collect();
        let lengths = keys.iter().map(|key| key.len()).collect();
        Self { keys, lengths }
    }

    /// The text, if none of the paths that it names contains one of the keys.
    pub(super) fn hidden_in(&self, (text, paths): Advice) -> String {
        if paths
            .iter()
            .any(|path| self.are_in(&path.to_string_lossy()))
        {
            "what is in the way has a key in its path, so it is not shown".to_owned()
        } else {
            text
        }
    }

    /// Whether `text`, which does not come from the map, reveals a key: it is one of
    /// the keys, or contains one that is too long to be a word.
    pub(crate) fn are_told_by(&self, text: &str) -> bool {
        let is_strong = |part: &[u8]| str::from_utf8(part).is_ok_and(|key| !Key::is_guessable(key));
        self.keys.contains(text.as_bytes())
            || self.any(text, |part| {
                part.len() >= Key::STRONG_LEN && is_strong(part)
            })
    }

    /// Whether `text` contains one of the keys anywhere.
    pub(super) fn are_in(&self, text: &str) -> bool {
        self.any(text, |_| true)
    }

    /// Looks up each part of the text that has a key's length. To search for each key by itself
    /// would take minutes with a large map.
    fn any(&self, text: &str, is: impl Fn(&[u8]) -> bool) -> bool {
        self.lengths.iter().any(|length| {
            let mut parts = text.as_bytes().windows(*length);
            parts.any(|part| self.keys.contains(part) && is(part))
        })
    }
}
