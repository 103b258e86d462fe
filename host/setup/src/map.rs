//! Edits of the map: one table at its end, and one string among its roots.

use crate::{
    Change, EditError, PLUGIN,
    file::{File, root_of},
    paste::quoted,
};
use serde_json::{Value, json};
use std::path::Path;
use toml::de::{DeTable, DeValue};

/// A table as setup writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    /// `keys` or `bindings`.
    pub(crate) kind: &'static str,
    /// The key, or the binding's name.
    pub(crate) name: String,
    /// Its fields, in this order. A text, a number, a yes, or a list of texts is the same in JSON
    /// and TOML.
    pub(crate) fields: Vec<(&'static str, Value)>,
}

impl Table {
    /// Its lines.
    pub(crate) fn text(&self, end: &str) -> String {
        let fields = self.fields.iter();
        let fields = fields.map(|(name, value)| format!("{name} = {value}{end}"));
        format!("[{}.{}]{end}", self.kind, key(&self.name)) + &fields.collect::<String>()
    }

    fn put_into(&self, whole: &mut toml::Table) -> Option<()> {
        let mut own = parse(&self.text("\n")).ok()?;
        let own = own.get_mut(self.kind)?.as_table_mut()?.remove(&self.name)?;
        let all = whole.entry(self.kind).or_insert(toml::Table::new().into());
        let old = all.as_table_mut()?.insert(self.name.clone(), own);
        old.is_none().then_some(())
    }
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
    let key = if agent == Some(PLUGIN.0) {
        PLUGIN.1
    } else {
        key
    };
    let agents = agent.map(|agent| ("agents", json!([agent])));
    let limit = max_bytes.map(|most| ("max_bytes", json!(most)));
    let path = [("path", json!(file.written))].into_iter();
    let table = Table {
        kind: if bind.is_some() { "bindings" } else { "keys" },
        name: bind.unwrap_or(key).to_owned(),
        fields: path.chain(agents).chain(limit).collect(),
    };
    let roots = root_of(&file.real, home).map(|root| format!("roots = [{}]\n", quoted(&root)));
    (roots, format!("\n{}", table.text("\n")))
}

fn parse(text: &str) -> Result<toml::Table, EditError> {
    let text = text.trim_start_matches('\u{feff}');
    text.parse().map_err(|_| EditError::Syntax("TOML"))
}

/// The map with this table at its end, and this string among its roots; and what that adds.
pub(crate) fn add(
    text: &str,
    table: Option<&Table>,
    root: Option<&str>,
) -> Result<(String, Vec<Change>), EditError> {
    let end = line_end(text);
    let mut expected = parse(text)?;
    let (mut new, mut changes) = (text.to_owned(), Vec::new());
    if let Some(root) = root {
        let (at, inserted) = place_of_root(text, root)?;
        new.insert_str(at, &inserted);
        let is_line = inserted.starts_with("roots");
        let place = if is_line { "" } else { "roots" };
        changes.push(Change::new(place, "", &inserted));
        let roots = expected.remove("roots");
        let mut roots = roots.unwrap_or(toml::Value::Array(Vec::new()));
        let list = roots.as_array_mut().ok_or(EditError::Unsafe)?;
        list.push(root.into());
        expected.insert("roots".to_owned(), roots);
    }
    if let Some(table) = table {
        let before = match &*new {
            "" | "\u{feff}" => "",
            ended if ended.ends_with('\n') => end,
            _ => &end.repeat(2),
        };
        let inserted = table.text(end);
        new += &format!("{before}{inserted}");
        changes.push(Change::new("", "", &inserted));
        table.put_into(&mut expected).ok_or(EditError::Unsafe)?;
    }
    let is_as_shown = parse(&new).is_ok_and(|new| new == expected);
    let new = is_as_shown.then_some((new, changes));
    new.ok_or(EditError::Unsafe)
}

/// Where a string among the roots comes, and how. A map without roots must have no table: before
/// one, roots would be new for all that it has.
fn place_of_root(text: &str, root: &str) -> Result<(usize, String), EditError> {
    let mark = text.len() - text.trim_start_matches('\u{feff}').len();
    let document = DeTable::parse(&text[mark..]).map_err(|_| EditError::Syntax("TOML"))?;
    let Some(found) = document.get_ref().get("roots") else {
        let line = format!("roots = [{}]{}", quoted(root), line_end(text));
        return Ok((mark, line));
    };
    let DeValue::Array(list) = found.get_ref() else {
        return Err(EditError::Unsafe);
    };
    Ok(match list.iter().last() {
        Some(last) => (mark + last.span().end, format!(", {}", quoted(root))),
        None => (mark + found.span().start + 1, quoted(root)),
    })
}

/// The map without this table, if it stands there as setup writes it, and once.
pub(crate) fn take(text: &str, table: &Table) -> Option<String> {
    let end = line_end(text);
    let (head, tail) = text.split_once(&table.text(end))?;
    let is_line = head.is_empty() || head.ends_with(['\n', '\u{feff}']);
    // The blank line above is setup's, too.
    let is_below_blank = head.ends_with(&end.repeat(2));
    let above = head.strip_suffix(end).filter(|_| is_below_blank);
    let head = above.unwrap_or(head);
    let new = is_line.then(|| head.to_owned() + tail)?;
    let mut back = parse(&new).ok()?;
    table.put_into(&mut back)?;
    // A map may have an empty `[keys]` of its own.
    (back == parse(text).ok()?).then_some(new)
}

/// How a text ends its lines.
pub(crate) fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// A key of TOML, in quotes if it must be.
fn key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let bare = Some(name).filter(|name| !name.is_empty() && name.chars().all(is_bare));
    bare.map_or_else(|| quoted(name), str::to_owned)
}
