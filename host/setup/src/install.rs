//! What gives somebody a file: the client's settings, the map, and files of the client.

use crate::{
    PLUGIN, Plan, Result, SetupError, User,
    agents::files,
    clients::{Audience, Client},
    disk::Found,
    error::{by_hand, refused},
    file::{File, NEW, TEMPLATE, root_of, shown},
    json::{Change, HOOKS, RULES},
    map,
    plan::lines_of,
    recipe::{AGENT, Hook, Recipe, own_hooks},
    rules::{Places, without_links},
    settings::{Settings, Way},
    shells::{self, Shells},
};
use keyhole_core::{AgentName, Entry, Map};
use keyhole_walk::printable::{printable, printable_text};
use serde_json::json;
use std::{ffi::OsString, fs, path::PathBuf, slice};

/// What the user wants: a file for somebody.
pub struct Request<'a> {
    /// Who wants it.
    pub user: &'a User<'a>,
    /// In which client.
    pub client: Client,
    /// The binding's name, or the agent's of a hook.
    pub name: String,
    /// As whom its server calls, if that is said.
    pub agent: Option<String>,
    /// Whether a hook hands the file over.
    pub is_hook: bool,
    /// The file.
    pub file: File,
}

/// What keeps the file from the main conversation, of what is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walls {
    /// Nothing.
    None,
    /// The client's rules.
    Rules,
    /// Those, and the client's sandbox for shells.
    Shells,
}

impl Request<'_> {
    fn recipe(&self) -> Recipe<'_> {
        let names = (&*self.name, self.agent.as_deref());
        Recipe(self.user, &self.client, names)
    }
}

impl Plan {
    /// What gives somebody the file. `key` is a fresh one, for an entry that needs it.
    pub fn install(request: &Request<'_>, key: &str, walls: Walls) -> Result<Self> {
        let (client, file) = (&request.client, &request.file);
        let mut plan = Self::default();
        if file.is_new {
            let (found, lines) = (Found::at(&file.path)?, lines_of("", "", TEMPLATE));
            plan.edit(found, Some(TEMPLATE.to_owned()), lines)?;
            plan.todo.push(format!(
                "Write your own list into {NEW}: what stands there is an example."
            ));
        }
        let hook = request.is_hook.then(|| request.recipe().hook(Some(file)));
        let hook = hook.transpose()?;
        if client.is_claude_code() {
            plan.settings(request, hook.as_ref(), walls)?;
        }
        plan.add_to_map(request, key)?;
        if let Some(hook) = hook {
            (plan.who, plan.last) = (hook.who, hook.last);
            let is_written = usize::from(client.is_claude_code());
            plan.print = hook.texts.into_iter().skip(is_written).collect();
            plan.todo.push("Do what the texts above say.".to_owned());
        } else if client.is_plugin() {
            (plan.who, plan.last) = (client.who.to_owned(), client.say.to_owned());
            let how = "Install the plugin: plugin/README.md says how.";
            let is_here = request.user.sign(client).is_some();
            plan.todo.extend((!is_here).then(|| how.to_owned()));
        } else {
            plan.server(request)?;
        }
        if client.name == "claude-code" {
            plan.notes.push("What this agent reports is not compared with the file. Only the plugin takes out of its agent's reports what quotes the file.".to_owned());
        }
        plan.warn_of_repositories(&file.path);
        Ok(plan)
    }

    /// The rules, and a hook. They come first: nobody gets what they keep back before they stand.
    fn settings(&mut self, request: &Request<'_>, hook: Option<&Hook>, walls: Walls) -> Result<()> {
        let (user, name) = (request.user, &*request.name);
        let settings = Settings::read(&user.home, user.variable, None);
        let places = settings.places.clone()?;
        let way = match hook {
            Some(_) => Way::Inject,
            None if request.client.is_plugin() => Way::Plugin,
            None => Way::Agent,
        };
        for fault in settings.faults(&[name]) {
            // Rules in settings that the client does not load keep nothing back.
            let unread = [Way::Plugin, Way::Rules];
            let is_unread = unread.iter().all(|way| fault.ways.contains(way));
            if is_unread || fault.ways.contains(&way) {
                return refused(fault.text);
            }
            self.notes.push(fault.text);
        }
        let (denied, files) = (settings.denied(), slice::from_ref(&request.file.path));
        let mut changes = Vec::new();
        if walls != Walls::None {
            let (rules, is_unnamed) = places.missing(&denied, files, way == Way::Agent);
            if is_unnamed {
                self.notes.push("No rule can keep the main conversation from this file: a character in its path means something else there. Move it to ~/private.".to_owned());
            }
            if !rules.is_empty() {
                let rules = Change::new(RULES, Vec::new(), rules);
                self.rules = rules.shown();
                changes.push(rules);
            }
        }
        let shells = (walls == Walls::Shells).then(|| self.shells(request, &settings));
        let agents = agents_named(&places, name);
        if way == Way::Agent {
            let folder = printable(&user.tickets());
            self.notes.push(format!(
                "The folder for this agent's tickets is {folder}; it is made if it is not there."
            ));
            if agents.iter().any(|stem| stem != name) {
                return refused(
                    "another file in the client's folder of agents has this name in it. Choose another name",
                );
            }
        }
        if let Some(hook) = hook {
            if agents.is_empty() && !name.contains(':') {
                let shown = &places.shown;
                self.notes.push(format!("No agent of the name {name} is in {shown}/agents. One of a project or a plugin may have it."));
            }
            let (old, new) = (own_hooks(&settings.value, name), vec![hook.group.clone()]);
            changes.extend((old != new).then(|| Change::new(HOOKS, old, new)));
        }
        changes.extend(shells.flatten().unwrap_or_default());
        // Of settings that stay as they are, it does not matter whether they may be written.
        if changes.is_empty() {
            return Ok(());
        }
        self.change(Found::at(&places.settings())?, &changes)
    }

