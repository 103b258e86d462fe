//! One entry of the map: whether its file would be served, and what to do.

use super::{finding::Finding, step};
use keyhole_claude::PLUGIN;
use keyhole_core::{
    AgentName, Caller, Content, Entry, Grant, Key, Load, Loader, Location, Map, Maps, Refusal,
    Table, Target,
    limits::{Limits, MAX_CLAUDE_CHARS, is_too_long_for_claude},
    locate,
    sandbox::Sandbox,
};
use keyhole_serve::{resources::room_to_compare, session::SHOWS_A_KEY};
use keyhole_setup::Named;
use keyhole_walk::{Handle, System, Walker, printable::is_blank};
use keyhole_withhold::Summary;
use std::{sync::Arc, time::Instant};

/// What `check` says of one entry of the map: one with a key, or a binding. The entry's line tells
/// the user which entry is meant.
#[derive(Debug)]
pub(crate) struct EntryReport {
    /// The line of the map with the entry, from 1.
    pub(super) line: u32,
    /// The file's path as the map has it. None if it does not end in `.md`: then it may be a key.
    pub(super) path: Option<String>,
    pub(super) is_binding: bool,
    /// The binding's name. None for an entry with a key.
    pub(super) name: Option<String>,
    /// Whether the binding's title or description has a key of the map, which a client would show.
    /// Then the binding's server does not start. False for an entry with a key.
    pub(super) shows_a_key: bool,
    /// The agents that may have the file. Empty if anybody may. No report shows these names: one
    /// may be a key.
    pub(super) agents: Vec<AgentName>,
    /// Whether the entry's key is that of the plugin's agent.
    pub(super) has_plugins_key: bool,
    /// Whether the entry's key can be guessed. False for a binding.
    pub(super) has_guessable_key: bool,
    /// The file's size in bytes, or why the file is not served.
    pub(crate) size_or_refusal: Result<u64, Refusal>,
    /// The file's length as Claude Code counts: in UTF-16 code units. 0 if the file is not loaded.
    pub(crate) chars: usize,
    /// What `withhold` finds in a served file, if the entry has `withhold`.
    pub(super) summary: Option<Summary>,
    /// What to do about a file that is not served, or that others may read. It may hold paths.
    pub(super) advice: Option<String>,
    /// What else is wrong with the entry or its file.
    pub(crate) findings: Vec<Finding>,
}

impl EntryReport {
    /// Whether a caller who may have the file would get it: the file is not refused, and the
    /// binding's server starts.
    pub(super) fn is_served(&self) -> bool {
        !self.shows_a_key && self.size_or_refusal.is_ok()
    }

    /// The size of a served file in bytes. None if the report does not show the file's path, as to
    /// the main conversation: two sizes would tell it how long a value is that came in between.
    pub(super) fn shown_size(&self) -> Option<u64> {
        self.path.as_ref()?;
        self.size_or_refusal.ok()
    }

    /// What to do about an entry that is not served. None if it is served.
    pub(crate) fn message(&self) -> Option<String> {
        if self.shows_a_key {
            return Some(SHOWS_A_KEY.to_owned());
        }
        let code = self.size_or_refusal.err()?;
        Some(self.advice.clone().unwrap_or_else(|| code.remedy().into()))
    }
}

/// The map of one reading, for all of its entries: each time that a [`LiveMap`] is asked, the map
/// may be another one.
///
/// [`LiveMap`]: keyhole_core::LiveMap
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

/// Whether this name of an agent, as a map has it, means the plugin's agent
/// (`keyhole:privacy-scanner`).
pub(super) fn means_plugins_agent(name: &AgentName) -> bool {
    AgentName::try_from(PLUGIN.agent).is_ok_and(|plugins| name.means(&plugins))
}

/// A valid map, with what loads the files of its entries as a server does.
pub(crate) struct UsableMap<'a> {
    pub(super) map: &'a Map,
    location: &'a Location,
    loader: Loader<ReadMap, Sandbox>,
}

/// Who takes the file of an entry, as far as this program can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taker {
    /// Only agents of Claude Code, which takes 500,000 characters at most.
    ClaudeCode,
    /// Perhaps an agent of another client, which may take longer files.
    Anybody,
}

