//! What Claude Code asks: who gets a file, and what keeps the main conversation from it.
#![expect(clippy::disallowed_methods, reason = "it opens no file")]

use super::{
    EntryReport, Judge, MapKeys, Plugin, Report,
    entry::means_plugins_agent,
    finding::{Finding, Severity},
    step::{SETUP_PLUGIN, command},
};
use keyhole_claude::{
    PLUGIN,
    paths::without_links,
    settings::{Fault, Link, Settings, Way},
    shells::Shells,
};
use keyhole_core::{Key, LiveMap, Location, Map, MapError, Refusal, Table, ticket::Tickets};
use keyhole_setup::{
    Named, User,
    agents::{Lines, OwnAgent, is_gone, own_agents},
    all_entries,
    program::Program,
};
use keyhole_walk::printable::printable;
use serde_json::json;
use std::{env, fs, io::ErrorKind, path::PathBuf};

/// Stands for rules that name a file and are not shown.
const ANY_FILE: &str = "Read(FILE) with the path of your file";
/// Stands for rules that name a folder and are not shown.
const ANY_FOLDER: &str = "Read(FOLDER/**) with the folder of your file";
/// Stands for rules for a file whose path no rule can name.
const NO_RULE_CAN_NAME: &str =
    "a rule for a file whose path no rule can name: move it to ~/private";

/// What Claude Code has here: its settings, and the agents with a server of ours. An agent's file
/// is in the user's folder or in the one in which this runs.
pub(super) struct ClaudeCode<'a> {
    location: &'a Location,
    settings: Settings,
    agents: Vec<OwnAgent>,
}

impl<'a> ClaudeCode<'a> {
    /// Reads the client's settings, and the agents in the client's folder (`~/.claude`) and in
    /// `.claude` of the folder in which this runs. None if nobody knows where the user's home is.
    pub(super) fn here(location: &'a Location) -> Option<Self> {
        let home = location.home.as_deref()?;
        let here = env::current_dir().ok();
        let settings = Settings::read(home, &|name| env::var_os(name), here.as_deref());
        let user = User {
            home: home.to_owned(),
            map: LiveMap::new(location.clone()),
            variable: &|name| env::var_os(name),
            program: Program::default(),
        };
        let mut agents = Vec::new();
        let users_places = settings.places.as_ref().ok();
        if let Some(places) = users_places {
            agents.extend(own_agents(&user, &places.claude, &places.shown));
        }
        let projects_folder = here.map(|here| here.join(".claude"));
        // If this runs in the home, both folders are the same one.
        if let Some(folder) = projects_folder
            && users_places.is_none_or(|places| places.claude != folder)
        {
            agents.extend(own_agents(&user, &folder, ".claude"));
        }
        Some(Self {
            location,
            settings,
            agents,
        })
    }

    /// Whether only an agent of Claude Code takes this file: the entry has the key of the plugin's
    /// agent, or is a binding that an agent's file here starts. Any other entry with agents may be
    /// for those of another client.
    pub(super) fn takes_alone(&self, entry: Named<'_>) -> bool {
        match entry.table {
            Table::Key => entry.name == PLUGIN.key,
            Table::Binding => self.agents.iter().any(|agent| agent.bind == entry.name),
        }
    }

