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

/// The result of a check. What is printed of a report tells no key, no key's length, and no text
/// that may be a key.
pub(crate) struct Report {
    /// The map's path. None if this report shows no path, or if an argument names it and no
    /// readable file is there: then the text may be anything, even a key.
    map_path: Option<PathBuf>,
    /// A report for each entry with a key, and then for each binding; or why the map cannot be
    /// used.
    entries_or_why: Result<Vec<EntryReport>, Unusable>,
    /// What is wrong, but not with a single entry. Errors come first.
    findings: Vec<Finding>,
    /// The lines at the end of the text, which are no warnings.
    closing_lines: Vec<String>,
    /// Whether the plugin's agent gets its file, if the plugin asks, or the map has its key.
    plugins_agent: Option<Verdict>,
    /// What confines a server on this system.
    wall: WallStatus,
    /// The keys that are taken out of what is printed. Empty if the map cannot be used.
    keys: MapKeys,
}

/// Runs `keyhole check`: prints the report as a text, as JSON (`--json`) or not at all (`--quiet`),
/// and returns the report's exit code. With `--brief`, no report is made: the line for the start of
/// a session is printed, if there is one, and the exit code is 0.
///
/// If it is not known where the map is, as without `HOME`, this fails with exit code 2. With
/// `--quiet`, it returns 2 and tells nothing.
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
        tickets: tickets_in(None).ok(),
    });
    let asker = Asker {
        // If the plugin asks, the main conversation reads this, unless a user does at a terminal.
        shows_paths: plugin.is_none() || io::stdout().is_terminal(),
        plugin,
        is_verbose: typed.verbose,
    };
    let report = report(&map, &asker)?;
    if typed.json {
        print(&report.to_json())?;
    } else if !typed.quiet {
        print(&in_colour(report.to_text()))?;
    }
    Ok(report.exit_code())
}

/// The plugin of Claude Code, which asks for a check (`--plugin COMMAND`).
#[derive(Debug)]
pub(crate) struct Plugin {
    /// The plugin's own script, which runs this program: `/home/theo/plugin/bin/keyhole`.
    pub(crate) command: PathBuf,
    /// Where the plugin keeps its tickets. None if `CLAUDE_PLUGIN_DATA` does not say it.
    pub(crate) tickets: Option<Tickets>,
}

/// Who asks for a report, and what the report is to show.
pub(crate) struct Asker {
    /// None if the plugin does not ask.
    pub(crate) plugin: Option<Plugin>,
    /// Whether a user reads the report. Else the main conversation does: then the report names no
    /// path of the map or an entry.
    pub(crate) shows_paths: bool,
    /// Whether the report also names a server's walls if all of them stand (`--verbose`).
    pub(crate) is_verbose: bool,
}

