//! What Claude Code's plugin asks: whether its agent would be served, and what keeps a
//! parent from reading what it reads.

use super::{
    EntryReport, Report, Secrets, Warning, is_the_plugins,
    way::{door, plugins, to_a_missing_map},
};
use keyhole_core::{Entry, Key, LiveMap, Location, Map, MapError, Refusal};
use keyhole_setup::{
    PLUGIN,
    agents::own_agents,
    rules::{Denied, Places, Settings},
    state_folder,
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, env, fs, io::ErrorKind, path::Path};

/// The command that gives the plugin's agent its document.
pub(super) const DOOR: &str = "setup plugin";

/// Whether the plugin's agent would be served, and what to do.
#[derive(Debug)]
pub(super) struct AgentReport {
    pub(super) is_served: bool,
    pub(super) said: String,
}

impl Report {
    /// Adds what the plugin asks for. The main conversation reads this report, so it names
    /// no path of the map or an entry, unless `is_private`; `command` is the one that shows them.
    pub(crate) fn for_the_plugin(
        mut self,
        location: &Location,
        command: &Path,
        is_private: bool,
    ) -> Self {
        let map = self.read.clone();
        self.agent = Some(match &self.outcome {
            Ok(entries) => agent_report(map.as_deref(), entries, is_private),
            Err(error) => AgentReport {
                is_served: false,
                said: error.code().as_str().to_owned(),
            },
        });
        self.help = match &self.outcome {
            Err(MapError::Missing { .. }) if is_private => to_a_missing_map(location, DOOR),
            Err(MapError::Missing { .. }) => {
                Some(format!("in a terminal of your own, run: {}", door(DOOR)))
            }
            Err(MapError::Parse { source, .. }) if !is_private => source.help.clone(),
            _ => self.help.filter(|_| is_private),
        };
        if let Some(home) = location.home() {
            let settings = Settings::read(home, |name| env::var_os(name));
            let rules = map.as_deref().and_then(|map| {
                let files = Files::of(map, settings.places.as_ref());
                missing_rules(&settings, location, map, &files, is_private)
            });
            self.notes.extend(rules);
            self.notes.extend(is_off(&settings, is_private));
            self.of_older = of_older(&settings);
        }
        if !is_private {
            self.unabridged = Some(plugins(command, "check"));
            self.map = None;
            self.roots
                .iter_mut()
                .for_each(|root| *root = "others could replace one".to_owned());
            for entry in self.outcome.iter_mut().flatten() {
                (entry.name, entry.path, entry.detail) = (None, None, None);
            }
        }
        self
    }

    /// Adds the rules that Claude Code lacks, if it is here, and the map has a file for an agent
    /// of its.
    pub(crate) fn for_claude_code(mut self, location: &Location) -> Self {
        if let (Some(home), Some(map)) = (location.home(), &self.read) {
            let settings = Settings::read(home, |name| env::var_os(name));
            let places = settings.places.as_ref();
            let files = Files::of(map, places);
            let is_here = places.is_none_or(Places::are_there) && !files.all.is_empty();
            let rules = is_here.then(|| missing_rules(&settings, location, map, &files, true));
            self.notes.extend(rules.flatten());
            self.of_older = of_older(&settings).filter(|_| is_here);
        }
        self
    }
}

/// The files of the map that only agents of Claude Code are to read, as far as can be told: an
/// entry or a binding with agents may also be for those of another client.
struct Files<'m> {
    all: Vec<&'m Entry>,
    /// Whether an agent has a server of its own, and so tickets.
    has_servers: bool,
}

impl<'m> Files<'m> {
    fn of(map: &'m Map, places: Option<&Places>) -> Self {
        let keys = map.entries().into_iter();
        let keys = keys.filter(|(key, entry)| entry.agents().is_some() || key.expose() == PLUGIN.1);
        let agents = places.map(|places| own_agents(&places.claude.join("agents")));
        let agents = agents.unwrap_or_default();
        let bindings = map.bindings().into_iter();
        let bindings = bindings.filter(|(name, binding)| {
            binding.entry().agents().is_some() || agents.iter().any(|agent| agent.bind == ***name)
        });
        let bindings: Vec<_> = bindings.map(|(_, binding)| binding.entry()).collect();
        Self {
            has_servers: !bindings.is_empty(),
            all: keys.map(|(_, entry)| entry).chain(bindings).collect(),
        }
    }
}

