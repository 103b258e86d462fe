//! Edits of the map, which is TOML.

use crate::{
    edit::{Change, EditError, apply, line_end, marked},
    paste::quoted,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map as Object, Value, json};
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// What setup wants in the map: a table, and folders among the roots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// `keys` or `bindings`.
    pub kind: String,
    /// The key, or the binding's name.
    pub name: String,
    /// Its fields, in this order.
    pub fields: Vec<(String, Field)>,
    /// The folder that `roots` must have.
    pub root: Option<String>,
    /// Roots that hold it already: one of them will do.
    pub held_by: Vec<String>,
    /// The roots that the map gets if it has none. None: none.
    pub all_roots: Option<Vec<String>>,
}

/// A value in the map.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Field {
    /// A yes or no: what the map says stays.
    Flag(bool),
    /// A limit: if the map has a higher one, it is changed. A lower one is another client's.
    Number(u64),
    /// A text.
    Text(String),
    /// Texts, which may stand among others.
    Texts(Vec<String>),
}

impl Field {
    fn shown(&self) -> String {
        match self {
            Self::Flag(is) => is.to_string(),
            Self::Number(number) => number.to_string(),
            Self::Text(text) => quoted(text),
            Self::Texts(texts) => list(texts),
        }
    }

    fn value(&self) -> Value {
        match self {
            Self::Flag(is) => json!(is),
            Self::Number(number) => json!(number),
            Self::Text(text) => json!(text),
            Self::Texts(texts) => json!(texts),
        }
    }
}

fn list(texts: &[String]) -> String {
    let quoted: Vec<_> = texts
        .iter()
        .map(|text| crate::paste::quoted(text))
        .collect();
    format!("[{}]", quoted.join(", "))
}

/// An entry or a binding that a map has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// `keys` or `bindings`.
    pub kind: &'static str,
    /// The key, or the binding's name.
    pub name: String,
    /// As the map has it.
    pub path: Option<String>,
    /// None means any.
    pub agents: Option<Vec<String>>,
}

/// What a map has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Has {
    /// Its entries and bindings.
    pub tables: Vec<Known>,
    /// Its roots, if it has any.
    pub roots: Option<Vec<String>>,
}

