//! Edits of Claude Code's `settings.json`: strings in `permissions.deny`, and switches.
//!
//! Each change is made twice: in the text, where all else stays as the user wrote it, and in the
//! value that the old text has. The new text must have exactly that value, or nothing is edited.
//! So what is written is the old file with what the user is shown, and nothing else.

use crate::{
    EditError,
    shown::{Edited, lines_of},
};
use jsonc_parser::{
    ParseOptions,
    cst::{CstArray, CstInputValue, CstObject, CstRootNode},
};
use keyhole_claude::settings;
use serde_json::{Value, json};
use std::slice;

/// The place of the deny rules in the settings.
pub(crate) const DENY_RULES: &[&str] = &["permissions", "deny"];

/// The place of the variable that keeps the client from saying what agents do.
pub(crate) const NO_PROGRESS_VARIABLE: &[&str] = &["env", settings::NO_PROGRESS_LINES];

/// A change at one place of the settings: of a list there, or of a value that is no list.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// The place: a name of the settings, then those in the tables below it.
    pub(crate) place: Vec<&'static str>,
    /// What is taken out of the list, as far as it is there; or the value that is taken away.
    pub(crate) goes: Vec<Value>,
    /// What is added to the list, as far as it is not there; or the value, if none is there. Null
    /// takes the value away.
    pub(crate) comes: Value,
}

