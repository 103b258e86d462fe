//! `keyhole check`: says whether the map is valid, and whether each of its files would
//! be served.

mod json;
mod plugin;
mod text;
mod way;

use crate::{
    Failure,
    arguments::Check as Arguments,
    start::{Behind, StartError, start},
    streams::print,
};
use keyhole_core::{
    AgentName, Caller, Entry, Grant, Key, LiveMap, Loader, Location, Map, MapError, Maps, Refusal,
    Target, Unresolved,
    limits::{Limits, MAX_CLAUDE_CHARS},
    locate,
    sandbox::Sandbox,
};
use keyhole_setup::{
    PLUGIN,
    agents::{OwnAgent, own_agents},
    recipe::MAX_IN_TOOL,
};
use keyhole_walk::{
    Distrust, GrantedFile, Handle, Policy, System, WalkError, Walker,
    printable::{is_blank, printable},
};
use keyhole_wall::WallStatus;
use keyhole_withhold::has_few_values;
use plugin::{AgentReport, brief};
use std::{
    collections::{BTreeSet, HashSet},
    io::{self, IsTerminal as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};
pub(crate) use way::foreign_map;

/// The result of a check. It contains no key, nothing from which a key's length could be
/// told, and no text from the map that may be a key.
#[derive(Debug)]
pub(crate) struct Report {
    /// The map's path. None if this report shows no path, or if an argument names it and no
    /// readable file is there: then the text may be anything, even a key.
    map: Option<PathBuf>,
    /// For each entry, and below them for each binding.
    outcome: Result<Vec<EntryReport>, MapError>,
    /// The map that was checked, if it can be used.
    read: Option<Arc<Map>>,
    /// What to do if the map cannot be used.
    help: Option<String>,
    /// The roots in which no file is served, because others could put another
    /// directory in their place, and what to do.
    roots: Vec<String>,
    /// Agents' files that give the main conversation the agent's file, if it is started as that
    /// agent. They are no files of the map, so their names are shown also to a session.
    unguarded: Vec<String>,
    /// What else the user should know.
    notes: Vec<String>,
    /// What an older client needs beside, which is no warning.
    of_older: Option<String>,
    /// The plugin's agent, if the plugin asks.
    agent: Option<AgentReport>,
    /// The command that shows the paths, if this report does not.
    unabridged: Option<String>,
    /// The parts of the wall that a server has.
    wall: WallStatus,
}

/// What to do about a binding that shows a key.
const SHOWS_A_KEY: &str =
    "the binding's name, title or description holds a key, and clients show them; reword it";

/// The result for one entry, or one binding. The line identifies it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EntryReport {
    /// The line of the map on which the entry stands, counted from 1.
    line: u32,
    /// The path as the map has it. None if it may be a key in the wrong place: if it
    /// does not end in `.md`, or contains one of the map's keys.
    path: Option<String>,
    /// Whether it is a binding.
    is_binding: bool,
    /// A binding's name. None if it contains a key.
    name: Option<String>,
    /// Whether a client would be shown a key. Then the binding's server does not start.
    shows_a_key: bool,
    /// Whether it is for its agents only. The report does not name them: a name may
    /// be a key in the wrong place. The check cannot tell whether such agents exist.
    is_bound: bool,
    /// The file's size in bytes, or why it is not served.
    pub(crate) result: Result<u64, Refusal>,
    /// Its length as Claude Code counts: in UTF-16 code units.
    pub(crate) chars: usize,
    /// What is wrong with this one, or what others may read, and what to do. It may hold
    /// paths.
    detail: Option<String>,
    /// What else the user should know. None of it keeps the file from being served.
    pub(crate) warnings: Vec<Warning>,
}