fn agent_report(map: Option<&Map>, entries: &[EntryReport], is_private: bool) -> AgentReport {
    let (agent, key) = PLUGIN;
    let of = map.map(Map::entries).unwrap_or_default();
    let is_for = |entry: &Entry| entry.agents().map(|names| names.iter().any(is_the_plugins));
    let at = of.iter().position(|(own, _)| own.expose() == key);
    let result = |entry: &EntryReport| match entry.warnings.contains(&Warning::LongForClaude) {
        true => Err(Refusal::TooLarge),
        false => entry.result,
    };
    let found = at.and_then(|at| {
        let entry = entries.get(at)?;
        Some((entry.line, result(entry), is_for(of.get(at)?.1)))
    });
    let is_served = found.is_some_and(|(_, result, bound)| result.is_ok() && bound != Some(false));
    let said = match found {
        None => format!(
            "the map has no entry with its key. In a terminal of your own, run: {}",
            door(DOOR)
        ),
        Some((line, _, Some(false))) => format!(
            "line {line} has its key, but for other agents: write agents = [\"{agent}\"] there"
        ),
        Some((line, Err(code), _)) => {
            let more = match is_private {
                true => "",
                false => "; run the command above in a terminal of your own",
            };
            format!("{}, line {line}{more}", code.as_str())
        }
        Some((line, Ok(_), None)) => format!(
            "would be served, and so would any other agent: give the entry on line {line} agents = [\"{agent}\"] and withhold = true"
        ),
        Some((line, Ok(_), _)) => format!("would be served, line {line}"),
    };
    AgentReport { is_served, said }
}

/// What the user's settings do not deny yet, of what tells the main conversation what its
/// agents were given: the client's two places, the agents' own files, the folder of tickets, and
/// our programs. The setting `blockReadsOutsideWorkingDirectories` is none of these rules: a
/// session in the home has the file inside, and no transcript and no program is bound by it.
fn missing_rules(
    settings: &Settings,
    location: &Location,
    map: &Map,
    files: &Files<'_>,
    is_private: bool,
) -> Option<String> {
    let Settings { places, value } = settings;
    let Some(places) = places else {
        return Some(
            "CLAUDE_CONFIG_DIR, or the folder for temporary files, is not absolute, or has a character that is not shown, or that means something else in a rule, so none for it can be told; use another place".to_owned(),
        );
    };
    let Some(settings) = value else {
        return Some(format!(
            "{}/settings.json is not JSON; fix it, and check again",
            places.shown
        ));
    };
    let denied = Denied::of(settings);
    let Some(mut missing) = places.missing(&denied) else {
        return Some("a folder of the client leads to a path that no rule can name".to_owned());
    };
    let (secrets, mut hidden) = (Secrets::of(map), BTreeSet::new());
    let all = files.all.iter();
    for file in all.filter_map(|entry| location.expand(entry.path())) {
        let Some(rules) = places.of_document(&file, &denied) else {
            hidden.insert("a rule for a file whose path no rule can name: move it to ~/private");
            continue;
        };
        for rule in rules {
            if is_private && !secrets.are_in(&rule) {
                // Files in one folder share its rule.
                if !missing.contains(&rule) {
                    missing.push(rule);
                }
            } else if rule.ends_with("/**)") {
                hidden.insert("Read(FOLDER/**) with the folder of your file");
            } else {
                hidden.insert("Read(FILE) with the path of your file");
            }
        }
    }
    missing.extend(hidden.into_iter().map(str::to_owned));
    if files.has_servers
        && let Some(rules) = places.of_tickets(
            &state_folder(location.home()?, |name| env::var_os(name)),
            &denied,
        )
    {
        missing.extend(rules);
    }
    let of_files = missing.len();
    missing.extend(denied.missing_programs());
    let reason = match missing.len() > of_files {
        true => ", since rules for files bind no program",
        false => "",
    };
    (!missing.is_empty()).then(|| {
        format!(
            "rules are missing that keep the main conversation from your private files. Add to permissions.deny in {}/settings.json: {}{reason}",
            places.shown,
            missing.join(", ")
        )
    })
}

/// What an older client needs beside: there, a shell gets past the narrower rules.
fn of_older(settings: &Settings) -> Option<String> {
    let rules = settings
        .places
        .as_ref()?
        .wider(&Denied::of(settings.value.as_ref()?))?;
    (!rules.is_empty()).then(|| {
        format!(
            "In Claude Code 2.1.197, a shell still reads an agent's transcript, as by `cd` to its folder. There, add {}. They also keep the main conversation from its background output, long outputs and memory.",
            rules.join(", ")
        )
    })
}

/// That the client's settings switch the plugin off, or do not switch it on: they list every
/// plugin that is on. Without such a list, a session may have the plugin in another way.
fn is_off(settings: &Settings, is_private: bool) -> Option<String> {
    let Settings { places, value } = settings;
    let (places, settings) = (places.as_ref()?, value.as_ref()?);
    let plugins = settings.get("enabledPlugins").and_then(Value::as_object);
    let is_on = |plugin: (&String, &Value)| plugin.0.starts_with("keyhole@") && *plugin.1 == true;
    let is_on = plugins.map_or(!is_private, |plugins| plugins.iter().any(is_on));
    (!is_on).then(|| {
        format!(
            "{}/settings.json does not switch the plugin on: install it (claude plugin install keyhole@keyhole), or add \"keyhole@keyhole\": true to its enabledPlugins",
            places.shown
        )
    })
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
            #[expect(clippy::disallowed_methods, reason = "it asks whether it is there")]
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
