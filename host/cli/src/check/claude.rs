//! What Claude Code asks: who gets a file, and what keeps the main conversation from it.
#![expect(clippy::disallowed_methods, reason = "it opens no file")]

use super::{EntryReport, Plugin, Report, Secrets, entry::is_the_plugins, step::door};
use keyhole_claude::{
    PLUGIN,
    settings::{Settings, Way, switches_plugin_on},
    shells::Shells,
};
use keyhole_core::{Entry, Key, LiveMap, Location, Map, MapError, Refusal, Table, ticket::Tickets};
use keyhole_setup::{
    Named, User,
    agents::{Lines, OwnAgent, is_gone, own_agents},
    all_of,
    program::Program,
};
use keyhole_walk::printable::printable;
use serde_json::json;
use std::{env, fs, io::ErrorKind, path::PathBuf};

/// The command that gives the plugin's agent its file.
pub(super) const DOOR: &str = "setup plugin";

const GONE: &str = "where nothing is, so its agent gets no file. Write the program's path there";
const WITHOUT_HOOK: &str = "Keyhole's server without its hook: then a session that a project starts as this agent gets the file, or, if the server asks for a ticket, nobody does. Put mcpServers and hooks there as `keyhole setup claude-code --bind NAME` prints them";
const CHANGED: &str = "Keyhole by other lines than setup writes, so nobody can tell here whether only this agent gets the file. Compare its mcpServers and hooks with those that `keyhole setup claude-code --bind NAME` prints";
const REFUSES: &str = "a server that refuses each call";
const UNBOUND: &str = "a server for a binding that the map does not have, so its agent gets no file. Run `keyhole setup` for it again";

const IS_OFF: &str = "does not switch the plugin on. To install it, type `claude plugin marketplace add FOLDER`, with the folder of the plugin's release, and then `claude plugin install keyhole@keyhole`";
const ANY_FILE: &str = "Read(FILE) with the path of your file";
const ANY_FOLDER: &str = "Read(FOLDER/**) with the folder of your file";
const UNNAMED: &str = "a rule for a file whose path no rule can name: move it to ~/private";

/// What Claude Code has here: its settings, and the agents with a server of ours, of the user and
/// of this folder.
pub(super) struct Client<'a> {
    location: &'a Location,
    settings: Settings,
    agents: Vec<OwnAgent>,
}

impl<'a> Client<'a> {
    pub(super) fn here(location: &'a Location) -> Option<Self> {
        let here = env::current_dir().ok();
        let home = location.home.as_deref()?;
        let settings = Settings::read(home, &|name| env::var_os(name), here.as_deref());
        let users = settings.places.as_ref().ok();
        let users = users.map(|places| (&*places.shown, places.claude.clone()));
        let project = here.map(|here| (".claude", here.join(".claude")));
        let mut folders: Vec<_> = users.into_iter().chain(project).collect();
        folders.dedup_by(|one, other| one.1 == other.1);
        let user = User {
            home: home.to_owned(),
            map: LiveMap::new(location.clone()),
            variable: &|name| env::var_os(name),
            program: Program::default(),
        };
        let agents = folders
            .iter()
            .flat_map(|(shown, folder)| own_agents(&user, folder, shown))
            .collect();
        Some(Self {
            location,
            agents,
            settings,
        })
    }

    /// Whether only an agent of Claude Code takes this file, as far as can be told: an entry with
    /// agents may also be for those of another client.
    pub(super) fn takes(&self, named: Named<'_>) -> bool {
        let is_bound = named.table == Table::Binding;
        let is_its = |agent: &OwnAgent| is_bound && agent.bind == named.name;
        !is_bound && named.name == PLUGIN.1 || self.agents.iter().any(is_its)
    }

    /// Why an agent with a server of its own gets no file, or others may get it.
    fn fault_of(&self, agent: &OwnAgent, map: &Map) -> Option<String> {
        let (program, tickets) = match &agent.lines {
            Lines::WithoutHook => return Some(WITHOUT_HOOK.to_owned()),
            // Of these, a note says what to do.
            Lines::Changed => return None,
            Lines::Own { program, tickets } => (program, tickets),
        };
        if is_gone(program) {
            return Some(format!("{}, {GONE}", printable(program)));
        }
        if map.binding(&agent.bind).is_some() {
            let folder = Tickets::in_folder(tickets.to_owned());
            let why = folder.and_then(|it| it.could_be_made()).err()?;
            return Some(format!("{REFUSES}: {why} ({})", printable(tickets)));
        }
        let usual = Location::find(None, |name| env::var_os(name));
        // Its server reads the usual map, and this may be another.
        let is_other = usual.is_ok_and(|usual| usual.file != self.location.file);
        (!is_other).then(|| UNBOUND.to_owned())
    }

