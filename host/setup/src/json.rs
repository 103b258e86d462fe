//! Edits of Claude Code's `settings.json`: strings in `permissions.deny`, and hooks.

use crate::{Change, EditError, settings};
use jsonc_parser::{
    ParseOptions,
    cst::{CstInputValue, CstObject, CstRootNode},
};
use serde_json::{Value, json};
use std::slice;

/// Where the rules are, and the hooks.
pub(crate) const RULES: &[&str] = &["permissions", "deny"];
pub(crate) const HOOKS: &[&str] = &["hooks", "SubagentStart"];

/// A change at one place of the settings: what goes from the list there and what comes; or a
/// value that comes, and no list.
pub(crate) struct Side<'a> {
    pub(crate) at: &'a [&'static str],
    pub(crate) goes: &'a [Value],
    pub(crate) comes: &'a Value,
}

impl Side<'_> {
    /// Whether nothing goes or comes.
    pub(crate) fn is_empty(&self) -> bool {
        self.goes.is_empty() && *self.comes == json!([])
    }

    /// For the user.
    pub(crate) fn shown(&self) -> Change {
        let lines = |all: &[Value]| {
            let lines = all.iter().map(|value| format!("{value:#}\n"));
            lines.collect::<String>()
        };
        let place = self.at.join(".");
        match self.comes {
            Value::Array(comes) => Change::new(&place, &lines(self.goes), &lines(comes)),
            _ => Change::new("", "", &self.by_hand()),
        }
    }

    /// What comes, for a user who writes it.
    pub(crate) fn by_hand(&self) -> String {
        let place = self.at.join(".");
        let all = self
            .comes
            .as_array()
            .map_or(slice::from_ref(self.comes), |all| all);
        all.iter()
            .map(|one| format!("{place}: {one:#}\n"))
            .collect()
    }
}

/// The settings with these changes, and what they change. All else stays. A list or table that is
/// empty then goes, too. A value that is there already stays.
pub(crate) fn edit(text: &str, sides: &[Side<'_>]) -> Result<(String, Vec<Change>), EditError> {
    let (mark, body) = text.split_at(text.len() - text.trim_start_matches('\u{feff}').len());
    let is_blank = body.trim().is_empty();
    let body = if is_blank { "{}" } else { body };
    let mut expected = settings::json(body).map_err(|_| EditError::Syntax("JSON"))?;
    let mut new = body.to_owned();
    let mut changes = Vec::new();
    for Side { at, goes, comes } in sides {
        let there = expected.pointer(&format!("/{}", at.join("/"))).cloned();
        let (gone, comes, now) = match (comes, there) {
            (Value::Array(comes), there) => {
                let there = there.as_ref().and_then(Value::as_array).cloned();
                let there = there.unwrap_or_default();
                let comes = comes.iter().filter(|one| !there.contains(one));
                let comes: Vec<_> = comes.cloned().collect();
                let there = there.into_iter();
                let (gone, left): (Vec<_>, Vec<_>) = there.partition(|one| goes.contains(one));
                let now = [left, comes.clone()].concat();
                (gone, json!(comes), json!(now))
            }
            (_, Some(_)) => continue,
            (one, None) => (Vec::new(), (*one).clone(), (*one).clone()),
        };
        if gone.is_empty() && comes == json!([]) {
            continue;
        }
        let root = CstRootNode::parse(&new, &ParseOptions::default());
        let root = root.map_err(|_| EditError::Half)?;
        let whole = root.object_value().ok_or(EditError::Differs("the file"))?;
        change(&whole, at, goes, &comes)?;
        if now == json!([]) {
            prune(&whole, &mut expected, at[0], at[1]);
        } else {
            let place = at
                .iter()
                .fold(&mut expected, |table, name| &mut table[*name]);
            *place = now;
        }
        new = root.to_string();
        changes.push(
            Side {
                at,
                goes: &gone,
                comes: &comes,
            }
            .shown(),
        );
    }
    new += if is_blank { "\n" } else { "" };
    let is_as_shown = settings::json(&new).is_ok_and(|new| new == expected);
    let new = is_as_shown.then(|| mark.to_owned() + &new);
    Ok((new.ok_or(EditError::Unsafe)?, changes))
}

/// Changes one list, or adds what is not there.
fn change(
    whole: &CstObject,
    at: &[&'static str],
    goes: &[Value],
    comes: &Value,
) -> Result<(), EditError> {
    let [name, rest @ ..] = at else {
        return Ok(());
    };
    single(whole, name)?;
    if whole.get(name).is_none() {
        let value = rest.iter().rev();
        let value = value.fold(comes.clone(), |value, name| json!({ *name: value }));
        put(whole, name, &value);
        return Ok(());
    }
    if !rest.is_empty() {
        let table = whole.object_value(name).ok_or(EditError::Differs(name))?;
        return change(&table, rest, goes, comes);
    }
    let list = whole.array_value(name).ok_or(EditError::Differs(name))?;
    for element in list.elements() {
        let value = element.to_serde_value();
        if value.is_some_and(|value| goes.contains(&value)) {
            element.remove();
        }
    }
    for value in comes.as_array().into_iter().flatten() {
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

/// That the object has this member at most once: programs differ in which one counts.
fn single(object: &CstObject, name: &'static str) -> Result<(), EditError> {
    let members = object.properties().into_iter();
    let same = members.filter(|member| member.decoded_name().as_deref() == Some(name));
    let is_single = same.count() < 2;
    is_single.then_some(()).ok_or(EditError::Twice(name))
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
            let members = members.iter();
            let members = members.map(|(name, value)| (name.clone(), input(value)));
            CstInputValue::Object(members.collect())
        }
        // These are written as they are.
        other => CstInputValue::Number(other.to_string()),
    }
}
