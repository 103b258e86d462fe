//! What setup takes away: what it would write for this name, wherever that stands.
#![expect(
    clippy::disallowed_methods,
    reason = "it looks whether transcripts of agents are there"
)]

use crate::{
    EditError, FileError, PLUGIN, Plan, SetupError, User,
    clients::{Client, Part, all},
    disk::Found,
    error::refused,
    file::shown,
    json::{self, HOOKS, RULES, Side},
    map::{self, Table},
    plan::Change,
    recipe::{Filled, is_own_hook},
    rules::{Denied, Places},
    settings, state_folder,
};
use keyhole_core::{Entry, Map, MapError};
use keyhole_walk::printable::printable;
use serde_json::{Value, json};
use std::{fs, io::ErrorKind, path::PathBuf};

/// As whom `remove` knows the plugin's agent.
pub(crate) const PLUGIN_NAME: &str = "plugin";

/// A file of the client as it is to be now: `new`, if it is setup's as a whole. If somebody has
/// changed it since, that with the lines of our server and hook as they are now. None if these do
/// not stand there.
pub(crate) fn renewed(
    user: &User<'_>,
    client: &Client,
    part: &Part,
    names: (&str, Option<&str>),
    (old, new): (&str, &str),
) -> Option<String> {
    let whole = ours(user, client, part, names, old)?;
    if whole == old {
        return Some(new.to_owned());
    }
    let end = map::line_end(old);
    let (was, is) = (own_blocks(&whole, end), own_blocks(new, end));
    let has_all = !was.is_empty() && was.iter().all(|block| old.contains(block));
    let blocks = was.iter().zip(&is);
    let renewed = blocks.fold(old.to_owned(), |text, (was, is)| text.replacen(was, is, 1));
    has_all.then_some(renewed)
}

/// What setup would write there, with the program and the folder for tickets that stand there.
fn ours(
    user: &User<'_>,
    client: &Client,
    part: &Part,
    names: (&str, Option<&str>),
    text: &str,
) -> Option<String> {
    let word = |start: &str| {
        let (_, rest) = text.split_once(start)?;
        match rest.strip_prefix('"') {
            // A text of JSON, which YAML and TOML have in common with it.
            Some(_) => serde_json::Deserializer::from_str(rest)
                .into_iter()
                .next()?
                .ok(),
            None => Some(rest.split_whitespace().next()?.to_owned()),
        }
    };
    let starts = [
        "\"command\": ",
        "\n    command: ",
        "command: ",
        "command = ",
    ];
    let program = starts
        .iter()
        .find_map(|start| word(start))
        .unwrap_or_default();
    let tickets: Option<String> = word("\"--tickets\", ");
    let filled = Filled::with(
        client,
        user,
        &program,
        tickets.as_deref().or(Some("")),
        names,
    );
    Some(filled.ok()?.fill(part.text))
}

/// The names that `remove` takes: those of bindings, of agents with a hook, and `plugin`.
///
/// # Errors
/// If there is a map that cannot be read.
pub fn names(user: &User<'_>) -> Result<Vec<String>, SetupError> {
    let map = match user.map.current() {
        Err(MapError::Missing(_)) => None,
        read => Some(read?),
    };
    let bindings = map.iter().flat_map(|map| map.bindings());
    let mut names: Vec<_> = bindings.map(|(name, _)| name.to_string()).collect();
    for (key, entry) in map.iter().flat_map(|map| map.entries()) {
        match entry.agents() {
            _ if key.expose() == PLUGIN.1 => names.push(PLUGIN_NAME.to_owned()),
            Some([agent]) if is_fresh(key.expose()) => names.push(agent.to_string()),
            _ => {}
        }
    }
    names.sort();
    names.dedup();
    Ok(names)
}

/// Whether a key is one that setup makes.
fn is_fresh(key: &str) -> bool {
    let rest = key.strip_prefix("k-").unwrap_or_default();
    rest.len() == 32 && rest.bytes().all(|byte| byte.is_ascii_hexdigit())
}

