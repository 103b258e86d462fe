//! Edits of the map: one table at its end, and one string among its roots.

use crate::{
    EditError, PLUGIN,
    file::{File, root_of},
    paste::quoted,
    plan::lines_of,
};
use keyhole_core::{Entry, Map};
use serde_json::json;
use std::path::Path;
use toml::de::DeTable;

/// A table as setup writes it. A list of texts is the same in JSON and TOML.
pub(crate) fn table(
    (kind, name): Named<'_>,
    path: &str,
    agents: &[&str],
    max_bytes: Option<u64>,
    withholds: bool,
) -> String {
    let mut text = format!("[{kind}.{name}]\npath = {}\n", quoted(path));
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
    let key = ("keys", if is_plugins { PLUGIN.1 } else { key });
    let named = bind.map_or(key, |bind| ("bindings", bind));
    let table = table(named, &file.written, agent.as_slice(), max_bytes, false);
    let roots = root_of(&file.real, home).map(|root| format!("roots = [{}]\n", quoted(&root)));
    (roots, format!("\n{table}"))
}

/// A table of a map: whether it is one of `keys` or of `bindings`, and its key or name.
pub type Named<'a> = (&'static str, &'a str);

/// All tables of a map, with their entries.
pub fn all_of(map: &Map) -> impl Iterator<Item = (Named<'_>, &Entry)> {
    let keys = map.entries().into_iter();
    let keys = keys.map(|(key, entry)| (("keys", key.expose()), entry));
    let bindings = map.bindings().iter();
    keys.chain(bindings.map(|(name, found)| (("bindings", &**name), &found.entry)))
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
