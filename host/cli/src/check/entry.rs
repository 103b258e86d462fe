//! One entry of the map: whether its file would be served, and what to do.

use super::{
    finding::Finding,
    step::{self, Advice},
};
use keyhole_claude::PLUGIN;
use keyhole_core::{
    AgentName, Caller, Content, Entry, Grant, Key, Load, Loader, Location, Map, Maps, Refusal,
    Table, Target,
    limits::{Limits, MAX_CLAUDE_CHARS},
    locate,
    sandbox::Sandbox,
};
use keyhole_serve::{resources::room_to_compare, session::SHOWS_A_KEY};
use keyhole_setup::Named;
use keyhole_walk::{Handle, System, Walker, printable::is_blank};
use keyhole_withhold::Summary;
use std::{
    collections::{BTreeSet, HashSet},
    sync::Arc,
    time::Instant,
};

/// What to do about a file with this many characters: they are too many for Claude Code.
fn advice_to_shorten(chars: usize) -> Advice {
    Advice {
        text: format!(
            "it has {chars} characters, and Claude Code takes 500000 at most: shorten it"
        ),
        paths: Vec::new(),
    }
}
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
    /// Whether it names agents, and is only for these. Their names are not shown: one may be a key.
    pub(super) has_agents: bool,
    /// Whether it names an agent whose name cannot be checked here: one of a binding, or any but
    /// the plugin's.
    pub(super) has_other_agents: bool,
    /// Whether its key can or may be guessed.
    pub(super) is_weak: bool,
    /// The file's size in bytes, or why it is not served.
    pub(crate) result: Result<u64, Refusal>,
    /// Whether the file is served, and is blank.
    pub(crate) is_blank: bool,
    /// The file's length as Claude Code counts: in UTF-16 code units. 0 if it is not loaded.
    pub(crate) chars: usize,
    /// What `withhold` finds in a served file, if the entry has `withhold`.
    pub(super) summary: Option<Summary>,
    /// What to do about a file that is not served, or that others may read. It may hold paths.
    pub(super) detail: Option<String>,
    /// What else there is to know of the entry or its file.
    pub(super) findings: Vec<Finding>,
}

impl EntryReport {
    /// Whether a caller who may have the file would get it.
    pub(super) fn is_served(&self) -> bool {
        !self.shows_a_key && self.result.is_ok()
    }

    /// The size of a served file in bytes. None where its path is not shown either, as to the main
    /// conversation: two sizes would tell it how long a value is that came in between.
    pub(super) fn shown_size(&self) -> Option<u64> {
        self.path.as_ref()?;
        self.result.ok()
    }

    /// What to do about an entry that is not served. None if it is served.
    pub(crate) fn message(&self) -> Option<String> {
        if self.shows_a_key {
            return Some(SHOWS_A_KEY.to_owned());
        }
        let code = self.result.err()?;
        Some(self.detail.clone().unwrap_or_else(|| code.remedy().into()))
    }
}

/// A map that is read once: for each of its entries, the next reading would be another map.
struct ReadMap(Arc<Map>);

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
pub(super) fn means_plugins_agent(name: &AgentName) -> bool {
    AgentName::try_from(PLUGIN.agent).is_ok_and(|plugins| name.means(&plugins))
}

/// What is known of all entries of a map before one is loaded.
pub(crate) struct Judge<'a> {
    pub(super) map: &'a Map,
    pub(super) keys: MapKeys<'a>,
    location: &'a Location,
    loader: Loader<ReadMap, Sandbox>,
}

/// Who takes the file of an entry, as far as can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taker {
    /// Only agents of Claude Code, which takes 500,000 characters at most.
    ClaudeCode,
    /// Perhaps another client's.
    Anybody,
}

impl<'a> Judge<'a> {
    /// For the entries of this map, which is at this location, or is planned there.
    pub(crate) fn of(map: &'a Arc<Map>, location: &'a Location, sandbox: Sandbox) -> Self {
        let maps = Arc::new(ReadMap(Arc::clone(map)));
        Self {
            map,
            keys: MapKeys::of(map),
            location,
            loader: Loader::new(maps, sandbox, Limits::default()),
        }
    }

