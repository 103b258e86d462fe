//! What setup takes away: what it would write for this name, wherever that stands.

use crate::{
    EditError, Plan, Result, SetupError, Unfit, User,
    clients::{PLUGIN_NAME, Part, all},
    disk::Found,
    error::refused,
    file::shown,
    json::{Change, RULES},
    map::{self, Named, NewEntry, all_of},
    own::{key, own_entries},
    recipe::Recipe,
    shown::lines_of,
};
use keyhole_claude::{
    PLUGIN,
    rules::{Denied, Places},
    settings,
};
use keyhole_core::{Entry, Table};
use keyhole_walk::printable::printable;
use serde_json::{Value, json};
use std::{collections::BTreeSet, fs, path::PathBuf};

/// The names that `remove` takes: those of bindings, of agents with a key, and `plugin`.
pub fn names(user: &User<'_>) -> Result<Vec<String>> {
    let map = user.map_now()?;
    let all = map.iter().flat_map(|map| all_of(map));
    let own = all.filter(|(named, _)| is_made(*named));
    let names = own.filter_map(|(named, entry)| name_of(named, entry));
    let names: BTreeSet<_> = names.map(str::to_owned).collect();
    Ok(names.into_iter().collect())
}

/// The name by which `remove` takes this entry of the map.
fn name_of<'a>(named: Named<'a>, entry: &'a Entry) -> Option<&'a str> {
    match entry.agents.as_deref() {
        _ if named.table == Table::Binding => Some(named.name),
        _ if named.name == PLUGIN.1 => Some(PLUGIN_NAME),
        Some([agent]) => Some(&**agent),
        _ => None,
    }
}

/// Whether the name of this entry can be one that setup wrote.
fn is_made(named: Named<'_>) -> bool {
    let rest = named.name.strip_prefix("k-").unwrap_or_default();
    let is_fresh = rest.len() == 32 && rest.bytes().all(|byte| byte.is_ascii_hexdigit());
    named.table == Table::Binding || named.name == PLUGIN.1 || is_fresh
}

/// What becomes of the rules that no entry of the map needs any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// They stay.
    Stay,
    /// They are taken out of the client's settings.
    Go,
}

/// What the map has for a name, and for others.
#[derive(Default)]
struct Entries {
    agent: Option<String>,
    /// The files that its entries have.
    files: Vec<PathBuf>,
    /// Those that others have.
    others: Vec<PathBuf>,
}

impl Plan {
    /// What takes away all that is recognizably setup's for a name.
    ///
    /// # Errors
    /// If nothing is, or a file cannot be edited.
    pub fn remove(user: &User<'_>, name: &str, rules: Rules) -> Result<Self> {
        let mut plan = Self::default();
        let entries = plan.take_from_map(user, name)?;
        // Whose name is said has files of that name.
        let agent = entries.agent.as_deref().filter(|agent| *agent != name);
        for client in all() {
            for part in &client.parts {
                let recipe = Recipe {
                    user,
                    client: &client,
                    name,
                    agent,
                };
                plan.take_part(recipe, part)?;
            }
        }
        match plan.take_from_settings(user, &entries, rules) {
            Err(SetupError::Unfit(why)) => {
                let stays = format!("Claude Code's settings stay as they are: {why}");
                plan.todo.push(stays);
            }
            taken => taken?,
        }
        if plan.is_empty() && plan.todo.is_empty() && plan.rules.is_empty() {
            return refused(
                "nothing of this name is recognizably setup's; `keyhole setup remove` lists the names",
            );
        }
        if entries.others.is_empty() {
            let tickets = user.tickets();
            plan.folders = vec![tickets.join("tickets"), tickets];
        }
        plan.last = "The file itself is still there, and so is what you pasted into a client. Restart the client.".to_owned();
        Ok(plan)
    }

    fn take_from_map(&mut self, user: &User<'_>, name: &str) -> Result<Entries> {
        let mut entries = Entries::default();
        if user.map_now()?.is_none() {
            return Ok(entries);
        }
        let place = &user.map.location.file;
        let found = Found::at(place)?;
        let text = found.text()?;
        let map = user.map.parse(text.as_bytes())?;
        let (mut new, mut gone) = (text.to_owned(), String::new());
        for (named, entry) in all_of(&map) {
            let is_it = name_of(named, entry) == Some(name);
            let agents = entry.agents.as_deref().unwrap_or_default();
            let agents: Vec<_> = agents.iter().map(|agent| &**agent).collect();
            let tables = [None, Some(entry.max_bytes)].map(|max_bytes| {
                let entry = NewEntry {
                    named,
                    path: &entry.path,
                    agents: &agents,
                    max_bytes,
                    withhold: entry.withhold,
                };
                entry.text()
            });
            let mut tables = tables.iter().filter(|_| is_it && is_made(named));
            let taken = tables.find_map(|table| Some((map::take(&new, table)?, table)));
            let file = user.map.location.expand(&entry.path);
            if let Some((rest, table)) = taken {
                entries.files.extend(file);
                entries.agent = agents.first().map(ToString::to_string);
                gone += table;
                new = rest;
                continue;
            }
            entries.others.extend(file);
            if is_it {
                let (line, shown) = (entry.line, printable(place));
                self.todo.push(format!("Line {line} of the map, {shown}, is not as setup writes it. Take that entry away yourself."));
            }
        }
        if !gone.is_empty() {
            if !map.roots().is_empty() {
                self.notes.push("The map's roots stay. Take the folder away from them yourself if nothing else needs it.".to_owned());
            }
            self.edit(found, Some(new), lines_of("", &gone, ""))?;
        }
        Ok(entries)
    }

