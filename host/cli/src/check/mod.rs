//! `keyhole check`: whether the map is valid, and each file and agent would be served.

mod claude;
mod entry;
mod print;
mod step;

use crate::{
    Failure,
    wish::{Answer, Check},
};
use claude::{Client, DOOR};
pub(crate) use entry::{EntryReport, LONG, ReadMap, Secrets, entry_report};
use keyhole_claude::PLUGIN;
use keyhole_core::{LiveMap, Loader, MapError, limits::Limits, ticket::Tickets};
use keyhole_serve::{
    start::{StartError, Started, start_loading},
    streams::print,
};
use keyhole_setup::{all_of, recipe::MAX_IN_TOOL};
use keyhole_walk::{Policy, System, WalkError, Walker, printable::has_unseen};
use keyhole_wall::WallStatus;
use std::{
    io::{self, IsTerminal as _},
    path::PathBuf,
    sync::Arc,
};
use step::Unusable;
pub(crate) use step::foreign_map;

/// The result of a check. It tells no key, no key's length, and no text that may be a key.
#[derive(Debug)]
pub(crate) struct Report {
    /// The map's path. None if this report shows no path, or if an argument names it and no
    /// readable file is there: then the text may be anything, even a key.
    map: Option<PathBuf>,
    /// For each entry, and below them for each binding.
    outcome: Result<Vec<EntryReport>, Unusable>,
    /// Why an agent of Claude Code does not get its file, or others do.
    faults: Vec<String>,
    notes: Vec<String>,
    /// What is said beside, which is no warning.
    closing: Vec<String>,
    /// Whether the plugin's agent gets its file, and what to do, if the plugin asks.
    agent: Option<(bool, String)>,
    wall: WallStatus,
}

pub(crate) fn run(wanted: Check) -> Result<u8, Failure> {
    let answer = wanted.answer;
    let found = wanted.map.and_then(|map| match foreign_map(&map.location) {
        Some(why) if answer != Answer::Brief => Err(why),
        _ => Ok(map),
    });
    let map = match found {
        Ok(map) => map,
        Err(_) if answer == Answer::Quiet => return Ok(2),
        Err(why) => return Err(Failure(2, why)),
    };
    if answer == Answer::Brief {
        print(&claude::brief(&map).unwrap_or_default())?;
        return Ok(0);
    }
    let plugin = wanted.plugin.map(|command| Plugin {
        command,
        tickets: wanted.tickets,
    });
    let is_private = plugin.is_none() || io::stdout().is_terminal();
    let report = report(&map, plugin.as_ref(), is_private)?;
    match answer {
        Answer::Json => print(&report.to_json())?,
        Answer::Text => print(&report.to_text(false))?,
        Answer::Verbose => print(&report.to_text(true))?,
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

const LONG_NAME: &str = "has a name with which some clients cannot call its tool; one of at most 41 characters works everywhere";
const UNSEEN_ROOT: &str = "a path in roots has a character that nobody sees, as text from a web page may have it: write it again";
const _: () = assert!(MAX_IN_TOOL == 41);

/// Checks the map, and loads every file in it behind a server's wall, one after another. If the
/// plugin asks, the main conversation reads this report: then it names no path of the map or an
/// entry, unless `is_private`.
pub(crate) fn report(
    live: &LiveMap,
    plugin: Option<&Plugin>,
    is_private: bool,
) -> Result<Report, StartError> {
    use MapError::{Missing, Unreadable};
    let Started {
        map: read,
        wall,
        sandbox,
        runtime,
        ..
    } = start_loading(live)?;
    let (location, valid) = (&live.location, read.as_deref().ok());
    let client = Client::here(location).filter(|_| plugin.is_some() || valid.is_some());
    let mut notes = step::surroundings(location, valid);
    let (outcome, agent) = match &read {
        Ok(map) => {
            let secrets = Secrets::of(map);
            let maps = ReadMap(Arc::clone(map)).into();
            let loader = Loader::new(maps, sandbox, Limits::default());
            let entries = all_of(map).map(|one| {
                let is_claudes = client.as_ref().is_some_and(|client| client.takes(one.0));
                let judged = entry_report(map, one, is_claudes, &secrets, location, &loader);
                let mut judged = runtime.block_on(judged);
                if !is_private {
                    (judged.name, judged.path, judged.detail) = (None, None, None);
                }
                judged
            });
            let entries: Vec<_> = entries.collect();
            let bindings = map.bindings().iter();
            let long = bindings.filter(|(name, _)| name.len() > MAX_IN_TOOL);
            let long = long.map(|(_, binding)| binding.entry.line);
            notes.extend(long.map(|line| format!("the binding on line {line} {LONG_NAME}")));
            for root in map.roots() {
                let walked = Walker::new(System).walk(&root, Policy::Directory);
                let is_unseen = walked.is_err() && has_unseen(&root.to_string_lossy());
                notes.extend(is_unseen.then(|| UNSEEN_ROOT.to_owned()));
                if let Err(WalkError::Untrusted(it)) = walked {
                    let said = is_private.then(|| secrets.hidden_in(step::cure(&it, &root)));
                    let said = said.as_deref().unwrap_or("others could replace one");
                    notes.push(format!("no file in this root is served: {said}"));
                }
            }
            let agent = claude::of_agent(map, &entries, is_private);
            (Ok(entries), agent)
        }
        Err(error) => {
            let make = if plugin.is_some() { DOOR } else { "setup" };
            let why = step::unusable(error, location, is_private, make);
            let agent = (false, why.code.to_owned());
            (Err(why), agent)
        }
    };
    let is_gone = matches!(read, Err(Missing(_) | Unreadable(..)));
    let is_shown = is_private && !(is_gone && location.is_named);
    let mut report = Report {
        map: is_shown.then(|| location.file.to_owned()),
        outcome,
        faults: Vec::new(),
        notes,
        closing: Vec::new(),
        agent: plugin.map(|_| agent),
        wall,
    };
    if let Some(client) = client {
        client.judge(&mut report, valid, plugin, is_private);
    }
    if let (Some(plugin), Some((_, agent))) = (plugin, &report.agent) {
        let command = step::plugins(&plugin.command, "check");
        let all = format!("No path is shown to a session. In a terminal of your own: {command}");
        report.closing.extend((!is_private).then_some(all));
        report.closing.push(format!("{}: {agent}", PLUGIN.0));
    }
    Ok(report)
}

impl Report {
    /// The exit code for the process, as the help of `check` has it. Warnings do not count.
    pub(crate) fn exit_code(&self) -> u8 {
        let Ok(entries) = &self.outcome else { return 2 };
        let is_bad = |entry: &EntryReport| !entry.is_served() || entry.is_weak && !entry.is_bound;
        let is_wrong = entries.iter().any(is_bad)
            || self.agent.as_ref().is_some_and(|agent| !agent.0)
            || !self.faults.is_empty();
        u8::from(is_wrong)
    }
}
