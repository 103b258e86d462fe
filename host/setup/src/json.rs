//! Edits of Claude Code's `settings.json`: strings in `permissions.deny`, and hooks.

use crate::{Change, EditError, settings};
use jsonc_parser::{
    ParseOptions,
    cst::{CstInputValue, CstObject, CstRootNode},
};
use serde_json::{Value, json};

/// What goes from a list, and what comes.
pub(crate) type Sides<'a> = (&'a [Value], &'a [Value]);

/// The settings with other rules and hooks, and what that changes. All else stays. A list or table
/// that is empty then goes, too.
pub(crate) fn edit(
    text: &str,
    rules: Sides<'_>,
    hooks: Sides<'_>,
) -> Result<(String, Vec<Change>), EditError> {
    let (mark, body) = text.split_at(text.len() - text.trim_start_matches('\u{feff}').len());
    let is_blank = body.trim().is_empty();
    let body = if is_blank { "{}" } else { body };
    let mut expected = settings::json(body).map_err(|_| EditError::Syntax("JSON"))?;
    let mut new = body.to_owned();
    let mut changes = Vec::new();
    for ([group, name], (goes, comes)) in [
        (["permissions", "deny"], rules),
        (["hooks", "SubagentStart"], hooks),
    ] {
        let there = expected.pointer(&format!("/{group}/{name}"));
        let there = there.and_then(Value::as_array).cloned().unwrap_or_default();
        let comes = comes.iter().filter(|one| !there.contains(one));
        let comes = &*comes.cloned().collect::<Vec<_>>();
        let there = there.into_iter();
        let (gone, mut left): (Vec<_>, Vec<_>) = there.partition(|one| goes.contains(one));
        if gone.is_empty() && comes.is_empty() {
            continue;
        }
        left.extend_from_slice(comes);
        let root = CstRootNode::parse(&new, &ParseOptions::default());
        let root = root.map_err(|_| EditError::Half)?;
        let whole = root.object_value().ok_or(EditError::Differs("the file"))?;
        change(&whole, [group, name], goes, comes)?;
        if left.is_empty() {
            prune(&whole, &mut expected, group, name);
        } else {
            expected[group][name] = json!(left);
        }
        new = root.to_string();
        let line = |value: &Value| format!("{value:#}\n");
        let lines = |all: &[Value]| all.iter().map(line).collect::<String>();
        let place = format!("{group}.{name}");
        changes.push(Change::new(&place, &lines(&gone), &lines(comes)));
    }
    new += if is_blank { "\n" } else { "" };
    let is_as_shown = settings::json(&new).is_ok_and(|new| new == expected);
    let new = is_as_shown.then(|| mark.to_owned() + &new);
    Ok((new.ok_or(EditError::Unsafe)?, changes))
}

/// Changes one list.
fn change(
    whole: &CstObject,
    [group, name]: [&'static str; 2],
    goes: &[Value],
    comes: &[Value],
) -> Result<(), EditError> {
    single(whole, group)?;
    if whole.get(group).is_none() {
        put(whole, group, &json!({ name: comes }));
        return Ok(());
    }
    let table = whole.object_value(group).ok_or(EditError::Differs(group))?;
    single(&table, name)?;
    if table.get(name).is_none() {
        put(&table, name, &json!(comes));
        return Ok(());
    }
    let list = table.array_value(name).ok_or(EditError::Differs(name))?;
    for element in list.elements() {
        let value = element.to_serde_value();
        if value.is_some_and(|value| goes.contains(&value)) {
            element.remove();
        }
    }
    for value in comes {
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
        // It is written as it is.
        other => CstInputValue::Number(other.to_string()),
    }
}