    /// What switches the sandbox for shells on. If it would not hold, the user is told why
    /// instead.
    fn shells(&mut self, by: &Request<'_>, settings: &Settings) -> Option<Vec<Change>> {
        let places = settings.places.as_ref().ok()?;
        let state = Shells::of(settings, slice::from_ref(&by.file.path));
        let state = state.filter(|it| !it.are_managed && !it.lacks.is_empty())?;
        let (path, weak) = ((by.user.variable)("PATH").unwrap_or_default(), state.weak);
        let why = if !weak.is_empty() {
            format!(
                "It stays as it is, since these settings let a shell past it: {weak}. Take them out, and run setup again."
            )
        } else if let Err(why) = shells::works(&path) {
            why.to_owned()
        } else {
            self.for_the_machine = Some(shells::for_the_machine(places, by));
            return Some(state.lacks);
        };
        self.notes.push(format!("Any shell command of the main conversation can read the file. Claude Code's own sandbox would hold it. {why}"));
        None
    }

    /// The table that the map needs. None if it is there.
    fn table(&mut self, map: &Map, request: &Request<'_>, key: &str) -> Result<Option<String>> {
        let (name, file, most) = (&*request.name, &request.file, request.client.max_bytes);
        let (location, is_plugin) = (&request.user.map.location, request.client.is_plugin());
        let (kind, named, agent) = if request.is_hook {
            let agent = AgentName::in_map(name).ok();
            let keys = agent.map_or_else(Vec::new, |agent| map.entries_of(&agent));
            if let [(_, one), (_, other), ..] = keys[..] {
                let (one, other) = (one.line, other.line);
                return refused(format!(
                    "the lines {one} and {other} of the map name this agent, and only one entry may. Take it out of the others"
                ));
            }
            let named = keys.first().map_or(key, |(key, _)| key.expose());
            ("keys", named, Some(name))
        } else if is_plugin {
            ("keys", PLUGIN.1, Some(PLUGIN.0))
        } else {
            ("bindings", name, request.agent.as_deref())
        };
        self.table = (kind, named.to_owned());
        if let Some((_, entry)) = map::all_of(map).find(|(it, _)| *it == (kind, named)) {
            let (line, path) = (entry.line, location.expand(&entry.path));
            if !path.is_some_and(|path| file.is_at(&path)) {
                return refused(format!(
                    "the map has another file under this name already, on line {line}. Choose another name, or take that away first: keyhole setup remove NAME"
                ));
            }
            return suits(entry, agent, most).map(|()| None);
        }
        let mut paths = map::all_of(map).filter_map(|it| location.expand(&it.1.path));
        if paths.any(|path| file.is_at(&path)) {
            let name = agent.unwrap_or(name);
            self.notes.push(format!(
                "The map has this file already. Now somebody else gets it, too: {name}."
            ));
        }
        let (path, agents) = (&file.written, agent.as_slice());
        let table = map::table((kind, named), path, agents, most, is_plugin);
        Ok(Some(table))
    }

    /// The table, and what `roots` need for the file.
    fn add_to_map(&mut self, request: &Request<'_>, key: &str) -> Result<()> {
        let (user, file) = (request.user, &request.file);
        let place = &user.map.location.file;
        let found = Found::at(place);
        self.map = match &found {
            Ok(found) => found.text()?.to_owned(),
            // Perhaps nothing is to be written there.
            Err(_) => fs::read_to_string(place).unwrap_or_default(),
        };
        let map = user.map.parse(self.map.as_bytes())?;
        let table = self.table(&map, request, key)?;
        let roots = map.roots();
        let holds_it = |root: &PathBuf| file.real.starts_with(without_links(root));
        let is_held = roots.iter().any(holds_it);
        let is_blank = map::all_of(&map).next().is_none();
        let mut root = root_of(&file.real, &user.home).filter(|_| !is_held);
        if roots.is_empty() && !is_blank {
            self.notes.push("The map has no roots, so a server may read whatever you may. Name the folders of its files at its top, as in roots = [\"~/private\"].".to_owned());
            root = None;
        } else if roots.is_empty() && root.is_none() {
            self.notes.push("The file is directly in your home or above it, so no root is written for it, and a server may read whatever you may. Better move it to ~/private.".to_owned());
        } else if !is_held && root.is_none() {
            return refused(
                "the file is in none of the map's roots. It is directly in your home or above it, and your home must not become a root. Move it to ~/private, and run setup again with the new path",
            );
        }
        if table.is_none() && root.is_none() {
            return Ok(());
        }
        let found = found?;
        let added = map::add(&self.map, table.as_deref(), root.as_deref());
        let (new, shown) = added.map_err(|why| {
            let root = root.map(|root| format!("among its roots: {}\n", json!(root)));
            let lines = root.unwrap_or_default();
            // Who only looks may be an agent, so a fresh key is not shown.
            let table = table.filter(|table| !table.contains(key));
            let name = &request.name;
            let how = || format!("what this prints: keyhole setup key FILE --agent {name}\n");
            by_hand(place, why, &(lines + &table.unwrap_or_else(how)))
        })?;
        self.map.clone_from(&new);
        self.edit(found, Some(new), shown)
    }

