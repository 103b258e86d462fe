//! Edits of Claude Code's `settings.json`: strings in `permissions.deny`, and switches.

use crate::{EditError, shown::lines_of};
use jsonc_parser::{
    ParseOptions,
    cst::{CstInputValue, CstObject, CstRootNode},
};
use keyhole_claude::settings;
use serde_json::{Value, json};
use std::slice;

/// Where the rules are.
pub(crate) const RULES: &[&str] = &["permissions", "deny"];

/// A change at one place of the settings: what goes from the list there and what comes; or a
/// value that comes, and no list.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) at: Vec<&'static str>,
    pub(crate) goes: Vec<Value>,
    pub(crate) comes: Value,
}

impl Change {
    pub(crate) fn new(at: &[&'static str], goes: Vec<Value>, comes: impl Into<Value>) -> Self {
        let (at, comes) = (at.to_vec(), comes.into());
        Self { at, goes, comes }
    }

    /// Where it is, as `serde_json` names it.
    pub(crate) fn pointer(&self) -> String {
        format!("/{}", self.at.join("/"))
    }

    pub(crate) fn shown(&self) -> String {
        let line = |value: &Value| format!("{value:#}\n");
        let lines = |all: &[Value]| all.iter().map(line).collect::<String>();
        match &self.comes {
            Value::Array(comes) => lines_of(&self.at.join("."), &lines(&self.goes), &lines(comes)),
            _ => lines_of("", "", &self.by_hand()),
        }
    }

    /// What comes, for a user who writes it.
    pub(crate) fn by_hand(&self) -> String {
        let (place, one) = (self.at.join("."), slice::from_ref(&self.comes));
        let all = self.comes.as_array().map_or(one, Vec::as_slice).iter();
        all.map(|one| format!("{place}: {one:#}\n")).collect()
    }
}

/// The settings with these changes, and what is shown of them. All else stays. A list or table
/// that is empty then goes, too. A value that is there already stays.
pub(crate) fn edit(text: &str, changes: &[Change]) -> Result<(String, String), EditError> {
    let body = text.trim_start_matches('\u{feff}');
    let mark = &text[..text.len() - body.len()];
    let body = if body.trim().is_empty() { "{}\n" } else { body };
    let mut expected = settings::json(body).map_err(|_| EditError::Syntax("JSON"))?;
    let (mut new, mut shown) = (body.to_owned(), String::new());
    for wanted in changes {
        let there = expected.pointer(&wanted.pointer());
        let (mut change, mut now) = (wanted.clone(), wanted.comes.clone());
        if let Value::Array(comes) = &mut change.comes {
            let there = there.and_then(Value::as_array).cloned().unwrap_or_default();
            comes.retain(|one| !there.contains(one));
            let (gone, left) = there.into_iter().partition(|it| wanted.goes.contains(it));
            change.goes = gone;
            now = [left, comes.clone()].concat().into();
        } else if there.is_some() {
            continue;
        }
        if change.goes.is_empty() && change.comes == json!([]) {
            continue;
        }
        let root = CstRootNode::parse(&new, &ParseOptions::default());
        let root = root.map_err(|_| EditError::Half)?;
        let whole = root.object_value().ok_or(EditError::Differs("the file"))?;
        apply(&whole, &change.at, &change)?;
        if now == json!([]) {
            prune(&whole, &mut expected, change.at[0], change.at[1]);
        } else {
            let names = change.at.iter();
            *names.fold(&mut expected, |table, name| &mut table[*name]) = now;
        }
        new = root.to_string();
        shown += &change.shown();
    }
    let is_as_shown = settings::json(&new).is_ok_and(|new| new == expected);
    let new = is_as_shown.then(|| mark.to_owned() + &new);
    Ok((new.ok_or(EditError::Unsafe)?, shown))
}

/// Changes the list at this place of the object, or adds what is not there.
fn apply(object: &CstObject, at: &[&'static str], change: &Change) -> Result<(), EditError> {
    let [name, rest @ ..] = at else {
        return Ok(());
    };
    let members = object.properties().into_iter();
    let same = members.filter(|member| member.decoded_name().as_deref() == Some(name));
    // Programs differ in which one counts.
    if same.count() > 1 {
        return Err(EditError::Twice(name));
    }
    if object.get(name).is_none() {
        let value = rest.iter().rev();
        let value = value.fold(change.comes.clone(), |value, name| json!({ *name: value }));
        put(object, name, &value);
        return Ok(());
    }
    if !rest.is_empty() {
        let table = object.object_value(name).ok_or(EditError::Differs(name))?;
        return apply(&table, rest, change);
    }
    let list = object.array_value(name).ok_or(EditError::Differs(name))?;
    for element in list.elements() {
        let value = element.to_serde_value();
        if value.is_some_and(|value| change.goes.contains(&value)) {
            element.remove();
        }
    }
    for value in change.comes.as_array().into_iter().flatten() {
        list.append(input(value));
    }
    Ok(())
}

/// Takes an empty list away, and the table that holds nothing else.
fn prune(whole: &CstObject, expected: &mut Value, group: &str, name: &str) {
    let members = expected[group].as_object_mut();
    let is_last = members.is_some_and(|all| all.remove(name).is_some() && all.is_empty());
    let gone = if is_last {
        expected.as_object_mut().map(|all| all.remove(group));
        whole.get(group)
    } else {
        whole.object_value(group).and_then(|table| table.get(name))
    };
    gone.into_iter().for_each(|member| member.remove());
}

/// Adds a member. An object on one line, which the tree would put on several, gets it before its
/// first name.
fn put(object: &CstObject, name: &str, value: &Value) {
    let first = object.properties().into_iter().next();
    let first = first.and_then(|first| first.name()?.as_string_lit());
    match first.filter(|_| !object.to_string().contains('\n')) {
        Some(first) => first.set_raw_value(format!("{}: {value}, {first}", json!(name))),
        None => {
            let member = object.append(name, input(value));
            let table = member.object_value();
            let inner = table.and_then(|table| table.properties().pop());
            let list = inner.unwrap_or(member).array_value();
            list.into_iter().for_each(|list| list.ensure_multiline());
        }
    }
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(list) => CstInputValue::Array(list.iter().map(input).collect()),
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| (name.clone(), input(value));
            CstInputValue::Object(members.iter().map(member).collect())
        }
        // These are written as they are.
        other => CstInputValue::Number(other.to_string()),
    }
}
