//! One entry of the map: whether its file would be served, and what to do.

use super::step;
use keyhole_claude::PLUGIN;
use keyhole_core::{
    AgentName, Caller, Entry, Grant, Key, Load, Loader, Location, Map, Maps, Refusal, Table,
    Target, limits::MAX_CLAUDE_CHARS, locate, sandbox::Sandbox,
};
use keyhole_serve::{resources::room_to_compare, session::SHOWS_A_KEY};
use keyhole_setup::Named;
use keyhole_walk::{Handle, System, Walker, printable::is_blank};
use keyhole_withhold::has_few_values;
use std::{
    collections::{BTreeSet, HashSet},
    path::PathBuf,
    sync::Arc,
    time::Instant,
};

/// Said of a file that only Claude Code does not take.
pub(crate) const LONG: &str =
    "in Claude Code, a file of more than 500000 characters is refused as too-large";
const SHORTEN: &str = "and Claude Code takes 500000 at most: shorten it";

/// What keeps no file from being served. The first fails the check.
pub(super) const WARNINGS: [&str; 8] = [
    "a key of fewer than 16 characters, or fewer than 6 different ones, can be guessed, and its entry has no agents; replace it by one that `keyhole setup key FILE` prints",
    "the file is empty, so a scan would find nothing. Write your list into it",
    "the file holds NUL characters, so at least a part of it is not UTF-8 text, but perhaps UTF-16, and a scan may miss it. Save it as UTF-8",
    "withhold finds next to no value in the file, so it takes next to nothing out of a report: headings, labels and ordinary words stay. Write each value as an item of a list",
    "a key of fewer than 16 characters, or fewer than 6 different ones, may be guessed",
    "the plugin's agent asks for the key keyhole-privacy-catalog only, so it never loads this file",
    LONG,
    // The entry's detail says how to close it, so this one is the last.
    "by its mode, a group or others may read the file",
];
const _: () = assert!(Key::STRONG_LEN == 16 && Key::STRONG_CHARS == 6);
const _: () = assert!(MAX_CLAUDE_CHARS == 500_000);

/// The result for one entry, or one binding. The line identifies it.
#[derive(Debug)]
pub(crate) struct EntryReport {
    pub(super) line: u32,
    /// As the map has it. None if it does not end in `.md` or contains a key: then it may be one.
    pub(super) path: Option<String>,
    pub(super) is_binding: bool,
    /// A binding's name. None if it contains a key.
    pub(super) name: Option<String>,
    /// Whether a client would be shown a key. Then the binding's server does not start.
    pub(super) shows_a_key: bool,
    /// Whether it is for its agents only. Their names are not shown: one may be a key.
    pub(super) is_bound: bool,
    pub(super) is_weak: bool,
    /// The file's size in bytes, or why it is not served.
    pub(crate) result: Result<u64, Refusal>,
    pub(crate) is_blank: bool,
    /// Its length as Claude Code counts: in UTF-16 code units.
    pub(crate) chars: usize,
    /// What is wrong with this one, or what others may read, and what to do. It may hold paths.
    pub(super) detail: Option<String>,
    /// Those of [`WARNINGS`] that apply.
    pub(super) warnings: Vec<&'static str>,
}

