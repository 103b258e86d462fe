//! What Claude Code asks: who gets a file, and what keeps the main conversation from it.
#![expect(clippy::disallowed_methods, reason = "it opens no file")]

use super::{
    Asker, EntryReport, Report,
    entry::means_plugins_agent,
    finding::{Finding, Severity},
    step::{Unusable, command_to_setup_plugin},
};
use crate::environment::variable;
use keyhole_claude::{
    PLUGIN,
    paths::without_links,
    settings::{Fault, Link, Settings, Way},
    shells::Shells,
};
use keyhole_core::{Entry, Key, LiveMap, Location, Map, MapError, Refusal, Table, ticket::Tickets};
use keyhole_setup::{
    Named, User,
    agents::{Lines, OwnAgent, is_gone, own_agents},
    all_entries,
    program::Program,
};
use keyhole_walk::printable::printable;
use serde_json::json;
use std::{env, path::PathBuf};

/// What Claude Code has here: its settings, and the agents whose files start a server of ours.
pub(super) struct ClaudeCode<'a> {
    /// Where the checked map is.
    location: &'a Location,
    /// The checked map. None if it cannot be used.
    map: Option<&'a Map>,
    asker: &'a Asker,
    settings: Settings,
    /// One for each agent's file and each binding that the file starts a server for.
    agents: Vec<OwnAgent>,
}

impl<'a> ClaudeCode<'a> {
    /// Reads the client's settings; and the agents' files in the client's folder
    /// (`~/.claude/agents`) and in `.claude/agents` of the folder in which this program runs. None
    /// if the environment names no home.
    ///
    /// If a variable such as `CLAUDE_CONFIG_DIR` names a place that no rule can name (`/a*`), the
    /// client's folder is not known, and only the agents in `.claude/agents` are read.
    pub(super) fn here(
        location: &'a Location,
        map: Option<&'a Map>,
        asker: &'a Asker,
    ) -> Option<Self> {
        let home = location.home.as_deref()?;
        let here = env::current_dir().ok();
        let settings = Settings::read(home, &variable, here.as_deref());
        // `own_agents` compares each agent's file with what setup would write for this user.
        let user = User {
            home: home.to_owned(),
            map: LiveMap::new(location.clone()),
            variable: &variable,
            program: Program::default(),
        };
        let mut agents = Vec::new();
        let client_places = settings.places.as_ref().ok();
        if let Some(places) = client_places {
            agents.extend(own_agents(&user, &places.claude, &places.shown));
        }
        let projects_folder = here.map(|here| here.join(".claude"));
        // In the home, both folders are `~/.claude`: no agent is read twice.
        if let Some(folder) = projects_folder
            && client_places
                .is_none_or(|places| without_links(&places.claude) != without_links(&folder))
        {
            agents.extend(own_agents(&user, &folder, ".claude"));
        }
        Some(Self {
            location,
            map,
            asker,
            settings,
            agents,
        })
    }

    /// Whether no other client takes this entry's file: the entry has the key of the plugin's
    /// agent, or is a binding that an agent's file here starts.
    pub(super) fn is_taken_alone(&self, entry: Named<'_>) -> bool {
        match entry.table {
            Table::Key => entry.name == PLUGIN.key,
            Table::Binding => self.agents.iter().any(|agent| agent.bind == entry.name),
        }
    }

