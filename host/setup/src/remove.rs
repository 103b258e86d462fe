//! What setup takes away: what it would write for this name, wherever that stands.

use crate::{
    EditError, Plan, Result, SetupError, Unfit, User,
    clients::{PLUGIN_NAME, Part, all},
    disk::Found,
    error::refused,
    file::shown,
    json::{Change, DENY_RULES, NO_PROGRESS_VARIABLE},
    map::{self, Named, NewEntry, all_entries},
    own::{key, own_entries},
    recipe::Recipe,
    shown::lines_of,
};
use keyhole_claude::{
    PLUGIN,
    rules::{Denied, Places},
    settings::{self, pointer},
};
use keyhole_core::{Entry, Table};
use keyhole_walk::printable::printable;
use serde_json::Value;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// The names that `remove` takes: those of bindings, of agents with a key, and `plugin`.
pub fn removable_names(user: &User<'_>) -> Result<Vec<String>> {
    let mut names = BTreeSet::new();
    if let Some(map) = user.map_now()? {
        for (named, entry) in all_entries(&map) {
            if has_name_of_setup(named) {
                names.extend(name_to_remove(named, entry).map(str::to_owned));
            }
        }
    }
    Ok(names.into_iter().collect())
}

/// The name by which `remove` takes this entry of the map.
fn name_to_remove<'a>(named: Named<'a>, entry: &'a Entry) -> Option<&'a str> {
    match entry.agents.as_deref() {
        _ if named.table == Table::Binding => Some(named.name),
        _ if named.name == PLUGIN.key => Some(PLUGIN_NAME),
        Some([agent]) => Some(&**agent),
        _ => None,
    }
}

/// Whether setup may have made this name: it is a binding's, the plugin's key, or like a fresh key.
fn has_name_of_setup(named: Named<'_>) -> bool {
    named.table == Table::Binding || named.name == PLUGIN.key || is_like_fresh_key(named.name)
}

/// Whether a key looks like those that setup makes.
fn is_like_fresh_key(key: &str) -> bool {
    let digits = key.strip_prefix("k-").unwrap_or_default();
    digits.len() == 32 && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// What becomes of the rules, and of the plugin's variable, that no entry of the map needs any
/// more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// They stay.
    Stay,
    /// They are taken out of the client's settings.
    Go,
}

/// What the map had before a name is taken away from it.
#[derive(Default)]
struct Entries {
    /// The agent that the last entry of the name names first. None if that names none.
    agent: Option<String>,
    /// The files of the entries that go.
    files: Vec<PathBuf>,
    /// The files of the entries that stay: those of other names, and those of this name that are
    /// not as setup writes them.
    kept_files: Vec<PathBuf>,
    /// Whether the plugin compares its agent's reports with the file of an entry that stays.
    is_report_compared: bool,
}

impl Plan {
    /// The plan that takes away what is recognizably setup's for a name: tables of the map, files
    /// of clients, and with [`Rules::Go`] the rules in Claude Code's settings that no entry needs
    /// any more. If these settings cannot be edited, they stay, and the user is told. If the map
    /// has no entry of another name, the folders for tickets are removed as well.
    ///
    /// # Errors
    /// If nothing of the name is setup's, or if the map or a client's file cannot be edited.
    pub fn remove(user: &User<'_>, name: &str, fate_of_rules: Rules) -> Result<Self> {
        let mut plan = Self::default();
        let entries = plan.take_from_map(user, name)?;
        // An agent of the same name is one that the user did not say: setup's files do not say it
        // either.
        let agent = entries.agent.as_deref().filter(|agent| *agent != name);
        for client in all() {
            for part in &client.parts {
                let recipe = Recipe {
                    user,
                    client: &client,
                    name,
                    agent,
                };
                plan.remove_clients_file(recipe, part)?;
            }
        }
        match plan.take_from_settings(user, name, &entries, fate_of_rules) {
            Err(SetupError::Unfit(why)) => plan
                .todo
                .push(format!("Claude Code's settings stay as they are: {why}")),
            taken => taken?,
        }
        if plan.is_empty() && plan.todo.is_empty() && plan.rules.is_empty() {
            return refused(
                "nothing of this name is recognizably setup's; `keyhole setup remove` lists the names",
            );
        }
        if entries.kept_files.is_empty() {
            let tickets = user.tickets();
            plan.folders_to_remove = vec![tickets.join("tickets"), tickets];
        }
        plan.last = "The file itself is still there, and so is what you pasted into a client. Restart the client.".to_owned();
        Ok(plan)
    }

