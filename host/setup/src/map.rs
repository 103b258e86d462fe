//! Edits of the map, which is TOML.

use crate::{
    PLUGIN,
    edit::{Change, EditError, apply, edited, line_end, marked},
    paste::quoted,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// What setup wants in the map: a table, and folders among the roots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Table {
    /// `keys` or `bindings`.
    pub(crate) kind: String,
    /// The key, or the binding's name.
    pub(crate) name: String,
    /// Its fields, in this order. If the map has another yes or no, or a lower limit, that
    /// stays; a higher limit is changed; texts may stand among others.
    pub(crate) fields: Vec<(String, Value)>,
    /// The folder that `roots` must have.
    pub(crate) root: Option<String>,
    /// Roots that hold it already: one of them will do.
    pub(crate) held_by: Vec<String>,
    /// The roots that the map gets if it has none. None: none.
    pub(crate) all_roots: Option<BTreeSet<String>>,
}

impl Table {
    /// Its lines, in a map that ends its lines so.
    pub(crate) fn shown(&self, end: &str) -> String {
        let fields = self.fields.iter().map(|own| field(own) + end);
        let name = key(&self.name);
        format!("[{}.{name}]{end}", self.kind) + &fields.collect::<String>()
    }
}

/// A field as the map has it.
fn field((name, value): &(String, Value)) -> String {
    format!("{name} = {}", shown(value))
}

/// A value as the map has it.
fn shown(value: &Value) -> String {
    match value {
        Value::Array(list) => format!("[{}]", joined(list)),
        other => other.to_string(),
    }
}

fn joined(list: &[Value]) -> String {
    let list: Vec<_> = list.iter().map(Value::to_string).collect();
    list.join(", ")
}

/// An entry or a binding that a map has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    /// `keys` or `bindings`.
    pub(crate) kind: &'static str,
    /// The key, or the binding's name.
    pub(crate) name: String,
    /// As the map has it.
    pub(crate) path: Option<String>,
    /// None means any.
    pub(crate) agents: Option<Vec<String>>,
}

/// What a map has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Has {
    /// Its entries and bindings.
    pub(crate) tables: Vec<Known>,
    /// Its roots, if it has any.
    pub(crate) roots: Option<Vec<String>>,
}

fn parse(text: &str) -> Result<DeTable<'_>, EditError> {
    let parsed = DeTable::parse(marked(text).1).map_err(|_| EditError::Syntax("TOML"))?;
    Ok(parsed.into_inner())
}

/// All that the text has.
fn whole(text: &str) -> Result<Value, EditError> {
    Ok(table_value(&parse(text)?))
}

fn value(found: &DeValue<'_>) -> Value {
    match found {
        DeValue::String(text) => json!(text),
        DeValue::Integer(number) => {
            let plain = i64::from_str_radix(number.as_str(), number.radix());
            plain.map_or_else(|_| json!(number.as_str()), |number| json!(number))
        }
        DeValue::Float(number) => json!({ "float": number.as_str() }),
        DeValue::Boolean(is) => json!(is),
        DeValue::Datetime(time) => json!({ "time": time.to_string() }),
        DeValue::Array(list) => list
            .iter()
            .map(|element| value(element.get_ref()))
            .collect(),
        DeValue::Table(table) => table_value(table),
    }
}

fn table_value(table: &DeTable<'_>) -> Value {
    let pairs = table.iter();
    let pairs = pairs.map(|(name, found)| (name.get_ref().to_string(), value(found.get_ref())));
    Value::Object(pairs.collect())
}

fn texts(value: &Value) -> Option<Vec<String>> {
    let list = value.as_array()?.iter();
    list.map(|text| text.as_str().map(str::to_owned)).collect()
}

/// What the map's text has.
pub(crate) fn read(text: &str) -> Result<Has, EditError> {
    let whole = whole(text)?;
    let mut has = Has {
        roots: whole.get("roots").and_then(texts),
        ..Has::default()
    };
    for kind in ["keys", "bindings"] {
        let tables = whole.get(kind).and_then(Value::as_object);
        for (name, value) in tables.into_iter().flatten() {
            let path = value.as_str().or_else(|| value.get("path")?.as_str());
            has.tables.push(Known {
                kind,
                name: name.clone(),
                path: path.map(str::to_owned),
                agents: value.get("agents").and_then(texts),
            });
        }
    }
    Ok(has)
}

/// The changes after which the map has all of `wanted`. What stands there stays, but for a
/// number.
pub(crate) fn merge(text: &str, wanted: &Table) -> Result<Vec<Change>, EditError> {
    let make = |text: &str| {
        let document = parse(text)?;
        let mut merge = Merge {
            text,
            expected: table_value(&document),
            changes: Vec::new(),
        };
        merge.roots(&document, wanted)?;
        merge.table(&document, wanted)?;
        Ok((merge.changes, merge.expected))
    };
    edited(text, make, whole)
}