    /// Takes a client's file away that setup made. If somebody changed it since, it stays, and the
    /// user is told what to take out.
    fn take_part(&mut self, recipe: Recipe<'_>, part: &Part) -> Result<()> {
        let (home, name) = (&recipe.user.home, recipe.name);
        let place = part.to.zip(recipe.with("", Some("")).ok());
        let found = place.and_then(|(to, filled)| Found::at(&filled.place(to, home)).ok());
        let Some(found) = found.filter(Found::is_there) else {
            return Ok(());
        };
        let text = found.text().unwrap_or_default().to_owned();
        let Some(whole) = recipe.ours(part, &text) else {
            return Ok(());
        };
        let shown = shown(&found.named, home);
        let is_link = found.named.is_symlink();
        // An editor may have given it other line ends.
        if !is_link && text.lines().eq(whole.lines()) {
            return self.edit(found, None, lines_of("", &text, ""));
        }
        let entries = own_entries(&text);
        let keys: Vec<&str> = entries.iter().map(|entry| key(entry)).collect();
        if !is_link && !keys.is_empty() && shown.ends_with(".md") {
            let keys = keys.join(" and ");
            self.todo.push(format!("{shown} was changed since setup wrote it, and stays: take {keys} out of it yourself, by which it starts Keyhole."));
        } else if text.contains(name) && text.contains("load_context") || text.contains("--bind") {
            self.todo.push(format!("{shown} is a link, or is not as setup wrote it, and stays: look whether it still starts Keyhole, and take it away yourself."));
        }
        Ok(())
    }

    /// Takes the rules out of Claude Code's settings, if nothing needs them.
    fn take_from_settings(
        &mut self,
        user: &User<'_>,
        Entries { files, others, .. }: &Entries,
        free: Rules,
    ) -> Result<()> {
        let places = Places::find(&user.home, user.variable)?;
        let file = places.settings();
        let found = Found::at(&file)?;
        let value = settings::json(found.text()?);
        let value = value.map_err(|_| Unfit::file(&file, EditError::Syntax("JSON")))?;
        let is_last = others.is_empty();
        if is_last && value["sandbox"]["enabled"] == true {
            self.todo.push(format!("Claude Code's sandbox for shells stays on. To switch it off, take `sandbox` out of {}, and the rules there that begin with Edit.", shown(&file, &user.home)));
        }
        let none = Denied::default();
        let all = |files: &[PathBuf]| places.missing(&none, files, true).rules;
        let needed = if is_last { Vec::new() } else { all(others) };
        let (wanted, there) = (all(files), Denied::of([&value]).into_rules());
        let is_free = |rule: &String| wanted.contains(rule) && !needed.contains(rule);
        let mut rules: Vec<_> = there.into_iter().filter(is_free).collect();
        let of_transcripts = places.missing(&none, &[], false).rules;
        let is_kept = |rule: &String| of_transcripts.contains(rule) && !rule.contains("keyhole");
        if rules.iter().any(is_kept) && self.has_kept_transcripts(&places) {
            rules.retain(|rule| !is_kept(rule));
        }
        if !rules.is_empty() && files.is_empty() {
            self.notes.push("A rule that names your file may stay in permissions.deny: the map says no more which file it was. If the map is only elsewhere now, keep the rules.".to_owned());
        }
        let rules = rules.into_iter().map(Value::from).collect();
        let rules = Change::new(RULES, rules, json!([]));
        if rules.goes.is_empty() {
            return Ok(());
        }
        self.rules = rules.shown();
        if free == Rules::Stay {
            return Ok(());
        }
        self.change(found, &[rules])
    }

    /// Whether conversations of agents are still there, with what they read: then their rules
    /// stay, and the user is told.
    fn has_kept_transcripts(&mut self, places: &Places) -> bool {
        let inside = |folder: PathBuf| {
            let found = fs::read_dir(folder).into_iter().flatten().flatten();
            found.map(|found| found.path())
        };
        let mut sessions = inside(places.claude.join("projects")).flat_map(inside);
        let has = sessions.any(|session| session.join("subagents").is_dir());
        if has {
            let folder = printable(&places.claude);
            self.todo.push(format!("The rules for conversations of agents stay, since these are still there, with what the agents read. Delete {folder}/projects/*/*/subagents, and then the rules, if you want."));
        }
        has
    }
}