impl EntryReport {
    pub(super) fn is_served(&self) -> bool {
        !self.shows_a_key && self.result.is_ok()
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

pub(super) type Advice = (String, Vec<PathBuf>);

/// A map that is read once: for each of its entries, the next reading would be another map.
pub(crate) struct ReadMap(pub(crate) Arc<Map>);

impl Maps for ReadMap {
    type Directory = Handle;

    fn map_now(&self, _: Instant) -> Result<Arc<Map>, Refusal> {
        Ok(Arc::clone(&self.0))
    }

    fn resolve(&self, map: &Map, entry: &Entry, end: Instant) -> Result<Grant<Handle>, Refusal> {
        locate(&Walker::new(System).until(end), map, entry)
    }
}

/// Whether a map that has this name means the plugin's agent.
pub(super) fn is_the_plugins(name: &AgentName) -> bool {
    AgentName::try_from(PLUGIN.0).is_ok_and(|own| name.means(&own))
}

/// Loads one entry as a call would; `is_for_claude` if only an agent of Claude Code takes it.
pub(crate) async fn entry_report(
    map: &Map,
    (Named { table, name: named }, entry): (Named<'_>, &Entry),
    is_for_claude: bool,
    secrets: &Secrets<'_>,
    location: &Location,
    loader: &Loader<ReadMap, Sandbox>,
) -> EntryReport {
    let (path, agents) = (&*entry.path, entry.agents.as_deref().unwrap_or_default());
    // The agents of a binding are those of one server.
    let is_binding = table == Table::Binding;
    let binding = map.binding(named).filter(|_| is_binding);
    let shows_a_key = binding.is_some_and(|it| it.shows_a_key(named, map));
    let may_ask = |name: &AgentName| {
        let is_ours = name.starts_with("keyhole:") || name.starts_with("keyhole@");
        is_binding || !is_ours || is_the_plugins(name)
    };
    let loaded = if agents.is_empty() || agents.iter().any(may_ask) {
        // The check asks whether the file would load, so an agent calls that may have it.
        let agent = agents.first().cloned();
        let caller = agent.map_or(Caller::Nobody, Caller::Agent);
        let bound = named.parse().ok().filter(|_| is_binding).map(Target::Bound);
        let target = bound.unwrap_or_else(|| Target::Key(named.to_owned()));
        loader.load(target, caller).await
    } else {
        Err(Refusal::UnknownKey)
    };
    let text = loaded.as_ref().map(|document| &*document.text);
    let chars = text.map_or(0, |text| text.encode_utf16().count());
    let is_long = chars > MAX_CLAUDE_CHARS;
    let text = match text {
        Ok(_) if is_long && is_for_claude => Err(Refusal::TooLarge),
        Ok(text) if entry.withhold => room_to_compare(text.len()).map(|()| text),
        text => text.map_err(|code| *code),
    };
    let detail = location.expand(path).and_then(|file| match text {
        Ok(_) => step::closing(&file),
        Err(_) if is_long => Some((format!("it has {chars} characters, {SHORTEN}"), Vec::new())),
        Err(code) => step::advice(code, entry, &file, location),
    });
    let has = |is: fn(&str) -> bool| text.is_ok_and(is);
    let is_weak = !is_binding && Key::is_guessable(named);
    let is_its_key = is_binding || named == PLUGIN.1;
    let warnings = WARNINGS.into_iter().zip([
        is_weak && agents.is_empty(),
        has(is_blank),
        has(|text| text.contains('\0')),
        entry.withhold && has(has_few_values),
        is_weak && !agents.is_empty(),
        !is_its_key && agents.iter().any(is_the_plugins),
        is_long && text.is_ok(),
        text.is_ok() && detail.is_some(),
    ]);
    let warnings = warnings.filter_map(|(said, is)| is.then_some(said));
    let is_shown = is_binding && !shows_a_key && !secrets.are_in(named);
    EntryReport {
        line: entry.line,
        path: (path.ends_with(".md") && !secrets.are_in(path)).then(|| path.to_owned()),
        is_binding,
        shows_a_key,
        name: is_shown.then(|| named.to_owned()),
        is_bound: !agents.is_empty(),
        is_weak,
        result: text.map(|text| text.len() as u64),
        is_blank: has(is_blank),
        chars,
        detail: detail.map(|text| secrets.hidden_in(text)),
        warnings: warnings.collect(),
    }
}

/// The keys of a map, short ones too, and their lengths.
pub(crate) struct Secrets<'a>(HashSet<&'a [u8]>, BTreeSet<usize>);

impl<'a> Secrets<'a> {
    pub(crate) fn of(map: &'a Map) -> Self {
        let entries = map.entries().into_iter();
        let keys: HashSet<&[u8]> = entries.map(|(key, _)| key.expose().as_bytes()).collect();
        let lengths = keys.iter().map(|key| key.len()).collect();
        Self(keys, lengths)
    }

    /// The text, if none of the paths that it names contains one of the keys.
    pub(super) fn hidden_in(&self, (text, paths): Advice) -> String {
        let has_key = |path: &PathBuf| self.are_in(&path.to_string_lossy());
        let hidden = "what is in the way has a key in its path, so it is not shown";
        let has_key = paths.iter().any(has_key);
        if has_key { hidden.to_owned() } else { text }
    }

    /// Whether `text`, which does not come from the map, reveals a key: it is one of the keys, or
    /// contains one that is too long to be a word.
    pub(crate) fn are_told_by(&self, text: &str) -> bool {
        let is_strong = |part: &[u8]| str::from_utf8(part).is_ok_and(|key| !Key::is_guessable(key));
        self.0.contains(text.as_bytes()) || self.any(text, is_strong)
    }

    pub(super) fn are_in(&self, text: &str) -> bool {
        self.any(text, |_| true)
    }

    /// Looks up each part of the text that has a key's length: a map may have very many keys.
    fn any(&self, text: &str, is: impl Fn(&[u8]) -> bool) -> bool {
        self.1.iter().any(|length| {
            let mut parts = text.as_bytes().windows(*length);
            parts.any(|part| self.0.contains(part) && is(part))
        })
    }
}
