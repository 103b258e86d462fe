//! `keyhole check`: whether the map is valid, and each file and agent would be served.

mod claude;
mod entry;
mod finding;
mod print;
mod step;

use crate::{
    Failure,
    wish::{Answer, Check},
};
use claude::{Client, Verdict};
pub(crate) use entry::{EntryReport, Judge, MapKeys, Taker};
pub(crate) use finding::Finding;
use finding::Severity;
use keyhole_claude::PLUGIN;
use keyhole_core::{LiveMap, Location, Map, MapError, ticket::Tickets};
use keyhole_serve::{
    resources::Runtime,
    start::{StartError, Started, start_loading},
    streams::print,
};
use keyhole_setup::{all_entries, ask::is_clients_shell, recipe::MAX_BINDING_NAME};
use keyhole_walk::{Policy, System, WalkError, Walker, printable::has_unseen};
use keyhole_wall::WallStatus;
pub(crate) use print::in_colour;
use std::{
    env,
    io::{self, IsTerminal as _},
    path::PathBuf,
    sync::Arc,
};
pub(crate) use step::why_foreign_home;
use step::{SETUP_PLUGIN, Unusable};

/// The result of a check. It tells no key, no key's length, and no text that may be a key.
#[derive(Debug)]
pub(crate) struct Report {
    /// The map's path. None if this report shows no path, or if an argument names it and no
    /// readable file is there: then the text may be anything, even a key.
    map: Option<PathBuf>,
    /// For each entry, and below them for each binding.
    outcome: Result<Vec<EntryReport>, Unusable>,
    /// What else there is to know, which is of no one entry.
    findings: Vec<Finding>,
    /// What is said at the end, which is no warning.
    closing: Vec<String>,
    /// Whether the plugin's agent gets its file, if the plugin asks, or the map has its key.
    agent: Option<Verdict>,
    wall: WallStatus,
}

pub(crate) fn run(wanted: Check) -> Result<u8, Failure> {
    let answer = wanted.answer;
    let found = wanted
        .map
        .and_then(|map| match why_foreign_home(&map.location) {
            Some(why) if answer != Answer::Brief => Err(why),
            _ => Ok(map),
        });
    let map = match found {
        Ok(map) => map,
        Err(_) if answer == Answer::Quiet => return Ok(2),
        Err(why) => return Err(Failure(2, why)),
    };
    if answer == Answer::Brief {
        print(&claude::line_at_start(&map).unwrap_or_default())?;
        return Ok(0);
    }
    let plugin = wanted.plugin.map(|command| Plugin {
        command,
        tickets: wanted.tickets,
    });
    // If the plugin asks, the main conversation reads this, unless a user does at a terminal.
    let shows_paths = plugin.is_none() || io::stdout().is_terminal();
    let report = report(&map, plugin.as_ref(), shows_paths)?;
    match answer {
        Answer::Json => print(&report.to_json())?,
        Answer::Text => print(&in_colour(report.to_text(false)))?,
        Answer::Verbose => print(&in_colour(report.to_text(true)))?,
        Answer::Quiet | Answer::Brief => {}
    }
    Ok(report.exit_code())
}

/// The plugin, if it asks.
#[derive(Debug)]
pub(crate) struct Plugin {
    /// Its command.
    pub(crate) command: PathBuf,
    /// Where it keeps its tickets, if the client says it.
    pub(crate) tickets: Option<Tickets>,
}

const _: () = assert!(MAX_BINDING_NAME == 41);

/// Checks the map, and loads every file in it behind a server's wall, one after another. If the
/// plugin asks, the main conversation reads this report: then it names no path of the map or an
/// entry, unless `shows_paths`.
pub(crate) fn report(
    live: &LiveMap,
    plugin: Option<&Plugin>,
    shows_paths: bool,
) -> Result<Report, StartError> {
    let Started {
        map: read,
        wall,
        sandbox,
        runtime,
        ..
    } = start_loading(live)?;
    let location = &live.location;
    let judge = read.as_ref().map(|map| Judge::of(map, location, sandbox));
    let map = judge.as_ref().ok().map(|judge| judge.map);
    let is_asked = plugin.is_some() || map.is_some_and(claude::has_plugins_key);
    let client = if plugin.is_some() || map.is_some() {
        Client::here(location)
    } else {
        None
    };
    let mut findings = step::findings_on_place(location, map);
    let (outcome, agent) = match &judge {
        Ok(judge) => {
            let entries = judged_entries(judge, client.as_ref(), &runtime, shows_paths);
            findings.extend(long_names(judge.map));
            findings.extend(of_roots(judge, shows_paths));
            let agent = claude::verdict_on_agent(judge.map, &entries, shows_paths);
            (Ok(entries), agent)
        }
        Err(error) => {
            let make = match plugin {
                Some(_) => SETUP_PLUGIN,
                None => "setup",
            };
            let why = step::unusable(error, location, shows_paths, make);
            let agent = Verdict::refused(why.code);
            (Err(why), agent)
        }
    };
    let mut report = Report {
        map: shown_map(&read, location, shows_paths),
        outcome,
        findings,
        closing: Vec::new(),
        agent: if is_asked { Some(agent) } else { None },
        wall,
    };
    if let Some(client) = client {
        client.judge(&mut report, judge.as_ref().ok(), plugin, shows_paths);
    }
    report.end_for(plugin, shows_paths);
    if let Ok(judge) = &judge {
        report.leave_keys_out(&judge.keys);
    }
    Ok(report)
}