/// The text without what these changes added to a table, if that can be told from the rest: as a
/// whole table, or not at all any more.
pub(crate) fn without(text: &str, added: &Table, changes: &[Change]) -> Result<String, EditError> {
    let (kind, name) = (&*added.kind, &*added.name);
    // The table, and all else.
    let parts = |text: &str| {
        let mut all = whole(text)?;
        let tables = &mut all[kind];
        let table = tables.as_object_mut().and_then(|all| all.remove(name));
        if *tables == json!({}) {
            *tables = Value::Null;
        }
        Ok::<_, EditError>((table.unwrap_or_default(), all))
    };
    let (table, rest) = parts(text)?;
    let end = changes.iter().find(|change| change.place == "the end");
    let is_ours = |(name, _): &&(String, Value)| {
        let (of, line) = (format!("{name} of ["), format!("{name} = "));
        let adds =
            |change: &Change| change.place.starts_with(&of) || change.inserted.contains(&line);
        changes.iter().any(adds)
    };
    let ours: Vec<_> = added.fields.iter().filter(is_ours).collect();
    let is_there = ours
        .iter()
        .any(|(name, value)| match (&table[name], value) {
            (Value::Array(has), Value::Array(more)) => more.iter().any(|one| has.contains(one)),
            (has, value) => has == value,
        });
    if table.is_null() || end.is_none() && !is_there {
        return Ok(text.to_owned());
    }
    let cut = end.and_then(|end| {
        let (before, after) = text.split_once(&*end.inserted)?;
        let new = before.to_owned() + after;
        let is_cut = parts(&new).is_ok_and(|new| new == (Value::Null, rest));
        is_cut.then_some(new)
    });
    cut.ok_or_else(|| {
        let at = if end.is_some() { "" } else { "in " };
        let shows_name = kind == "bindings" || name == PLUGIN.1;
        let name = if shows_name { &key(name) } else { "…" };
        let lines = ours.iter().map(|own| format!(", {}", field(own)));
        EditError::Changed(format!("{at}[{kind}.{name}]") + &lines.collect::<String>())
    })
}

/// The roots that these changes added, as far as they are there.
pub(crate) fn roots_left(
    text: &str,
    added: &Table,
    changes: &[Change],
) -> Result<Vec<String>, EditError> {
    let is_in = |place: &str| changes.iter().any(|change| change.place == place);
    let all = added
        .all_roots
        .iter()
        .flatten()
        .filter(|_| is_in("the top"));
    let one = added.root.iter().filter(|_| is_in("roots"));
    let has = read(text)?.roots.unwrap_or_default();
    Ok(all
        .chain(one)
        .filter(|root| has.contains(root))
        .cloned()
        .collect())
}

fn rest(text: &str, at: usize) -> &str {
    text.get(at..).unwrap_or_default()
}

/// Merges in the text, and does the same to its value.
struct Merge<'t> {
    text: &'t str,
    expected: Value,
    changes: Vec<Change>,
}