impl<'a> UsableMap<'a> {
    /// This map, which is at this location, or which setup plans to write there.
    pub(crate) fn of(map: &'a Arc<Map>, location: &'a Location, sandbox: Sandbox) -> Self {
        let maps = Arc::new(ReadMap(Arc::clone(map)));
        Self {
            map,
            location,
            loader: Loader::new(maps, sandbox, Limits::default()),
        }
    }

    /// The report on one entry. `named` says whether the entry has a key or is a binding, and gives
    /// the key or the binding's name. The file is loaded as a call would load it. A loaded file is
    /// refused in two more cases, see [`served_text`]: it is too long for this `taker`, or there is
    /// too little memory to compare it.
    ///
    /// For a refused file, the report has neither `summary` nor findings on the text. It has no
    /// path if the entry's path does not end in `.md`.
    pub(crate) async fn report(
        &self,
        named: Named<'_>,
        entry: &Entry,
        taker: Taker,
    ) -> EntryReport {
        let Named { table, name } = named;
        let is_binding = table == Table::Binding;
        let binding = self.map.binding(name).filter(|_| is_binding);
        let shows_a_key = binding.is_some_and(|binding| binding.shows_a_key(name, self.map));
        let loaded = self.load(named, entry).await;
        let text_or_refusal = match &loaded {
            Ok(document) => served_text(&document.text, entry, taker),
            Err(code) => Err(*code),
        };
        // A file that is too long is refused, and its length is told all the same.
        let chars = match &loaded {
            Ok(document) => document.text.encode_utf16().count(),
            Err(_) => 0,
        };
        let advice = self.advice(text_or_refusal.err(), entry, chars);
        let mut summary = None;
        let mut findings = findings_on_key(named, entry);
        if let Ok(text) = text_or_refusal {
            if entry.withhold {
                summary = Some(Summary::of(text));
            }
            findings.extend(findings_on_text(text, summary.as_ref()));
            // The only advice on a served file is to close it to others who may read it.
            if advice.is_some() {
                findings.push(Finding::ReadByOthers {});
            }
        }
        findings.sort_by_key(Finding::rank);
        // A path without `.md` may be a key that was written in the wrong place.
        let is_path = entry.path.ends_with(".md");
        EntryReport {
            line: entry.line,
            path: is_path.then(|| (*entry.path).to_owned()),
            is_binding,
            shows_a_key,
            name: is_binding.then(|| name.to_owned()),
            agents: agents_of(entry).to_vec(),
            has_plugins_key: !is_binding && name == PLUGIN.key,
            has_guessable_key: !is_binding && Key::is_guessable(name),
            size_or_refusal: text_or_refusal.map(|text| text.len() as u64),
            chars,
            summary,
            advice,
            findings,
        }
    }

    /// What to do about the file of an entry. `chars` is how many characters the file has, or 0 if
    /// it could not be loaded.
    ///
    /// - If the file is served (`refusal` is None): how to close it to others who may read it.
    /// - If it is refused, and has more than 500,000 characters (`MAX_CLAUDE_CHARS`): to shorten
    ///   it.
    /// - If it is refused otherwise: what [`step::advice`] says of the refusal.
    ///
    /// None if there is no advice. Also None if the entry's path begins with `~/`, and the
    /// environment names no home.
    fn advice(&self, refusal: Option<Refusal>, entry: &Entry, chars: usize) -> Option<String> {
        let file = self.location.expand(&entry.path)?;
        match refusal {
            None => step::advice_to_close_to_others(&file),
            Some(_) if chars > MAX_CLAUDE_CHARS => Some(format!(
                "it has {chars} characters, and Claude Code takes {MAX_CLAUDE_CHARS} at most: shorten it"
            )),
            Some(code) => step::advice(code, entry, &file, self.location),
        }
    }

