//! What setup would change, file by file; what to say about it; and doing it.
#![expect(
    clippy::disallowed_methods,
    reason = "it looks whether a client is here, and at the names of its agents"
)]

use crate::{
    FileError, PLUGIN, SetupError, User,
    agents::files,
    clients::{Audience, Client, Part},
    disk::{self, Found},
    error::refused,
    file::{self, File, NEW, TEMPLATE, repository, root_of, shown},
    json::{self, HOOKS, RULES, Side},
    map::{self, Table},
    recipe::{AGENT, Filled, by_hook, hook, is_own_hook},
    remove::{PLUGIN_NAME, renewed},
    rules::Places,
    settings::{Settings, Way},
    shells::{self, Shells},
    state_folder,
};
use keyhole_core::{AgentName, BindingName, Entry, Map, Target};
use keyhole_walk::printable::{printable, printable_text};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    slice,
};

/// What the user wants: a file for somebody.
#[derive(Debug)]
pub struct Request {
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

/// Lines that come and go at one place of a file.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// In words, such as `permissions.deny`.
    place: String,
    old: String,
    new: String,
}

impl Change {
    pub(crate) fn new(place: &str, old: &str, new: &str) -> Self {
        let [place, old, new] = [place, old, new].map(str::to_owned);
        Self { place, old, new }
    }

    /// The lines that only one of two texts has.
    pub(crate) fn between(old: &str, new: &str) -> Self {
        let only = |one: &str, other: &str| {
            let lines = one
                .lines()
                .filter(|line| !other.lines().any(|other| other == *line));
            lines.map(|line| format!("{line}\n")).collect::<String>()
        };
        Self::new("", &only(old, new), &only(new, old))
    }

    /// For the user. Who only looks may be an agent, so no key is shown; the plugin's is none.
    fn shown(&self) -> String {
        let mut text = String::new();
        if !self.place.is_empty() {
            text += &format!("  in {}:\n", self.place);
        }
        for (sign, side) in [('-', &self.old), ('+', &self.new)] {
            let lines = side.trim_start_matches(", ").lines();
            for line in lines.filter(|line| !line.trim().is_empty()) {
                let is_secret = line.starts_with("[keys.") && !line.contains(PLUGIN.1);
                let line = if is_secret { "[keys.…]" } else { line };
                text += &format!("  {sign} {}\n", printable_text(line));
            }
        }
        text
    }
}

/// A new version of one file.
#[derive(Debug)]
struct Edit {
    /// The file, as it is named.
    file: PathBuf,
    found: Found,
    /// None: it is taken away.
    new: Option<String>,
    changes: Vec<Change>,
}

/// What keeps the file from the main conversation, of what is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Walls {
    /// The client's rules.
    pub rules: bool,
    /// The client's sandbox for shells, which needs the rules.
    pub shells: bool,
}

/// What would change, and what to say about it.
#[derive(Debug, Default)]
pub struct Plan {
    edits: Vec<Edit>,
    /// Who gets the file.
    pub who: String,
    /// What to know before the question.
    pub notes: Vec<String>,
    /// Whether rules are among it.
    pub has_rules: bool,
    /// If the sandbox for shells is, what an administrator can do.
    pub for_the_machine: Option<String>,
    /// What the user pastes, and what to know of it.
    pub print: Vec<String>,
    /// What the user still has to do.
    pub todo: Vec<String>,
    /// The last step.
    pub last: String,
    /// The folders that go if they are empty then.
    pub(crate) folders: Vec<PathBuf>,
    /// The map as it would be, and what of it is asked for.
    pub map: String,
    /// See [`Self::map`].
    pub target: Option<Target>,
}