    /// The agents that start our server by lines that are not setup's.
    fn changed_agents(&self, map: &Map) -> Vec<String> {
        let secrets = Secrets::of(map);
        let is_changed = |agent: &&OwnAgent| agent.lines == Lines::Changed;
        let changed = self.agents.iter().filter(is_changed);
        changed
            .map(|agent| format!("{} starts {CHANGED}", shown(&secrets, &agent.file)))
            .collect()
    }

    /// Why agents do not get their files, or others do. It names no file of the map.
    fn faults(&self, map: &Map) -> Vec<String> {
        let secrets = Secrets::of(map);
        let agents = self.agents.iter().filter_map(|agent| {
            let why = self.fault_of(agent, map)?;
            Some(format!("{} starts {why}", shown(&secrets, &agent.file)))
        });
        agents.collect()
    }

    /// The files of the map that only agents of Claude Code are to read, or those of a client of
    /// which nothing is known. And whether an agent has a server of its own, and so tickets.
    fn files(&self, map: &Map) -> (Vec<PathBuf>, bool) {
        let (mut files, mut has_tickets) = (Vec::new(), false);
        for (named, entry) in all_of(map) {
            if entry.agents.is_some() || self.takes(named) {
                files.extend(self.location.expand(&entry.path));
                has_tickets |= named.table == Table::Binding;
            }
        }
        (files, has_tickets)
    }

    /// The rules that are missing for its files, without those that name one unless `is_private`.
    fn missing_rules(&self, map: &Map, is_private: bool) -> Option<String> {
        let (places, denied) = (self.settings.places.as_ref().ok()?, self.settings.denied());
        let (files, has_tickets) = self.files(map);
        let all = places.missing(&denied, &files, has_tickets);
        let others = places.missing(&denied, &[], has_tickets).rules;
        let secrets = Secrets::of(map);
        let is_shown = |rule: &String| others.contains(rule) || is_private && !secrets.are_in(rule);
        let (mut missing, hidden): (Vec<_>, Vec<_>) = all.rules.into_iter().partition(is_shown);
        let is_folder = |rule: &String| rule.ends_with("/**)");
        for (is_there, words) in [
            (!hidden.iter().all(is_folder), ANY_FILE),
            (hidden.iter().any(is_folder), ANY_FOLDER),
            (all.is_unnamed, UNNAMED),
        ] {
            missing.extend(is_there.then(|| words.to_owned()));
        }
        let (file, missing) = (self.settings.rules_file()?, missing.join(", "));
        (!missing.is_empty()).then(|| format!(
            "rules are missing that keep the main conversation from your private files. Add to permissions.deny in {file}: {missing}"
        ))
    }

