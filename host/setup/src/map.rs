//! What a file needs in the map: one table at its end, and one string among its roots.

use crate::{
    EditError, Plan, Request, Result,
    disk::Found,
    error::{by_hand, refused},
    file::{File, root_of},
    paste::quoted,
    shown::lines_of,
};
use keyhole_claude::{PLUGIN, paths::without_links};
use keyhole_core::{AgentName, Entry, Map, Table};
use serde_json::json;
use std::{
    fs,
    path::{Path, PathBuf},
};
use toml::de::DeTable;

/// A table as setup writes it. A list of texts is the same in JSON and TOML.
pub(crate) fn table(
    (table, name): Named<'_>,
    path: &str,
    agents: &[&str],
    max_bytes: Option<u64>,
    withholds: bool,
) -> String {
    let mut text = format!("[{}.{name}]\npath = {}\n", table.as_str(), quoted(path));
    let agents = (!agents.is_empty()).then(|| format!("agents = {}\n", json!(agents)));
    text.extend(agents);
    text.extend(max_bytes.map(|most| format!("max_bytes = {most}\n")));
    text + if withholds { "withhold = true\n" } else { "" }
}

/// What the end of a map gets for this file, to be printed: the roots, if it is the first, and a
/// binding, or an entry with this key. The plugin's agent has a key of its own.
pub fn entry(
    home: &Path,
    file: &File,
    (bind, agent): (Option<&str>, Option<&str>),
    max_bytes: Option<u64>,
    key: &str,
) -> (Option<String>, String) {
    let is_plugins = agent == Some(PLUGIN.0);
    let key = (Table::Key, if is_plugins { PLUGIN.1 } else { key });
    let named = bind.map_or(key, |bind| (Table::Binding, bind));
    let table = table(named, &file.written, agent.as_slice(), max_bytes, false);
    let roots = root_of(&file.real, home).map(|root| format!("roots = [{}]\n", quoted(&root)));
    (roots, format!("\n{table}"))
}

/// An entry of a map: the table it is in, and its key or name there.
pub type Named<'a> = (Table, &'a str);

/// All tables of a map, with their entries.
pub fn all_of(map: &Map) -> impl Iterator<Item = (Named<'_>, &Entry)> {
    let keys = map.entries().into_iter();
    let keys = keys.map(|(key, entry)| ((Table::Key, key.expose()), entry));
    let bindings = map.bindings().iter();
    keys.chain(bindings.map(|(name, found)| ((Table::Binding, &**name), &found.entry)))
}

impl Plan {
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
            (Table::Key, named, Some(name))
        } else if is_plugin {
            (Table::Key, PLUGIN.1, Some(PLUGIN.0))
        } else {
            (Table::Binding, name, request.agent.as_deref())
        };
        self.table = (kind, named.to_owned());
        if let Some((_, entry)) = all_of(map).find(|(it, _)| *it == (kind, named)) {
            let (line, path) = (entry.line, location.expand(&entry.path));
            if !path.is_some_and(|path| file.is_at(&path)) {
                return refused(format!(
                    "the map has another file under this name already, on line {line}. Choose another name, or take that away first: keyhole setup remove NAME"
                ));
            }
            return suits(entry, agent, most).map(|()| None);
        }
        let mut paths = all_of(map).filter_map(|it| location.expand(&it.1.path));
        if paths.any(|path| file.is_at(&path)) {
            let name = agent.unwrap_or(name);
            self.notes.push(format!(
                "The map has this file already. Now somebody else gets it, too: {name}."
            ));
        }
        let (path, agents) = (&file.written, agent.as_slice());
        Ok(Some(table((kind, named), path, agents, most, is_plugin)))
    }

    /// The table, and what `roots` need for the file.
    pub(crate) fn add_to_map(&mut self, request: &Request<'_>, key: &str) -> Result<()> {
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
        let is_blank = all_of(&map).next().is_none();
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
        let added = add(&self.map, table.as_deref(), root.as_deref());
        let (new, shown) = added.map_err(|why| {
            let of_root = |root| format!("among its roots: {}\n", json!(root));
            let lines = root.map(of_root).unwrap_or_default();
            // Who only looks may be an agent, so a fresh key is not shown.
            let table = table.filter(|table| !table.contains(key));
            let name = &request.name;
            let how = || format!("what this prints: keyhole setup key FILE --agent {name}\n");
            by_hand(place, why, &(lines + &table.unwrap_or_else(how)))
        })?;
        self.map.clone_from(&new);
        self.edit(found, Some(new), shown)
    }
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

