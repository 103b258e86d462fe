//! `keyhole check`: says whether the map is valid, whether each of its files would be served, and
//! whether each agent of Claude Code gets its file.

mod claude;
mod entry;
mod json;
mod step;
mod text;

use crate::{
    Failure,
    arguments::Check as Arguments,
    start::{Behind, StartError, start},
    streams::print,
};
pub(crate) use entry::{EntryReport, ReadMap, Secrets, Warning, entry_report, is_the_plugins};
use keyhole_core::{LiveMap, Loader, Map, MapError, Target, limits::Limits};
use keyhole_setup::recipe::MAX_IN_TOOL;
use keyhole_walk::{Policy, System, WalkError, Walker};
use keyhole_wall::WallStatus;
use std::{
    io::{self, IsTerminal as _},
    path::PathBuf,
    sync::Arc,
};
pub(crate) use step::foreign_map;

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
    /// Why an agent of Claude Code does not get its file, or others do. They name no file of the
    /// map, so they are shown also to a session.
    faults: Vec<String>,
    /// What else the user should know.
    notes: Vec<String>,
    /// What an older client needs beside, which is no warning.
    of_older: Option<String>,
    /// Whether the plugin's agent gets its file, and what to do, if the plugin asks.
    agent: Option<(bool, String)>,
    /// The command that shows the paths, if this report does not.
    unabridged: Option<String>,
    /// The parts of the wall that a server has.
    wall: WallStatus,
}

/// Runs `keyhole check`, and returns the exit code.
pub(crate) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let map = arguments.map.live().and_then(|map| {
        let foreign = foreign_map(map.location()).filter(|_| !arguments.brief);
        foreign.map_or(Ok(map), Err)
    });
    let map = match map {
        Err(_) if arguments.quiet => return Ok(2),
        map => map.map_err(|why| Failure(2, why))?,
    };
    if arguments.brief {
        if let Some(line) = claude::brief(&map) {
            print(&format!("{line}\n"))?;
        }
        return Ok(0);
    }
    let is_private = arguments.plugin.is_none() || io::stdout().is_terminal();
    let plugin = arguments.plugin.as_deref();
    let report = report(&map)?.for_claude_code(map.location(), plugin, is_private);
    if arguments.json {
        print(&report.to_json())?;
    } else if !arguments.quiet {
        print(&report.to_text(arguments.verbose))?;
    }
    Ok(report.exit_code())
}

/// Checks the map, and loads every file in it, one after another, as calls do, on a thread that
/// may read what a server's threads may.
pub(crate) fn report(live: &LiveMap) -> Result<Report, StartError> {
    let (started, ()) = start(live, Behind::Loading, || Ok(((), 1)))?;
    let maps = Arc::new(ReadMap(started.map.clone()));
    let loader = Loader::new(maps, started.sandbox, Limits::default());
    let location = live.location();
    let mut report = Report {
        map: Some(location.file().to_owned()),
        outcome: Ok(Vec::new()),
        read: started.map.as_ref().ok().cloned(),
        help: None,
        roots: Vec::new(),
        faults: Vec::new(),
        notes: step::surroundings(location).into_iter().collect(),
        of_older: None,
        agent: None,
        unabridged: None,
        wall: started.status,
    };
    let map = match started.map {
        Ok(map) => map,
        Err(error) => {
            report.help = step::to_a_map(&error, location);
            let is_gone = matches!(
                error,
                MapError::Missing { .. } | MapError::Unreadable { .. }
            );
            report.map = report.map.filter(|_| !is_gone || !location.is_named());
            report.outcome = Err(error);
            return Ok(report);
        }
    };
    let secrets = Secrets::of(&map);
    let (roots, notes) = (map.roots(), &mut report.notes);
    if roots.is_empty() && cfg!(target_os = "linux") {
        notes.push(NO_ROOTS.to_owned());
    }
    notes.extend(step::wide_map(location).filter(|_| !roots.is_empty()));
    report.roots = roots
        .iter()
        .filter_map(
            |root| match Walker::new(System).walk(root, Policy::DIRECTORY) {
                Err(WalkError::Untrusted(it)) => Some(secrets.hidden_in(step::cure(&it, root))),
                _ => None,
            },
        )
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
        if name.len() > MAX_IN_TOOL {
            report.notes.push(format!(
                "the binding on line {} has a name with which some clients cannot call its tool; one of at most {MAX_IN_TOOL} characters works everywhere",
                binding.entry().line()
            ));
        }
    }
    report.outcome = Ok(entries);
    Ok(report)
}

/// What a map without roots gives away.
const NO_ROOTS: &str = "the map has no roots, so a server may read whatever you may. Name the folders of your files at the top of the map, as in roots = [\"~/private\"]";

impl Report {
    /// The exit code for the process: 0 if every file would be served (also if the map has no
    /// keys), and each agent of Claude Code gets its file, as far as files can tell; 1 if not, or
    /// if an agent's server or a key that can be guessed serves anybody; 2 if there is no map or
    /// it is invalid. Warnings do not count.
    pub(crate) fn exit_code(&self) -> u8 {
        let Ok(entries) = &self.outcome else { return 2 };
        let is_good = |entry: &EntryReport| {
            entry.is_served() && !entry.warnings.contains(&Warning::GuessableKey)
        };
        let all = entries.iter().all(is_good)
            && self.agent.as_ref().is_none_or(|agent| agent.0)
            && self.faults.is_empty();
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