    /// Takes the tables of this name out of the map, if they are as setup writes them. Any other
    /// table of the name stays, and the user is told to take it away. Returns what the map had: of
    /// the tables that go, the files and the agent; of all tables that stay, the files, and whether
    /// reports are compared with one of these. Without a map, all of this is empty.
    ///
    /// # Errors
    /// If the map cannot be used, or is to be edited and must not be replaced.
    fn take_from_map(&mut self, user: &User<'_>, name: &str) -> Result<Entries> {
        let mut entries = Entries::default();
        if user.map_now()?.is_none() {
            return Ok(entries);
        }
        let place = &user.map.location.file;
        let found = Found::at(place)?;
        let text = found.text()?;
        let map = user.map.parse(text.as_bytes())?;
        let mut new_map = text.to_owned();
        let mut gone = String::new();
        for (named, entry) in all_entries(&map) {
            let file = user.map.location.expand(&entry.path);
            if name_to_remove(named, entry) == Some(name) {
                // Also if this entry stays: setup may have written the agent's file.
                entries.agent = first_agent(entry);
                if let Some(taken) = without_entry(user, &new_map, named, entry) {
                    entries.files.extend(file);
                    gone += &taken.table;
                    new_map = taken.rest;
                    continue;
                }
                let (line, shown) = (entry.line, printable(place));
                self.todo.push(format!("Line {line} of the map, {shown}, is not as setup writes it. Take that entry away yourself."));
            }
            // The entry stays, under whatever name, so its file still needs its rules.
            entries.kept_files.extend(file);
            entries.is_report_compared |= entry.withhold;
        }
        if gone.is_empty() {
            return Ok(entries);
        }
        if !map.roots().is_empty() {
            self.notes.push("The map's roots stay. Take the folder away from them yourself if nothing else needs it.".to_owned());
        }
        // The user is shown the tables that go. No line comes.
        self.add_edit(found, Some(new_map), lines_of("", &gone, ""))?;
        Ok(entries)
    }

    /// Plans to remove the client's file for this part, if all of its lines are as setup writes
    /// them. If they are not, or if the file is a link, it stays; and if it may still start
    /// Keyhole, the user is told what to do. Does nothing if no file is there, or if the client
    /// does not take the recipe's name: then setup wrote none.
    ///
    /// # Errors
    /// If the file would be removed, but `why_not_replaced` says that it must not be.
    fn remove_clients_file(&mut self, recipe: Recipe<'_>, part: &Part) -> Result<()> {
        let Recipe { user, name, .. } = recipe;
        let Some(found) = clients_file(recipe, part) else {
            return Ok(());
        };
        let text = found.text().unwrap_or_default().to_owned();
        let Some(written) = recipe.as_setup_writes(part, &text) else {
            return Ok(());
        };
        let shown = shown(&found.named, &user.home);
        let is_link = found.named.is_symlink();
        // By lines, as an editor may have given it other line ends.
        if !is_link && text.lines().eq(written.lines()) {
            // The user is shown all lines of the file as those that go.
            return self.add_edit(found, None, lines_of("", &text, ""));
        }
        let entries = own_entries(&text);
        let calls_server = text.contains(name) && text.contains("load_context");
        if !is_link && !entries.is_empty() && shown.ends_with(".md") {
            let keys: Vec<&str> = entries.iter().map(|entry| key(entry)).collect();
            let own_keys = keys.join(" and ");
            self.todo.push(format!("{shown} was changed since setup wrote it, and stays: take {own_keys} out of it yourself, by which it starts Keyhole."));
        } else if calls_server || text.contains("--bind") {
            self.todo.push(format!("{shown} is a link, or is not as setup wrote it, and stays: look whether it still starts Keyhole, and take it away yourself."));
        }
        Ok(())
    }

    /// Plans to take out of Claude Code's settings what setup wrote there and no other entry needs:
    /// deny rules; and if the name is the plugin's, the variable against progress lines. With
    /// [`Rules::Stay`], only shows in `self.rules` what would go. Rules for the transcripts of
    /// agents stay as long as a session has transcripts of agents.
    ///
    /// Tells the user if the sandbox for shells stays on though no entry needs it, or if rules for
    /// transcripts stay.
    ///
    /// # Errors
    /// If the settings are no JSON, or cannot be edited.
    fn take_from_settings(
        &mut self,
        user: &User<'_>,
        name: &str,
        entries: &Entries,
        fate_of_rules: Rules,
    ) -> Result<()> {
        let places = Places::find(&user.home, user.variable)?;
        let file = places.settings();
        let found = Found::at(&file)?;
        let Ok(value) = settings::json(found.text()?) else {
            return Err(Unfit::file(&file, EditError::Syntax("JSON")).into());
        };
        if entries.kept_files.is_empty() && value["sandbox"]["enabled"] == true {
            let shown = shown(&file, &user.home);
            self.todo.push(format!("Claude Code's sandbox for shells stays on. To switch it off, take `sandbox` out of {shown}, and the rules there that begin with Edit."));
        }
        let mut changes = Vec::new();
        // The variable is needed as long as reports are compared with a file. If it has another
        // value than "1", somebody else set it.
        if name == PLUGIN_NAME
            && !entries.is_report_compared
            && value.pointer(&pointer(NO_PROGRESS_VARIABLE)) == Some(&"1".into())
        {
            changes.push(Change::taking_out(NO_PROGRESS_VARIABLE, "1"));
        }
        let rules = self.rules_to_take_out(&places, &value, entries);
        if !rules.is_empty() {
            changes.push(Change::taking_out(DENY_RULES, rules));
        }
        self.rules = changes.iter().map(Change::shown).collect();
        match fate_of_rules {
            Rules::Stay => Ok(()),
            Rules::Go => self.change_settings(found, &changes),
        }
    }