    pub(super) fn judge(
        &self,
        report: &mut Report,
        map: Option<&Map>,
        plugin: Option<&Plugin>,
        is_private: bool,
    ) {
        let (settings, places) = (&self.settings, self.settings.places.as_ref().ok());
        let is_plugin = report.agent.is_some();
        // The user's settings list each plugin that is on. Without a list, ours may be on as well.
        let has_list = settings.value["enabledPlugins"].is_object();
        let is_on = switches_plugin_on(&settings.value);
        let is_plugins = |(key, entry): &(&Key, &Entry)| {
            key.expose() == PLUGIN.1 || is_on && entry.agents.is_some()
        };
        let is_here = places.is_none_or(|places| places.claude.is_dir());
        let files = map.map_or_else(Vec::new, |map| self.files(map).0);
        let needs_rules = is_plugin || is_here && !files.is_empty();
        let of = map.filter(|_| needs_rules);
        let rules = of.and_then(|map| self.missing_rules(map, is_private));
        // Without a rule that is missing, it does not matter whose rules count.
        let is_told = rules.is_some() || settings.rules_file().is_none();
        let is_used = |way: &Way| match way {
            Way::Plugin => is_plugin || map.is_some_and(|map| map.entries().iter().any(is_plugins)),
            Way::Agent => !self.agents.is_empty(),
            Way::Rules => false,
        };
        if let Some(map) = map {
            report.faults = self.faults(map);
            report.notes.extend(self.changed_agents(map));
        }
        // The client tells its shells where the plugin's folder is.
        let tickets = plugin.and_then(|plugin| plugin.tickets.as_ref());
        let refused = tickets.and_then(|tickets| tickets.could_be_made().err());
        let refused = refused.map(|why| format!("the plugin starts {REFUSES}: {why}"));
        report.faults.extend(refused);
        let servers: Vec<_> = self.agents.iter().map(|agent| &*agent.bind).collect();
        for fault in settings.faults(&servers) {
            let ways = fault.ways();
            if ways.iter().any(is_used) {
                report.faults.push(fault.to_string());
            } else if needs_rules && (ways.is_empty() || ways.contains(&Way::Rules) && is_told) {
                report.notes.push(fault.to_string());
            }
        }
        let are_closed = rules.is_none();
        report.notes.extend(rules);
        let file = settings.rules_file().unwrap_or_default();
        let shells = of.and_then(|_| Shells::of(settings, &files));
        match shells.map(|shells| shells.told(&file)) {
            Some(Ok(held)) => report.closing.extend(are_closed.then_some(held)),
            Some(Err(open)) => report.notes.push(open),
            None => {}
        }
        let is_off = is_plugin && !is_on && (has_list || is_private);
        let off = places.filter(|_| is_off);
        let off = off.map(|places| format!("{}/settings.json {IS_OFF}", places.shown));
        report.notes.extend(off);
    }
}

/// The name of an agent or its file, unless it shows a key.
fn shown<'a>(secrets: &Secrets<'_>, name: &'a str) -> &'a str {
    if secrets.are_in(name) { "…" } else { name }
}

/// Whether the plugin's agent gets its file, and what to do.
pub(super) fn of_agent(map: &Map, entries: &[EntryReport], is_private: bool) -> (bool, String) {
    let (agent, key) = PLUGIN;
    let mut keyed = entries.iter().zip(map.entries());
    let Some((entry, (_, of))) = keyed.find(|(_, (own, _))| own.expose() == key) else {
        let run = "the map has no entry with its key. In a terminal of your own, run:";
        return (false, format!("{run} {}", door(DOOR)));
    };
    let line = entry.line;
    let names = of.agents.as_deref();
    let is_for_it = names.map(|names| names.iter().any(is_the_plugins));
    let said = match (is_for_it, entry.result) {
        (Some(false), _) => format!(
            "line {line} has its key, but for other agents: write agents = [\"{agent}\"] there"
        ),
        (_, Err(code)) => {
            let run = "; run the command above in a terminal of your own";
            let run = if is_private { "" } else { run };
            format!("{}, line {line}{run}", code.as_str())
        }
        (None, _) => format!(
            "would be served, and so would any other agent: give the entry on line {line} agents = [\"{agent}\"] and withhold = true"
        ),
        (Some(true), _) => format!("would be served, line {line}"),
    };
    (is_for_it != Some(false) && entry.result.is_ok(), said)
}

/// For the start of a session: a line if the map cannot be used, or if the file of one of the
/// plugin's agents is gone, as the client shows it to its user; otherwise nothing.
pub(super) fn brief(live: &LiveMap) -> Option<String> {
    use MapError::{Missing, Parse};
    let (code, is_to_make) = match live.current() {
        Err(error) => (error.code(), matches!(error, Missing(_) | Parse(..))),
        // Bindings are none of the plugin's. A map with keys may be for other agents alone.
        Ok(map) if map.entries().is_empty() => (Refusal::UnknownKey, true),
        Ok(map) => {
            let entry = map.find(&Key::try_from(PLUGIN.1).ok()?)?;
            let found = fs::metadata(live.location.expand(&entry.path)?);
            let is_gone = found.is_err_and(|error| error.kind() == ErrorKind::NotFound);
            is_gone.then_some((Refusal::NotFound, false))?
        }
    };
    let code = code.as_str();
    let next = is_to_make.then(|| format!("In a terminal, run: {}", door(DOOR)));
    let check = "/keyhole:check says what to write";
    let next = next.as_deref().unwrap_or(check);
    let said = format!("keyhole: {code}, so its agents get no file. {next}");
    Some(format!("{}\n", json!({ "systemMessage": said })))
}
