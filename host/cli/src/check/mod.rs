//! `keyhole check`: whether the map is valid, and each file and agent would be served.

mod claude;
mod entry;
mod finding;
mod print;
mod step;

use crate::{
    Failure, arguments,
    environment::{map_meant, tickets_in, variable},
    keys::MapKeys,
};
use claude::{ClaudeCode, Verdict};
pub(crate) use entry::{EntryReport, Taker, UsableMap};
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
use print::line_on_wall;
use std::{
    io::{self, IsTerminal as _},
    path::PathBuf,
    sync::Arc,
};
use step::Unusable;

/// The result of a check. What is printed of it tells no key, no key's length, and no text that may
/// be a key.
pub(crate) struct Report {
    /// The map's path. None if this report shows no path, or if an argument names it and no
    /// readable file is there: then the text may be anything, even a key.
    map_path: Option<PathBuf>,
    /// A report for each entry with a key, and then for each binding; or why the map cannot be
    /// used.
    entries_or_why: Result<Vec<EntryReport>, Unusable>,
    /// What is wrong beside single entries. Errors come first.
    findings: Vec<Finding>,
    /// The lines at the end, which are no warnings.
    closing_lines: Vec<String>,
    /// Whether the plugin's agent gets its file, if the plugin asks, or the map has its key.
    plugins_agent: Option<Verdict>,
    wall: WallStatus,
    /// The keys that are taken out of what is printed. Empty if the map cannot be used.
    keys: MapKeys,
}

/// Runs `keyhole check`: prints the report as a text, or as JSON (`--json`), or not at all
/// (`--quiet`), and returns the report's exit code. For `--brief`, no report is made: it prints the
/// line for the start of a session, if there is one, and returns 0.
///
/// Fails with exit code 2 if it is not known where the map is. For `--quiet`, this is no failure
/// with a message: it returns 2.
pub(crate) fn run(typed: arguments::Check) -> Result<u8, Failure> {
    let map = match map_meant(&typed.map) {
        Ok(map) => map,
        Err(_) if typed.quiet => return Ok(2),
        Err(why) => return Err(Failure(2, why)),
    };
    if typed.brief {
        print(&claude::line_at_start(&map).unwrap_or_default())?;
        return Ok(0);
    }
    let plugin = typed.plugin.map(|command| Plugin {
        command,
        // None if the client does not say where the plugin's data folder is.
        tickets: tickets_in(None).ok(),
    });
    let asker = Asker {
        plugin: plugin.as_ref(),
        // If the plugin asks, the main conversation reads this, unless a user does at a terminal.
        shows_paths: plugin.is_none() || io::stdout().is_terminal(),
        is_verbose: typed.verbose,
    };
    let report = report(&map, asker)?;
    if typed.json {
        print(&report.to_json())?;
    } else if !typed.quiet {
        print(&in_colour(report.to_text()))?;
    }
    Ok(report.exit_code())
}

/// The plugin, if it asks for a check.
#[derive(Debug)]
pub(crate) struct Plugin {
    /// The plugin's command.
    pub(crate) command: PathBuf,
    /// Where the plugin keeps its tickets, if the client says it.
    pub(crate) tickets: Option<Tickets>,
}

/// Who asks for a report.
#[derive(Clone, Copy)]
pub(crate) struct Asker<'a> {
    /// None if the plugin does not ask.
    pub(crate) plugin: Option<&'a Plugin>,
    /// Whether a user reads the report. Else the main conversation does: then the report names no
    /// path of the map or an entry.
    pub(crate) shows_paths: bool,
    /// Whether the report also names a server's walls if all of them stand (`--verbose`).
    pub(crate) is_verbose: bool,
}

/// The report on a map: for each entry, whether its file is served. Every file is loaded behind a
/// server's wall, one after another. If the map cannot be used, the report says why in
/// `entries_or_why`: that is no error here. It also has
///
/// - what Claude Code makes of the map, if the map can be used, or if a session with the plugin asks
///   (`asker.plugin`); not if the user's home is unknown;
/// - whether the plugin's agent gets its file, if such a session asks, or the map has its key.
///
/// # Errors
/// [`StartError`] if nothing can be loaded: there are too few descriptors or threads, or too little
/// memory.
pub(crate) fn report(live: &LiveMap, asker: Asker<'_>) -> Result<Report, StartError> {
    let Started {
        map: map_or_why,
        wall,
        sandbox,
        runtime,
        ..
    } = start_loading(live)?;
    let location = &live.location;
    let usable_or_why = map_or_why
        .as_ref()
        .map(|map| UsableMap::of(map, location, sandbox));
    let usable = usable_or_why.as_ref().ok();
    let map = usable.map(|usable| usable.map);
    let claude_code = if asker.plugin.is_some() || map.is_some() {
        ClaudeCode::here(location, map, asker)
    } else {
        None
    };
    let entries_or_why = match &usable_or_why {
        Ok(usable) => Ok(entry_reports(usable, claude_code.as_ref(), &runtime, asker)),
        Err(error) => Err(step::unusable(error, location, asker)),
    };
    let mut report = Report {
        map_path: shown_path(&map_or_why, location, asker),
        plugins_agent: claude::verdict_on_plugin(&entries_or_why, asker),
        entries_or_why,
        findings: step::findings_on_place(location, map),
        closing_lines: Vec::new(),
        wall,
        keys: MapKeys::of(map),
    };
    if let Some(map) = map {
        report.findings.extend(long_names(map));
        report.findings.extend(findings_on_roots(map, asker));
    }
    if let Some(claude_code) = claude_code {
        claude_code.add_findings(&mut report);
    }
    // Errors come first.
    report.findings.sort_by_key(Finding::severity);
    report.add_last_lines(asker);
    report.closing_lines.extend(line_on_wall(wall, asker));
    Ok(report)
}