impl Merge<'_> {
    fn roots(&mut self, document: &DeTable<'_>, wanted: &Table) -> Result<(), EditError> {
        let (text, end) = (self.text, line_end(self.text));
        if let Some(found) = document.get("roots") {
            let has = texts(&self.expected["roots"]).unwrap_or_default();
            let is_held = wanted.held_by.iter().any(|root| has.contains(root));
            let root = wanted.root.iter().filter(|_| !is_held);
            let root: Vec<_> = root.map(|root| json!(root)).collect();
            self.expected["roots"] = self.add(found, &root, "roots")?;
        } else if let Some(roots) = &wanted.all_roots {
            self.expected["roots"] = json!(roots);
            let line = format!("roots = {}{end}", shown(&self.expected["roots"]));
            let at = before_the_first(text);
            let inserted = match text {
                _ if at < text.len() => line + end,
                text if text.is_empty() || text.ends_with('\n') => line,
                _ => end.to_owned() + &line,
            };
            self.changes.push(Change::insert(at, inserted, "the top"));
        }
        Ok(())
    }

    /// Adds what a list of texts has not. Returns the list as it is then.
    fn add(
        &mut self,
        found: &Spanned<DeValue<'_>>,
        wanted: &[Value],
        place: &str,
    ) -> Result<Value, EditError> {
        let (list, now) = (found.get_ref().as_array(), value(found.get_ref()));
        let has = now
            .as_array()
            .filter(|has| has.iter().all(Value::is_string));
        let (Some(list), Some(has)) = (list, has) else {
            return Err(EditError::Differs(place.to_owned()));
        };
        let missing = wanted.iter().filter(|value| !has.contains(value));
        let missing: Vec<_> = missing.cloned().collect();
        if !missing.is_empty() {
            let (at, comma) = match list.iter().last() {
                Some(last) => (last.span().end, ", "),
                None => (found.span().start + 1, ""),
            };
            let inserted = comma.to_owned() + &joined(&missing);
            self.changes.push(Change::insert(at, inserted, place));
        }
        Ok([&**has, &missing].concat().into())
    }

    fn table(&mut self, document: &DeTable<'_>, wanted: &Table) -> Result<(), EditError> {
        let (kind, name) = (&*wanted.kind, &*wanted.name);
        let (text, end, place) = (self.text, line_end(self.text), format!("[{kind}.{name}]"));
        let found = match document.get(kind).map(Spanned::get_ref) {
            None => None,
            Some(DeValue::Table(tables)) => tables.get(name),
            Some(_) => return Err(EditError::Differs(kind.to_owned())),
        };
        let Some(found) = found else {
            let so_far = apply(text, &self.changes).ok_or(EditError::NotSafe)?;
            let before = match &*so_far {
                "" => String::new(),
                ended if ended.ends_with('\n') => end.to_owned(),
                _ => end.repeat(2),
            };
            let inserted = before + &wanted.shown(end);
            self.changes
                .push(Change::insert(text.len(), inserted, "the end"));
            self.expected[kind][name] = wanted.fields.iter().cloned().collect();
            return Ok(());
        };
        let fields = match found.get_ref() {
            DeValue::Table(fields) => fields,
            path if wanted.fields == [("path".to_owned(), value(path))] => return Ok(()),
            // The short form has no other field.
            path if wanted.fields.first() == Some(&("path".to_owned(), value(path))) => {
                let fields: Vec<_> = wanted.fields.iter().map(field).collect();
                let inline = format!("{{ {} }}", fields.join(", "));
                let change = Change::replace(text, found.span(), inline, &place);
                self.changes.push(change);
                self.expected[kind][name] = wanted.fields.iter().cloned().collect();
                return Ok(());
            }
            _ => return Err(EditError::Differs(place)),
        };
        let mut new = self.expected[kind][name].take();
        let mut missing = Vec::new();
        for own in &wanted.fields {
            let (name, wants) = own;
            let place = format!("{name} of {place}");
            let is_low = |has: u64| wants.as_u64().is_some_and(|most| has <= most);
            match (fields.get(&**name), wants) {
                (None, _) => missing.push(field(own)),
                (_, Value::Bool(_)) => continue,
                (_, Value::Number(_)) if new[name].as_u64().is_some_and(is_low) => continue,
                (Some(found), Value::Number(_)) => {
                    let change = Change::replace(text, found.span(), shown(wants), &place);
                    self.changes.push(change);
                }
                (Some(found), Value::Array(more)) => {
                    new[name] = self.add(found, more, &place)?;
                    continue;
                }
                _ if new[name] == *wants => {}
                _ => return Err(EditError::Differs(place)),
            }
            new[name] = wants.clone();
        }
        self.expected[kind][name] = new;
        if missing.is_empty() {
            return Ok(());
        }
        let table = rest(text, found.span().start);
        let last = fields.iter().map(|(_, field)| field.span().end).max();
        self.changes.push(match last {
            Some(last) if table.starts_with('{') => {
                Change::insert(last, format!(", {}", missing.join(", ")), &place)
            }
            Some(_) if !table.starts_with('[') => return Err(EditError::NotSafe),
            last => {
                // After that line.
                let at = last.unwrap_or(found.span().end);
                let rest = rest(text, at);
                let at = at + rest.find(['\r', '\n']).unwrap_or(rest.len());
                let lines = missing.iter().map(|line| format!("{end}{line}"));
                Change::insert(at, lines.collect(), &place)
            }
        });
        Ok(())
    }
}

/// Where the first line stands that is no comment: after the comments at the top, but before
/// those that belong to that line.
fn before_the_first(text: &str) -> usize {
    let (mut at, mut after_blank) = (0, None);
    for line in text.split_inclusive('\n') {
        match line.trim() {
            "" => after_blank = Some(at + line.len()),
            trimmed if trimmed.starts_with('#') => {}
            _ => return after_blank.unwrap_or(at),
        }
        at += line.len();
    }
    at
}

/// A key of TOML, in quotes if it must be.
fn key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match !name.is_empty() && name.chars().all(is_bare) {
        true => name.to_owned(),
        false => quoted(name),
    }
}