impl EntryReport {
    fn is_served(&self) -> bool {
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

/// A problem that keeps no file from being served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub(crate) enum Warning {
    /// The key is so short, or so simple, that somebody might guess it, and whoever does gets the
    /// file. This one fails the check.
    #[error(
        "a key of fewer than {} characters, or fewer than {} different ones, can be guessed, and its entry has no agents; replace it by one that `keyhole setup key FILE` prints",
        Key::STRONG_LEN,
        Key::STRONG_CHARS
    )]
    GuessableKey,
    /// The file tells an agent nothing: nobody sees a character of it.
    #[error("the file is empty, so a scan would find nothing. Write your list into it")]
    Blank,
    /// The file has characters that no text has.
    #[error(
        "the file holds NUL characters, so at least a part of it is not UTF-8 text, but perhaps UTF-16, and a scan may miss it. Save it as UTF-8"
    )]
    Nul,
    /// Its agents' reports are withheld, but there is nothing to withhold.
    #[error(
        "withhold finds next to no value in the file, so it takes next to nothing out of a report: headings, labels and ordinary words stay. Write each value as an item of a list"
    )]
    FewValues,
    /// The same, but only its agents get the file.
    #[error(
        "a key of fewer than {} characters, or fewer than {} different ones, may be guessed",
        Key::STRONG_LEN,
        Key::STRONG_CHARS
    )]
    WeakKey,
    /// The entry names an agent that the plugin does not have, and others.
    #[error("the plugin has no agent of one of the names in agents; its agent is {}", PLUGIN.0)]
    Misspelt,
    /// The entry names the plugin's agent, but its key is not the agent's.
    #[error("the plugin's agent asks for the key {} only, so it never loads this file", PLUGIN.1)]
    NotItsKey,
    /// The file is longer than what Claude Code shows its model in one result.
    #[error(
        "in Claude Code, a file of more than {MAX_CLAUDE_CHARS} characters is refused as too-large"
    )]
    LongForClaude,
    /// Not only the user may read the file. The entry's detail says how to close it, so this
    /// one is the last.
    #[error("by its mode, a group or others may read the file")]
    Open,
}

/// Runs `keyhole check`, and returns the exit code.
pub(crate) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let map = arguments
        .map
        .live()
        .and_then(|map| match foreign_map(map.location()) {
            Some(why) if !arguments.brief => Err(why),
            _ => Ok(map),
        });
    let map = match map {
        Err(_) if arguments.quiet => return Ok(2),
        map => map.map_err(|why| Failure(2, why))?,
    };
    if arguments.brief {
        if let Some(line) = brief(&map) {
            print(&format!("{line}\n"))?;
        }
        return Ok(0);
    }
    let report = report(&map)?;
    let report = match &arguments.plugin {
        Some(command) => report.for_the_plugin(map.location(), command, io::stdout().is_terminal()),
        None => report.for_claude_code(map.location()),
    };
    let text = match (arguments.quiet, arguments.json) {
        (true, _) => String::new(),
        (_, true) => report.to_json(),
        _ => report.to_text(arguments.verbose),
    };
    print(&text)?;
    Ok(report.exit_code())
}

/// Checks the map, and loads every file in it, one after another, as calls do, on a thread that
/// may read what a server's threads may.
pub(crate) fn report(live: &LiveMap) -> Result<Report, StartError> {
    let (started, ()) = start(live, Behind::Loading, || Ok(((), 1)))?;
    let maps = Arc::new(ReadMap(started.map.clone()));
    let loader = Loader::new(maps, started.sandbox, Limits::default());
    let (location, map) = (live.location(), started.map);
    let mut report = Report {
        map: Some(location.file().to_owned()),
        outcome: Ok(Vec::new()),
        read: map.as_ref().ok().cloned(),
        help: None,
        roots: Vec::new(),
        unguarded: Vec::new(),
        notes: way::surroundings(location),
        of_older: None,
        agent: None,
        unabridged: None,
        wall: started.status,
    };
    let map = match map {
        Ok(map) => map,
        Err(error) => {
            report.help = way::to_a_map(&error, location);
            let is_there = !matches!(
                error,
                MapError::Missing { .. } | MapError::Unreadable { .. }
            );
            report.map = report.map.filter(|_| is_there || !location.is_named());
            report.outcome = Err(error);
            return Ok(report);
        }
    };
    let secrets = Secrets::of(&map);
    let roots = map.roots();
    if roots.is_empty() && cfg!(target_os = "linux") {
        report.notes.push(NO_ROOTS.to_owned());
    }
    report
        .notes
        .extend(way::wide_map(location).filter(|_| !roots.is_empty()));
    report.unguarded = unguarded(location, &map, &secrets);
    report.roots = roots
        .iter()
        .filter_map(|root| why_not_root(root, &secrets))
        .collect();
    let judge = |target, entry| {
        let judged = entry_report(&map, target, entry, &secrets, location, &loader);
        started.runtime.block_on(judged)
    };
    let mut entries = Vec::new();
    for (key, entry) in map.entries() {
        entries.push(judge(Target::Key(key.expose().to_owned()), entry));
    }
    for (name, binding) in map.bindings() {
        let shows_a_key = binding.shows_a_key(name, &map);
        entries.push(EntryReport {
            is_binding: true,
            name: (!shows_a_key && !secrets.are_in(name)).then(|| name.to_string()),
            shows_a_key,
            ..judge(Target::Bound(name.clone()), binding.entry())
        });
    }
    report.outcome = Ok(entries);
    report.notes.extend(long_names(&map));
    Ok(report)
}