impl Plan {
    /// What takes away all that is recognizably setup's for a name; with the rules, if no entry of
    /// the map is left and `with_rules`.
    ///
    /// # Errors
    /// If nothing is, or a file cannot be edited.
    pub fn remove(user: &User<'_>, name: &str, with_rules: bool) -> Result<Self, SetupError> {
        let mut plan = Self::default();
        let (mut files, mut others, mut agent) = (Vec::new(), Vec::new(), None);
        match user.map.current() {
            Err(MapError::Missing(_)) => {}
            map => agent = plan.take_from_map(user, &*map?, name, (&mut files, &mut others))?,
        }
        // Whose name is said has files of that name.
        let agent = agent.as_deref().filter(|agent| *agent != name);
        for client in all() {
            for part in client.parts.iter().filter(|part| part.to.is_some()) {
                plan.take_part(user, &client, part, (name, agent))?;
            }
        }
        if let Err(why) = plan.take_from_settings(user, name, &files, &others, with_rules) {
            let why = why.to_string();
            let why = why.trim_start_matches("nothing is changed: ");
            plan.todo
                .push(format!("Claude Code's settings stay as they are: {why}"));
        }
        if plan.is_empty() && plan.todo.is_empty() && !plan.has_rules {
            return refused(
                "nothing of this name is recognizably setup's; `keyhole setup remove` lists the names",
            );
        }
        if others.is_empty() {
            let tickets = user.tickets();
            plan.folders = vec![tickets.join("tickets"), tickets];
        }
        plan.last = "The file itself is still there, and so is what you pasted into a client. Restart the client.".to_owned();
        Ok(plan)
    }

    /// Takes the name's table out of the map, and notes its file, and those of others. Returns its
    /// agent.
    fn take_from_map(
        &mut self,
        user: &User<'_>,
        map: &Map,
        name: &str,
        (files, others): (&mut Vec<PathBuf>, &mut Vec<PathBuf>),
    ) -> Result<Option<String>, SetupError> {
        let place = user.location().file();
        let text = fs::read_to_string(place).map_err(|why| FileError::new(place, why))?;
        let (mut new, mut shown, mut agent) = (text.clone(), String::new(), None);
        let keys = map.entries().into_iter();
        let keys = keys.map(|(key, entry)| ("keys", key.expose(), entry));
        let bindings = map.bindings().into_iter();
        let bindings = bindings.map(|(name, found)| ("bindings", &**name, found.entry()));
        for (kind, named, entry) in keys.chain(bindings) {
            let is_it = match entry.agents() {
                _ if kind == "bindings" => named == name,
                _ if name == PLUGIN_NAME => named == PLUGIN.1,
                Some([agent]) => **agent == *name,
                _ => false,
            };
            let is_setups = kind == "bindings" || named == PLUGIN.1 || is_fresh(named);
            let tables = as_written(kind, named, entry).into_iter();
            let mut tables = tables.filter(|_| is_it && is_setups);
            let taken = tables.find_map(|table| Some((map::take(&new, &table)?, table)));
            let file = user.location().expand(entry.path());
            if let Some((rest, table)) = taken {
                files.extend(file);
                let first = entry.agents().and_then(<[_]>::first);
                agent = first.map(|name| name.to_string());
                shown += &table.text("\n");
                new = rest;
                continue;
            }
            others.extend(file);
            if is_it {
                self.todo.push(format!(
                    "Line {} of the map, {}, is not as setup writes it. Take that entry away yourself.",
                    entry.line(),
                    printable(place)
                ));
            }
        }
        if new != text {
            if !map.roots().is_empty() {
                self.notes.push("The map's roots stay. Take the folder away from them yourself if nothing else needs it.".to_owned());
            }
            let change = Change::new("", &shown, "");
            let found = Found::at(place)?;
            if found.text()? != text {
                return refused("the map has changed meanwhile; run this again");
            }
            self.edit(place, found, Some(new), vec![change]);
        }
        Ok(agent)
    }

