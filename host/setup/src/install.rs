//! What gives somebody a file: the client's settings, the map, and files of the client.

use crate::{
    Plan, Result, SetupError, User,
    agents::agents_named,
    clients::{Audience, Client, Part},
    disk::Found,
    error::refused,
    file::{File, NEW, TEMPLATE, shown},
    json::{Change, PROGRESS, RULES},
    own::own_entries,
    recipe::{AGENT, Filled, Recipe},
    shells,
    shown::lines_of,
};
use keyhole_claude::{
    rules::{Missing, Places},
    settings::{Settings, Way},
    shells::Shells,
};
use keyhole_walk::printable::printable;
use std::{path::PathBuf, slice};

const NOT_COMPARED: &str = "What this agent reports is not compared with the file. Only the plugin takes out of its agent's reports what quotes the file.";
const UNNAMED: &str = "No rule can keep the main conversation from this file: its path has a character that nobody sees. Move it to ~/private.";
const NEIGHBOURS: &str = "The rules deny the file alone, since its folder has other things in it. So a copy beside it stays open, as an editor (~, .swp) or a synchronizer makes one. A folder of its own is denied whole: move it to ~/private, and run setup again.";

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

/// What the user wants of all that setup offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// What keeps the file from the main conversation.
    pub walls: Walls,
    /// Whether the client is to ask before it publishes something of the file. Only the plugin
    /// can ask.
    pub is_gated: bool,
}

impl Chosen {
    /// All of it.
    pub const ALL: Self = Self {
        walls: Walls::Shells,
        is_gated: true,
    };
}