/// A text, and the paths that it names.
type Advice = (String, Vec<PathBuf>);

/// A map that is read once: for each of its entries, the next reading would be another map.
pub(crate) struct ReadMap(pub(crate) Result<Arc<Map>, MapError>);

impl Maps for ReadMap {
    type Directory = Handle;

    fn map_now(&self, _: Instant) -> Result<Arc<Map>, Refusal> {
        self.0.clone().map_err(|error| error.code())
    }

    fn resolve(
        &self,
        map: &Map,
        entry: &Entry,
        deadline: Instant,
    ) -> Result<Grant<Handle>, Refusal> {
        let walker = Walker::new(System).until(deadline);
        locate(&walker, map, entry).map_err(|error| error.code())
    }
}

/// The agents of Claude Code, of the user and of this folder, whose server serves anybody.
fn unguarded(location: &Location, map: &Map, secrets: &Secrets<'_>) -> Vec<String> {
    let set = std::env::var_os("CLAUDE_CONFIG_DIR").filter(|set| !set.is_empty());
    let set = set.map(|set| (printable(Path::new(&set)), PathBuf::from(set)));
    let usual = location
        .home()
        .map(|home| ("~/.claude".to_owned(), home.join(".claude")));
    let users = set.or(usual);
    let of_project = std::env::current_dir().map(|here| (".claude".into(), here.join(".claude")));
    let of_project = of_project.ok().filter(|project| {
        let users = users.as_ref();
        users.is_none_or(|users| users.1 != project.1)
    });
    let mut open = Vec::new();
    for (shown, folder) in users.into_iter().chain(of_project) {
        let folder = folder.join("agents");
        let agents = own_agents(&folder).into_iter();
        let is_open = |one: &OwnAgent| !one.is_guarded && map.binding(&one.bind).is_some();
        for agent in agents.filter(is_open) {
            let name = printable(agent.file.strip_prefix(&folder).unwrap_or(&agent.file));
            let name = Some(name).filter(|name| !secrets.are_in(name));
            let file = name.unwrap_or_else(|| "a file".to_owned());
            open.push(format!(
                "{file} in {shown}/agents starts Keyhole's server without its hook and ticket: then a session that a project starts as this agent gets the file, or, if one of the two is there, nobody gets it. Run `keyhole setup` for it again, or write the lines that `keyhole setup claude-code` prints"
            ));
        }
    }
    open
}

fn long_names(map: &Map) -> impl Iterator<Item = String> {
    let bindings = map.bindings().into_iter();
    let long = bindings.filter(|(name, _)| name.len() > MAX_IN_TOOL);
    long.map(|(_, binding)| {
        format!(
            "the binding on line {} has a name with which some clients cannot call its tool; one of at most {MAX_IN_TOOL} characters works everywhere",
            binding.entry().line()
        )
    })
}

/// What a map without roots gives away.
const NO_ROOTS: &str = "the map has no roots, so a server may read whatever you may. Name the folders of your files at the top of the map, as in roots = [\"~/private\"]";

/// Why no file in this root is served, if others could put another directory in its place.
fn why_not_root(root: &Path, secrets: &Secrets<'_>) -> Option<String> {
    match Walker::new(System).walk(root, Policy::DIRECTORY) {
        Err(WalkError::Untrusted(distrust)) => Some(secrets.hidden_in(way::cure(&distrust, root))),
        _ => None,
    }
}

/// What others could change: this entry's file, or a folder or link on its path.
fn distrust_of_file(map: &Map, entry: &Entry, file: &Path) -> Option<Distrust> {
    let walker = Walker::new(System);
    let grant = match locate(&walker, map, entry) {
        Ok(grant) => grant,
        Err(Unresolved::Walk(WalkError::Untrusted(distrust))) => return Some(distrust),
        Err(_) => return None,
    };
    match GrantedFile::open(&walker, &grant.directory, &grant.name, 0) {
        Err(WalkError::Untrusted(distrust)) => Some(Distrust {
            path: file.to_owned(),
            ..distrust
        }),
        _ => None,
    }
}

