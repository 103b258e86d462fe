//! What Claude Code asks: who gets a file, and what keeps the main conversation from it.
#![expect(clippy::disallowed_methods, reason = "it opens no file")]

use super::{
    Asker, EntryReport, Report,
    entry::means_plugins_agent,
    finding::{Finding, Severity},
    step::{Unusable, command_to_setup_plugin},
};
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

/// What Claude Code has here: its settings, and the agents with a server of ours. An agent's file
/// is in the user's folder or in the one in which this runs.
pub(super) struct ClaudeCode<'a> {
    location: &'a Location,
    /// None if the map cannot be used.
    map: Option<&'a Map>,
    asker: Asker<'a>,
    settings: Settings,
    agents: Vec<OwnAgent>,
}

impl<'a> ClaudeCode<'a> {
    /// Reads the client's settings, and the agents in the client's folder (`~/.claude`) and in
    /// `.claude` of the folder in which this runs. None if nobody knows where the user's home is.
    pub(super) fn here(
        location: &'a Location,
        map: Option<&'a Map>,
        asker: Asker<'a>,
    ) -> Option<Self> {
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

    /// What is wrong with this agent, whose file starts a server of ours for one binding: the file
    /// that the map has for this server. The first of these, or None:
    ///
    /// - `Unguarded` if no hook of ours guards the server, so others may get the file;
    /// - `OtherLines` if the lines for server and hook are not those that setup writes;
    /// - `CopiedAgent` if setup wrote these lines for another agent;
    /// - `ProgramGone` if the program in the lines is not there any more;
    /// - `NoSuchBinding` if the map lacks the agent's binding;
    /// - `TicketsRefused` if the folder for tickets in the lines can be neither used nor made.
    ///
    /// Also None if the map cannot be used. And if the map that is checked is not the usual one, and
    /// lacks the binding: the agent's server reads the usual map, which may have it.
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
            Lines::Copied(of) => {
                let of = of.clone();
                return Some(Finding::CopiedAgent { agent: file, of });
            }
            Lines::OfSetup { program, tickets } => (program, tickets),
        };
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
    fn is_other_than_usual_map(&self) -> bool {
        let usual = Location::find(None, |name| env::var_os(name));
        usual.is_ok_and(|usual| usual.file != self.location.file)
    }

    /// The files that the map has for agents: that of each entry that names agents, perhaps of
    /// another client, and of each one that only Claude Code takes. Empty if the map cannot be
    /// used.
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

    /// Whether Claude Code is installed, or may be: its folder is there, or nobody knows where that
    /// folder would be.
    fn is_installed(&self) -> bool {
        match &self.settings.places {
            Ok(places) => places.claude.is_dir(),
            Err(_) => true,
        }
    }

    /// Adds to the report why agents of Claude Code get no file, and what lets the main
    /// conversation read the files. Each function called here finds one of these.
    ///
    /// Deny rules are needed if the plugin asks, or if the client is installed and the map has
    /// files for agents. If none are needed, no finding on rules, links and the sandbox is added,
    /// and no fault of settings that is a warning. If the map cannot be used, no finding on rules,
    /// links and the sandbox is added either.
    pub(super) fn add_findings(&self, report: &mut Report) {
        let files = self.files_for_agents();
        let needs_rules =
            self.asker.plugin.is_some() || self.is_installed() && !files.paths.is_empty();
        let can_have_rules = needs_rules && self.map.is_some();
        let mut missing = None;
        if can_have_rules {
            missing = self.missing_rules(&files);
        }
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
        if can_have_rules {
            self.add_findings_on_shells(report, &files.paths, has_all_rules);
        }
        report.findings.extend(self.plugin_not_on());
    }

    /// [`Finding::PluginsTicketsRefused`] if the folder for the plugin's tickets can be neither
    /// used nor made. None if it can; or if it is not known, as always if the plugin does not ask.
    fn plugins_tickets_refused(&self) -> Option<Finding> {
        let tickets = self.asker.plugin?.tickets.as_ref()?;
        let why = tickets.could_be_made().err()?.to_string();
        Some(Finding::PluginsTicketsRefused { why })
    }

    /// A finding for each fault of the client's settings that does harm here.
    ///
    /// A fault stops some [`Way`]s: that an agent gets its file by the plugin, or by a server of its
    /// own; or that deny rules count. The finding is
    ///
    /// - an error, if the fault stops a way by which an agent here gets its file;
    /// - else a warning, if the fault stops no way, or stops rules that do not count anyway: a rule
    ///   is missing (not `has_all_rules`), or the client does not load the user's settings.
    ///
    /// Any other fault does no harm here.
    fn faults_of_settings(&self, has_all_rules: bool) -> Vec<Finding> {
        // An agent whose binding cannot be read has an empty one.
        let mut servers: Vec<_> = self.agents.iter().map(|agent| &*agent.bind).collect();
        servers.retain(|name| !name.is_empty());
        // No file of rules means that the user's settings are not loaded.
        let rules_fail = !has_all_rules || self.settings.rules_file().is_none();
        let mut findings = Vec::new();
        for fault in self.settings.faults(&servers) {
            let stopped = fault.ways();
            let severity = if stopped.iter().any(|way| self.has_agent_by(*way)) {
                Severity::Error
            } else if stopped.is_empty() || stopped.contains(&Way::Rules) && rules_fail {
                Severity::Warning
            } else {
                // It stops what is not here.
                continue;
            };
            findings.push(Finding::InSettings { fault, severity });
        }
        findings
    }

