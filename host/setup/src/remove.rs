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
    shown::lines_that_go,
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

/// The name by which `remove` takes this entry of the map: that of a binding; `plugin` for the
/// plugin's key; for any other key, the one agent of its entry. None if an entry with such a key
/// has no agent or several.
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

/// What becomes of that in Claude Code's settings which no entry of the map needs any more: the
/// deny rules, and the variable that the plugin needs.
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
    /// The plan that takes away what setup wrote for this name, such as `notes` or `plugin`: tables
    /// of the map, files of clients, and with [`Rules::Go`] the rules in Claude Code's settings
    /// that no other entry needs. If no entry stays in the map, the folders for tickets go as well.
    ///
    /// What does not stand as setup writes it stays, and `todo` tells the user. So do Claude Code's
    /// settings, if they cannot be read or edited.
    ///
    /// # Errors
    /// If there is nothing to take away and nothing to tell, as for a name that nobody has; or if
    /// the map or a client's file cannot be edited.
    pub fn remove(user: &User<'_>, name: &str, fate_of_rules: Rules) -> Result<Self> {
        let mut plan = Self::default();
        let entries = plan.take_from_map(user, name)?;
        // An agent that is called like the binding is one that the user did not name. Setup adds no
        // option `--agent` for that.
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
            // The map and the clients' files can be edited all the same.
            Err(SetupError::Unfit(why)) => plan
                .todo
                .push(format!("Claude Code's settings stay as they are: {why}")),
            result => result?,
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

    /// Plans to take the entries of this name out of the map. For the name `notes`, the table
    /// `[bindings.notes]` goes. Returns what the map had: the agent of the name, the files of the
    /// entries that go, those of the entries that stay, and whether a report is compared for one of
    /// the latter. All of that is empty if there is no map.
    ///
    /// An entry of the name that does not stand as setup writes it stays, and `todo` tells the user
    /// to take it away. If no entry goes, the map is not edited.
    ///
    /// # Errors
    /// If the map cannot be read or is no valid one, or if an entry goes but the file must not be
    /// replaced.
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
                // Also if this entry stays, the clients' files for its agent may be setup's.
                entries.agent = first_agent(entry);
                if let Some(table) = take_entry(user, &mut new_map, named, entry) {
                    entries.files.extend(file);
                    gone += &table;
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
        self.add_edit(found, Some(new_map), lines_that_go("", &gone))?;
        Ok(entries)
    }

    /// Plans to remove the client's file for this part of a recipe, such as
    /// `~/.claude/agents/notes.md`, if all lines of the file are as setup writes them.
    ///
    /// A file with other lines, or a link, stays. Then `todo` tells the user what to do, if the
    /// file may still start Keyhole: it holds `--bind`, or both `load_context` and the name.
    /// Nothing is planned if no such file is there, if setup makes no file of this part, or if the
    /// client does not take the name.
    ///
    /// # Errors
    /// If the file would be removed, but must not be replaced, as one of another user.
    fn remove_clients_file(&mut self, recipe: Recipe<'_>, part: &Part) -> Result<()> {
        let Recipe { user, name, .. } = recipe;
        let Some(found) = clients_file(recipe, part) else {
            return Ok(());
        };
        let text = found.text().unwrap_or_default().to_owned();
        let Some(written) = recipe.as_setup_writes(part, &text) else {
            return Ok(());
        };
        let path = shown(&found.named, &user.home);
        let is_link = found.named.is_symlink();
        // Line by line, since an editor may have written other line ends.
        if !is_link && text.lines().eq(written.lines()) {
            // None: the file is removed.
            return self.add_edit(found, None, lines_that_go("", &text));
        }
        let entries = own_entries(&text);
        // Such as a policy of Gemini CLI, which names the server and the tool.
        let names_tool = text.contains(name) && text.contains("load_context");
        if !is_link && !entries.is_empty() && path.ends_with(".md") {
            let keys: Vec<&str> = entries.iter().map(|entry| key(entry)).collect();
            let own_keys = keys.join(" and ");
            self.todo.push(format!("{path} was changed since setup wrote it, and stays: take {own_keys} out of it yourself, by which it starts Keyhole."));
        } else if names_tool || text.contains("--bind") {
            self.todo.push(format!("{path} is a link, or is not as setup wrote it, and stays: look whether it still starts Keyhole, and take it away yourself."));
        }
        Ok(())
    }

    /// Puts into `self.rules` the lines of Claude Code's settings that no other entry of the map
    /// needs: deny rules; and if `name` is `plugin`, the variable that keeps the client from
    /// telling an agent's progress, if it is `"1"` as setup writes it. With [`Rules::Go`], also
    /// plans to take these lines out.
    ///
    /// The sandbox for shells is never switched off. If it is on, and no entry stays in the map,
    /// `todo` says how to switch it off.
    ///
    /// # Errors
    /// If the settings are no JSON, or cannot be found, read or edited.
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
            let path = shown(&file, &user.home);
            self.todo.push(format!("Claude Code's sandbox for shells stays on. To switch it off, take `sandbox` out of {path}, and the rules there that begin with Edit."));
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

/// Takes the table of this entry out of the text of the `map`, and returns the table, such as
/// `[bindings.notes]` with its lines.
///
/// None in two cases, in which the map stays as it is:
/// - The entry has a key that setup does not make: not the plugin's, and not `k-` and 32
///   hexadecimal digits.
/// - The table's text is not exactly what setup writes for these values, as with a comment in it,
///   or with fields in another order. `map::without_table` has further reasons.
fn take_entry(
    user: &User<'_>,
    map: &mut String,
    named: Named<'_>,
    entry: &Entry,
) -> Option<String> {
    if !has_name_of_setup(named) {
        return None;
    }
    let agents: Vec<&str> = entry
        .agents
        .iter()
        .flatten()
        .map(|agent| &**agent)
        .collect();
    // An entry without `max_bytes` has the usual limit, so its value does not tell whether the
    // table has the line. Both texts are tried.
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
        if let Some(without_table) = map::without_table(map, &table) {
            *map = without_table;
            return Some(table);
        }
    }
    None
}

