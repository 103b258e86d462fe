//! What gives somebody a file: the client's settings, the map, and files of the client.

use crate::{
    Plan, Result, SetupError, User,
    agents::agents_named,
    clients::{Audience, Client, Part},
    disk::Found,
    error::refused,
    file::{File, NEW_FILE_OF_SETUP, TEMPLATE, shown},
    json::{Change, DENY_RULES, NO_PROGRESS_VARIABLE},
    own::own_entries,
    recipe::{EXAMPLE_AGENT, Filled, Recipe},
    shells,
    shown::{lines_that_come, lines_that_go},
};
use keyhole_claude::{
    rules::Places,
    settings::{Fault, Settings, Way},
    shells::Shells,
};
use keyhole_walk::printable::printable;
use std::{path::PathBuf, slice};

// What the user is told before the question.
const REPORTS_NOT_COMPARED: &str = "What this agent reports is not compared with the file. Only the plugin takes out of its agent's reports what quotes the file.";
const NO_RULE_CAN_DENY: &str = "No rule can keep the main conversation from this file: its path has a character that nobody sees. Move it to ~/private.";
const NEIGHBOURS: &str = "The rules deny the file alone, since its folder has other things in it. So a copy beside it stays open, as an editor (~, .swp) or a synchronizer makes one, and a shell that is still running can read the file once an editor has saved it by renaming. A folder of its own is denied whole: move it to ~/private, and run setup again.";

/// What the user asks for: that one agent, one session or one client gets a file.
pub struct Request<'a> {
    /// Who asks.
    pub user: &'a User<'a>,
    /// In which client.
    pub client: Client,
    /// The binding's name; for a hook, that of the agent.
    pub name: String,
    /// The agent that the user named, which the server gets as its option `--agent`.
    pub agent: Option<String>,
    /// Whether a hook of the client gives the agent the file when it starts. Else, a server does.
    pub is_hook: bool,
    /// The file.
    pub file: File,
}