impl Plan {
    /// What gives somebody the file. `key` is a fresh one, for an entry that needs it.
    ///
    /// # Errors
    /// [`SetupError`]
    pub fn install(
        user: &User<'_>,
        request: &Request,
        key: &str,
        walls: Walls,
    ) -> Result<Self, SetupError> {
        let (client, name, file) = (&request.client, &*request.name, &request.file);
        let mut plan = Self::default();
        if file.is_new {
            let change = Change::new("", "", TEMPLATE);
            let found = Found::at(&file.path)?;
            plan.edit(&file.path, found, Some(TEMPLATE.to_owned()), vec![change]);
            plan.todo.push(format!(
                "Write your own list into {NEW}: what stands there is an example."
            ));
        }
        if let Some(most) = client.max_bytes.filter(|most| file.bytes > *most) {
            let (bytes, title) = (file.bytes, client.title);
            return refused(format!(
                "the file has {bytes} bytes, and {title} takes at most {most}. Shorten it"
            ));
        }
        if client.is_claude_code() {
            plan.settings(user, request, walls)?;
        }
        plan.add_to_map(user, request, key)?;
        if request.is_hook {
            let hook = hook(client, user, name)?;
            plan.who = by_hook(name);
            plan.last = hook.last;
            let is_written = usize::from(client.is_claude_code());
            plan.print = hook.texts.into_iter().skip(is_written).collect();
            plan.todo.push("Do what the texts above say.".to_owned());
        } else if client.is_plugin() {
            (plan.who, plan.last) = (client.who.to_owned(), client.say.to_owned());
            if user.sign(client).is_none() {
                plan.todo
                    .push("Install the plugin: plugin/README.md says how.".to_owned());
            }
        } else {
            plan.server(user, request)?;
        }
        if client.is_claude_code() && !client.is_plugin() {
            plan.notes.push("What this agent reports is not compared with the file. Only the plugin takes out of its agent's reports what quotes the file.".to_owned());
        }
        plan.warn_of_repositories(file);
        Ok(plan)
    }

    pub(crate) fn edit(
        &mut self,
        file: &Path,
        found: Found,
        new: Option<String>,
        changes: Vec<Change>,
    ) {
        let file = file.to_owned();
        self.edits.push(Edit {
            file,
            found,
            new,
            changes,
        });
    }

    /// The rules, and a hook. They come first: nobody gets what they keep back before they stand.
    fn settings(
        &mut self,
        user: &User<'_>,
        request: &Request,
        walls: Walls,
    ) -> Result<(), SetupError> {
        let name = &*request.name;
        let places = Places::find(&user.home, user.variable)?;
        let settings = Settings::read(&user.home, user.variable, None);
        let way = match request.client.name {
            _ if request.is_hook => Way::Inject,
            PLUGIN_NAME => Way::Plugin,
            _ => Way::Agent,
        };
        for fault in settings.faults(&[name]) {
            // Rules in settings that the client does not load keep nothing back.
            let is_unread = [Way::Plugin, Way::Rules]
                .iter()
                .all(|way| fault.ways.contains(way));
            if is_unread || fault.ways.contains(&way) {
                return refused(fault.text);
            }
            self.notes.push(fault.text);
        }
        let denied = settings.denied();
        self.notes.extend(places.too_wide(&denied));
        let (mut rules, mut old, mut hooks) = (Vec::new(), Vec::new(), Vec::new());
        if walls.rules {
            let state = state_folder(&user.home, user.variable);
            let tickets = (way == Way::Agent).then_some(&*state);
            let missing = places.missing(&denied, slice::from_ref(&request.file.path), tickets);
            rules.extend(missing.0.into_iter().map(Value::from));
            if !missing.1.is_empty() {
                self.notes.push("No rule can keep the main conversation from this file: a character in its path means something else there. Move it to ~/private.".to_owned());
            }
        }
        self.has_rules = !rules.is_empty();
        let mut shells = Vec::new();
        if walls.rules && walls.shells {
            shells = self.shells(user, &settings, &places, &request.file.path);
        }
        if way == Way::Agent {
            let folder = printable(&user.tickets());
            self.notes.push(format!(
                "The folder for this agent's tickets is {folder}; it is made if it is not there."
            ));
        }
        let agents = agents_named(&places.claude.join("agents"), name);
        let own_name = format!("{name}.md");
        if way == Way::Agent && agents.iter().any(|file| !file.ends_with(&own_name)) {
            return refused(
                "another file in the client's folder of agents has this name in it. Choose another name",
            );
        }
        if request.is_hook {
            if agents.is_empty() && !name.contains(':') {
                let shown = &places.shown;
                self.notes.push(format!("No agent of the name {name} is in {shown}/agents. One of a project or a plugin may have it."));
            }
            hooks.push(hook(&request.client, user, name)?.group);
            let there = settings.value["hooks"]["SubagentStart"].as_array();
            let there = there.into_iter().flatten();
            old.extend(there.filter(|old| is_own_hook(old, name)).cloned());
            if old == hooks {
                (old, hooks) = (Vec::new(), Vec::new());
            }
        }
        let (rules, hooks) = (Value::from(rules), Value::from(hooks));
        let lists = [(RULES, &[][..], &rules), (HOOKS, &old, &hooks)];
        let shells = shells.iter().map(|(at, comes)| (&**at, &[][..], comes));
        let sides = lists.into_iter().chain(shells);
        let sides = sides.map(|(at, goes, comes)| Side { at, goes, comes });
        let sides: Vec<_> = sides.filter(|side| !side.is_empty()).collect();
        // Of settings that stay as they are, it does not matter whether they may be written.
        if sides.is_empty() {
            return Ok(());
        }
        let file = places.settings();
        let found = Found::at(&file)?;
        let edited = json::edit(found.text()?, &sides);
        let (new, changes) = edited.map_err(|why| {
            let lines = sides.iter().map(Side::by_hand).collect();
            SetupError::ByHand(FileError::new(&file, why), lines)
        })?;
        if changes.is_empty() {
            return Ok(());
        }
        self.edit(&file, found, Some(new), changes);
        Ok(())
    }