/// The folders in which an entry's values may be published, as a user writes them: `~/src`.
fn folders_in(entry: &Entry, home: &Path) -> Option<Vec<String>> {
    let folders = entry.publish_only_in.as_deref()?.iter();
    Some(folders.map(|folder| shown(folder, home)).collect())
}

/// The client's file that setup makes of this part. None if setup makes none of it, if no file is
/// there or it cannot be read, or if the client does not take the recipe's name.
fn clients_file(recipe: Recipe<'_>, part: &Part) -> Option<Found> {
    // The file's path has neither the program nor the folder for tickets in it: both are left
    // empty.
    let filled = recipe.filled_with("", Some("")).ok()?;
    let place = filled.place(part.to?, &recipe.user.home);
    Found::at(&place).ok().filter(Found::is_there)
}

/// The deny rules of these settings that setup writes for the files of entries that go, and does
/// not write for the files of entries that stay.
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

/// All rules that setup writes for these files, if agents with servers of their own get them.
fn all_rules(places: &Places, files: &[PathBuf]) -> Vec<String> {
    places.missing(&Denied::default(), files, true).rules
}

/// The rules that setup writes whatever the file is: for transcripts of agents, and what tasks
/// print. The rules for our own programs are left out.
fn rules_of_transcripts(places: &Places) -> Vec<String> {
    let mut rules = places.missing(&Denied::default(), &[], false).rules;
    rules.retain(|rule| !rule.contains("keyhole"));
    rules
}

/// The text that tells the user to delete the transcripts of agents before their rules. None if no
/// session has a folder `subagents`: then there are no transcripts.
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