    /// The files that the client has for this server alone, and what is to be pasted.
    fn server(&mut self, request: &Request<'_>) -> Result<()> {
        let (home, client, recipe) = (&request.user.home, &request.client, request.recipe());
        let filled = recipe.filled(Some(&request.file))?;
        for part in &client.parts {
            let Some(to) = part.to else { continue };
            let (path, text) = (filled.place(to, home), filled.fill(part.text));
            let found = Found::at(&path)?;
            let old = found.text()?.to_owned();
            let shown = shown(&path, home);
            if client.audience != Audience::Session && to.ends_with(".md") && request.name != AGENT
            {
                self.todo.push(format!("Change the description and the text in {shown} to what the agent is for: they look for identifiers."));
            }
            let renewed = recipe.renewed(part, &old, &text);
            let new = renewed.or_else(|| (!found.is_there()).then_some(text));
            let Some(new) = new else {
                return refused(format!(
                    "{} is there already, and does not start this server as setup would write it. Choose another name, or move that file away",
                    printable_text(&shown)
                ));
            };
            if old != new {
                let lines = lines_of("", &only(&old, &new), &only(&new, &old));
                self.edit(found, Some(new), lines)?;
            }
        }
        self.who = filled.fill(client.who);
        self.print = filled.blocks(client, |part| part.to.is_none());
        let paste = "Paste the texts above where they say.".to_owned();
        self.todo.extend((!self.print.is_empty()).then_some(paste));
        self.print
            .extend(client.notes.iter().map(|note| filled.fill(note)));
        self.last = filled.fill(client.say);
        Ok(())
    }

    /// Whether another file has this name already: in the map, or among the client's files.
    pub fn is_taken(request: &Request<'_>) -> bool {
        let (user, client, name) = (request.user, &request.client, &*request.name);
        let map = user.map.current().ok();
        let binding = map.as_ref().and_then(|map| map.binding(name));
        let path = binding.and_then(|binding| user.map.location.expand(&binding.entry.path));
        let places = user.places().ok().filter(|_| client.is_claude_code());
        let agents = places.map_or_else(Vec::new, |places| agents_named(&places, name));
        let server = Self::default().server(request);
        path.is_some_and(|path| !request.file.is_at(&path))
            || agents.iter().any(|stem| stem != name)
            || matches!(server, Err(SetupError::Refused(_)))
    }
}

fn only(one: &str, other: &str) -> String {
    let lines = one.lines();
    let lines = lines.filter(|line| !other.lines().any(|other| other == *line));
    lines.map(|line| format!("{line}\n")).collect()
}

/// Whether an entry for this file will do for this agent and this limit of the client.
fn suits(entry: &Entry, agent: Option<&str>, most: Option<u64>) -> Result<()> {
    let agents = entry.agents.as_deref().unwrap_or_default();
    let name = agent.and_then(|agent| AgentName::in_map(agent).ok());
    let is_named = name.is_some_and(|name| agents.iter().any(|one| one.means(&name)));
    let lacks = match (agent, most) {
        (Some(agent), _) if !is_named => format!("Add this there: agents = [{}]", json!(agent)),
        (None, _) if !agents.is_empty() => {
            "It is for its agents only: name one of them with --agent".to_owned()
        }
        (_, Some(most)) if entry.max_bytes > most => format!("Add this there: max_bytes = {most}"),
        _ => return Ok(()),
    };
    let line = entry.line;
    let why = format!("line {line} of the map has this name already. {lacks}");
    refused(why)
}

/// The agents of this name that Claude Code has in the user's folder of agents: the names of their
/// files, without the ending.
fn agents_named(places: &Places, name: &str) -> Vec<OsString> {
    let is_named = |text: &str| {
        let mut names = text.lines().filter_map(|line| line.strip_prefix("name:"));
        names.any(|found| found.trim().trim_matches(['"', '\'']) == name)
    };
    let files = files(&places.claude.join("agents")).into_iter();
    let files = files.filter(|(_, text)| is_named(text));
    let stems = files.filter_map(|(file, _)| Some(file.file_stem()?.to_owned()));
    stems.collect()
}