    /// What a call for the entry's file gets. The caller is the first agent that the entry names,
    /// or nobody if the entry names none.
    ///
    /// No call is made for an entry with a key if it names agents, and none of them can ask for a
    /// key (see [`may_ask_for_key`]): the result is [`Refusal::UnknownKey`].
    async fn load(&self, named: Named<'_>, entry: &Entry) -> Result<Content, Refusal> {
        let agents = agents_of(entry);
        // The agents of a binding ask for no key: a server of their own gives them the file.
        if named.table == Table::Key && !agents.is_empty() && !agents.iter().any(may_ask_for_key) {
            return Err(Refusal::UnknownKey);
        }
        let caller = match agents.first() {
            Some(agent) => Caller::Agent(agent.clone()),
            None => Caller::Nobody,
        };
        let target = match (named.table, named.name.parse()) {
            // The name of a binding always parses. So the last row is for keys alone.
            (Table::Binding, Ok(name)) => Target::Bound(name),
            _ => Target::SentKey(named.name.to_owned()),
        };
        self.loader.load(target, caller).await
    }
}

/// The whole text of a loaded file, if this taker gets it.
///
/// # Errors
/// [`Refusal::TooLarge`] if only Claude Code takes the file, and the text has more characters than
/// Claude Code takes (500,000). [`Refusal::OutOfResources`] if the entry has `withhold`, and there
/// is too little memory to compare a text of this size with a report.
fn served_text<'t>(text: &'t str, entry: &Entry, taker: Taker) -> Result<&'t str, Refusal> {
    if taker == Taker::ClaudeCode && is_too_long_for_claude(text) {
        return Err(Refusal::TooLarge);
    }
    if entry.withhold {
        room_to_compare(text.len())?;
    }
    Ok(text)
}

/// The agents that an entry names. Empty if it is for anybody.
fn agents_of(entry: &Entry) -> &[AgentName] {
    entry.agents.as_deref().unwrap_or_default()
}

/// Whether an agent of this name can ask for a key. False for a name such as `keyhole:other`: the
/// plugin has no other agent than `keyhole:privacy-scanner`, and all of its agents' names begin
/// with `keyhole:` or `keyhole@`.
fn may_ask_for_key(name: &AgentName) -> bool {
    let is_ours = name.starts_with("keyhole:") || name.starts_with("keyhole@");
    !is_ours || means_plugins_agent(name)
}

/// What is wrong with an entry's key. Empty if nothing is wrong, and for a binding, which has no
/// key.
///
/// - For a key that can be guessed, as `notes`: [`Finding::GuessableKey`], an error, if the entry
///   names no agents; else [`Finding::WeakKey`], a warning.
/// - [`Finding::KeyNotAsked`] if the entry names the plugin's agent, which asks for another key
///   (`keyhole-privacy-catalog`).
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

/// What is odd in the text of a file that would be served, each as a finding: the text is blank,
/// only stands for another text (as a pointer of Git LFS does), has NUL characters, or has more characters than Claude Code takes
/// (500,000). If there is a `summary`, also that `withhold` finds too few values; or else, that a
/// heading has no value. `summary` is None if the entry has no `withhold`.
fn findings_on_text(text: &str, summary: Option<&Summary>) -> Vec<Finding> {
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
    if let Some(summary) = summary {
        if summary.has_few_values {
            findings.push(Finding::FewValues {});
        } else if summary.has_empty_heading {
            findings.push(Finding::HeadingWithoutValue {});
        }
    }
    if is_too_long_for_claude(text) {
        findings.push(Finding::LongForClaudeCode {});
    }
    findings
}

/// How a text begins that only stands for another one: a pointer of Git LFS or of git-annex, or a
/// text that age, PGP or Ansible Vault encrypted.
const STAND_IN_HEADS: [&str; 6] = [
    "version https://git-lfs.github.com/spec/",
    "/annex/objects/",
    "-----BEGIN AGE ENCRYPTED FILE-----",
    "age-encryption.org/v1",
    "-----BEGIN PGP MESSAGE-----",
    "$ANSIBLE_VAULT;",
];

/// Whether a text only stands for another one. After blanks, it begins with one of
/// [`STAND_IN_HEADS`]; or it is JSON (`{`) with a value that sops encrypted (`ENC[AES256_GCM,`).
fn is_stand_in(text: &str) -> bool {
    let trimmed = text.trim_start();
    let is_encrypted_json = trimmed.starts_with('{') && text.contains("ENC[AES256_GCM,");
    is_encrypted_json || STAND_IN_HEADS.iter().any(|head| trimmed.starts_with(head))
}
