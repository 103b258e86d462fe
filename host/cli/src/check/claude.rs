//! What Claude Code asks: whether its agents get their files, and what keeps the main
//! conversation from these.
#![expect(
    clippy::disallowed_methods,
    reason = "it asks whether files are there, and opens none"
)]

use super::{
    EntryReport, Report, Secrets, Warning, is_the_plugins,
    step::{door, plugins, to_a_missing_map},
};
use crate::inject::MAX_DOCUMENT;
use keyhole_core::{AgentName, Key, LiveMap, Location, Map, MapError, Refusal};
use keyhole_setup::{
    PLUGIN,
    agents::{InjectHook, OwnAgent, own_agents},
    settings::{Fault, Settings, Way},
    state_folder,
};
use keyhole_walk::printable::printable;
use serde_json::{Value, json};
use std::{
    env, fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

/// The command that gives the plugin's agent its file.
pub(super) const DOOR: &str = "setup plugin";

/// What Claude Code has here: its settings, and the agents with a server of ours, of the user and
/// of this folder, each with its file as people read it.
struct Client {
    settings: Settings,
    agents: Vec<(String, OwnAgent)>,
    hooks: Vec<InjectHook>,
}

impl Client {
    fn here(home: &Path) -> Self {
        let here = env::current_dir().ok();
        let settings = Settings::read(home, |name| env::var_os(name), here.as_deref());
        let users = settings.places.as_ref().ok();
        let users = users.map(|places| (places.shown.clone(), places.claude.clone()));
        let project = here.map(|here| (".claude".to_owned(), here.join(".claude")));
        let project = project.filter(|(_, folder)| users.as_ref().is_none_or(|it| it.1 != *folder));
        let mut agents = Vec::new();
        for (shown, folder) in users.into_iter().chain(project) {
            let folder = folder.join("agents");
            for agent in own_agents(&folder) {
                let name = printable(agent.file.strip_prefix(&folder).unwrap_or(&agent.file));
                agents.push((format!("{name} in {shown}/agents"), agent));
            }
        }
        let hooks = InjectHook::all(&settings.value);
        Self {
            settings,
            agents,
            hooks,
        }
    }

    fn has(&self, bind: &str) -> bool {
        self.agents.iter().any(|(_, agent)| agent.bind == bind)
    }

    /// Why an agent does not get its file, or others do.
    fn faults(&self, map: &Map, location: &Location, entries: &[EntryReport]) -> Vec<String> {
        let (secrets, mut faults) = (Secrets::of(map), Vec::new());
        let shown = |name: &str| if secrets.are_in(name) { "…" } else { name }.to_owned();
        for (file, agent) in &self.agents {
            let why = if let Some(gone) = &agent.gone {
                let gone = printable(gone);
                format!(
                    "{gone}, where nothing is, so its agent gets no file. Write the program's path there"
                )
            } else if map.binding(&agent.bind).is_some() {
                if agent.is_guarded {
                    continue;
                }
                "Keyhole's server without its hook and ticket: then a session that a project starts as this agent gets the file, or, if one of the two is there, nobody gets it. Run `keyhole setup` for it again, or write the lines that `keyhole setup claude-code` prints".to_owned()
            } else if agent.names_a_map {
                continue;
            } else {
                "a server for a binding that the map does not have, so its agent gets no file. Run `keyhole setup` for it again".to_owned()
            };
            faults.push(format!("{} starts {why}", shown(file)));
        }
        for hook in &self.hooks {
            let agent = AgentName::try_from(&*hook.agent).ok();
            let agent = agent.filter(|_| hook.map == location.file());
            let why = if hook.is_gone() {
                let program = printable(&hook.program);
                Some(format!("it starts {program}, where nothing is"))
            } else if fs::metadata(&hook.map).is_err() {
                Some("it names a map that is not there".to_owned())
            } else {
                agent.and_then(|agent| why_not_handed_over(map, entries, &agent))
            };
            let name = shown(&hook.agent);
            faults.extend(why.map(|why| {
                format!("the SubagentStart hook for {name} in the client's settings hands over nothing: {why}")
            }));
        }
        faults
    }

    /// The files of the map that only agents of Claude Code are to read, as far as can be told:
    /// an entry or a binding with agents may also be for those of another client. And whether an
    /// agent has a server of its own, and so tickets.
    fn files(&self, map: &Map, location: &Location) -> (Vec<PathBuf>, bool) {
        let mut entries = map.entries();
        entries.retain(|(key, entry)| entry.agents().is_some() || key.expose() == PLUGIN.1);
        let mut bindings = map.bindings();
        bindings.retain(|(name, it)| it.entry().agents().is_some() || self.has(name));
        let all = entries.iter().map(|(_, entry)| *entry);
        let all = all.chain(bindings.iter().map(|(_, binding)| binding.entry()));
        let files = all.filter_map(|entry| location.expand(entry.path()));
        (files.collect(), !bindings.is_empty())
    }

    /// The rules that are missing for these files. No rule is told that names a file, unless
    /// `is_private`.
    fn missing_rules(&self, map: &Map, location: &Location, is_private: bool) -> Option<String> {
        let (files, has_tickets) = self.files(map, location);
        let (places, denied) = (self.settings.places.as_ref().ok()?, self.settings.denied());
        let tickets = state_folder(location.home()?, |name| env::var_os(name));
        let tickets = has_tickets.then_some(&*tickets);
        let (all, unnamed) = places.missing(&denied, &files, tickets);
        let (others, _) = places.missing(&denied, &[], tickets);
        let secrets = Secrets::of(map);
        let is_shown = |rule: &String| others.contains(rule) || is_private && !secrets.are_in(rule);
        let (mut missing, hidden): (Vec<_>, Vec<_>) = all.into_iter().partition(is_shown);
        let has = |is_folder| {
            hidden
                .iter()
                .any(|rule| rule.ends_with("/**)") == is_folder)
        };
        for (is_there, words) in [
            (has(false), "Read(FILE) with the path of your file"),
            (has(true), "Read(FOLDER/**) with the folder of your file"),
            (
                !unnamed.is_empty(),
                "a rule for a file whose path no rule can name: move it to ~/private",
            ),
        ] {
            missing.extend(is_there.then(|| words.to_owned()));
        }
        let file = self.settings.rules_file()?;
        (!missing.is_empty()).then(|| {
            format!(
                "rules are missing that keep the main conversation from your private files. Add to permissions.deny in {file}: {}",
                missing.join(", ")
            )
        })
    }

    /// What an older client needs beside: there, a shell gets past the narrower rules.
    fn of_older(&self) -> Option<String> {
        let places = self.settings.places.as_ref().ok()?;
        self.settings.rules_file()?;
        let rules = places.wider(&self.settings.denied());
        (!rules.is_empty()).then(|| {
            format!(
                "In Claude Code 2.1.197, a shell still reads an agent's transcript, as by `cd` to its folder. There, add {}. They also keep the main conversation from its background output, long outputs and memory.",
                rules.join(", ")
            )
        })
    }

    /// Whether the user's settings, which list every plugin that is on, switch ours on. None
    /// without such a list: then a session may have the plugin in another way.
    fn has_plugin(&self) -> Option<bool> {
        let plugins = self.settings.value["enabledPlugins"].as_object()?;
        let is_on = |(name, on): (&String, &Value)| name.starts_with("keyhole@") && *on == true;
        Some(plugins.iter().any(is_on))
    }

    fn is_off(&self, is_private: bool) -> Option<String> {
        let is_on = self.has_plugin().unwrap_or(!is_private);
        let shown = &self.settings.places.as_ref().ok().filter(|_| !is_on)?.shown;
        Some(format!(
            "{shown}/settings.json does not switch the plugin on. To install it, type `claude plugin marketplace add FOLDER`, with the folder of the plugin's release, and then `claude plugin install keyhole@keyhole`"
        ))
    }
}

/// Why the hook for this agent hands over no file.
fn why_not_handed_over(map: &Map, entries: &[EntryReport], agent: &AgentName) -> Option<String> {
    let named = map.entries_of(agent);
    let lines: Vec<_> = named.iter().map(|(_, entry)| entry.line()).collect();
    let mut reports = entries.iter();
    let report = reports.find(|entry| Some(&entry.line) == lines.first());
    match (&lines[..], report) {
        ([], _) => Some("no entry of the map names this agent".to_owned()),
        ([first, second, ..], _) => Some(format!(
            "the entries on lines {first} and {second} both name this agent. Keep one"
        )),
        ([line], _) if map.only_key_of(agent).is_none() => Some(format!(
            "line {line} names the agent with a marketplace, which no hook is told. Take that out"
        )),
        (_, Some(entry)) if entry.warnings.contains(&Warning::Blank) => {
            Some("its file is empty".to_owned())
        }
        (_, Some(entry)) if entry.chars > MAX_DOCUMENT => Some(format!(
            "the file on line {} has {} characters, and a hook hands over {MAX_DOCUMENT} at most. Shorten it",
            entry.line, entry.chars
        )),
        _ => None,
    }
}

impl Report {
    /// Adds what Claude Code needs, if it is here. `plugin` is the command of the plugin, if that
    /// asks. The main conversation then reads this report, so it names no path of the map or an
    /// entry, unless `is_private`.
    pub(crate) fn for_claude_code(
        mut self,
        location: &Location,
        plugin: Option<&Path>,
        is_private: bool,
    ) -> Self {
        self.of_client(location, plugin.is_some(), is_private);
        let Some(command) = plugin else {
            return self;
        };
        self.agent = Some(self.of_agent(is_private));
        self.help = match &self.outcome {
            Err(MapError::Missing { .. }) if is_private => to_a_missing_map(location, DOOR),
            Err(MapError::Missing { .. }) => {
                Some(format!("in a terminal of your own, run: {}", door(DOOR)))
            }
            Err(MapError::Parse { source, .. }) if !is_private => source.help.clone(),
            _ => self.help.filter(|_| is_private),
        };
        if !is_private {
            self.unabridged = Some(plugins(command, "check"));
            self.map = None;
            for root in &mut self.roots {
                "others could replace one".clone_into(root);
            }
            for entry in self.outcome.iter_mut().flatten() {
                (entry.name, entry.path, entry.detail) = (None, None, None);
            }
        }
        self
    }

    fn of_client(&mut self, location: &Location, is_plugin: bool, is_private: bool) {
        let map = self.read.clone();
        let home = location.home().filter(|_| is_plugin || map.is_some());
        let Some(client) = home.map(Client::here) else {
            return;
        };
        let settings = &client.settings;
        let is_on = client.has_plugin() == Some(true);
        let (mut is_plugins, mut needs_rules) = (is_plugin, is_plugin);
        if let (Some(map), Ok(entries)) = (&map, &mut self.outcome) {
            let keys = map.entries();
            for (at, entry) in entries.iter_mut().enumerate() {
                let key = keys.get(at).map(|(key, _)| key.expose());
                let is_its_key = key == Some(PLUGIN.1);
                is_plugins |= is_its_key || is_on && entry.is_bound && key.is_some();
                if is_its_key || entry.name.as_ref().is_some_and(|name| client.has(name)) {
                    entry.refuse_if_long();
                }
            }
            self.faults = client.faults(map, location, entries);
            let places = settings.places.as_ref();
            let is_away = places.is_ok_and(|places| !places.are_there());
            needs_rules |= !is_away && !client.files(map, location).0.is_empty();
        }
        let map = map.filter(|_| needs_rules);
        let rules = map.and_then(|map| client.missing_rules(&map, location, is_private));
        // Without a rule that is missing, it does not matter whose rules count.
        let is_told = rules.is_some() || settings.rules_file().is_none();
        let is_used = |way: &Way| match way {
            Way::Plugin => is_plugins,
            Way::Agent => !client.agents.is_empty(),
            Way::Inject => !client.hooks.is_empty(),
            Way::Rules => false,
        };
        let servers = client.agents.iter().map(|(_, agent)| &*agent.bind);
        for Fault { text, ways, .. } in settings.faults(&servers.collect::<Vec<_>>()) {
            if ways.iter().any(is_used) {
                self.faults.push(text);
            } else if needs_rules && (ways.is_empty() || ways.contains(&Way::Rules) && is_told) {
                self.notes.push(text);
            }
        }
        let off = client.is_off(is_private).filter(|_| is_plugin);
        self.notes.extend(rules.into_iter().chain(off));
        self.of_older = client.of_older().filter(|_| needs_rules);
    }

    /// Whether the plugin's agent gets its file, and what to do.
    fn of_agent(&self, is_private: bool) -> (bool, String) {
        let (agent, key) = PLUGIN;
        let entries = match &self.outcome {
            Ok(entries) => entries,
            Err(error) => return (false, error.code().as_str().to_owned()),
        };
        let keys = self.read.as_deref().map(Map::entries).unwrap_or_default();
        let mut keyed = entries.iter().zip(keys);
        let Some((entry, (_, of))) = keyed.find(|(_, (own, _))| own.expose() == key) else {
            let run = "the map has no entry with its key. In a terminal of your own, run:";
            return (false, format!("{run} {}", door(DOOR)));
        };
        let line = entry.line;
        let is_for_it = of.agents().map(|names| names.iter().any(is_the_plugins));
        let said = match (is_for_it, entry.result) {
            (Some(false), _) => format!(
                "line {line} has its key, but for other agents: write agents = [\"{agent}\"] there"
            ),
            (_, Err(code)) if is_private => format!("{}, line {line}", code.as_str()),
            (_, Err(code)) => format!(
                "{}, line {line}; run the command above in a terminal of your own",
                code.as_str()
            ),
            (None, _) => format!(
                "would be served, and so would any other agent: give the entry on line {line} agents = [\"{agent}\"] and withhold = true"
            ),
            (Some(true), _) => format!("would be served, line {line}"),
        };
        (is_for_it != Some(false) && entry.result.is_ok(), said)
    }
}

/// For the start of a session: a line if the map cannot be used, or if the file of one of the
/// plugin's agents is gone, as the client shows it to its user; otherwise nothing.
pub(crate) fn brief(live: &LiveMap) -> Option<String> {
    let at_door = || format!("In a terminal, run: {}", door(DOOR));
    let (code, next) = match live.current() {
        Err(error @ (MapError::Missing { .. } | MapError::Parse { .. })) => {
            (error.code(), at_door())
        }
        Err(error) => (error.code(), AT_CHECK.to_owned()),
        // Bindings are none of the plugin's. A map with keys may be for other agents alone.
        Ok(map) if map.entries().is_empty() => (Refusal::UnknownKey, at_door()),
        Ok(map) => {
            let entry = map.find(&Key::try_from(PLUGIN.1).ok()?)?;
            let file = live.location().expand(entry.path())?;
            let found = fs::metadata(file);
            let is_gone = found.is_err_and(|error| error.kind() == ErrorKind::NotFound);
            is_gone.then(|| (Refusal::NotFound, AT_CHECK.to_owned()))?
        }
    };
    let code = code.as_str();
    let said = format!("keyhole: {code}, so its agents get no file. {next}");
    Some(json!({ "systemMessage": said }).to_string())
}

const AT_CHECK: &str = "/keyhole:check says what to write";