    /// Takes a client's file away that setup made; or of an agent's file that somebody changed
    /// since, the lines of our server and hook.
    fn take_part(
        &mut self,
        user: &User<'_>,
        client: &Client,
        part: &Part,
        names: (&str, Option<&str>),
    ) -> Result<(), SetupError> {
        let Ok(filled) = Filled::with(client, user, "", Some(""), names) else {
            return Ok(());
        };
        let path = filled.place(part.to.unwrap_or_default(), &user.home);
        let shown = shown(&path, &user.home);
        let text = path.is_file().then(|| fs::read_to_string(&path).ok());
        let Some(text) = text.flatten() else {
            return Ok(());
        };
        let Some(whole) = ours(user, client, part, names, &text) else {
            return Ok(());
        };
        let (mut rest, mut gone) = (text.clone(), String::new());
        for block in own_blocks(&whole, map::line_end(&text)) {
            // What somebody added below belongs to it.
            let parts = rest.split_once(&block);
            let parts = parts.filter(|(_, after)| !after.starts_with(' '));
            if let Some((before, after)) = parts {
                rest = before.to_owned() + after;
                gone += &block;
            }
        }
        let is_edited = text != whole;
        let is_whole = gone.is_empty() || path.is_symlink() || !shown.ends_with(".md");
        if is_edited && is_whole || path.is_symlink() {
            if text.contains(names.0) && text.contains("load_context") || text.contains("--bind") {
                self.todo.push(format!("{shown} is a link, or is not as setup wrote it, and stays: look whether it still starts Keyhole, and take it away yourself."));
            }
            return Ok(());
        }
        let found = Found::at(&path)?;
        if found.text()? != text {
            return refused(format!("{shown} has changed meanwhile; run this again"));
        }
        if is_edited {
            self.notes.push(format!(
                "{shown} was changed since setup wrote it: only these lines of it go."
            ));
            if rest.contains("\"--bind\"") {
                self.todo.push(format!(
                    "Look whether {shown} still starts a server of Keyhole."
                ));
            }
        }
        let change = Change::new("", if is_edited { &gone } else { &text }, "");
        self.edit(&path, found, is_edited.then_some(rest), vec![change]);
        Ok(())
    }