/// What is to keep the file from the main conversation of Claude Code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walls {
    /// Nothing.
    None,
    /// Deny rules.
    Rules,
    /// Deny rules, and the client's sandbox for shells.
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

    /// The way in which an agent of Claude Code gets the file, which settings may switch off. None
    /// for a hook: the user pastes that.
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
    /// The plan that gives somebody the file, as the request says. In this order:
    ///
    /// - A user's file that is not there yet is made.
    /// - In Claude Code, the settings get what `chosen.walls` says.
    /// - The map gets an entry. For a hook, that has the key `fresh_key`, unless an entry names the
    ///   hook's agent already.
    /// - What the client needs is written, or printed for the user to paste: a hook, or a server
    ///   with its agent. The plugin needs neither.
    ///
    /// # Errors
    /// If nobody would get the file by the plan, if the plan would replace what is not setup's, or
    /// if a file cannot be edited.
    pub fn install(request: &Request<'_>, fresh_key: &str, chosen: Chosen) -> Result<Self> {
        let (client, file) = (&request.client, &request.file);
        let mut plan = Self::default();
        if file.is_new {
            plan.make_file(file)?;
        }
        let mut hook = None;
        // A hook that the client cannot have is refused before any other refusal.
        if request.is_hook {
            hook = Some(request.recipe().hook(Some(file))?);
        }
        // The deny rules come first: nobody gets the file before they are written.
        if client.is_claude_code() {
            plan.edit_settings(request, chosen.walls)?;
        }
        plan.add_to_map(request, fresh_key, chosen)?;
        if let Some(hook) = hook {
            plan.who = hook.who;
            plan.print = hook.texts;
            plan.todo.push("Do what the texts above say.".to_owned());
            plan.last = hook.last;
        } else if client.is_plugin() {
            plan.who = client.who.to_owned();
            plan.last = client.say.to_owned();
        } else {
            plan.add_server(request)?;
        }
        // The plugin does compare its agent's reports: as a client, its name is `plugin`.
        if client.name == "claude-code" {
            plan.notes.push(REPORTS_NOT_COMPARED.to_owned());
        }
        plan.warn_of_repositories(&file.path);
        Ok(plan)
    }

    /// Plans to make the user's file, with an example in it.
    fn make_file(&mut self, file: &File) -> Result<()> {
        let found = Found::at(&file.path)?;
        // The user is not shown the text: it is an example, and long, and the user opens it anyway.
        self.add_edit(found, Some(TEMPLATE.to_owned()), String::new())?;
        self.todo.push(format!(
            "Write your own list into {NEW_FILE_OF_SETUP}: what stands there is an example."
        ));
        Ok(())
    }

    /// Plans to add to Claude Code's settings what they lack of this:
    ///
    /// - for the plugin, the variable that keeps the client from telling an agent's progress;
    /// - the deny rules, unless `walls` is [`Walls::None`];
    /// - the sandbox for shells, if `walls` is [`Walls::Shells`], and rules can deny the file.
    ///
    /// If the settings lack nothing, they are not edited.
    ///
    /// # Errors
    /// If the agent would get no file by these settings (`judge_faults`), if the name is another
    /// agent's (`judge_agents`), or if the settings cannot be found or edited.
    fn edit_settings(&mut self, request: &Request<'_>, walls: Walls) -> Result<()> {
        let user = request.user;
        let settings = Settings::read(&user.home, user.variable, None);
        let places = settings.places.clone()?;
        self.judge_faults(request, &settings)?;
        let mut changes = Vec::new();
        // The plugin compares what its agent reports with the file. Lines in which the client tells
        // an agent's progress would not be compared.
        if request.client.is_plugin() && settings.lets_agents_tell_progress() {
            changes.push(Change::adding(NO_PROGRESS_VARIABLE, "1"));
        }
        if walls != Walls::None {
            changes.extend(self.missing_rules(request, &settings, &places));
        }
        if walls == Walls::Shells && !self.no_rule_can_deny {
            changes.extend(self.sandbox_changes(request, &settings, &places));
        }
        self.judge_agents(request, &places)?;
        // Settings that need no change may be read-only.
        if changes.is_empty() {
            return Ok(());
        }
        self.change_settings(Found::at(&places.settings())?, &changes)
    }

    /// Judges each fault of Claude Code's settings, such as `disableAllHooks`. A fault that is not
    /// refused becomes a note, but not that the plugin is gone. If the request is for the plugin,
    /// and the client does not have it, tells the user how to install it.
    ///
    /// # Errors
    /// The text of a fault by which one of two things happens:
    /// - The agent of the request cannot get the file: the fault stops the plugin, or an agent's
    ///   own server (`request.way()`).
    /// - The client may load nothing of the user's settings.
    fn judge_faults(&mut self, request: &Request<'_>, settings: &Settings) -> Result<()> {
        let way = request.way();
        // The agent's own server, which the settings may forbid by its name.
        let mut servers = Vec::new();
        if way == Some(Way::Agent) {
            servers.push(&*request.name);
        }
        for fault in settings.faults(&servers) {
            // `ways` are what the fault stops. If it stops both the plugin and the rules, the
            // client may load nothing of the user's settings. Rules that setup adds would not
            // count.
            let loads_no_settings =
                fault.ways().contains(&Way::Plugin) && fault.ways().contains(&Way::Rules);
            let stops_agent = way.is_some_and(|way| fault.ways().contains(&way));
            if fault == Fault::PluginGone {
                // The plugin is still to be installed: see below.
                continue;
            }
            if loads_no_settings || stops_agent {
                return refused(fault.to_string());
            }
            self.notes.push(fault.to_string());
        }
        if way == Some(Way::Plugin) && !settings.has_plugin() {
            let install = "Install the plugin: type `claude plugin marketplace add FOLDER`, with the folder of the plugin's release, and then `claude plugin install keyhole@keyhole`.";
            self.todo.push(install.to_owned());
        }
        Ok(())
    }

    /// The change that adds the deny rules which the settings lack, such as
    /// `Read(~/notes/**)`: for the file, and if its agent has a server of its own, for the folder
    /// of the agent's tickets. None if the settings have all of them.
    ///
    /// Puts the rules into `self.rules`, for the question. Notes if no rule can name the file, or
    /// if a copy of the file in its folder would not be denied.
    fn missing_rules(
        &mut self,
        request: &Request<'_>,
        settings: &Settings,
        places: &Places,
    ) -> Option<Change> {
        let files = slice::from_ref(&request.file.path);
        let has_server = request.way() == Some(Way::Agent);
        let missing = places.missing(&settings.denied(), files, has_server);
        self.no_rule_can_deny = missing.no_rule_can_deny;
        if missing.no_rule_can_deny {
            self.notes.push(NO_RULE_CAN_DENY.to_owned());
        }
        if missing.has_neighbours {
            self.notes.push(NEIGHBOURS.to_owned());
        }
        if missing.rules.is_empty() {
            return None;
        }
        let change = Change::adding(DENY_RULES, missing.rules);
        self.rules = change.shown();
        Some(change)
    }

    /// The changes for the client's sandbox for shells. The first one takes out a pattern that a
    /// setup before 0.6.0 wrote, if that is there. The others switch the sandbox on, for which
    /// `has_sandbox` is set. There are no others in three cases:
    ///
    /// - Nobody can tell which settings count (`Shells::of` is None).
    /// - The settings lack nothing for the sandbox.
    /// - The sandbox would not hold shells, or cannot start. A note says why.
    fn sandbox_changes(
        &mut self,
        request: &Request<'_>,
        settings: &Settings,
        places: &Places,
    ) -> Vec<Change> {
        let files = slice::from_ref(&request.file.path);
        let program = PathBuf::from(&request.user.program.path);
        let mut changes = Vec::from_iter(shells::without_older_pattern(places, &settings.value));
        let Some(sandbox) = Shells::of(settings, files, &[program]) else {
            return changes;
        };
        if sandbox.lacks.is_empty() {
            return changes;
        }
        if let Some(why) = why_no_sandbox(&sandbox, request.user) {
            self.notes.push(format!("Any shell command of the main conversation can read the file. Claude Code's own sandbox would hold it. {why}"));
            return changes;
        }
        self.has_sandbox = true;
        for needed in sandbox.lacks {
            changes.push(Change::adding(&needed.place, needed.value));
        }
        changes
    }

    /// For an agent with a server of its own, notes where its tickets go. For a hook, notes if no
    /// file in the client's folder of agents gives the name of the hook's agent; the agent of a
    /// plugin, such as `acme:reviewer`, is not looked for. For our plugin, does nothing.
    ///
    /// # Errors
    /// For an agent `notes` with a server of its own, if a file beneath the client's folder of
    /// agents gives the name `notes`, but is not `notes.md` there.
    fn judge_agents(&mut self, request: &Request<'_>, places: &Places) -> Result<()> {
        let name = &*request.name;
        if request.way() == Some(Way::Agent) {
            let folder = printable(&request.user.tickets());
            self.notes.push(format!(
                "The folder for this agent's tickets is {folder}; it is made if it is not there."
            ));
            if is_name_of_other_file(places, name) {
                return refused(
                    "another file in the client's folder of agents has this name in it. Choose another name",
                );
            }
        }
        // A `:` is only in the name of a plugin's agent.
        let is_users = !name.contains(':');
        if request.is_hook && is_users && agents_named(&places.claude, name).is_empty() {
            let shown = &places.shown;
            self.notes.push(format!("No agent of the name {name} is in {shown}/agents. One of a project or a plugin may have it."));
        }
        Ok(())
    }

    /// Adds what the client needs for the server of this request, as the client's parts say: edits
    /// of the files that setup makes, and texts that the user pastes. Also sets who gets the file,
    /// and the last step.
    ///
    /// # Errors
    /// If the client's texts cannot be filled (`Recipe::filled`), as for a name that the client
    /// does not take; or if one of these files is there, and is not setup's (`edit_clients_file`).
    fn add_server(&mut self, request: &Request<'_>) -> Result<()> {
        let client = &request.client;
        let filled = request.recipe().filled(Some(&request.file))?;
        for part in &client.parts {
            if let Some(to) = part.to {
                self.edit_clients_file(request, part, to, &filled)?;
            }
        }
        self.who = filled.fill(client.who);
        self.print = filled.blocks(client.parts_to_paste());
        if !self.print.is_empty() {
            self.todo
                .push("Paste the texts above where they say.".to_owned());
        }
        // Notes are printed, too, but there is nothing to paste in them.
        let notes = client.notes.iter().map(|note| filled.fill(note));
        self.print.extend(notes);
        self.last = filled.fill(client.say);
        Ok(())
    }

    /// Plans to write the client's file for this part of the recipe. `to` is the file's path in the
    /// example, such as `~/.claude/agents/identifier-scanner.md`. There are four cases:
    ///
    /// - No file is there: a new one is made.
    /// - Setup wrote all of the file that is there: the file is renewed, as with another program.
    /// - Only its lines of server and hook are as setup writes them now: the file stays.
    /// - Any other file is there: an error.
    ///
    /// If the file is that of an agent with another name than `identifier-scanner`, tells the user
    /// to change the agent's task.
    ///
    /// # Errors
    /// If any other file is there (`why_not_renewed`), or one that cannot be read or must not be
    /// replaced.
    fn edit_clients_file(
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
        let shown_path = shown(&path, home);
        // Markdown is an agent's file, but not in a client that gives the file to a whole session.
        let is_agents_file = request.client.audience != Audience::Session && to.ends_with(".md");
        // The example's text has the task of `identifier-scanner`. Another name means another task.
        if is_agents_file && request.name != EXAMPLE_AGENT {
            self.todo.push(format!("Change the description and the text in {shown_path} to what the agent is for: they look for identifiers."));
        }
        let text = filled.fill(part.text);
        let new = if !found.is_there() {
            text
        } else if let Some(renewed) = request.recipe().renewed(part, &old, &text) {
            // The old text itself, if only its lines of server and hook are setup's.
            renewed
        } else {
            return refused(why_not_renewed(&shown_path, &old, &text));
        };
        if old == new {
            return Ok(());
        }
        let goes = lines_only_in(&old, &new);
        let comes = lines_only_in(&new, &old);
        let lines = lines_that_go("", &goes) + &lines_that_come("", &comes);
        self.add_edit(found, Some(new), lines)
    }

    /// Whether the request needs another name than `request.name`, such as `notes`, since one of
    /// these has the name already:
    ///
    /// - a binding of the map that is for another file;
    /// - in Claude Code, an agent whose file is not `notes.md` in the client's folder of agents;
    /// - a file of the client that setup did not write, and so would not replace.
    pub fn is_taken(request: &Request<'_>) -> bool {
        if is_bound_to_another(request) {
            return true;
        }
        if request.client.is_claude_code() {
            let places = Places::find(&request.user.home, request.user.variable);
            if places.is_ok_and(|places| is_name_of_other_file(&places, &request.name)) {
                return true;
            }
        }
        // `add_server` refuses only a file of the client that is not setup's.
        let added = Self::default().add_server(request);
        matches!(added, Err(SetupError::Refused(_)))
    }
}