    /// What switches the sandbox for shells on, with the place of each in the settings. If it would
    /// not hold, the user is told why instead.
    fn shells(
        &mut self,
        user: &User<'_>,
        settings: &Settings,
        places: &Places,
        file: &PathBuf,
    ) -> Vec<(Vec<&'static str>, Value)> {
        let state = Shells::of(settings, slice::from_ref(file));
        let Some(state) = state.filter(|it| !it.are_managed && !it.lacks.is_empty()) else {
            return Vec::new();
        };
        let (path, weak) = ((user.variable)("PATH").unwrap_or_default(), state.weak);
        let why = if !weak.is_empty() {
            format!(
                "It stays as it is, since these settings let a shell past it: {weak}. Take them out, and run setup again."
            )
        } else if let Err(why) = shells::works(&path) {
            why.to_owned()
        } else {
            let text = shells::for_the_machine(places, slice::from_ref(file), user.variable);
            self.for_the_machine = Some(text);
            return state.lacks;
        };
        self.notes.push(format!("Any shell command of the main conversation can read the file. Claude Code's own sandbox would hold it. {why}"));
        Vec::new()
    }

    /// The table that the map needs. None if it is there.
    fn table(
        &mut self,
        user: &User<'_>,
        map: &Map,
        request: &Request,
        key: &str,
    ) -> Result<Option<Table>, SetupError> {
        let Request {
            client,
            name,
            agent,
            is_hook,
            file,
        } = request;
        let (kind, mut named, agent) = match client.name {
            _ if *is_hook => ("keys", key, Some(&**name)),
            PLUGIN_NAME => ("keys", PLUGIN.1, Some(PLUGIN.0)),
            _ => ("bindings", &**name, agent.as_deref()),
        };
        let caller = AgentName::in_map(name).ok().filter(|_| *is_hook);
        let mut keys = caller.map_or_else(|| map.entries(), |agent| map.entries_of(&agent));
        keys.retain(|(key, _)| kind == "keys" && (*is_hook || key.expose() == named));
        let binding = map.binding(name).filter(|_| kind == "bindings");
        if let [(_, one), (_, other), ..] = keys[..] {
            let (one, other) = (one.line(), other.line());
            return refused(format!(
                "the lines {one} and {other} of the map name this agent, and only one entry may. Take it out of the others"
            ));
        }
        let of_key = keys.first().map(|(key, entry)| (key.expose(), *entry));
        let there = of_key.or(binding.map(|found| (named, found.entry())));
        named = there.map_or(named, |(named, _)| named);
        self.target = match kind {
            "keys" => Some(Target::Key(named.to_owned())),
            _ => named.parse::<BindingName>().ok().map(Target::Bound),
        };
        let limit = client.max_bytes.map(|most| ("max_bytes", json!(most)));
        if let Some((_, entry)) = there {
            let (line, path) = (entry.line(), user.location().expand(entry.path()));
            if !path.is_some_and(|path| file.is_at(&path)) {
                return refused(format!(
                    "the map has another file under this name already, on line {line}. Choose another name, or take that away first: keyhole setup remove NAME"
                ));
            }
            return match lacks(entry, agent, client.max_bytes) {
                None => Ok(None),
                Some(lacks) => refused(format!(
                    "line {line} of the map has this name already. {lacks}"
                )),
            };
        }
        if is_elsewhere(user, map, file) {
            let name = agent.unwrap_or(name);
            self.notes.push(format!(
                "The map has this file already. Now somebody else gets it, too: {name}."
            ));
        }
        let agents = agent.map(|agent| ("agents", json!([agent])));
        let withhold = (client.is_plugin()).then(|| ("withhold", Value::from(true)));
        let fields = [("path", json!(file.written))].into_iter();
        Ok(Some(Table {
            kind,
            name: named.to_owned(),
            fields: fields.chain(agents).chain(limit).chain(withhold).collect(),
        }))
    }