    /// What is wrong with an agent whose file starts a server of ours for one binding: the first of
    /// these findings, or None if none applies.
    ///
    /// - `Unguarded` if our hook is missing, or the server asks for no ticket: others may get the
    ///   binding's file;
    /// - `OtherLines` if the lines for server and hook are not those that setup writes;
    /// - `CopiedAgent` if setup wrote these lines for another agent;
    /// - `WrongHead` if the client does not load the file, or the agent may not call its tool;
    /// - `SecondFile` if another file gives the same agent;
    /// - `ProgramGone` if the program in the lines is not there any more;
    /// - `NoSuchBinding` if the map lacks the binding;
    /// - `TicketsRefused` if the folder for tickets in the lines can be neither used nor made.
    ///
    /// Also None if the map cannot be used; or if it lacks the binding, and is not the usual map.
    /// The agent's server reads the usual map, which may have the binding.
    fn finding_on_own_agent(&self, agent: &OwnAgent) -> Option<Finding> {
        let map = self.map?;
        let file = agent.file.clone();
        let has_binding = map.binding(&agent.bind).is_some();
        if !has_binding && self.is_other_than_usual_map() {
            return None;
        }
        let (program, tickets) = match &agent.lines {
            Lines::Unguarded => return Some(Finding::Unguarded { agent: file }),
            Lines::Changed => return Some(Finding::OtherLines { agent: file }),
            Lines::Copied(other_agent) => {
                return Some(Finding::CopiedAgent {
                    agent: file,
                    of: other_agent.clone(),
                });
            }
            Lines::WrongHead => return Some(Finding::WrongHead { agent: file }),
            Lines::OfSetup { program, tickets } => (program, tickets),
        };
        if agent.has_double {
            return Some(Finding::SecondFile { agent: file });
        }
        if is_gone(program) {
            return Some(Finding::ProgramGone {
                agent: file,
                program: printable(program),
            });
        }
        if !has_binding {
            return Some(Finding::NoSuchBinding { agent: file });
        }
        let folder = Tickets::in_folder(tickets.to_owned());
        let why = folder.and_then(|folder| folder.could_be_made()).err()?;
        Some(Finding::TicketsRefused {
            agent: file,
            why: why.to_string(),
            folder: printable(tickets),
        })
    }

    /// Whether the checked map is not the one that a server reads without `--map`. False if nobody
    /// knows where that is.
    fn is_other_than_usual_map(&self) -> bool {
        // None: as without `--map`.
        let usual = Location::find(None, variable);
        usual.is_ok_and(|usual| usual.file != self.location.file)
    }

    /// The files that the map has for agents: that of each entry that names agents, of whatever
    /// client; and that of each entry whose file only Claude Code takes (see
    /// [`Self::is_taken_alone`]). Empty if the map cannot be used.
    fn files_for_agents(&self) -> Files {
        let mut files = Files::default();
        for (named, entry) in self.map.into_iter().flat_map(all_entries) {
            if entry.agents.is_some() || self.is_taken_alone(named) {
                files.paths.extend(self.location.expand(&entry.path));
                files.has_tickets |= named.table == Table::Binding;
            }
        }
        files
    }

    /// Whether Claude Code is installed: its folder is there. Also true if the folder is not known,
    /// since a variable names a place that no rule can name: then the client may be installed.
    fn is_installed(&self) -> bool {
        match &self.settings.places {
            Ok(places) => places.claude.is_dir(),
            Err(_) => true,
        }
    }

    /// Adds to the report why agents of Claude Code get no file, and what lets the main
    /// conversation read the files. Each function called here says when it finds something.
    ///
    /// Two things are left out if the files need no deny rules (`needs_rules`): the findings on
    /// rules, links and the sandbox, and each fault of the settings that is only a warning. The
    /// files need rules if the plugin asks, or if the client is installed and the map has files for
    /// agents. The first of the two is also left out if the map cannot be used.
    pub(super) fn add_findings(&self, report: &mut Report) {
        let files = self.files_for_agents();
        let has_files = self.is_installed() && !files.paths.is_empty();
        let needs_rules = self.asker.plugin.is_some() || has_files;
        let looks_at_rules = needs_rules && self.map.is_some();
        let mut missing = None;
        if looks_at_rules {
            missing = self.missing_rules(&files);
        }
        // Also true if no rules are looked at.
        let has_all_rules = missing.is_none();
        let mut faults = self.faults_of_settings(has_all_rules);
        if !needs_rules {
            faults.retain(|fault| fault.severity() == Severity::Error);
        }
        let findings = &mut report.findings;
        let agents = self.agents.iter();
        findings.extend(agents.filter_map(|agent| self.finding_on_own_agent(agent)));
        findings.extend(self.plugins_tickets_refused());
        findings.extend(faults);
        findings.extend(self.gate_off());
        findings.extend(self.progress_told());
        findings.extend(missing);
        if looks_at_rules {
            self.add_findings_on_shells(report, &files.paths, has_all_rules);
        }
        report.findings.extend(self.plugin_not_on());
    }