    /// Takes a hook out of Claude Code's settings; and the rules, if nothing needs them.
    fn take_from_settings(
        &mut self,
        user: &User<'_>,
        name: &str,
        files: &[PathBuf],
        others: &[PathBuf],
        with_rules: bool,
    ) -> Result<(), SetupError> {
        let places = Places::find(&user.home, user.variable)?;
        let file = places.settings();
        match fs::metadata(&file) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Ok(found) if !found.is_file() => return refused("they are not a file"),
            _ => {}
        }
        let text = fs::read_to_string(&file).map_err(|why| FileError::new(&file, why))?;
        let value = settings::json(&text);
        let value = value.map_err(|_| FileError::new(&file, EditError::Syntax("JSON")))?;
        if others.is_empty() && value["sandbox"]["enabled"] == true {
            self.todo.push(format!("Claude Code's sandbox for shells stays on. To switch it off, take `sandbox` out of {}, and the rules there that begin with Edit.", shown(&file, &user.home)));
        }
        let hooks = value["hooks"]["SubagentStart"].as_array();
        let (old, rest): (Vec<_>, Vec<_>) = hooks
            .into_iter()
            .flatten()
            .cloned()
            .partition(|hook| is_own_hook(hook, name));
        let is_odd = |hook: &Value| {
            let matcher = hook["matcher"].as_str().unwrap_or_default();
            matcher.trim_matches(['^', '$']) == name
                && hook["hooks"].to_string().contains(" inject --map ")
        };
        if rest.iter().any(is_odd) {
            self.todo.push(format!("A hook for {name} in hooks.SubagentStart of {} is not as setup writes it. Take it away yourself.", printable(&file)));
        }
        let state = state_folder(&user.home, user.variable);
        let all = |files: &[PathBuf]| places.missing(&Denied::default(), files, Some(&state)).0;
        let denied = value["permissions"]["deny"].as_array();
        let is_there = |rule: &String| denied.is_some_and(|denied| denied.contains(&json!(rule)));
        let mut rules: Vec<_> = all(files).into_iter().filter(is_there).collect();
        let needed = if others.is_empty() {
            Vec::new()
        } else {
            all(others)
        };
        rules.retain(|rule| !needed.contains(rule));
        let mut of_transcripts = places.missing(&Denied::default(), &[], None).0;
        of_transcripts.retain(|rule| !rule.contains("keyhole") && rules.contains(rule));
        if !of_transcripts.is_empty() && self.has_kept_transcripts(&places) {
            rules.retain(|rule| !of_transcripts.contains(rule));
        }
        self.has_rules = !rules.is_empty();
        if self.has_rules && files.is_empty() {
            self.notes.push("A rule that names your file may stay in permissions.deny: the map says no more which file it was. If the map is only elsewhere now, keep the rules.".to_owned());
        }
        let rules = rules.into_iter().filter(|_| with_rules).map(Value::from);
        let rules: Vec<_> = rules.collect();
        let comes = &json!([]);
        let sides = [(RULES, &*rules), (HOOKS, &*old)];
        let sides = sides.map(|(at, goes)| Side { at, goes, comes });
        if sides.iter().all(Side::is_empty) {
            return Ok(());
        }
        let found = Found::at(&file)?;
        let taken = json::edit(found.text()?, &sides);
        let (new, changes) = taken.map_err(|why| FileError::new(&file, why))?;
        self.edit(&file, found, Some(new), changes);
        Ok(())
    }

    /// Whether conversations of agents are still there, with what they read: then their rules
    /// stay, and the user is told.
    fn has_kept_transcripts(&mut self, places: &Places) -> bool {
        let inside = |folder: PathBuf| {
            let found = fs::read_dir(folder).into_iter().flatten().flatten();
            found.map(|found| found.path())
        };
        let sessions = inside(places.claude.join("projects")).flat_map(inside);
        let has = sessions
            .map(|session| session.join("subagents"))
            .any(|folder| folder.is_dir());
        if has {
            let folder = printable(&places.claude);
            self.todo.push(format!("The rules for conversations of agents stay, since these are still there, with what the agents read. Delete {folder}/projects/*/*/subagents, and then the rules, if you want."));
        }
        has
    }
}

/// The lines of a file of ours that start our server and guard, each with what is indented below.
fn own_blocks(whole: &str, end: &str) -> Vec<String> {
    let mut blocks: Vec<String> = Vec::new();
    for line in whole.lines().map(|line| line.to_owned() + end) {
        match blocks.last_mut().filter(|_| line.starts_with(' ')) {
            Some(above) => above.push_str(&line),
            None => blocks.push(line),
        }
    }
    blocks.retain(|block| block.contains("\"--bind\""));
    blocks
}

/// A table as setup writes it for such an entry, in each of its forms.
fn as_written(kind: &'static str, name: &str, entry: &Entry) -> Vec<Table> {
    let agents: Vec<_> = entry
        .agents()
        .into_iter()
        .flatten()
        .map(|agent| json!(**agent))
        .collect();
    let with = |limit: bool| {
        let mut fields = vec![("path", json!(entry.path()))];
        fields.extend((!agents.is_empty()).then(|| ("agents", Value::from(agents.clone()))));
        fields.extend(limit.then(|| ("max_bytes", json!(entry.max_bytes()))));
        if entry.withholds() {
            fields.push(("withhold", json!(true)));
        }
        Table {
            kind,
            name: name.to_owned(),
            fields,
        }
    };
    vec![with(false), with(true)]
}