    /// The table, and what `roots` need for the file.
    fn add_to_map(
        &mut self,
        user: &User<'_>,
        request: &Request,
        key: &str,
    ) -> Result<(), SetupError> {
        let (file, place) = (&request.file, user.location().file());
        let found = Found::at(place);
        self.map = match &found {
            Ok(found) => found.text()?.to_owned(),
            // Perhaps nothing is to be written there.
            Err(_) => fs::read_to_string(place).unwrap_or_default(),
        };
        let map = user.map.parse(self.map.as_bytes())?;
        let table = self.table(user, &map, request, key)?;
        let roots = map.roots();
        let is_held = roots.iter().any(|root| file::is_in(&file.real, root));
        let is_blank = map.entries().is_empty() && map.bindings().is_empty();
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
        let added = map::add(&self.map, table.as_ref(), root.as_deref());
        let (new, changes) = added.map_err(|why| {
            let root = root.map(|root| format!("among its roots: {}\n", json!(root)));
            let lines = root.unwrap_or_default();
            // Who only looks may be an agent, so a fresh key is not shown.
            let is_fresh = table.as_ref().is_some_and(|table| table.name == key);
            let table = table.map_or_else(String::new, |table| table.text("\n"));
            let how = format!(
                "what this prints: keyhole setup key FILE --agent {}\n",
                request.name
            );
            let lines = lines + if is_fresh { &how } else { &table };
            SetupError::ByHand(FileError::new(place, why), lines)
        })?;
        self.map.clone_from(&new);
        self.edit(place, found, Some(new), changes);
        Ok(())
    }

    /// The files that the client has for this server alone, and what is to be pasted.
    fn server(&mut self, user: &User<'_>, request: &Request) -> Result<(), SetupError> {
        let Request {
            client,
            name,
            agent,
            file,
            ..
        } = request;
        let names = (&**name, agent.as_deref());
        let folder = root_of(&file.real, &user.home);
        let folder = folder.as_ref().unwrap_or(&file.written);
        let filled = Filled::new(client, user, names.0, names.1)?.and_folder(folder);
        for part in &client.parts {
            let Some(to) = part.to else { continue };
            let (path, text) = (filled.place(to, &user.home), filled.fill(part.text));
            let found = Found::at(&path)?;
            let old = found.text()?.to_owned();
            let shown = shown(&path, &user.home);
            if client.audience != Audience::Session && to.ends_with(".md") && names.0 != AGENT {
                self.todo.push(format!("Change the description and the text in {shown} to what the agent is for: they look for identifiers."));
            }
            let mut new = Some(text.clone());
            if found.is_there() {
                new = renewed(user, client, part, names, (&old, &text));
            }
            let Some(new) = new else {
                return refused(format!(
                    "{} is there already, and does not start this server as setup would write it. Choose another name, or move that file away",
                    printable_text(&shown)
                ));
            };
            if old != new {
                let change = Change::between(&old, &new);
                self.edit(&path, found, Some(new), vec![change]);
            }
        }
        self.who = filled.fill(client.who);
        self.print = filled.blocks(client, |part| part.to.is_none());
        if !self.print.is_empty() {
            self.todo
                .push("Paste the texts above where they say.".to_owned());
        }
        self.print
            .extend(client.notes.iter().map(|note| filled.fill(note)));
        self.last = filled.fill(client.say);
        Ok(())
    }

    /// Whether another file has this name already: in the map, or among the client's files.
    pub fn is_taken(user: &User<'_>, client: &Client, name: &str, file: &File) -> bool {
        let map = user.map.current().ok();
        let binding = map.as_ref().and_then(|map| map.binding(name));
        let path = binding.and_then(|binding| user.location().expand(binding.entry().path()));
        let filled = Filled::new(client, user, name, None).ok();
        let is_others = |part: &Part| {
            let path = filled.as_ref()?.place(part.to?, &user.home);
            let found = Found::at(&path).ok().filter(Found::is_there)?;
            let text = found.text().unwrap_or_default();
            Some(renewed(user, client, part, (name, None), (text, text)).is_none())
        };
        let places = Places::find(&user.home, user.variable).ok();
        let places = places.filter(|_| client.is_claude_code());
        let agents = places.map(|places| agents_named(&places.claude.join("agents"), name));
        let is_others_agent = |file: &PathBuf| !file.ends_with(format!("{name}.md"));
        path.is_some_and(|path| !file.is_at(&path))
            || agents.is_some_and(|agents| agents.iter().any(is_others_agent))
            || client
                .parts
                .iter()
                .any(|part| is_others(part) == Some(true))
    }