    /// [`Finding::PluginsTicketsRefused`] if the folder for the plugin's tickets can be neither
    /// used nor made. None if it can; or if it is not known, as always if the plugin does not ask.
    fn plugins_tickets_refused(&self) -> Option<Finding> {
        let tickets = self.asker.plugin.as_ref()?.tickets.as_ref()?;
        let why = tickets.could_be_made().err()?.to_string();
        Some(Finding::PluginsTicketsRefused { why })
    }

    /// A finding for each fault of the client's settings that does harm here. A fault can stop some
    /// of three [`Way`]s: agents get their files by the plugin; agents get them by servers of their
    /// own; deny rules count. The finding is
    ///
    /// - an error, if the fault stops a way by which an agent here gets its file, as
    ///   `disableAllHooks` does;
    /// - a warning, if the fault stops no way, as settings that cannot be read;
    /// - a warning, if the fault stops rules, and the rules do not protect the files anyway: one is
    ///   missing (not `has_all_rules`), or the client does not load the user's settings.
    ///
    /// Any other fault does no harm here, and has no finding.
    fn faults_of_settings(&self, has_all_rules: bool) -> Vec<Finding> {
        // A server has the name of its binding.
        let mut servers: Vec<_> = self.agents.iter().map(|agent| &*agent.bind).collect();
        // The name is empty if it cannot be read in the agent's file.
        servers.retain(|name| !name.is_empty());
        // `rules_file` is None if the client does not load the user's settings.
        let rules_fail = !has_all_rules || self.settings.rules_file().is_none();
        let mut findings = Vec::new();
        for fault in self.settings.faults(&servers) {
            let stopped = fault.ways();
            let stops_failing_rules = rules_fail && stopped.contains(&Way::Rules);
            let severity = if stopped.iter().any(|way| self.has_agent_by(*way)) {
                Severity::Error
            } else if stopped.is_empty() || stops_failing_rules {
                Severity::Warning
            } else {
                // The fault stops only ways that are not used here, or rules that are not missing.
                continue;
            };
            findings.push(Finding::InSettings { fault, severity });
        }
        findings
    }

    /// [`Finding::RulesMissing`] with the rules for these files that are missing, and with the file
    /// of settings that they go into. None if no rule is missing; if the client's folder is not
    /// known (see [`Self::here`]); or if the client does not load the user's settings. A file that
    /// is not there or does not end in `.md` needs no rule: it cannot be served.
    ///
    /// The finding shows each rule if the report shows paths. Else it shows only rules without a
    /// file's path, as `Bash(keyhole serve*)`; in the place of all others, it shows `Read(FILE)`
    /// for `Read(~/private/a.md)` and `Read(FOLDER/**)` for `Read(~/private/**)`. A file that no
    /// rule can name counts as a missing rule.
    fn missing_rules(&self, files: &Files) -> Option<Finding> {
        // Ends here with None if the client's folder is not known.
        let places = self.settings.places.as_ref().ok()?;
        let denied = self.settings.denied();
        let mut servable = files.paths.clone();
        servable.retain(|path| path.extension() == Some("md".as_ref()) && path.exists());
        let missing = places.missing(&denied, &servable, files.has_tickets);
        // A rule that is missing even without files has no file's path.
        let without_files = places.missing(&denied, &[], files.has_tickets);
        let mut shown = Vec::new();
        let mut hides_file = false;
        let mut hides_folder = false;
        for rule in missing.rules {
            if self.asker.shows_paths || without_files.rules.contains(&rule) {
                shown.push(rule);
            } else if rule.ends_with("/**)") {
                hides_folder = true;
            } else {
                hides_file = true;
            }
        }
        if hides_file {
            shown.push("Read(FILE) with the path of your file".to_owned());
        }
        if hides_folder {
            shown.push("Read(FOLDER/**) with the folder of your file".to_owned());
        }
        if missing.no_rule_can_deny {
            shown.push(
                "a rule for a file whose path no rule can name: move it to ~/private".to_owned(),
            );
        }
        if shown.is_empty() {
            return None;
        }
        Some(Finding::RulesMissing {
            // None if the client does not load the user's settings.
            file: self.settings.rules_file()?,
            rules: shown.join(", "),
        })
    }