/// What is known of each entry of the map, in its order. The names and paths are left out, unless
/// `shows_paths`.
fn judged_entries(
    judge: &Judge<'_>,
    client: Option<&Client<'_>>,
    runtime: &Runtime,
    shows_paths: bool,
) -> Vec<EntryReport> {
    let mut entries = Vec::new();
    for (named, entry) in all_entries(judge.map) {
        let taker = match client {
            Some(client) if client.takes_alone(named) => Taker::ClaudeCode,
            _ => Taker::Anybody,
        };
        let mut judged = runtime.block_on(judge.report(named, entry, taker));
        if !shows_paths {
            (judged.name, judged.path, judged.detail) = (None, None, None);
            judged.summary = None;
        }
        entries.push(judged);
    }
    entries
}

/// The map's path if it may be shown. None if a session reads this, or if the path may be a key
/// that was typed in the place of one.
fn shown_map(
    read: &Result<Arc<Map>, MapError>,
    location: &Location,
    shows_paths: bool,
) -> Option<PathBuf> {
    let is_gone = matches!(read, Err(MapError::Missing(_) | MapError::Unreadable(..)));
    if shows_paths && !(is_gone && location.is_named) {
        Some(location.file.clone())
    } else {
        None
    }
}

/// The bindings with a name of which some clients make a tool's name that is too long.
fn long_names(map: &Map) -> impl Iterator<Item = Finding> {
    map.bindings()
        .iter()
        .filter(|(name, _)| name.len() > MAX_BINDING_NAME)
        .map(|(_, binding)| Finding::LongBindingName {
            line: binding.entry.line,
        })
}

/// What is wrong with the map's roots: others could replace one, or the path of one that no walk
/// reaches has a character that nobody sees. Of another root that is not there, nothing is said.
///
/// `shows_paths` is whether just the user reads this. Else no path is told.
fn of_roots(judge: &Judge<'_>, shows_paths: bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    for root in judge.map.roots() {
        let Err(why) = Walker::new(System).walk(&root, Policy::Directory) else {
            continue;
        };
        if has_unseen(&root.to_string_lossy()) {
            findings.push(Finding::UnseenInRoot {});
        }
        if let WalkError::Untrusted(distrust) = why {
            let cure = if shows_paths {
                judge.keys.checked_text(step::cure(&distrust, &root))
            } else {
                "others could replace one".to_owned()
            };
            findings.push(Finding::RootNotTrusted { cure });
        }
    }
    findings
}

impl Report {
    /// The exit code for the process, as the help of `check` has it: 2 if the map cannot be used,
    /// 1 for any error, else 0. Warnings do not count.
    pub(crate) fn exit_code(&self) -> u8 {
        let Ok(entries) = &self.outcome else { return 2 };
        let of_entries = entries.iter().flat_map(|entry| &entry.findings);
        let mut findings = of_entries.chain(&self.findings);
        let is_wrong = entries.iter().any(|entry| !entry.is_served())
            || findings.any(|finding| finding.severity() == Severity::Error)
            || self.agent.as_ref().is_some_and(|agent| !agent.is_served);
        u8::from(is_wrong)
    }

    /// Leaves keys out that a path or a name elsewhere contains.
    fn leave_keys_out(&mut self, keys: &MapKeys<'_>) {
        for finding in &mut self.findings {
            let sentence = finding.to_string();
            if keys.are_revealed_by(&sentence) {
                *finding = Finding::Redacted {
                    id: finding.id(),
                    severity: finding.severity(),
                    sentence: keys.left_out_of(&sentence),
                };
            }
        }
        for line in &mut self.closing {
            *line = keys.left_out_of(line);
        }
        self.map
            .take_if(|map| keys.are_revealed_by(&map.to_string_lossy()));
    }

    /// Says at the end whether the plugin's agent gets its file: none if a finding stops it.
    fn end_for(&mut self, plugin: Option<&Plugin>, shows_paths: bool) {
        let is_stopped = self.findings.iter().any(Finding::stops_plugin);
        let is_all_right = self.exit_code() == 0;
        let Some(agent) = &mut self.agent else {
            return;
        };
        if agent.is_served && is_stopped {
            *agent = Verdict::refused("would get no file: see the error above");
        } else if agent.is_served && !is_all_right {
            agent.text += "; but something else is wrong: see above";
        }
        let last = format!("{}: {}", PLUGIN.agent, agent.text);
        if let Some(plugin) = plugin.filter(|_| !shows_paths) {
            let command = step::plugins_command(&plugin.command, "check");
            let why = if is_clients_shell(&|name| env::var_os(name)) {
                "No path is shown to a session. In a terminal of your own"
            } else {
                "This is no terminal, so no path is shown. In a terminal"
            };
            self.closing.push(format!("{why}: {command}"));
        }
        self.closing.push(last);
    }

    /// Those of the findings that have this severity. Findings about an entry are not among them.
    fn findings_of(&self, severity: Severity) -> impl Iterator<Item = &Finding> {
        let findings = self.findings.iter();
        findings.filter(move |finding| finding.severity() == severity)
    }
}
