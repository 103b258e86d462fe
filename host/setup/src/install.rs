//! What gives somebody a file: the client's settings, the map, and files of the client.

use crate::{
    Plan, Result, SetupError, User,
    agents::agents_named,
    clients::{Audience, Client},
    disk::Found,
    error::refused,
    file::{File, NEW, TEMPLATE, shown},
    json::{Change, RULES},
    own::own_entries,
    recipe::{AGENT, Recipe},
    shells,
    shown::lines_of,
};
use keyhole_claude::{
    rules::{Missing, Places},
    settings::{Settings, Way, switches_plugin_on},
    shells::Shells,
};
use keyhole_walk::printable::printable;
use std::slice;

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
        Recipe {
            user: self.user,
            client: &self.client,
            name: &self.name,
            agent: self.agent.as_deref(),
        }
    }

    /// The way in Claude Code that settings may switch off. None for a hook: the user pastes it.
    fn way(&self) -> Option<Way> {
        if self.is_hook {
            None
        } else if self.client.is_plugin() {
            Some(Way::Plugin)
        } else {
            Some(Way::Agent)
        }
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
            plan.settings(request, walls)?;
        }
        plan.add_to_map(request, key)?;
        if let Some(hook) = hook {
            (plan.who, plan.last) = (hook.who, hook.last);
            plan.print = hook.texts;
            plan.todo.push("Do what the texts above say.".to_owned());
        } else if client.is_plugin() {
            (plan.who, plan.last) = (client.who.to_owned(), client.say.to_owned());
        } else {
            plan.server(request)?;
        }
        if client.name == "claude-code" {
            plan.notes.push("What this agent reports is not compared with the file. Only the plugin takes out of its agent's reports what quotes the file.".to_owned());
        }
        plan.warn_of_repositories(&file.path);
        Ok(plan)
    }

    /// The rules. They come first: nobody gets what they keep back before they stand.
    fn settings(&mut self, request: &Request<'_>, walls: Walls) -> Result<()> {
        let (user, name) = (request.user, &*request.name);
        let settings = Settings::read(&user.home, user.variable, None);
        let places = settings.places.clone()?;
        let way = request.way();
        let has_server = way == Some(Way::Agent);
        for fault in settings.faults(&[name]) {
            // Rules in settings that the client does not load keep nothing back.
            let unread = [Way::Plugin, Way::Rules];
            let is_unread = unread.iter().all(|way| fault.ways().contains(way));
            let is_off = way.is_some_and(|way| fault.ways().contains(&way));
            if is_unread || is_off {
                return refused(fault.to_string());
            }
            self.notes.push(fault.to_string());
        }
        if way == Some(Way::Plugin) && !switches_plugin_on(&settings.value) {
            let install = "Install the plugin: plugin/README.md says how.";
            self.todo.push(install.to_owned());
        }
        let (denied, files) = (settings.denied(), slice::from_ref(&request.file.path));
        let mut changes = Vec::new();
        if walls != Walls::None {
            let Missing { rules, is_unnamed } = places.missing(&denied, files, has_server);
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
        let agents = || agents_named(&places.claude, name);
        if has_server {
            let folder = printable(&user.tickets());
            self.notes.push(format!(
                "The folder for this agent's tickets is {folder}; it is made if it is not there."
            ));
            if agents().iter().any(|stem| stem != name) {
                return refused(
                    "another file in the client's folder of agents has this name in it. Choose another name",
                );
            }
        }
        if request.is_hook && agents().is_empty() && !name.contains(':') {
            let shown = &places.shown;
            self.notes.push(format!("No agent of the name {name} is in {shown}/agents. One of a project or a plugin may have it."));
        }
        changes.extend(shells.flatten().unwrap_or_default());
        // Of settings that stay as they are, it does not matter whether they may be written.
        if changes.is_empty() {
            return Ok(());
        }
        self.change(Found::at(&places.settings())?, &changes)
    }

    /// What switches the sandbox for shells on. If it would not hold, the user is told why instead.
    fn shells(&mut self, by: &Request<'_>, settings: &Settings) -> Option<Vec<Change>> {
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
            self.has_sandbox = true;
            return Some(shells::changes(state.lacks));
        };
        self.notes.push(format!("Any shell command of the main conversation can read the file. Claude Code's own sandbox would hold it. {why}"));
        None
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
            let new = if found.is_there() {
                let renewed = recipe.renewed(part, &old, &text);
                renewed.map_or_else(|| refused(why_not_renewed(&shown, &old, &text)), Ok)?
            } else {
                text
            };
            if old != new {
                let lines = lines_of("", &only(&old, &new), &only(&new, &old));
                self.edit(found, Some(new), lines)?;
            }
        }
        self.who = filled.fill(client.who);
        self.print = filled.blocks(client.pasted());
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
        let places = Places::find(&user.home, user.variable).ok();
        let places = places.filter(|_| client.is_claude_code());
        let agents = places.map_or_else(Vec::new, |places| agents_named(&places.claude, name));
        let server = Self::default().server(request);
        path.is_some_and(|path| !request.file.is_at(&path))
            || agents.iter().any(|stem| stem != name)
            || matches!(server, Err(SetupError::Refused(_)))
    }
}

/// Why setup does not change a file that is there already, and what to do.
fn why_not_renewed(shown: &str, old: &str, new: &str) -> String {
    let lines = own_entries(new).join("\n");
    if own_entries(old).is_empty() || lines.is_empty() {
        return format!(
            "{shown} is there already, and does not start this server as setup would write it. Choose another name, or move that file away"
        );
    }
    format!(
        "{shown} is there already, and starts Keyhole by other lines than setup writes. Put these in their place, or move that file away, and run setup again:\n\n{lines}"
    )
}

fn only(one: &str, other: &str) -> String {
    let lines = one.lines();
    let lines = lines.filter(|line| !other.lines().any(|other| other == *line));
    lines.map(|line| format!("{line}\n")).collect()
}