    /// [`Finding::GateOff`] if an entry of the map has `publish_only_in`, so that the plugin's hook
    /// is to ask before a value is published, but the plugin or its hooks are off. None if the hook
    /// asks, if no entry has that field, if the map cannot be used, or if the client is not
    /// installed.
    fn gate_off(&self) -> Option<Finding> {
        let mut entries = self.map?.entries().into_iter();
        let is_wanted = entries.any(|(_, entry)| entry.publish_only_in.is_some());
        // A plugin that asks for this check is on.
        let is_on = self.asker.plugin.is_some() || self.settings.switch_plugin_on();
        let faults = self.settings.faults(&[]);
        let is_asked = is_on && !faults.iter().any(Fault::stops_gate);
        if self.is_installed() && is_wanted && !is_asked {
            Some(Finding::GateOff {})
        } else {
            None
        }
    }

    /// [`Finding::ProgressTold`] if the client has agents tell the main conversation what they do,
    /// although an entry of the map has `withhold`. None if the settings switch that off
    /// (`CLAUDE_CODE_DISABLE_AGENT_PROGRESS_SUMMARIES` is `1`), if no entry has that field, if the
    /// map cannot be used, or if the client's folder is not known (see [`Self::here`]).
    fn progress_told(&self) -> Option<Finding> {
        let withholds = all_entries(self.map?).any(|(_, entry)| entry.withhold);
        if !withholds || !self.settings.lets_agents_tell_progress() {
            return None;
        }
        let file = self.settings.places.as_ref().ok()?.shown_settings();
        Some(Finding::ProgressTold { file })
    }

    /// [`Finding::PluginNotOn`] if the plugin is wanted, and no settings switch it on, not even the
    /// project's. The plugin is wanted if it asks for this check; or if the client is installed,
    /// and the map has the key of the plugin's agent.
    ///
    /// None also if the user's settings have no list `enabledPlugins`, and the main conversation
    /// reads the report (not `shows_paths`): the plugin may be on without that list.
    fn plugin_not_on(&self) -> Option<Finding> {
        let is_wanted = self.asker.plugin.is_some()
            || self.is_installed() && self.map.and_then(plugins_entry).is_some();
        let has_list = self.settings.value["enabledPlugins"].is_object();
        let may_be_told = has_list || self.asker.shows_paths;
        if is_wanted && may_be_told && !self.settings.switch_plugin_on_here() {
            Some(Finding::PluginNotOn {})
        } else {
            None
        }
    }

    /// A finding for each link in the project's `.claude` that the client follows past its deny
    /// rules:
    ///
    /// - [`Finding::LinkToFile`], an error, if the link leads to one of these files, or to a folder
    ///   above one;
    /// - else [`Finding::ProjectLink`], a warning, if the link may lead out of the project.
    ///
    /// Any other link has none.
    fn findings_on_links(&self, files: &[PathBuf]) -> Vec<Finding> {
        let real_files: Vec<_> = files.iter().map(|file| without_links(file)).collect();
        let mut findings = Vec::new();
        for Link {
            shown,
            real: target,
            is_outward,
        } in &self.settings.links
        {
            let link = shown.clone();
            // The target is None if nothing is there, or if it was not looked at.
            if let Some(target) = target
                && real_files.iter().any(|file| file.starts_with(target))
            {
                findings.push(Finding::LinkToFile { link });
            } else if *is_outward {
                findings.push(Finding::ProjectLink { link });
            }
        }
        findings
    }