    /// Why this agent, which has a server of its own, gets no file, or others may get it. None if
    /// nothing is wrong. None as well if the map lacks the agent's binding, and is not the map that
    /// its server reads.
    fn fault_of_own_agent(
        &self,
        agent: &OwnAgent,
        map: &Map,
        keys: &MapKeys<'_>,
    ) -> Option<Finding> {
        // The name of a file that holds a key is not shown.
        let file = if keys.are_in(&agent.file) {
            "…".to_owned()
        } else {
            agent.file.clone()
        };
        let has_binding = map.binding(&agent.bind).is_some();
        // The agent's server reads the usual map, which may have the binding.
        if !has_binding && self.is_other_map() {
            return None;
        }
        let (program, tickets) = match &agent.lines {
            Lines::Unguarded => return Some(Finding::Unguarded { agent: file }),
            Lines::Changed => return Some(Finding::OtherLines { agent: file }),
            Lines::Copied(of) => {
                let of = of.clone();
                return Some(Finding::CopiedAgent { agent: file, of });
            }
            Lines::Own { program, tickets } => (program, tickets),
        };
        // The lines are setup's. What they name may be gone since.
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

    /// Whether this is another map than the one that a server reads without `--map`.
    fn is_other_map(&self) -> bool {
        let usual = Location::find(None, |name| env::var_os(name));
        usual.is_ok_and(|usual| usual.file != self.location.file)
    }

    /// The files that the map has for agents: each entry that names agents, perhaps of another
    /// client, and each one that only Claude Code takes.
    fn files_for_agents(&self, map: &Map) -> Files {
        let mut files = Files::default();
        for (named, entry) in all_entries(map) {
            if entry.agents.is_some() || self.takes_alone(named) {
                files.paths.extend(self.location.expand(&entry.path));
                files.has_tickets |= named.table == Table::Binding;
            }
        }
        files
    }

    /// The finding that rules for these files are missing: it names the rules, and the file of
    /// settings that they go into. None if no rule is missing; if nobody knows where the client's
    /// folder is; or if the client does not load the user's settings. A file that is not there or
    /// not `.md` needs no rule: it cannot be served.
    ///
    /// A rule that names no file, as `Bash(keyhole serve*)`, is shown. A rule that names a file, as
    /// `Read(~/private/a.md)`, is shown only if `shows_paths`, and if it holds no key. [`ANY_FILE`]
    /// or [`ANY_FOLDER`] stands for all rules that are not shown. [`NO_RULE_CAN_NAME`] is added if
    /// no rule can name one of the files.
    fn missing_rules(
        &self,
        files: &Files,
        keys: &MapKeys<'_>,
        shows_paths: bool,
    ) -> Option<Finding> {
        // None if nobody knows where the client's folder is.
        let (places, denied) = (self.settings.places.as_ref().ok()?, self.settings.denied());
        let mut servable = files.paths.clone();
        servable.retain(|path| path.extension() == Some("md".as_ref()) && path.exists());
        let missing = places.missing(&denied, &servable, files.has_tickets);
        let without_files = places.missing(&denied, &[], files.has_tickets);
        let (mut shown, hidden): (Vec<_>, Vec<_>) = missing.rules.into_iter().partition(|rule| {
            let names_no_file = without_files.rules.contains(rule);
            names_no_file || shows_paths && !keys.are_in(rule)
        });
        if hidden.iter().any(|rule| !rule.ends_with("/**)")) {
            shown.push(ANY_FILE.to_owned());
        }
        if hidden.iter().any(|rule| rule.ends_with("/**)")) {
            shown.push(ANY_FOLDER.to_owned());
        }
        if missing.no_rule_can_deny {
            shown.push(NO_RULE_CAN_NAME.to_owned());
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

    /// Adds to the report why agents of Claude Code get no file, and what lets the main
    /// conversation read the files: faults of settings, missing rules, and an open sandbox. `judge`
    /// is None if the map cannot be used, and `plugin` if the plugin does not ask.
    ///
    /// A fault of settings stops some [`Way`]s: agents get their files by two of them, and the
    /// third is the deny rules. The fault is an error if an agent here gets its file by a way that
    /// it stops. Else it is a warning if it stops no way; or if it stops the rules, and a rule is
    /// missing or the user's settings are not loaded.
    ///
    /// Rules are needed if the plugin asks, or if the client is installed and the map has files for
    /// agents. Else no such warning is added, and no finding on rules and the sandbox.
    pub(super) fn add_findings(
        &self,
        report: &mut Report,
        judge: Option<&Judge<'_>>,
        plugin: Option<&Plugin>,
        shows_paths: bool,
    ) {
        let settings = &self.settings;
        let map = judge.map(|judge| judge.map);
        if let Some(judge) = judge {
            for agent in &self.agents {
                let fault = self.fault_of_own_agent(agent, judge.map, &judge.keys);
                report.findings.extend(fault);
            }
        }
        // The folder of the plugin's tickets may be known if the plugin asks: the client tells it
        // to a shell of the plugin.
        if let Some(tickets) = plugin.and_then(|plugin| plugin.tickets.as_ref())
            && let Err(why) = tickets.could_be_made()
        {
            let why = why.to_string();
            report.findings.push(Finding::PluginsTicketsRefused { why });
        }
        let files = match map {
            Some(map) => self.files_for_agents(map),
            None => Files::default(),
        };
        // A client whose folder is not known may be installed.
        let is_installed = match &settings.places {
            Ok(places) => places.claude.is_dir(),
            Err(_) => true,
        };
        let needs_rules = plugin.is_some() || is_installed && !files.paths.is_empty();
        let judge_if_rules_needed = judge.filter(|_| needs_rules);
        let missing = judge_if_rules_needed
            .and_then(|judge| self.missing_rules(&files, &judge.keys, shows_paths));
        // If each rule is there and counts, a fault that stops rules does no harm. No file of rules
        // means that the user's settings are not loaded.
        let rules_fail = missing.is_some() || settings.rules_file().is_none();
        // An agent whose binding cannot be read has an empty one.
        let mut servers: Vec<_> = self.agents.iter().map(|agent| &*agent.bind).collect();
        servers.retain(|name| !name.is_empty());
        for fault in settings.faults(&servers) {
            // The ways that stop by it.
            let ways = fault.ways();
            let stops_agent = ways.iter().any(|way| self.has_agent_by(*way, map, plugin));
            let is_warning = ways.is_empty() || ways.contains(&Way::Rules) && rules_fail;
            let severity = if stops_agent {
                Severity::Error
            } else {
                Severity::Warning
            };
            if stops_agent || needs_rules && is_warning {
                report
                    .findings
                    .push(Finding::InSettings { fault, severity });
            }
        }
        if is_installed {
            report.findings.extend(self.gate_off(map, plugin));
        }
        report.findings.extend(self.progress_told(map));
        let has_all_rules = missing.is_none();
        report.findings.extend(missing);
        if judge_if_rules_needed.is_some() {
            self.add_findings_on_shells(report, &files.paths, plugin, has_all_rules);
        }
        if plugin.is_some() || is_installed && map.is_some_and(has_plugins_key) {
            report.findings.extend(self.plugin_not_on(shows_paths));
        }
    }

    /// [`Finding::GateOff`] if nothing asks before a value is published, although an entry of the
    /// map has `publish_only_in`: the plugin or its hooks are off. None if something asks, if no
    /// entry has that field, or without a map.
    fn gate_off(&self, map: Option<&Map>, plugin: Option<&Plugin>) -> Option<Finding> {
        let mut entries = map?.entries().into_iter();
        let is_wanted = entries.any(|(_, entry)| entry.publish_only_in.is_some());
        let is_on = plugin.is_some() || self.settings.switch_plugin_on();
        let faults = self.settings.faults(&[]);
        let is_asked = is_on && !faults.iter().any(Fault::stops_gate);
        if is_wanted && !is_asked {
            Some(Finding::GateOff {})
        } else {
            None
        }
    }

    /// [`Finding::ProgressTold`] if the client has agents say what they do, although an entry of
    /// the map has `withhold`. None if it does not, if no entry has that field, or without a map.
    fn progress_told(&self, map: Option<&Map>) -> Option<Finding> {
        let withholds = all_entries(map?).any(|(_, entry)| entry.withhold);
        if !withholds || !self.settings.lets_agents_tell_progress() {
            return None;
        }
        let file = self.settings.places.as_ref().ok()?.shown_settings();
        Some(Finding::ProgressTold { file })
    }

    /// [`Finding::PluginNotOn`] if no settings switch the plugin on. None if some do. If the user's
    /// settings have no list of plugins, ours may be on all the same: then it is None unless the
    /// report `shows_paths`, so that only a user reads it.
    fn plugin_not_on(&self, shows_paths: bool) -> Option<Finding> {
        let has_list = self.settings.value["enabledPlugins"].is_object();
        if self.settings.switch_plugin_on_here() || !has_list && !shows_paths {
            return None;
        }
        Some(Finding::PluginNotOn {})
    }

    /// The project's links through which the client reads: an error if one leads to one of these
    /// files, or to a folder above it, and a warning if one leads out of the project.
    fn findings_on_links(&self, files: &[PathBuf]) -> Vec<Finding> {
        let real_files: Vec<_> = files.iter().map(|file| without_links(file)).collect();
        let mut findings = Vec::new();
        for Link {
            shown,
            real,
            is_outward,
        } in &self.settings.links
        {
            let link = shown.clone();
            let mut targets = real_files.iter();
            if let Some(real) = real
                && targets.any(|file| file.starts_with(real))
            {
                findings.push(Finding::LinkToFile { link });
            } else if *is_outward {
                findings.push(Finding::ProjectLink { link });
            }
        }
        findings
    }

    /// Adds to the report through which links the client reads past its rules and its sandbox; why
    /// the sandbox does not keep shells from these files, if it does not; and which lists make it
    /// slower. That it does keep them is said only if all rules for the client's tools are there,
    /// too (`has_all_rules`). Of settings that are not known, nothing is said but the links.
    fn add_findings_on_shells(
        &self,
        report: &mut Report,
        files: &[PathBuf],
        plugin: Option<&Plugin>,
        has_all_rules: bool,
    ) {
        report.findings.extend(self.findings_on_links(files));
        let Some(shells) = Shells::of(&self.settings, files, &self.programs(plugin)) else {
            // It is not known which settings count.
            return;
        };
        let file = self.settings.rules_file().unwrap_or_default();
        match shells.held_or_why_not(&file) {
            Ok(held) if has_all_rules => report.closing_lines.push(held),
            Ok(_) => {}
            Err(why) => report.findings.push(Finding::ShellsOpen { why }),
        }
        if !shells.slow_lists.is_empty() {
            let lists = shells.slow_lists;
            report.findings.push(Finding::ShellsSlower { lists });
        }
    }

    /// The programs of ours that the client starts: those of own agents with setup's lines
    /// (`Lines::Own`), and if the plugin asks, its program, which is this one.
    fn programs(&self, plugin: Option<&Plugin>) -> Vec<PathBuf> {
        let mut programs = Vec::new();
        for agent in &self.agents {
            if let Lines::Own { program, .. } = &agent.lines {
                programs.push(program.to_owned());
            }
        }
        if plugin.is_some() {
            programs.extend(env::current_exe());
        }
        programs
    }

    /// Whether an agent of the map, or one with a server of ours, gets its file by this way. No
    /// agent gets one by [`Way::Rules`].
    fn has_agent_by(&self, way: Way, map: Option<&Map>, plugin: Option<&Plugin>) -> bool {
        match way {
            Way::Plugin => plugin.is_some() || map.is_some_and(|map| self.is_for_plugin(map)),
            Way::Agent => !self.agents.is_empty(),
            Way::Rules => false,
        }
    }

    /// Whether an entry of the map is for the plugin's agent, or may be, since the plugin is on.
    fn is_for_plugin(&self, map: &Map) -> bool {
        let is_on = self.settings.switch_plugin_on();
        let mut entries = map.entries().into_iter();
        entries.any(|(key, entry)| key.expose() == PLUGIN.key || is_on && entry.agents.is_some())
    }
}

/// The files of the map that are for agents.
#[derive(Default)]
struct Files {
    paths: Vec<PathBuf>,
    /// Whether an agent with a server of its own gets one of them, so there are tickets.
    has_tickets: bool,
}

/// Whether the plugin's agent gets its file.
#[derive(Debug)]
pub(super) struct Verdict {
    pub(super) is_served: bool,
    /// The same in words, with what to do.
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

/// Whether the map has the key of the plugin's agent.
pub(super) fn has_plugins_key(map: &Map) -> bool {
    let mut entries = map.entries().into_iter();
    entries.any(|(key, _)| key.expose() == PLUGIN.key)
}

/// Whether the plugin's agent gets its file. It does if the map has an entry with its key, the
/// entry names this agent or no agent, and its file is served. The verdict's text says what to do.
/// If the report `shows_paths`, a user reads it, and else the main conversation.
pub(super) fn verdict_on_plugin(map: &Map, entries: &[EntryReport], shows_paths: bool) -> Verdict {
    let agent = PLUGIN.agent;
    let mut keyed = entries.iter().zip(map.entries());
    let Some((report, (_, entry))) = keyed.find(|(_, (key, _))| key.expose() == PLUGIN.key) else {
        let run = "the map has no entry with its key. In a terminal of your own, run:";
        return Verdict::refused(format!("{run} {}", command(SETUP_PLUGIN)));
    };
    let line = report.line;
    let is_for_agent = match &entry.agents {
        Some(names) => names.iter().any(means_plugins_agent),
        None => true,
    };
    let text = match report.result {
        _ if !is_for_agent => format!(
            "line {line} has its key, but for other agents: write agents = [\"{agent}\"] there"
        ),
        Err(code) if shows_paths => format!("{}, line {line}", code.as_str()),
        Err(code) => format!(
            "{}, line {line}; run the command above in a terminal of your own",
            code.as_str()
        ),
        Ok(_) if entry.agents.is_none() => format!(
            "would be served, and so would any other agent: give the entry on line {line} agents = [\"{agent}\"] and withhold = true"
        ),
        Ok(_) => format!("would be served, line {line}"),
    };
    Verdict {
        is_served: is_for_agent && report.result.is_ok(),
        text,
    }
}

/// The JSON that makes the client show its user one line when a session starts: the map cannot be
/// used, has no entry with a key, or the file of the plugin's agent is gone. None if that file is
/// not gone, or if the map has keys, but not this agent's.
pub(super) fn line_at_start(live: &LiveMap) -> Option<String> {
    let (code, next) = match live.current() {
        Err(error @ (MapError::Missing(_) | MapError::Parse(..))) => (error.code(), run_setup()),
        Err(error) => (error.code(), RUN_CHECK.to_owned()),
        // The plugin's agent uses no binding, so only entries with a key count.
        Ok(map) if map.entries().is_empty() => (Refusal::UnknownKey, run_setup()),
        Ok(map) => {
            // None without the plugin's key: a map with keys may be for other agents alone.
            let entry = map.find(&Key::try_from(PLUGIN.key).ok()?)?;
            match fs::metadata(live.location.expand(&entry.path)?) {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                _ => return None,
            }
            (Refusal::NotFound, RUN_CHECK.to_owned())
        }
    };
    let code = code.as_str();
    let said = format!("keyhole: {code}, so its agents get no file. {next}");
    Some(format!("{}\n", json!({ "systemMessage": said })))
}

const RUN_CHECK: &str = "/keyhole:check says what to write";

/// The step that gives the plugin's agent its file.
fn run_setup() -> String {
    format!("In a terminal, run: {}", command(SETUP_PLUGIN))
}