    /// Files in a git repository are committed one day.
    fn warn_of_repositories(&mut self, file: &File) {
        let edited = self.edits.iter().map(|edit| &edit.file);
        let places = edited
            .filter(|edited| **edited != file.path)
            .chain([&file.path]);
        let found = places.filter_map(|place| Some((printable(place), repository(place)?)));
        let notes = found.map(|(place, repository)| {
            let repository = printable(&repository);
            format!("{place} lies in a git repository, {repository}: what stands there may be committed.")
        });
        let notes: Vec<_> = notes.collect();
        self.notes.extend(notes);
    }

    /// Whether nothing would change.
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// For the user: each line that comes or goes, and nothing else of a file.
    pub fn shown(&self, home: &Path) -> String {
        let mut text = String::new();
        for edit in &self.edits {
            let file = shown(&edit.file, home);
            let what = match (edit.found.is_there(), &edit.new) {
                (false, _) => " (new)",
                (_, None) => " (removed)",
                _ => "",
            };
            text += &format!("\n{}{what}\n", printable_text(&file));
            text.extend(edit.changes.iter().map(Change::shown));
        }
        text
    }

    /// The rules alone.
    pub fn shown_rules(&self) -> String {
        let changes = self.edits.iter().flat_map(|edit| &edit.changes);
        let rules = changes.filter(|change| change.place == "permissions.deny");
        rules.map(Change::shown).collect()
    }

    /// Writes it, file by file, and stops at the first that fails.
    ///
    /// # Errors
    /// [`SetupError::Stopped`]
    pub fn write(&self, home: &Path) -> Result<(), SetupError> {
        for edit in &self.edits {
            let done = edit.found.replace(edit.new.as_deref());
            done.map_err(|why| SetupError::Stopped(why, self.shown(home)))?;
        }
        disk::remove_empty(&self.folders);
        Ok(())
    }
}

/// What an entry for this file lacks, for this agent and this limit of the client.
fn lacks(entry: &Entry, agent: Option<&str>, most: Option<u64>) -> Option<String> {
    let agents = entry.agents().unwrap_or_default();
    let name = agent.and_then(|agent| AgentName::in_map(agent).ok());
    let is_named = name.is_some_and(|name| agents.iter().any(|one| one.means(&name)));
    match (agent, most) {
        (Some(agent), _) if !is_named => {
            Some(format!("Add this there: agents = [{}]", json!(agent)))
        }
        (None, _) if !agents.is_empty() => {
            Some("It is for its agents only: name one of them with --agent".to_owned())
        }
        (_, Some(most)) if entry.max_bytes() > most => {
            Some(format!("Add this there: max_bytes = {most}"))
        }
        _ => None,
    }
}

/// The agents of this name that Claude Code has in a folder of agents.
fn agents_named(folder: &Path, name: &str) -> Vec<PathBuf> {
    let is_named = |text: &str| {
        let mut names = text.lines().filter_map(|line| line.strip_prefix("name:"));
        names.any(|found| found.trim().trim_matches(['"', '\'']) == name)
    };
    let files = files(folder).into_iter().filter(|(_, text)| is_named(text));
    files.map(|(file, _)| file).collect()
}

/// Whether the map has this file already, for somebody.
fn is_elsewhere(user: &User<'_>, map: &Map, file: &File) -> bool {
    let keys = map.entries().into_iter().map(|(_, entry)| entry);
    let bindings = map
        .bindings()
        .into_iter()
        .map(|(_, binding)| binding.entry());
    let mut paths = keys
        .chain(bindings)
        .filter_map(|entry| user.location().expand(entry.path()));
    paths.any(|path| file.is_at(&path))
}

impl User<'_> {
    /// What shows that a client is here: a command, or a folder.
    pub fn sign(&self, client: &Client) -> Option<&'static str> {
        if client.is_plugin() {
            let settings = Settings::read(&self.home, self.variable, None);
            let plugins = settings.value["enabledPlugins"].as_object();
            let mut plugins = plugins.into_iter().flatten();
            if plugins.any(|(name, on)| name.starts_with("keyhole@") && *on == true) {
                return Some("~/.claude/settings.json");
            }
        }
        let path = (self.variable)("PATH").unwrap_or_default();
        let is_here = |sign: &&str| {
            let command = |folder: PathBuf| folder.is_absolute() && folder.join(sign).is_file();
            let folders = client.folders.iter();
            let moved = folders.filter_map(|(text, variable)| {
                let rest = sign.strip_prefix(text)?.trim_start_matches('/');
                Some(self.folder(text, variable).ok()?.join(rest))
            });
            match sign.strip_prefix("~/") {
                Some(rest) => moved
                    .last()
                    .unwrap_or_else(|| self.home.join(rest))
                    .is_dir(),
                None => std::env::split_paths(&path).any(command),
            }
        };
        client.here.iter().copied().find(is_here)
    }
}