    /// Adds to the report how the main conversation can read these files despite the deny rules:
    ///
    /// - the findings on links ([`Self::findings_on_links`]);
    /// - [`Finding::ShellsOpen`] if the client's sandbox does not keep shell commands from the
    ///   files. If the sandbox does, and no deny rule is missing (`has_all_rules`), a closing line
    ///   says so;
    /// - [`Finding::ShellsSlower`] if patterns in the settings' lists make the sandbox slower.
    ///
    /// Only links are added if it is not known which settings count.
    fn add_findings_on_shells(&self, report: &mut Report, files: &[PathBuf], has_all_rules: bool) {
        report.findings.extend(self.findings_on_links(files));
        let Some(shells) = Shells::of(&self.settings, files, &self.programs()) else {
            // It is not known which settings count.
            return;
        };
        let file = self.settings.rules_file().unwrap_or_default();
        match shells.held_or_why_not(&file) {
            Ok(held) if has_all_rules => report.closing_lines.push(held),
            // Without all rules, that line would promise too much.
            Ok(_) => {}
            Err(why) => report.findings.push(Finding::ShellsOpen { why }),
        }
        if !shells.slow_lists.is_empty() {
            let lists = shells.slow_lists;
            report.findings.push(Finding::ShellsSlower { lists });
        }
    }

    /// The programs of ours that the client starts, which no shell command may change. These are
    /// the program in each agent's file whose lines are those that setup writes (`Lines::OfSetup`);
    /// and this program, if the plugin asks for the check: the plugin's program is this one.
    fn programs(&self) -> Vec<PathBuf> {
        let mut programs = Vec::new();
        for agent in &self.agents {
            if let Lines::OfSetup { program, .. } = &agent.lines {
                programs.push(program.to_owned());
            }
        }
        if self.asker.plugin.is_some() {
            programs.extend(env::current_exe());
        }
        programs
    }

    /// Whether an agent here gets its file by this way: by the plugin (it asks for this check, or
    /// the map has an entry for it), or by a server of the agent's own. False for [`Way::Rules`]:
    /// rules give nobody a file.
    fn has_agent_by(&self, way: Way) -> bool {
        match way {
            Way::Plugin => self.asker.plugin.is_some() || self.is_for_plugin(),
            Way::Agent => !self.agents.is_empty(),
            Way::Rules => false,
        }
    }

    /// Whether an entry of the map has the key of the plugin's agent; or, if the user's or an
    /// administrator's settings switch the plugin on, whether any entry with a key names agents:
    /// one may be the plugin's. False if the map cannot be used.
    fn is_for_plugin(&self) -> bool {
        let Some(map) = self.map else { return false };
        let mut entries = map.entries().into_iter();
        plugins_entry(map).is_some()
            || self.settings.switch_plugin_on() && entries.any(|(_, entry)| entry.agents.is_some())
    }
}

/// The files of the map that are for agents.
#[derive(Default)]
struct Files {
    /// Absolute paths. A path with `~/` is left out if the environment names no home.
    paths: Vec<PathBuf>,
    /// Whether one of the files is a binding's. An agent's own server serves it then, by tickets,
    /// and rules for the folder of tickets are needed, too.
    has_tickets: bool,
}

/// Whether the plugin's agent gets its file.
#[derive(Debug)]
pub(super) struct Verdict {
    pub(super) is_served: bool,
    /// The line of the report that says so, and what to do if the agent gets none.
    pub(super) text: String,
}

impl Verdict {
    /// The agent gets no file. `why` says the reason, and what to do.
    pub(super) fn refused(why: impl Into<String>) -> Self {
        Self {
            is_served: false,
            text: why.into(),
        }
    }
}

/// The map's entry with the key of the plugin's agent. None if the map has no such entry.
fn plugins_entry(map: &Map) -> Option<&Entry> {
    map.find(&Key::try_from(PLUGIN.key).ok()?)
}

/// Whether the plugin's agent (`keyhole:privacy-scanner`) gets its file: the first of these.
///
/// - If an entry of the map has the agent's key: what [`verdict_on_entry`] says of this entry.
/// - If the plugin does not ask for the check: None, no verdict.
/// - Else the agent gets no file. The verdict's text is the code of the map's error, as
///   `map-missing`; or, for a map that can be used, the command that makes the entry.
pub(super) fn verdict_on_plugin(
    entries_or_why: &Result<Vec<EntryReport>, Unusable>,
    asker: &Asker,
) -> Option<Verdict> {
    let reports = entries_or_why.as_deref().unwrap_or_default();
    if let Some(report) = reports.iter().find(|report| report.has_plugins_key) {
        return Some(verdict_on_entry(report, asker));
    }
    // Ends here with None if the plugin does not ask.
    asker.plugin.as_ref()?;
    let why = match entries_or_why {
        Err(why) => why.code.to_owned(),
        Ok(_) => format!(
            "the map has no entry with its key. In a terminal of your own, run: {}",
            command_to_setup_plugin()
        ),
    };
    Some(Verdict::refused(why))
}