impl Request<'_> {
    /// What the client needs for this request.
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
    pub fn install(request: &Request<'_>, key: &str, chosen: Chosen) -> Result<Self> {
        let (client, file) = (&request.client, &request.file);
        let mut plan = Self::default();
        if file.is_new {
            plan.make_file(file)?;
        }
        let mut hook = None;
        if request.is_hook {
            hook = Some(request.recipe().hook(Some(file))?);
        }
        // The rules come first: nobody gets what they keep back before they stand.
        if client.is_claude_code() {
            plan.settings(request, chosen.walls)?;
        }
        plan.add_to_map(request, key, chosen)?;
        if let Some(hook) = hook {
            plan.who = hook.who;
            plan.print = hook.texts;
            plan.todo.push("Do what the texts above say.".to_owned());
            plan.last = hook.last;
        } else if client.is_plugin() {
            plan.who = client.who.to_owned();
            plan.last = client.say.to_owned();
        } else {
            plan.server(request)?;
        }
        if client.name == "claude-code" {
            plan.notes.push(NOT_COMPARED.to_owned());
        }
        plan.warn_of_repositories(&file.path);
        Ok(plan)
    }

    /// Makes the user's file, with an example in it.
    fn make_file(&mut self, file: &File) -> Result<()> {
        let found = Found::at(&file.path)?;
        // The user is not shown the text: it is an example, and long, and the user opens it anyway.
        self.edit(found, Some(TEMPLATE.to_owned()), String::new())?;
        self.todo.push(format!(
            "Write your own list into {NEW}: what stands there is an example."
        ));
        Ok(())
    }

    /// What Claude Code's settings lack for these walls.
    fn settings(&mut self, request: &Request<'_>, walls: Walls) -> Result<()> {
        let user = request.user;
        let settings = Settings::read(&user.home, user.variable, None);
        let places = settings.places.clone()?;
        self.judge_faults(request, &settings)?;
        let mut changes = Vec::new();
        // The plugin compares what its agent reports.
        if request.client.is_plugin() && settings.lets_agents_tell_progress() {
            changes.push(Change::new(PROGRESS, Vec::new(), "1"));
        }
        if walls != Walls::None {
            changes.extend(self.missing_rules(request, &settings, &places));
        }
        if walls == Walls::Shells && !self.is_unnamed {
            changes.extend(self.sandbox(request, &settings, &places));
        }
        self.judge_agents(request, &places)?;
        // Of settings that stay as they are, it does not matter whether they may be written.
        if changes.is_empty() {
            return Ok(());
        }
        self.change(Found::at(&places.settings())?, &changes)
    }

    /// Refuses a way that is switched off, and rules that nobody reads. Notes other faults.
    fn judge_faults(&mut self, request: &Request<'_>, settings: &Settings) -> Result<()> {
        let way = request.way();
        let mut servers = Vec::new();
        if way == Some(Way::Agent) {
            servers.push(&*request.name);
        }
        for fault in settings.faults(&servers) {
            // A fault that stops both the plugin and the rules means that the client may load
            // nothing of the user's settings. Rules that setup adds there would keep nothing back.
            let is_unread =
                fault.ways().contains(&Way::Plugin) && fault.ways().contains(&Way::Rules);
            let is_off = way.is_some_and(|way| fault.ways().contains(&way));
            if is_unread || is_off {
                return refused(fault.to_string());
            }
            self.notes.push(fault.to_string());
        }
        if way == Some(Way::Plugin) && !settings.switch_plugin_on() {
            let install = "Install the plugin: type `claude plugin marketplace add FOLDER`, with the folder of the plugin's release, and then `claude plugin install keyhole@keyhole`.";
            self.todo.push(install.to_owned());
        }
        Ok(())
    }

    /// The rules that the settings lack for the file.
    fn missing_rules(
        &mut self,
        request: &Request<'_>,
        settings: &Settings,
        places: &Places,
    ) -> Option<Change> {
        let files = slice::from_ref(&request.file.path);
        let has_server = request.way() == Some(Way::Agent);
        let Missing {
            rules,
            is_unnamed,
            has_neighbours,
        } = places.missing(&settings.denied(), files, has_server);
        self.is_unnamed = is_unnamed;
        if is_unnamed {
            self.notes.push(UNNAMED.to_owned());
        }
        if has_neighbours {
            self.notes.push(NEIGHBOURS.to_owned());
        }
        if rules.is_empty() {
            return None;
        }
        let change = Change::new(RULES, Vec::new(), rules);
        self.rules = change.shown();
        Some(change)
    }

    /// What switches the sandbox for shells on. If it would not hold, the user is told why instead.
    fn sandbox(
        &mut self,
        request: &Request<'_>,
        settings: &Settings,
        places: &Places,
    ) -> Vec<Change> {
        let files = slice::from_ref(&request.file.path);
        let program = PathBuf::from(&request.user.program.path);
        let mut changes = Vec::from_iter(shells::of_older(places, &settings.value));
        let Some(state) = Shells::of(settings, files, &[program]) else {
            return changes;
        };
        if state.lacks.is_empty() {
            return changes;
        }
        if let Some(why) = why_no_sandbox(&state, request.user) {
            self.notes.push(format!("Any shell command of the main conversation can read the file. Claude Code's own sandbox would hold it. {why}"));
            return changes;
        }
        self.has_sandbox = true;
        changes.extend(shells::changes(state.lacks));
        changes
    }

    /// Refuses a name that another agent's file has, and says where tickets go; or notes that no
    /// agent has a hook's name.
    fn judge_agents(&mut self, request: &Request<'_>, places: &Places) -> Result<()> {
        let name = &*request.name;
        if request.way() == Some(Way::Agent) {
            let folder = printable(&request.user.tickets());
            self.notes.push(format!(
                "The folder for this agent's tickets is {folder}; it is made if it is not there."
            ));
            if has_another_agent(places, name) {
                return refused(
                    "another file in the client's folder of agents has this name in it. Choose another name",
                );
            }
        }
        let is_users = !name.contains(':');
        if request.is_hook && is_users && agents_named(&places.claude, name).is_empty() {
            let shown = &places.shown;
            self.notes.push(format!("No agent of the name {name} is in {shown}/agents. One of a project or a plugin may have it."));
        }
        Ok(())
    }

    /// What the client needs for this server: files, texts to paste, who gets the file, and the
    /// last step.
    fn server(&mut self, request: &Request<'_>) -> Result<()> {
        let client = &request.client;
        let filled = request.recipe().filled(Some(&request.file))?;
        for part in &client.parts {
            if let Some(to) = part.to {
                self.client_file(request, part, to, &filled)?;
            }
        }
        self.who = filled.fill(client.who);
        self.print = filled.blocks(client.parts_to_paste());
        if !self.print.is_empty() {
            let paste = "Paste the texts above where they say.";
            self.todo.push(paste.to_owned());
        }
        // Notes are printed, too, but there is nothing to paste in them.
        let notes = client.notes.iter().map(|note| filled.fill(note));
        self.print.extend(notes);
        self.last = filled.fill(client.say);
        Ok(())
    }

    /// One file of the client, `to`, which is made or brought to what it is to be now. It is
    /// refused if something else is there.
    fn client_file(
        &mut self,
        request: &Request<'_>,
        part: &Part,
        to: &str,
        filled: &Filled,
    ) -> Result<()> {
        let home = &request.user.home;
        let path = filled.place(to, home);
        let found = Found::at(&path)?;
        let old = found.text()?.to_owned();
        let shown = shown(&path, home);
        let is_agent = request.client.audience != Audience::Session && to.ends_with(".md");
        // The example's text is for an agent of this name. Another name means another task.
        if is_agent && request.name != AGENT {
            self.todo.push(format!("Change the description and the text in {shown} to what the agent is for: they look for identifiers."));
        }
        let text = filled.fill(part.text);
        let new = if !found.is_there() {
            text
        } else if let Some(renewed) = request.recipe().renewed(part, &old, &text) {
            renewed
        } else {
            return refused(why_not_renewed(&shown, &old, &text));
        };
        if old == new {
            return Ok(());
        }
        let goes = only(&old, &new);
        let comes = only(&new, &old);
        let lines = lines_of("", &goes, &comes);
        self.edit(found, Some(new), lines)
    }

    /// Whether another file has this name already: in the map, or among the client's files.
    pub fn is_taken(request: &Request<'_>) -> bool {
        if is_bound_to_another(request) {
            return true;
        }
        if request.client.is_claude_code() {
            let places = Places::find(&request.user.home, request.user.variable);
            if places.is_ok_and(|places| has_another_agent(&places, &request.name)) {
                return true;
            }
        }
        let server = Self::default().server(request);
        matches!(server, Err(SetupError::Refused(_)))
    }
}