/// The report on a map. Each entry's file is loaded as a server does it, one after another. If the
/// map cannot be used, `entries_or_why` says why: this is no error here.
///
/// - What Claude Code makes of the map is added if the map can be used, or if the plugin asks
///   (`asker.plugin`); but not if the environment names no home.
/// - Whether the plugin's agent gets its file is added if the plugin asks, or if the map has the
///   agent's key.
///
/// # Errors
/// [`StartError`] if nothing can be loaded: there are too few descriptors or threads, or too little
/// memory.
pub(crate) fn report(live: &LiveMap, asker: &Asker) -> Result<Report, StartError> {
    let Started {
        map: map_or_why,
        wall,
        sandbox,
        runtime,
        ..
    } = start_loading(live)?;
    let location = &live.location;
    let map = map_or_why.as_deref().ok();
    let claude_code = if asker.plugin.is_some() || map.is_some() {
        ClaudeCode::here(location, map, asker)
    } else {
        None
    };
    let entries_or_why = match &map_or_why {
        Ok(map) => {
            let usable = UsableMap::of(map, location, sandbox);
            Ok(entry_reports(
                &usable,
                claude_code.as_ref(),
                &runtime,
                asker,
            ))
        }
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

/// A report for each entry of the map: first those with keys, then the bindings. A file that only
/// Claude Code takes is refused if it has more than 500,000 characters. Without `claude_code`, it
/// is not known who takes a file, and none is refused for that.
///
/// If the report shows no paths (`shows_paths`), the names of bindings, the files' paths, the
/// advice and the counts of values are left out: the main conversation reads it.
fn entry_reports(
    usable: &UsableMap<'_>,
    claude_code: Option<&ClaudeCode<'_>>,
    runtime: &Runtime,
    asker: &Asker,
) -> Vec<EntryReport> {
    let mut reports = Vec::new();
    for (named, entry) in all_entries(usable.map) {
        let taker = match claude_code {
            Some(claude_code) if claude_code.is_taken_alone(named) => Taker::ClaudeCode,
            _ => Taker::Anybody,
        };
        let mut report = runtime.block_on(usable.report(named, entry, taker));
        if !asker.shows_paths {
            report.name = None;
            report.path = None;
            report.advice = None;
            report.summary = None;
        }
        reports.push(report);
    }
    reports
}

/// The map's path, if the report may show it. None if the report shows no paths. Also None if
/// `--map` names the map (`is_from_option`), and the map is missing or cannot be read: then the
/// path may be a key that was typed in the wrong place.
fn shown_path(
    map_or_why: &Result<Arc<Map>, MapError>,
    location: &Location,
    asker: &Asker,
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

/// What is wrong with each root of the map that cannot be opened. Two things are told, and a root
/// may have both. Nothing is told of any other root, as one that is not there.
///
/// - [`Finding::UnseenInRoot`] if the root's path has a character that nobody sees.
/// - [`Finding::RootNotTrusted`] if others could replace the root. Its `cure` says how to stop
///   them, if the report shows paths.
fn findings_on_roots(map: &Map, asker: &Asker) -> Vec<Finding> {
    let mut findings = Vec::new();
    for root in map.roots() {
        let Err(why) = Walker::new(System).walk(&root, Policy::Directory) else {
            // Nothing is wrong with a root that can be opened.
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
    /// The exit code for the process.
    ///
    /// - 2 if the map cannot be used.
    /// - 1 if the file of an entry is not served; if a finding is an error; or if the report has a
    ///   verdict on the plugin's agent, and this agent gets no file.
    /// - 0 else.
    pub(crate) fn exit_code(&self) -> u8 {
        let Ok(entries) = &self.entries_or_why else {
            return 2;
        };
        let of_entries = entries.iter().flat_map(|entry| &entry.findings);
        let mut findings = of_entries.chain(&self.findings);
        let verdict = self.plugins_agent.as_ref();
        let is_wrong = entries.iter().any(|entry| !entry.is_served())
            || findings.any(|finding| finding.severity() == Severity::Error)
            || verdict.is_some_and(|agent| !agent.is_served);
        u8::from(is_wrong)
    }

    /// Adds the line that says whether the plugin's agent gets its file. Adds nothing if the report
    /// has no verdict on this agent (`plugins_agent`).
    ///
    /// The verdict is first made to fit the other findings. A verdict that the agent gets its file
    /// becomes one that it gets none, if a finding stops the plugin. If something else is wrong,
    /// the verdict says so in a few words.
    ///
    /// If the plugin asks, and the report shows no paths, another line comes first: it has the
    /// command that shows them.
    fn add_last_lines(&mut self, asker: &Asker) {
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
        if let Some(plugin) = &asker.plugin
            && !asker.shows_paths
        {
            let command = step::plugins_command(&plugin.command, "check");
            let where_to_run = if is_clients_shell(&variable) {
                "No path is shown to a session. In a terminal of your own"
            } else {
                "This is no terminal, so no path is shown. In a terminal"
            };
            self.closing_lines
                .push(format!("{where_to_run}: {command}"));
        }
        self.closing_lines.push(last_line);
    }
}