/// Whether the plugin's agent gets the file of the entry in this report, which has the agent's key.
/// The agent gets the file if the entry names this agent or names nobody, and the file is served.
///
/// The text says why the agent gets none, and what to do: to name the agent in the entry, or, for a
/// file that is refused, the code and the line, as `not-found, line 3`. For an entry that names
/// nobody, the text also advises to name the agent.
fn verdict_on_entry(report: &EntryReport, asker: &Asker) -> Verdict {
    let line = report.line;
    let agent = PLUGIN.agent;
    let is_for_anybody = report.agents.is_empty();
    let is_for_agent = is_for_anybody || report.agents.iter().any(means_plugins_agent);
    let text = match report.size_or_refusal {
        _ if !is_for_agent => format!(
            "line {line} has its key, but for other agents: write agents = [\"{agent}\"] there"
        ),
        Err(code) if asker.shows_paths => format!("{}, line {line}", code.as_str()),
        // The report has a line above this one with a command that shows the paths.
        Err(code) => format!(
            "{}, line {line}; run the command above in a terminal of your own",
            code.as_str()
        ),
        Ok(_) if is_for_anybody => format!(
            "would be served, and so would any other agent: give the entry on line {line} agents = [\"{agent}\"] and withhold = true"
        ),
        Ok(_) => format!("would be served, line {line}"),
    };
    Verdict {
        is_served: is_for_agent && report.size_or_refusal.is_ok(),
        text,
    }
}

/// The JSON that makes the client show its user one line when a session starts:
/// `keyhole: map-missing, so its agents get no file.`, and the next step. None if there is nothing
/// to tell: see [`why_no_file`].
pub(super) fn line_at_start(live: &LiveMap) -> Option<String> {
    let NoFile { code, next_step } = why_no_file(live)?;
    let code = code.as_str();
    let said = format!("keyhole: {code}, so its agents get no file. {next_step}");
    Some(format!("{}\n", json!({ "systemMessage": said })))
}

/// Why no agent gets a file.
struct NoFile {
    code: Refusal,
    /// What the user is to do, in a sentence.
    next_step: String,
}

/// Why the plugin's agent, or any agent at all, gets no file: the map cannot be used (its error's
/// code), has no entry with a key (`unknown-key`), or the file of the plugin's agent is gone
/// (`not-found`). The next step is to run setup if that helps, and else `/keyhole:check`.
///
/// None if the file is not known to be gone: it is there, or cannot be looked at. Also None if the
/// map has keys, but not that of the plugin's agent: then it may be for other agents alone.
fn why_no_file(live: &LiveMap) -> Option<NoFile> {
    let (code, next_step) = match live.current() {
        Err(error @ (MapError::Missing(_) | MapError::Parse(..))) => (error.code(), run_setup()),
        Err(error) => (error.code(), RUN_CHECK.to_owned()),
        // The plugin's agent uses no binding, so only entries with a key count.
        Ok(map) if map.entries().is_empty() => (Refusal::UnknownKey, run_setup()),
        Ok(map) => {
            // Ends here with None without the plugin's key, or if `~/` has no meaning.
            let file = live.location.expand(&plugins_entry(&map)?.path)?;
            // An error means that the system does not let us find out.
            if file.try_exists().unwrap_or(true) {
                return None;
            }
            (Refusal::NotFound, RUN_CHECK.to_owned())
        }
    };
    Some(NoFile { code, next_step })
}

const RUN_CHECK: &str = "/keyhole:check says what to write";

/// The step that gives the plugin's agent its file: `In a terminal, run: keyhole setup plugin`.
fn run_setup() -> String {
    format!("In a terminal, run: {}", command_to_setup_plugin())
}