impl Change {
    /// The change at this place.
    pub(crate) fn new(place: &[&'static str], goes: Vec<Value>, comes: impl Into<Value>) -> Self {
        Self {
            place: place.to_vec(),
            goes,
            comes: comes.into(),
        }
    }

    /// The lines that the user is shown of this change.
    pub(crate) fn shown(&self) -> String {
        let Value::Array(comes) = &self.comes else {
            return lines_of("", &self.lines_with(&self.goes), &self.lines_to_write());
        };
        let names = self.place.join(".");
        lines_of(&names, &lines(&self.goes), &lines(comes))
    }

    /// The lines of what comes, for a user who writes them. Empty if nothing comes.
    pub(crate) fn lines_to_write(&self) -> String {
        match &self.comes {
            Value::Null => String::new(),
            Value::Array(comes) => self.lines_with(comes),
            value => self.lines_with(slice::from_ref(value)),
        }
    }

    /// These values, each on a line with the place.
    fn lines_with(&self, values: &[Value]) -> String {
        let lines = settings::lines_at(&self.place, &json!(values));
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    /// The part of this change that is still to be done. None if there is none.
    ///
    /// `there` is what stands at the place now. If `comes` is a list: of the items that come, those
    /// that are not there yet are left, and of those that go, those that are still there. With
    /// `["b"]` there, `a` is left of `["a", "b"]`. What is no list counts as an empty one.
    ///
    /// If `comes` is no list, the whole change is left, or nothing: it is to be done if a value
    /// stands there that goes, or if none stands there and one comes. Any other value stays.
    fn still_to_do(&self, there: Option<&Value>) -> Option<Self> {
        let mut rest = self.clone();
        let Value::Array(comes) = &mut rest.comes else {
            // A value that the user has set stays.
            let is_to_do = match there {
                Some(value) => self.goes.contains(value),
                None => !self.comes.is_null(),
            };
            return if is_to_do { Some(rest) } else { None };
        };
        let old = list_or_empty(there);
        comes.retain(|value| !old.contains(value));
        rest.goes.retain(|value| old.contains(value));
        if rest.goes.is_empty() && comes.is_empty() {
            return None;
        }
        Some(rest)
    }

    /// What stands at the place after this change, if `there` stands now. The change must be one
    /// that is still to be done.
    fn applied_to(&self, there: Option<&Value>) -> Value {
        let Value::Array(comes) = &self.comes else {
            return self.comes.clone();
        };
        let mut new = list_or_empty(there).to_vec();
        new.retain(|value| !self.goes.contains(value));
        new.extend_from_slice(comes);
        new.into()
    }
}

/// The longest line of a list, so that a terminal of 80 characters shows it as one.
const WIDTH: usize = 76;

/// The values, as many on each line as it holds.
fn lines(values: &[Value]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for value in values {
        let text = value.to_string();
        match lines.last_mut() {
            Some(line) if line.len() + text.len() + 2 <= WIDTH => *line += &format!(", {text}"),
            _ => lines.push(text),
        }
    }
    lines.join(",\n")
}

/// The list that stands there. Empty if none does.
fn list_or_empty(there: Option<&Value>) -> &[Value] {
    there.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The text of the settings with these changes made, as far as they are still to do, and the lines
/// that the user is shown of them. All else stays. A list such as `permissions.deny` (a member of a
/// table) that becomes empty is taken out, and so is its table if that is then empty.
///
/// # Errors
/// [`EditError::Syntax`] if the text is no JSON; [`EditError::ChangesMore`] if the new text does
/// not have the value that it should; and what [`Draft::make`] returns.
pub(crate) fn edit(text: &str, changes: &[Change]) -> Result<Edited, EditError> {
    let body = text.trim_start_matches('\u{feff}');
    let byte_order_mark = &text[..text.len() - body.len()];
    let old = if body.trim().is_empty() { "{}\n" } else { body };
    let mut draft = Draft {
        text: old.to_owned(),
        value: settings::json(old).map_err(|_| EditError::Syntax("JSON"))?,
    };
    let mut shown = String::new();
    for wanted in changes {
        let there = draft.value.pointer(&settings::pointer(&wanted.place));
        if let Some(change) = wanted.still_to_do(there) {
            draft.make(&change)?;
            shown += &change.shown();
        }
    }
    if !settings::json(&draft.text).is_ok_and(|value| value == draft.value) {
        return Err(EditError::ChangesMore);
    }
    let text = byte_order_mark.to_owned() + &draft.text;
    Ok(Edited { text, shown })
}

/// The settings while they are edited.
struct Draft {
    text: String,
    /// The value that the text must have.
    value: Value,
}

impl Draft {
    /// Makes a change in the text and in the value. The change must be one that
    /// [`Change::still_to_do`] returned: all that goes is there, and nothing that comes is there.
    ///
    /// # Errors
    /// If the text has half a character, such as `\ud83d`; if a name on the way to the place stands
    /// there twice; if what is on the way is no object; or if what is at the place of a list is no
    /// list.
    fn make(&mut self, change: &Change) -> Result<(), EditError> {
        let parsed = CstRootNode::parse(&self.text, &ParseOptions::default());
        // `settings::json` takes the text, also with half a character. This parser does not.
        let tree = parsed.map_err(|_| EditError::HalfCharacter)?;
        let Some(whole) = tree.object_value() else {
            return Err(EditError::OtherKind("the file"));
        };
        apply_to_text(&whole, &change.place, change)?;
        let value = change.applied_to(self.value.pointer(&settings::pointer(&change.place)));
        match change.place[..] {
            // A list that became empty, or a value that goes. Below three names, as
            // `sandbox.filesystem.allowRead`, an empty list stays.
            [group, name] if value == json!([]) || value.is_null() => {
                prune(&whole, &mut self.value, group, name);
            }
            _ => {
                let mut there = &mut self.value;
                for name in &change.place {
                    there = &mut there[*name];
                }
                *there = value;
            }
        }
        self.text = tree.to_string();
        Ok(())
    }
}

/// Makes a change in the text, where `names` lead from this object to the change's place. Changes
/// the list at the place. If one of the names is not there, adds it, with all below it down to what
/// the change brings. A change that only takes a single value away (`comes` is null) leaves it in
/// the text: `prune` takes it out.
///
/// # Errors
/// [`EditError::Twice`] if one of the names stands twice in its object; [`EditError::OtherKind`] if
/// what is on the way to the place is no object, or what is at the place is no list.
fn apply_to_text(
    object: &CstObject,
    names: &[&'static str],
    change: &Change,
) -> Result<(), EditError> {
    let [name, inner @ ..] = names else {
        return Ok(());
    };
    let members = object.properties().into_iter();
    let same_name = members.filter(|member| member.decoded_name().as_deref() == Some(name));
    // Of two members with one name, programs differ in which one counts.
    if same_name.count() > 1 {
        return Err(EditError::Twice(name));
    }
    if object.get(name).is_none() {
        let mut value = change.comes.clone();
        for table in inner.iter().rev() {
            value = json!({ *table: value });
        }
        add_member(object, name, &value);
        return Ok(());
    }
    if !inner.is_empty() {
        let table = object
            .object_value(name)
            .ok_or(EditError::OtherKind(name))?;
        return apply_to_text(&table, inner, change);
    }
    // A single value that goes: `prune` takes it out.
    if change.comes.is_null() {
        return Ok(());
    }
    let list = object.array_value(name).ok_or(EditError::OtherKind(name))?;
    change_list(&list, change);
    Ok(())
}

/// Takes out of the list in the text what goes, and adds what comes.
fn change_list(list: &CstArray, change: &Change) {
    for element in list.elements() {
        let value = element.to_serde_value();
        if value.is_some_and(|value| change.goes.contains(&value)) {
            element.remove();
        }
    }
    for value in change.comes.as_array().into_iter().flatten() {
        list.append(tree_value(value));
    }
}

/// Takes the member `name` of the table `group` out of the text (`whole`) and out of the `value`
/// that the text has. If the table has nothing else, takes out the whole table. Does nothing if it
/// is not there.
fn prune(whole: &CstObject, value: &mut Value, group: &str, name: &str) {
    let is_table_empty = match value.get_mut(group).and_then(Value::as_object_mut) {
        Some(table) => table.remove(name).is_some() && table.is_empty(),
        None => false,
    };
    let member = if is_table_empty {
        if let Some(all) = value.as_object_mut() {
            all.remove(group);
        }
        whole.get(group)
    } else {
        let table = whole.object_value(group);
        table.and_then(|table| table.get(name))
    };
    if let Some(member) = member {
        member.remove();
    }
}

/// Adds a member to this object of the text: at its end, on a line of its own; or, if the object
/// has members on one line, before the first one, since the tree would break the line.
fn add_member(object: &CstObject, name: &str, value: &Value) {
    let first = object.properties().into_iter().next();
    let first_name = first.and_then(|member| member.name()?.as_string_lit());
    let is_one_line = !object.to_string().contains('\n');
    if let Some(first_name) = first_name
        && is_one_line
    {
        first_name.set_raw_value(format!("{}: {value}, {first_name}", json!(name)));
        return;
    }
    let member = object.append(name, tree_value(value));
    // A list gets a line for each value, also one in a table.
    let table = member.object_value();
    let inner = table.and_then(|table| table.properties().pop());
    if let Some(list) = inner.unwrap_or(member).array_value() {
        list.ensure_multiline();
    }
}

/// The value as the tree of the text takes it: a string, a list and an object as such, each with
/// all in it.
fn tree_value(value: &Value) -> CstInputValue {
    match value {
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(list) => CstInputValue::Array(list.iter().map(tree_value).collect()),
        Value::Object(members) => {
            let mut inputs = Vec::new();
            for (name, value) in members {
                inputs.push((name.clone(), tree_value(value)));
            }
            CstInputValue::Object(inputs)
        }
        // Null, true, false and a number are written as they are.
        other => CstInputValue::Number(other.to_string()),
    }
}