    /// [`Finding::RulesMissing`] with the rules for these files that are missing, and with the file
    /// of settings that they go into. None if no rule is missing; if nobody knows where the
    /// client's folder is; or if the client does not load the user's settings. A file that is not
    /// there or does not end in `.md` needs no rule: it cannot be served.
    ///
    /// The finding shows each rule if the report shows paths. Else it shows only rules without a
    /// file's path, as `Bash(keyhole serve*)`; in the place of all others, it shows `Read(FILE)`
    /// for `Read(~/private/a.md)` and `Read(FOLDER/**)` for `Read(~/private/**)`. A file that no
    /// rule can name counts as a missing rule.
    fn missing_rules(&self, files: &Files) -> Option<Finding> {
        // Ends here with None if nobody knows where the client's folder is.
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

    /// [`Finding::GateOff`] if an entry of the map wants to be asked about before a value is
    /// published (`publish_only_in`), but the plugin or its hooks are off, so nothing asks. None if
    /// something asks, if no entry has that field, if the map cannot be used, or if the client is
    /// not installed.
    fn gate_off(&self) -> Option<Finding> {
        let mut entries = self.map?.entries().into_iter();
        let is_wanted = entries.any(|(_, entry)| entry.publish_only_in.is_some());
        let is_on = self.asker.plugin.is_some() || self.settings.switch_plugin_on();
        let faults = self.settings.faults(&[]);
        let is_asked = is_on && !faults.iter().any(Fault::stops_gate);
        if self.is_installed() && is_wanted && !is_asked {
            Some(Finding::GateOff {})
        } else {
            None
        }
    }

    /// [`Finding::ProgressTold`] if the client has agents say what they do, although an entry of
    /// the map has `withhold`. None if the client does not, if no entry has that field, or if the
    /// map cannot be used.
    fn progress_told(&self) -> Option<Finding> {
        let withholds = all_entries(self.map?).any(|(_, entry)| entry.withhold);
        if !withholds || !self.settings.lets_agents_tell_progress() {
            return None;
        }
        let file = self.settings.places.as_ref().ok()?.shown_settings();
        Some(Finding::ProgressTold { file })
    }

    /// [`Finding::PluginNotOn`] if the plugin is wanted, and no settings switch it on. The plugin
    /// is wanted if it asks, or if the client is installed and the map has the key of its agent.
    ///
    /// Without a list of plugins in the user's settings, the plugin may be on all the same. Then
    /// only a user is told (`shows_paths`), and not the main conversation.
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

    /// A finding for each link of the project through which the client reads, past its deny rules:
    /// [`Finding::LinkToFile`], an error, if the link leads to one of these files or to a folder
    /// above it; else [`Finding::ProjectLink`], a warning, if it leads out of the project. A link
    /// that does neither has none.
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

    /// Adds to the report how a tool or a shell command of the main conversation can read these
    /// files despite the deny rules:
    ///
    /// - a finding for each link, see [`Self::findings_on_links`];
    /// - [`Finding::ShellsOpen`] if the sandbox does not keep shell commands from the files. If it
    ///   does, and no deny rule is missing (`has_all_rules`), a closing line says so;
    /// - [`Finding::ShellsSlower`] if lists in the settings make the sandbox slower.
    ///
    /// If it is not known which settings count, only links are added.
    fn add_findings_on_shells(&self, report: &mut Report, files: &[PathBuf], has_all_rules: bool) {
        report.findings.extend(self.findings_on_links(files));
        let Some(shells) = Shells::of(&self.settings, files, &self.programs()) else {
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

    /// The programs of ours that the client starts: for each agent whose lines are those that setup
    /// writes (`Lines::OfSetup`), the program in them; and if the plugin asks, this program, which
    /// is the plugin's.
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

    /// Whether an agent of the map, or one with a server of ours, gets its file by this way. No
    /// agent gets one by [`Way::Rules`].
    fn has_agent_by(&self, way: Way) -> bool {
        match way {
            Way::Plugin => self.asker.plugin.is_some() || self.is_for_plugin(),
            Way::Agent => !self.agents.is_empty(),
            Way::Rules => false,
        }
    }

    /// Whether an entry of the map is for the plugin's agent, or may be, since the plugin is on.
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

/// The map's entry with the key of the plugin's agent.
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
    asker: Asker<'_>,
) -> Option<Verdict> {
    let reports = entries_or_why.as_deref().unwrap_or_default();
    if let Some(report) = reports.iter().find(|report| report.has_plugins_key) {
        return Some(verdict_on_entry(report, asker));
    }
    // Ends here with None if the plugin does not ask.
    asker.plugin?;
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
fn verdict_on_entry(report: &EntryReport, asker: Asker<'_>) -> Verdict {
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