/// What keeps this one entry's file from being served, if the code does not say it all.
fn detail(code: Refusal, map: &Map, entry: &Entry, location: &Location) -> Option<Advice> {
    let file = location.expand(entry.path())?;
    match code {
        Refusal::Untrusted => {
            distrust_of_file(map, entry, &file).map(|distrust| way::cure(&distrust, &file))
        }
        // What hung would hang once more.
        Refusal::TimedOut => None,
        _ => way::leads(code, entry, &file, location),
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
    let is_shown = path.ends_with(".md") && !secrets.are_in(path);
    // The agents of a binding are those of one server.
    let key = match &target {
        Target::Key(key) => Some(&**key),
        _ => None,
    };
    let is_weak = key.is_some_and(Key::is_guessable);
    let is_misspelt = |name: &&AgentName| {
        let is_ours = name.starts_with("keyhole:") || name.starts_with("keyhole@");
        is_ours && !is_the_plugins(name)
    };
    let misspelt = key.map_or(0, |_| agents.iter().filter(is_misspelt).count());
    let is_not_its_key =
        key.is_some_and(|key| key != PLUGIN.1) && agents.iter().any(is_the_plugins);
    let loaded = if misspelt > 0 && misspelt == agents.len() {
        Err(Refusal::UnknownKey)
    } else {
        loader.load(target, caller).await
    };
    let text = loaded.as_ref().map(|document| &*document.text);
    let detail = match text {
        Err(code) => detail(*code, map, entry, location),
        Ok(_) => location.expand(path).and_then(|file| way::closing(&file)),
    };
    let has = |is: fn(&str) -> bool| text.is_ok_and(is);
    let chars = text.map_or(0, |text| text.encode_utf16().count());
    let warnings = [
        (has(is_blank), Warning::Blank),
        (has(|text| text.contains('\0')), Warning::Nul),
        (entry.withholds() && has(has_few_values), Warning::FewValues),
        (is_weak && !agents.is_empty(), Warning::WeakKey),
        (is_weak && agents.is_empty(), Warning::GuessableKey),
        (text.is_ok() && misspelt > 0, Warning::Misspelt),
        (is_not_its_key, Warning::NotItsKey),
        (chars > MAX_CLAUDE_CHARS, Warning::LongForClaude),
        (text.is_ok() && detail.is_some(), Warning::Open),
    ];
    EntryReport {
        line: entry.line(),
        path: is_shown.then(|| path.to_owned()),
        is_binding: false,
        name: None,
        shows_a_key: false,
        is_bound: !agents.is_empty(),
        result: text.map(|text| text.len() as u64).map_err(|code| *code),
        chars,
        detail: detail.map(|text| secrets.hidden_in(text)),
        warnings: warnings
            .into_iter()
            .filter(|(is, _)| *is)
            .map(|(_, warning)| warning)
            .collect(),
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
    fn hidden_in(&self, (text, paths): Advice) -> String {
        match paths
            .iter()
            .any(|path| self.are_in(&path.to_string_lossy()))
        {
            true => "what is in the way has a key in its path, so it is not shown".to_owned(),
            false => text,
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

impl Report {
    /// The exit code for the process: 0 if every file, binding and agent of the plugin
    /// would be served (also if the map has no keys), 1 if one would not, or if an agent's
    /// server or a key that can be guessed serves anybody, 2 if there is no map or it is
    /// invalid. Other warnings do not count.
    pub(crate) fn exit_code(&self) -> u8 {
        let Ok(entries) = &self.outcome else { return 2 };
        let is_good = |entry: &EntryReport| {
            entry.is_served() && !entry.warnings.contains(&Warning::GuessableKey)
        };
        let all = entries.iter().all(is_good)
            && self.agent.as_ref().is_none_or(|agent| agent.is_served)
            && self.unguarded.is_empty();
        u8::from(!all)
    }

    /// The message about a map that cannot be used. It does not repeat an argument
    /// that names no readable file.
    fn said(&self, error: &MapError) -> String {
        match error {
            MapError::Parse { source, .. } => source.message.clone(),
            _ if self.unabridged.is_some() => {
                let (_, said) = error.at_start().split_once(": ").unwrap_or_default();
                said.to_owned()
            }
            MapError::Missing { .. } if self.map.is_none() => {
                "there is no map where --map says; create it, or name another".to_owned()
            }
            MapError::Unreadable { source, .. } if self.map.is_none() => format!(
                "the map that --map names cannot be read: {source}; if it is a directory, add the file's name, else fix its permissions"
            ),
            other => other.to_string(),
        }
    }
}