/// Whether the map has a binding of the request's name for another file. False if the map cannot be
/// read.
fn is_bound_to_another(request: &Request<'_>) -> bool {
    let Ok(map) = request.user.map.current() else {
        return false;
    };
    let binding = map.binding(&request.name);
    binding.is_some_and(|binding| !request.is_for_file_of(&binding.entry))
}

/// Whether a file beneath the client's folder of agents gives its agent this name, such as `notes`,
/// but is another one than `notes.md` in that folder, such as `team/notes.md`.
fn is_name_of_other_file(places: &Places, name: &str) -> bool {
    let usual = places.claude.join("agents").join(format!("{name}.md"));
    let files = agents_named(&places.claude, name);
    files.iter().any(|file| *file != usual)
}

/// Why the client's sandbox would not hold shells, or cannot start, and what to do. None if the
/// sandbox can be used.
fn why_no_sandbox(sandbox: &Shells, user: &User<'_>) -> Option<String> {
    if !sandbox.weak.is_empty() {
        let weak = &sandbox.weak;
        return Some(format!(
            "It stays as it is, since these settings let a shell past it: {weak}. Take them out, and run setup again."
        ));
    }
    let path = (user.variable)("PATH").unwrap_or_default();
    shells::sandbox_can_start(&path).err().map(str::to_owned)
}

/// Why setup does not change a file that is there already, and what to do. `old` is the file's
/// text, and `new` what setup would write. If both start Keyhole, the lines of `new` for that are
/// in the answer.
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

/// The lines of `text` that `other` does not have, each with its line end.
fn lines_only_in(text: &str, other: &str) -> String {
    let mut lines = String::new();
    for line in text.lines() {
        if !other.lines().any(|one| one == line) {
            lines += line;
            lines.push('\n');
        }
    }
    lines
}