/// Whether the map has a binding of this name for another file.
fn is_bound_to_another(request: &Request<'_>) -> bool {
    let map = &request.user.map;
    let Ok(current) = map.current() else {
        return false;
    };
    let Some(binding) = current.binding(&request.name) else {
        return false;
    };
    let path = map.location.expand(&binding.entry.path);
    path.is_some_and(|path| !request.file.is_at(&path))
}

/// Whether an agent has this name whose file is called otherwise.
fn has_another_agent(places: &Places, name: &str) -> bool {
    let stems = agents_named(&places.claude, name);
    stems.iter().any(|stem| stem != name)
}

/// Why the client's sandbox would not hold shells, and what to do. None if it would.
fn why_no_sandbox(state: &Shells, user: &User<'_>) -> Option<String> {
    if !state.weak.is_empty() {
        let weak = &state.weak;
        return Some(format!(
            "It stays as it is, since these settings let a shell past it: {weak}. Take them out, and run setup again."
        ));
    }
    let path = (user.variable)("PATH").unwrap_or_default();
    shells::works(&path).err().map(str::to_owned)
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

/// The lines of a text that the other does not have.
fn only(text: &str, other: &str) -> String {
    let mut lines = String::new();
    for line in text.lines() {
        if !other.lines().any(|one| one == line) {
            lines += line;
            lines.push('\n');
        }
    }
    lines
}
