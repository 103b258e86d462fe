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
use claude::{ClaudeCode, Verdict};
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
    map_path: Option<PathBuf>,
    /// A report for each entry, and below them for each binding; or why the map cannot be used.
    outcome: Result<Vec<EntryReport>, Unusable>,
    /// What else there is to know, which is of no one entry.
    findings: Vec<Finding>,
    /// The lines at the end, which are no warnings.
    closing_lines: Vec<String>,
    /// Whether the plugin's agent gets its file, if the plugin asks, or the map has its key.
    agent: Option<Verdict>,
    wall: WallStatus,
}

/// Runs `keyhole check`: prints the answer in the form that is wanted, and returns the exit code.
///
/// Fails with 2 if it is not known where the map is, or if the map is in another user's home. For
/// [`Answer::Brief`], any home will do. For [`Answer::Quiet`], it returns 2 and says nothing.
pub(crate) fn run(wanted: Check) -> Result<u8, Failure> {
    let answer = wanted.answer;
    let map_or_why = wanted
        .map
        .and_then(|map| match why_foreign_home(&map.location) {
            Some(why) if answer != Answer::Brief => Err(why),
            _ => Ok(map),
        });
    let map = match map_or_why {
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

/// The report on a map: for each of its entries, whether its file is served; or why the map cannot
/// be used, which is the report's `outcome` and no error here. Every file is loaded behind a
/// server's wall, one after another.
///
/// What Claude Code makes of the map is added if the plugin asks, or if the map can be used. The
/// verdict on the plugin's agent is added if the plugin asks, or if the map has the key of this
/// agent.
///
/// If not `shows_paths`, the main conversation reads this report: then it names no path of the map
/// or an entry.
///
/// # Errors
/// [`StartError`] if nothing can be loaded: there are too few descriptors or threads, or too little
/// memory.
pub(crate) fn report(
    live: &LiveMap,
    plugin: Option<&Plugin>,
    shows_paths: bool,
) -> Result<Report, StartError> {
    let Started {
        map: map_or_why,
        wall,
        sandbox,
        runtime,
        ..
    } = start_loading(live)?;
    let location = &live.location;
    let judge_or_why = map_or_why
        .as_ref()
        .map(|map| Judge::of(map, location, sandbox));
    // None if the map cannot be used.
    let map = judge_or_why.as_ref().ok().map(|judge| judge.map);
    let claude_code = if plugin.is_some() || map.is_some() {
        ClaudeCode::here(location)
    } else {
        None
    };
    let mut findings = step::findings_on_place(location, map);
    let (outcome, verdict) = match &judge_or_why {
        Ok(judge) => {
            let entries = judged_entries(judge, claude_code.as_ref(), &runtime, shows_paths);
            findings.extend(long_names(judge.map));
            findings.extend(findings_on_roots(judge, shows_paths));
            let verdict = claude::verdict_on_plugin(judge.map, &entries, shows_paths);
            (Ok(entries), verdict)
        }
        Err(error) => {
            let setup_arguments = match plugin {
                Some(_) => SETUP_PLUGIN,
                None => "setup",
            };
            let why = step::unusable(error, location, shows_paths, setup_arguments);
            let verdict = Verdict::refused(why.code);
            (Err(why), verdict)
        }
    };
    let is_about_plugin = plugin.is_some() || map.is_some_and(claude::has_plugins_key);
    let mut report = Report {
        map_path: shown_path(&map_or_why, location, shows_paths),
        outcome,
        findings,
        closing_lines: Vec::new(),
        agent: if is_about_plugin { Some(verdict) } else { None },
        wall,
    };
    if let Some(claude_code) = claude_code {
        claude_code.add_findings(&mut report, judge_or_why.as_ref().ok(), plugin, shows_paths);
    }
    report.add_last_lines(plugin, shows_paths);
    if let Ok(judge) = &judge_or_why {
        report.leave_keys_out(&judge.keys);
    }
    Ok(report)
}

/// The report for each entry of the map, in the map's order. Names, paths, advice and counts of
/// values are left out, unless `shows_paths`.
fn judged_entries(
    judge: &Judge<'_>,
    claude_code: Option<&ClaudeCode<'_>>,
    runtime: &Runtime,
    shows_paths: bool,
) -> Vec<EntryReport> {
    let mut entries = Vec::new();
    for (named, entry) in all_entries(judge.map) {
        let taker = match claude_code {
            Some(claude_code) if claude_code.takes_alone(named) => Taker::ClaudeCode,
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

/// The map's path. None if not `shows_paths`. None as well if `--map` names it and no readable file
/// is there: then it may be a key that was typed in the place of a path.
fn shown_path(
    map_or_why: &Result<Arc<Map>, MapError>,
    location: &Location,
    shows_paths: bool,
) -> Option<PathBuf> {
    let is_unread = matches!(
        map_or_why,
        Err(MapError::Missing(_) | MapError::Unreadable(..))
    );
    if shows_paths && !(is_unread && location.is_from_option) {
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

/// What is wrong with the roots of the map that cannot be opened: others could replace one, or its
/// path has a character that nobody sees. Nothing is said of a root that is only not there.
///
/// The path of a root is told only if `shows_paths`, and if it has no key in it.
fn findings_on_roots(judge: &Judge<'_>, shows_paths: bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    for root in judge.map.roots() {
        let Err(why) = Walker::new(System).walk(&root, Policy::Directory) else {
            // The root can be opened.
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

    /// Leaves the map's keys out of the findings and the last lines, where a path or a name
    /// contains one. The map's own path is dropped as a whole if it contains one.
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
        for line in &mut self.closing_lines {
            *line = keys.left_out_of(line);
        }
        self.map_path
            .take_if(|path| keys.are_revealed_by(&path.to_string_lossy()));
    }

    /// Adds a last line that says whether the plugin's agent gets its file. If a finding stops this
    /// agent, its verdict becomes that it gets none. No line is added if the report is not about
    /// this agent. If the plugin asks for a report without paths, the line before names the command
    /// that shows them.
    fn add_last_lines(&mut self, plugin: Option<&Plugin>, shows_paths: bool) {
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
        let last_line = format!("{}: {}", PLUGIN.agent, agent.text);
        if let Some(plugin) = plugin.filter(|_| !shows_paths) {
            let command = step::plugins_command(&plugin.command, "check");
            let why = if is_clients_shell(&|name| env::var_os(name)) {
                "No path is shown to a session. In a terminal of your own"
            } else {
                "This is no terminal, so no path is shown. In a terminal"
            };
            self.closing_lines.push(format!("{why}: {command}"));
        }
        self.closing_lines.push(last_line);
    }

    /// Those of the findings that have this severity. Findings about an entry are not among them.
    fn findings_of(&self, severity: Severity) -> impl Iterator<Item = &Finding> {
        let findings = self.findings.iter();
        findings.filter(move |finding| finding.severity() == severity)
    }
}