/// The report for each entry of the map, in the map's order: entries with keys, then bindings. If
/// no other client takes an entry's file, its length counts for Claude Code. If the main
/// conversation reads the reports (not `shows_paths`), names, paths, advice and counts of values
/// are left out.
fn entry_reports(
    usable: &UsableMap<'_>,
    claude_code: Option<&ClaudeCode<'_>>,
    runtime: &Runtime,
    asker: Asker<'_>,
) -> Vec<EntryReport> {
    let mut reports = Vec::new();
    for (named, entry) in all_entries(usable.map) {
        let taker = match claude_code {
            Some(claude_code) if claude_code.is_taken_alone(named) => Taker::ClaudeCode,
            _ => Taker::Anybody,
        };
        let mut report = runtime.block_on(usable.report(named, entry, taker));
        if !asker.shows_paths {
            (report.name, report.path, report.advice) = (None, None, None);
            report.summary = None;
        }
        reports.push(report);
    }
    reports
}

/// The map's path. None if the main conversation reads the report (it does not show paths). None as
/// well if `--map` names the path and no readable file is there: then the path may be a key that
/// was typed in the wrong place.
fn shown_path(
    map_or_why: &Result<Arc<Map>, MapError>,
    location: &Location,
    asker: Asker<'_>,
) -> Option<PathBuf> {
    let is_unread = matches!(
        map_or_why,
        Err(MapError::Missing(_) | MapError::Unreadable(..))
    );
    if asker.shows_paths && !(is_unread && location.is_from_option) {
        Some(location.file.clone())
    } else {
        None
    }
}

/// A finding for each binding whose name is so long that some clients cannot call its tool.
fn long_names(map: &Map) -> impl Iterator<Item = Finding> {
    map.bindings()
        .iter()
        .filter(|(name, _)| name.len() > MAX_BINDING_NAME)
        .map(|(_, binding)| Finding::LongBindingName {
            line: binding.entry.line,
        })
}

/// What is wrong with the roots of the map that cannot be opened. A root that cannot be opened for
/// another reason than these, as one that is not there, has no finding.
///
/// - [`Finding::UnseenInRoot`] if the root's path has a character that nobody sees.
/// - [`Finding::RootNotTrusted`] if others could replace the root. Its `cure` says how to stop
///   them, unless the main conversation reads it (not `shows_paths`).
fn findings_on_roots(map: &Map, asker: Asker<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for root in map.roots() {
        let Err(why) = Walker::new(System).walk(&root, Policy::Directory) else {
            // The root can be opened.
            continue;
        };
        if has_unseen(&root.to_string_lossy()) {
            findings.push(Finding::UnseenInRoot {});
        }
        if let WalkError::Untrusted(distrust) = why {
            let cure = if asker.shows_paths {
                step::cure(&distrust, &root)
            } else {
                "others could replace one".to_owned()
            };
            findings.push(Finding::RootNotTrusted { cure });
        }
    }
    findings
}

impl Report {
    /// The exit code for the process: 2 if the map cannot be used; 1 if an entry's file or that of
    /// the plugin's agent is not served, or if a finding is an error; else 0.
    pub(crate) fn exit_code(&self) -> u8 {
        let Ok(entries) = &self.entries_or_why else {
            return 2;
        };
        let of_entries = entries.iter().flat_map(|entry| &entry.findings);
        let mut findings = of_entries.chain(&self.findings);
        let is_wrong = entries.iter().any(|entry| !entry.is_served())
            || findings.any(|finding| finding.severity() == Severity::Error)
            || self
                .plugins_agent
                .as_ref()
                .is_some_and(|agent| !agent.is_served);
        u8::from(is_wrong)
    }

    /// Adds the last line, which says whether the plugin's agent gets its file. If the plugin asks
    /// and the report shows no paths, a line above it has the command that shows them. Adds nothing
    /// without a verdict on this agent (`plugins_agent`).
    ///
    /// If the verdict says that the agent gets its file, but a finding stops the agent, the verdict
    /// first becomes one that it gets none. If something else is wrong, a few words to say so are
    /// added.
    fn add_last_lines(&mut self, asker: Asker<'_>) {
        let is_all_right = self.exit_code() == 0;
        let is_stopped = self.findings.iter().any(Finding::stops_plugin);
        let Some(agent) = &mut self.plugins_agent else {
            return;
        };
        if agent.is_served && is_stopped {
            *agent = Verdict::refused("would get no file: see the error above");
        } else if agent.is_served && !is_all_right {
            agent.text += "; but something else is wrong: see above";
        }
        let last_line = format!("{}: {}", PLUGIN.agent, agent.text);
        if let Some(plugin) = asker.plugin.filter(|_| !asker.shows_paths) {
            let command = step::plugins_command(&plugin.command, "check");
            let why = if is_clients_shell(&variable) {
                "No path is shown to a session. In a terminal of your own"
            } else {
                "This is no terminal, so no path is shown. In a terminal"
            };
            self.closing_lines.push(format!("{why}: {command}"));
        }
        self.closing_lines.push(last_line);
    }
}