fn parse(text: &str) -> Result<DeTable<'_>, EditError> {
    let parsed = DeTable::parse(text).map_err(|_| EditError::Syntax("TOML"))?;
    Ok(parsed.into_inner())
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
///
/// # Errors
/// If it is not TOML.
pub fn read(text: &str) -> Result<Has, EditError> {
    let whole = table_value(&parse(marked(text).1)?);
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
///
/// # Errors
/// [`EditError`].
pub fn merge(text: &str, wanted: &Table) -> Result<Vec<Change>, EditError> {
    let (mark, body) = marked(text);
    let document = parse(body)?;
    let old = table_value(&document);
    let (mut changes, mut expected) = (Vec::new(), old.clone());
    roots(body, &document, wanted, &mut changes, &mut expected)?;
    table(body, &document, wanted, &mut changes, &mut expected)?;
    changes.sort_by_key(|change| change.at);
    let new = apply(body, &changes).ok_or(EditError::NotSafe)?;
    let is_as_expected = parse(&new).is_ok_and(|new| table_value(&new) == expected);
    if !is_as_expected {
        return Err(EditError::NotSafe);
    }
    changes.iter_mut().for_each(|change| change.at += mark);
    Ok(changes)
}

/// The changes after which each binding that has the key of an entry has that entry's path,
/// limit and agents instead, as since version 0.4.0.
///
/// # Errors
/// [`EditError`].
pub fn renew(text: &str) -> Result<Vec<Change>, EditError> {
    let (mark, body) = marked(text);
    let document = parse(body)?;
    let mut expected = table_value(&document);
    let table = |kind: &str| match document.get(kind).map(toml::Spanned::get_ref) {
        Some(DeValue::Table(table)) => Some(table),
        _ => None,
    };
    let mut changes = Vec::new();
    for (name, binding) in table("bindings").into_iter().flatten() {
        let DeValue::Table(fields) = binding.get_ref() else {
            continue;
        };
        let key = fields.iter().find(|(field, _)| *field.get_ref() == "key");
        let Some((field, key)) = key else { continue };
        let DeValue::String(text) = key.get_ref() else {
            continue;
        };
        let entry = table("keys").and_then(|keys| keys.get(&**text));
        let entry = entry.map_or(Value::Null, |entry| value(entry.get_ref()));
        let path = entry.as_str().or_else(|| entry.get("path")?.as_str());
        let path = path.ok_or_else(|| {
            EditError::Differs(format!(
                "the key of [bindings.{name}]",
                name = name.get_ref()
            ))
        })?;
        let new = &mut expected["bindings"][&**name.get_ref()];
        new.as_object_mut().and_then(|new| new.remove("key"));
        new["path"] = json!(path);
        let mut lines = vec![format!("path = {}", quoted(path))];
        if let Some(bytes) = entry.get("max_bytes").filter(|bytes| bytes.is_u64()) {
            lines.push(format!("max_bytes = {bytes}"));
            new["max_bytes"] = bytes.clone();
        }
        if let Some(agents) = entry.get("agents").and_then(texts) {
            lines.push(format!("agents = {}", list(&agents)));
            new["agents"] = json!(agents);
        }
        let is_inline = body
            .get(binding.span().start..)
            .is_some_and(|text| text.starts_with('{'));
        let joint = if is_inline { ", " } else { line_end(body) };
        changes.push(Change {
            at: field.span().start,
            removed: body
                .get(field.span().start..key.span().end)
                .unwrap_or_default()
                .to_owned(),
            inserted: lines.join(joint),
            place: format!("[bindings.{}]", name.get_ref()),
        });
    }
    changes.sort_by_key(|change| change.at);
    let new = apply(body, &changes).ok_or(EditError::NotSafe)?;
    if !parse(&new).is_ok_and(|new| table_value(&new) == expected) {
        return Err(EditError::NotSafe);
    }
    changes.iter_mut().for_each(|change| change.at += mark);
    Ok(changes)
}

fn roots(
    text: &str,
    document: &DeTable<'_>,
    wanted: &Table,
    changes: &mut Vec<Change>,
    expected: &mut Value,
) -> Result<(), EditError> {
    let Some(found) = document.get("roots") else {
        if let Some(roots) = &wanted.all_roots {
            let line = format!("roots = {}{}", list(roots), line_end(text));
            let at = before_the_first(text);
            let rest = text.get(at..).unwrap_or_default();
            let inserted = match (rest.is_empty(), text.ends_with('\n') || text.is_empty()) {
                (true, true) => line,
                (true, false) => format!("{}{line}", line_end(text)),
                (false, _) => format!("{line}{}", line_end(text)),
            };
            changes.push(Change::insert(at, inserted, "the top"));
            set(expected, "roots", json!(roots));
        }
        return Ok(());
    };
    let DeValue::Array(list) = found.get_ref() else {
        return Err(EditError::Differs("roots".to_owned()));
    };
    let has = texts(&value(found.get_ref())).ok_or(EditError::Differs("roots".to_owned()))?;
    let holds =
        |root: &String| has.contains(root) || wanted.held_by.iter().any(|r| has.contains(r));
    let more: Vec<_> = wanted
        .root
        .iter()
        .filter(|root| !holds(root))
        .cloned()
        .collect();
    let last = list.iter().last().map(toml::Spanned::span);
    changes.extend(add(found.span(), last, &more, "roots"));
    set(expected, "roots", json!([has, more].concat()));
    Ok(())
}

/// Adds texts at the end of a list.
fn add(
    whole: Range<usize>,
    last: Option<Range<usize>>,
    more: &[String],
    place: &str,
) -> Option<Change> {
    let texts: Vec<_> = more.iter().map(|text| quoted(text)).collect();
    let joined = texts.join(", ");
    let change = match last {
        _ if more.is_empty() => return None,
        Some(last) => Change::insert(last.end, format!(", {joined}"), place),
        None => Change::insert(whole.start + 1, joined, place),
    };
    Some(change)
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

fn table(
    text: &str,
    document: &DeTable<'_>,
    wanted: &Table,
    changes: &mut Vec<Change>,
    expected: &mut Value,
) -> Result<(), EditError> {
    let (kind, name) = (&*wanted.kind, &*wanted.name);
    let place = format!("[{kind}.{name}]");
    let of_kind = document.get(kind);
    let of_kind = of_kind.map(|found| match found.get_ref() {
        DeValue::Table(tables) => Ok(tables),
        _ => Err(EditError::Differs(kind.to_owned())),
    });
    let Some(found) = of_kind.transpose()?.and_then(|tables| tables.get(name)) else {
        let end = line_end(text);
        let so_far = apply(text, changes).ok_or(EditError::NotSafe)?;
        let mut block = match so_far.ends_with('\n') || so_far.is_empty() {
            true => String::new(),
            false => end.to_owned(),
        };
        if !so_far.is_empty() {
            block += end;
        }
        block += &format!("[{kind}.{}]{end}", key(name));
        for (name, field) in &wanted.fields {
            block += &format!("{name} = {}{end}", field.shown());
        }
        changes.push(Change::insert(text.len(), block, "the end"));
        let fields = wanted
            .fields
            .iter()
            .map(|(name, field)| (name.clone(), field.value()));
        let tables = set(expected, kind, Value::Null);
        set(tables, name, Value::Object(fields.collect()));
        return Ok(());
    };
    let DeValue::Table(fields) = found.get_ref() else {
        return match (found.get_ref(), &wanted.fields[..]) {
            (DeValue::String(path), [(_, Field::Text(text))]) if path == text => Ok(()),
            _ => Err(EditError::Differs(place)),
        };
    };
    let expected = set(set(expected, kind, Value::Null), name, Value::Null);
    let mut missing = Vec::new();
    for (name, wants) in &wanted.fields {
        let differs = || EditError::Differs(format!("{name} of {place}"));
        match (fields.get(&**name), wants) {
            (None, _) => {
                missing.push(format!("{name} = {}", wants.shown()));
                set(expected, name, wants.value());
            }
            (Some(found), wants) if value(found.get_ref()) == wants.value() => {}
            (Some(_), Field::Flag(_)) => {}
            (Some(found), Field::Number(most))
                if value(found.get_ref())
                    .as_u64()
                    .is_some_and(|has| has <= *most) => {}
            (Some(found), Field::Number(_)) => {
                changes.push(Change {
                    at: found.span().start,
                    removed: text.get(found.span()).unwrap_or_default().to_owned(),
                    inserted: wants.shown(),
                    place: format!("{name} of {place}"),
                });
                set(expected, name, wants.value());
            }
            (Some(found), Field::Texts(more)) => {
                let DeValue::Array(list) = found.get_ref() else {
                    return Err(differs());
                };
                let has = texts(&value(found.get_ref())).ok_or_else(differs)?;
                let more: Vec<_> = more
                    .iter()
                    .filter(|text| !has.contains(text))
                    .cloned()
                    .collect();
                let last = list.iter().last().map(toml::Spanned::span);
                let place = format!("{name} of {place}");
                changes.extend(add(found.span(), last, &more, &place));
                set(expected, name, json!([has, more].concat()));
            }
            _ => return Err(differs()),
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let starts_with = |what: char| {
        text.get(found.span().start..)
            .is_some_and(|text| text.starts_with(what))
    };
    let last = fields.iter().map(|(_, field)| field.span().end).max();
    let change = match last {
        Some(last) if starts_with('{') => {
            Change::insert(last, format!(", {}", missing.join(", ")), &place)
        }
        Some(_) if !starts_with('[') => return Err(EditError::NotSafe),
        last => {
            let at = last.unwrap_or(found.span().end);
            let line = text.get(at..).and_then(|rest| rest.find('\n'));
            let rest = text.get(at..at + line.unwrap_or(0)).unwrap_or_default();
            let at = line.map_or(text.len(), |_| at + rest.trim_end_matches('\r').len());
            let end = line_end(text);
            let lines = missing.iter().map(|line| format!("{end}{line}"));
            Change::insert(at, lines.collect(), &place)
        }
    };
    changes.push(change);
    Ok(())
}

/// A key of TOML, in quotes if it must be.
fn key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match !name.is_empty() && name.chars().all(is_bare) {
        true => name.to_owned(),
        false => quoted(name),
    }
}

/// Sets a field of an object, unless `value` is null and there is one. Returns the field.
fn set<'v>(object: &'v mut Value, name: &str, value: Value) -> &'v mut Value {
    if !object.is_object() {
        *object = Value::Object(Object::new());
    }
    let field = &mut object[name];
    if !value.is_null() {
        *field = value;
    }
    field
}