    /// The deny rules of these `settings` that go: those for the files of the entries that go, and
    /// if no entry stays, also those that setup writes for any file. Empty if there are none.
    ///
    /// - If a session has transcripts of agents, the rules for transcripts are left out, and the
    ///   user is told.
    /// - If rules go, but the map does not say for which file, a note says that one may stay.
    fn rules_to_take_out(
        &mut self,
        places: &Places,
        settings: &Value,
        entries: &Entries,
    ) -> Vec<String> {
        let mut rules = unneeded_rules(places, settings, entries);
        let of_transcripts = rules_of_transcripts(places);
        let has_rule_of_transcripts = rules.iter().any(|rule| of_transcripts.contains(rule));
        if has_rule_of_transcripts && let Some(todo) = todo_if_transcripts_stay(places) {
            self.todo.push(todo);
            rules.retain(|rule| !of_transcripts.contains(rule));
        }
        if entries.files.is_empty() && !rules.is_empty() {
            self.notes.push("A rule that names your file may stay in permissions.deny: the map says no more which file it was. If the map is only elsewhere now, keep the rules.".to_owned());
        }
        rules
    }
}

/// The first agent that an entry names.
fn first_agent(entry: &Entry) -> Option<String> {
    let agents = entry.agents.as_deref()?;
    agents.first().map(|agent| (**agent).to_owned())
}

/// A map without one of its tables.
struct Taken {
    rest: String,
    table: String,
}

/// The map without the table of this entry, and that table. None if the entry's name is none that
/// setup makes (`has_name_of_setup`), or if the table does not stand in the map as setup writes it,
/// without `max_bytes` or with it.
fn without_entry(user: &User<'_>, map: &str, named: Named<'_>, entry: &Entry) -> Option<Taken> {
    if !has_name_of_setup(named) {
        return None;
    }
    let agents: Vec<&str> = entry
        .agents
        .iter()
        .flatten()
        .map(|agent| &**agent)
        .collect();
    for limit in [None, Some(entry.max_bytes)] {
        let written = NewEntry {
            named,
            path: &entry.path,
            agents: &agents,
            max_bytes: limit,
            withhold: entry.withhold,
            publish_only_in: folders_in(entry, &user.home),
        };
        let table = written.text();
        if let Some(rest) = map::without_table(map, &table) {
            return Some(Taken { rest, table });
        }
    }
    None
}

/// The folders in which an entry's values may be published, as a user writes them: `~/src`.
fn folders_in(entry: &Entry, home: &Path) -> Option<Vec<String>> {
    let folders = entry.publish_only_in.as_deref()?.iter();
    Some(folders.map(|folder| shown(folder, home)).collect())
}

/// The file of a part, if it is there.
fn clients_file(recipe: Recipe<'_>, part: &Part) -> Option<Found> {
    let filled = recipe.filled_with("", Some("")).ok()?;
    let place = filled.place(part.to?, &recipe.user.home);
    Found::at(&place).ok().filter(Found::is_there)
}

/// The rules of these settings that the name's files need, and no file of others.
fn unneeded_rules(places: &Places, settings: &Value, entries: &Entries) -> Vec<String> {
    let wanted = all_rules(places, &entries.files);
    let mut needed = Vec::new();
    if !entries.kept_files.is_empty() {
        needed = all_rules(places, &entries.kept_files);
    }
    let mut rules = Denied::of([settings]).into_rules();
    rules.retain(|rule| wanted.contains(rule) && !needed.contains(rule));
    rules
}

/// All rules that setup would write for these files.
fn all_rules(places: &Places, files: &[PathBuf]) -> Vec<String> {
    places.missing(&Denied::default(), files, true).rules
}

/// The rules for transcripts of agents, without those for our own programs.
fn rules_of_transcripts(places: &Places) -> Vec<String> {
    let mut rules = places.missing(&Denied::default(), &[], false).rules;
    rules.retain(|rule| !rule.contains("keyhole"));
    rules
}

/// What to do if transcripts of agents are still there, with what the agents read: then their
/// rules stay. None if no session has any.
fn todo_if_transcripts_stay(places: &Places) -> Option<String> {
    let projects = inside(places.claude.join("projects"));
    let mut sessions = projects.flat_map(inside);
    if !sessions.any(|session| session.join("subagents").is_dir()) {
        return None;
    }
    let folder = printable(&places.claude);
    Some(format!(
        "The rules for conversations of agents stay, since these are still there, with what the agents read. Delete {folder}/projects/*/*/subagents, and then the rules, if you want."
    ))
}

/// What is in a folder. Nothing if it cannot be read.
fn inside(folder: PathBuf) -> impl Iterator<Item = PathBuf> {
    let found = fs::read_dir(folder).into_iter().flatten().flatten();
    found.map(|found| found.path())
}