fn parse(text: &str) -> Result<toml::Table, EditError> {
    text.parse().map_err(|_| EditError::Syntax("TOML"))
}

/// Puts a table of the map, as it is written, among all. None if its name is there.
fn put(table: &str, all: &mut toml::Table) -> Option<()> {
    for (kind, own) in parse(table).ok()? {
        let of_kind = all.entry(kind).or_insert(toml::Table::new().into());
        for (name, fields) in own.as_table()?.clone() {
            let old = of_kind.as_table_mut()?.insert(name, fields);
            old.is_none().then_some(())?;
        }
    }
    Some(())
}

/// The map with this table at its end, and this string among its roots; and what is shown of it.
pub(crate) fn add(
    text: &str,
    table: Option<&str>,
    root: Option<&str>,
) -> Result<(String, String), EditError> {
    let mut expected = parse(text)?;
    let (mut new, mut shown) = (text.to_owned(), String::new());
    if let Some(root) = root {
        let (at, inserted) = place_of_root(text, root)?;
        new.insert_str(at, &inserted);
        let is_line = inserted.starts_with("roots");
        shown += &lines_of(if is_line { "" } else { "roots" }, "", &inserted);
        let roots = expected.entry("roots");
        let roots = roots.or_insert(toml::Value::Array(Vec::new()));
        let roots = roots.as_array_mut().ok_or(EditError::Unsafe)?;
        roots.push(root.into());
    }
    if let Some(table) = table {
        let end = line_end(text);
        let before = match &*new {
            "" | "\u{feff}" => "",
            ended if ended.ends_with('\n') => end,
            _ => &end.repeat(2),
        };
        new += &format!("{before}{}", table.replace('\n', end));
        shown += &lines_of("", "", table);
        put(table, &mut expected).ok_or(EditError::Unsafe)?;
    }
    let is_as_shown = parse(&new).is_ok_and(|new| new == expected);
    is_as_shown.then_some((new, shown)).ok_or(EditError::Unsafe)
}

/// Where a string among the roots comes, and how. A map without roots must have no table: before
/// one, roots would be new for all that it has.
fn place_of_root(text: &str, root: &str) -> Result<(usize, String), EditError> {
    let document = DeTable::parse(text).map_err(|_| EditError::Syntax("TOML"))?;
    let Some(found) = document.get_ref().get("roots") else {
        let body = text.trim_start_matches('\u{feff}');
        // An editor looks for its schema in the first line.
        let schema = body.split_inclusive('\n').next();
        let schema = schema.filter(|line| line.starts_with("#:schema") && line.ends_with('\n'));
        let at = text.len() - body.len() + schema.map_or(0, str::len);
        let line = format!("roots = [{}]{}", quoted(root), line_end(text));
        return Ok((at, line));
    };
    // An empty list is no valid map.
    let list = found.get_ref().as_array().ok_or(EditError::Unsafe)?;
    let last = list.iter().last().ok_or(EditError::Unsafe)?;
    Ok((last.span().end, format!(", {}", quoted(root))))
}

/// The map without this table, if it stands there as setup writes it, and once.
pub(crate) fn take(text: &str, table: &str) -> Option<String> {
    let end = line_end(text);
    let (head, tail) = text.split_once(&table.replace('\n', end))?;
    let is_line = head.is_empty() || head.ends_with(['\n', '\u{feff}']);
    // The blank line above is setup's, too.
    let is_below_blank = head.ends_with(&end.repeat(2));
    let above = head.strip_suffix(end).filter(|_| is_below_blank);
    let new = is_line.then(|| above.unwrap_or(head).to_owned() + tail)?;
    let mut back = parse(&new).ok()?;
    put(table, &mut back)?;
    // A map may have an empty `[keys]` of its own.
    (back == parse(text).ok()?).then_some(new)
}

pub(crate) fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}