    /// The report on one entry, which is loaded as a call would: whether its file is served, what
    /// is wrong with it, and what to do.
    ///
    /// A file that is loaded is still reported as refused if it is too long for its only taker,
    /// Claude Code ([`Refusal::TooLarge`]), or if there is no room for the comparison that
    /// `withhold` asks for. Of a served file, the only advice is to close it to others who may read
    /// it.
    pub(crate) async fn report(
        &self,
        named: Named<'_>,
        entry: &Entry,
        taker: Taker,
    ) -> EntryReport {
        let Named { table, name } = named;
        let is_binding = table == Table::Binding;
        let shows_a_key = is_binding && self.shows_a_key(name);
        let loaded = self.load(named, entry).await;
        let chars = match &loaded {
            Ok(document) => document.text.encode_utf16().count(),
            Err(_) => 0,
        };
        let is_too_long = chars > MAX_CLAUDE_CHARS;
        let served = match &loaded {
            Err(code) => Err(*code),
            Ok(_) if is_too_long && taker == Taker::ClaudeCode => Err(Refusal::TooLarge),
            Ok(document) if entry.withhold => {
                room_to_compare(document.text.len()).map(|()| &*document.text)
            }
            Ok(document) => Ok(&*document.text),
        };
        let advice = self
            .location
            .expand(&entry.path)
            .and_then(|file| match served {
                Ok(_) => step::advice_to_close_to_others(&file),
                Err(_) if is_too_long => Some(advice_to_shorten(chars)),
                Err(code) => step::advice(code, entry, &file, self.location),
            });
        let mut findings = findings_on_key(named, entry);
        if let Ok(text) = served {
            findings.extend(findings_on_text(text, entry));
            if is_too_long {
                findings.push(Finding::LongForClaudeCode {});
            }
            // A served file has advice only if others may read it.
            if advice.is_some() {
                findings.push(Finding::ReadByOthers {});
            }
        }
        findings.sort_by_key(Finding::rank);
        let agents = agents_of(entry);
        let shows_path = entry.path.ends_with(".md") && !self.keys.are_in(&entry.path);
        let shows_name = is_binding && !shows_a_key && !self.keys.are_in(name);
        EntryReport {
            line: entry.line,
            path: shows_path.then(|| (*entry.path).to_owned()),
            is_binding,
            shows_a_key,
            name: shows_name.then(|| name.to_owned()),
            has_agents: !agents.is_empty(),
            has_other_agents: agents
                .iter()
                .any(|name| is_binding || !means_plugins_agent(name)),
            is_weak: !is_binding && Key::is_guessable(name),
            result: served.map(|text| text.len() as u64),
            is_blank: served.is_ok_and(is_blank),
            chars,
            summary: served.ok().and_then(|text| withhold_summary(text, entry)),
            detail: advice.map(|advice| self.keys.checked_text(advice)),
            findings,
        }
    }

    /// Whether clients would be shown a key, in the binding of this name.
    fn shows_a_key(&self, name: &str) -> bool {
        let binding = self.map.binding(name);
        binding.is_some_and(|binding| binding.shows_a_key(name, self.map))
    }

    /// Loads the entry's file, as a call of the first agent that the entry names, or of nobody if
    /// it names none. Refused as [`Refusal::UnknownKey`] if the entry has a key, and names agents
    /// none of which can ask for a key; else as such a call is.
    async fn load(&self, named: Named<'_>, entry: &Entry) -> Result<Content, Refusal> {
        let agents = agents_of(entry);
        // The agents of a binding need not ask: they have a server.
        if named.table == Table::Key && !agents.is_empty() && !agents.iter().any(may_ask_for_key) {
            return Err(Refusal::UnknownKey);
        }
        let caller = match agents.first() {
            Some(agent) => Caller::Agent(agent.clone()),
            None => Caller::Nobody,
        };
        let target = match (named.table, named.name.parse()) {
            (Table::Binding, Ok(name)) => Target::Bound(name),
            _ => Target::SentKey(named.name.to_owned()),
        };
        self.loader.load(target, caller).await
    }
}

/// The agents that an entry names. Empty if it is for anybody.
fn agents_of(entry: &Entry) -> &[AgentName] {
    entry.agents.as_deref().unwrap_or_default()
}

/// Whether an agent of this name can ask for a key. Of the names that begin as those of the
/// plugin's agents do, only one is that of an agent.
fn may_ask_for_key(name: &AgentName) -> bool {
    let is_ours = name.starts_with("keyhole:") || name.starts_with("keyhole@");
    !is_ours || means_plugins_agent(name)
}

/// What is wrong with an entry's key: it can be guessed, which is worse if the entry names no
/// agents; or the entry names the plugin's agent, which asks for another key. A binding has no key.
fn findings_on_key(named: Named<'_>, entry: &Entry) -> Vec<Finding> {
    let mut findings = Vec::new();
    if named.table == Table::Binding {
        return findings;
    }
    let agents = agents_of(entry);
    if Key::is_guessable(named.name) {
        findings.push(if agents.is_empty() {
            Finding::GuessableKey {}
        } else {
            Finding::WeakKey {}
        });
    }
    if named.name != PLUGIN.key && agents.iter().any(means_plugins_agent) {
        findings.push(Finding::KeyNotAsked {});
    }
    findings
}

/// What is odd in the text of a file that would be served: it is empty, stands for another text,
/// has NUL characters, or has too few values for `withhold`. Empty if nothing is odd.
fn findings_on_text(text: &str, entry: &Entry) -> Vec<Finding> {
    let mut findings = Vec::new();
    if is_blank(text) {
        findings.push(Finding::EmptyFile {});
    }
    if is_stand_in(text) {
        findings.push(Finding::StandIn {});
    }
    if text.contains('\0') {
        findings.push(Finding::NulCharacters {});
    }
    if let Some(summary) = withhold_summary(text, entry) {
        if summary.has_few_values {
            findings.push(Finding::FewValues {});
        } else if summary.has_empty_heading {
            findings.push(Finding::HeadingWithoutValue {});
        }
    }
    findings
}

/// What `withhold` finds in a text, if its entry has it.
fn withhold_summary(text: &str, entry: &Entry) -> Option<Summary> {
    if entry.withhold {
        Some(Summary::of(text))
    } else {
        None
    }
}

/// How a text begins that stands for another one: pointers of Git LFS and git-annex, and what age,
/// PGP and Ansible Vault encrypt.
const STAND_IN_HEADS: [&str; 6] = [
    "version https://git-lfs.github.com/spec/",
    "/annex/objects/",
    "-----BEGIN AGE ENCRYPTED FILE-----",
    "age-encryption.org/v1",
    "-----BEGIN PGP MESSAGE-----",
    "$ANSIBLE_VAULT;",
];

/// Whether a text only stands for another one: it begins like a pointer or an encrypted file, or is
/// JSON with what sops encrypts.
fn is_stand_in(text: &str) -> bool {
    let trimmed = text.trim_start();
    STAND_IN_HEADS.iter().any(|head| trimmed.starts_with(head))
        || trimmed.starts_with('{') && text.contains("ENC[AES256_GCM,")
}

/// The keys of a map, also short ones. No text that is printed may hold one.
pub(crate) struct MapKeys<'a> {
    keys: HashSet<&'a [u8]>,
    /// The lengths of the keys, in bytes.
    lengths: BTreeSet<usize>,
}

impl<'a> MapKeys<'a> {
    /// The keys of this map.
    pub(crate) fn of(map: &'a Map) -> Self {
        let mut keys = HashSet::new();
        let mut lengths = BTreeSet::new();
        for (key, _) in map.entries() {
            let bytes = key.expose().as_bytes();
            keys.insert(bytes);
            lengths.insert(bytes.len());
        }
        Self { keys, lengths }
    }

    /// The advice's text; or, if a path that it names contains one of the keys, a text that says
    /// so.
    pub(super) fn checked_text(&self, advice: Advice) -> String {
        let mut paths = advice.paths.iter();
        if paths.any(|path| self.are_in(&path.to_string_lossy())) {
            "what is in the way has a key in its path, so it is not shown".to_owned()
        } else {
            advice.text
        }
    }

    /// Whether `text`, which does not come from the map, reveals a key: it is one of the keys, or
    /// contains one that is too long to be a word.
    pub(crate) fn are_revealed_by(&self, text: &str) -> bool {
        let mut contained = self.keys_in(text);
        self.keys.contains(text.as_bytes()) || contained.any(is_no_word)
    }

    /// The text, with `…` in the place of each key that is too long to be a word.
    pub(super) fn left_out_of(&self, text: &str) -> String {
        let mut rest = text.to_owned();
        for key in self.keys_in(text).filter(|key| is_no_word(key)) {
            rest = rest.replace(&*String::from_utf8_lossy(key), "…");
        }
        rest
    }

    /// Whether the text contains one of the keys.
    pub(super) fn are_in(&self, text: &str) -> bool {
        self.keys_in(text).next().is_some()
    }

    /// The keys that the text contains. Each part of the text that has a key's length is looked
    /// up: a map may have very many keys.
    fn keys_in<'t>(&'t self, text: &'t str) -> impl Iterator<Item = &'t [u8]> {
        self.lengths
            .iter()
            .flat_map(|length| text.as_bytes().windows(*length))
            .filter(|part| self.keys.contains(part))
    }
}

/// Whether a key is too long to be a word of a text, as each key that cannot be guessed is.
fn is_no_word(key: &[u8]) -> bool {
    str::from_utf8(key).is_ok_and(|key| !Key::is_guessable(key))
}
