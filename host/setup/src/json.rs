//! Edits of Claude Code's `settings.json`: strings in `permissions.deny`, and switches.
//!
//! Each change is made twice: in the text, where all else stays as the user wrote it, and in the
//! value that the old text has. The new text must have exactly that value, or nothing is edited.
//! So what is written is the old file with what the user is shown, and nothing else.

use crate::{
    EditError,
    shown::{Edited, lines_that_come, lines_that_go},
};
use jsonc_parser::{
    ParseOptions,
    cst::{CstArray, CstInputValue, CstObject, CstRootNode},
};
use keyhole_claude::settings;
use serde_json::{Value, json};

/// The place of the deny rules in the settings.
pub(crate) const DENY_RULES: &[&str] = &["permissions", "deny"];

/// The place of the variable that keeps the client from telling an agent's progress.
pub(crate) const NO_PROGRESS_VARIABLE: &[&str] = &["env", settings::NO_PROGRESS_LINES];

/// A change at one place of the settings. A list stands for its items, any other value for itself.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// The names that lead to the place, from the outermost: `permissions`, then `deny`.
    place: Vec<&'static str>,
    kind: Kind,
    value: Value,
}

/// What a change does at its place.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// Adds the items that the list there lacks; or a single value, if nothing is there.
    Adds,
    /// Takes the items out of the list there; or takes the value away, if just this one is there.
    TakesOut,
}

impl Change {
    /// The change that adds this value, or the items of this list.
    pub(crate) fn adding(place: &[&'static str], value: impl Into<Value>) -> Self {
        Self {
            place: place.to_vec(),
            kind: Kind::Adds,
            value: value.into(),
        }
    }

    /// The change that takes out this value, or the items of this list.
    pub(crate) fn taking_out(place: &[&'static str], value: impl Into<Value>) -> Self {
        Self {
            kind: Kind::TakesOut,
            ..Self::adding(place, value)
        }
    }

    /// The lines that the user is shown of this change: each with a `+` if it comes, or with a `-`
    /// if it goes. Items of a list stand below the names of the place, `in permissions.deny:`.
    pub(crate) fn shown(&self) -> String {
        let (place, text) = match &self.value {
            Value::Array(items) => (self.place.join("."), lines(items)),
            _ => (String::new(), self.lines_with_place()),
        };
        match self.kind {
            Kind::Adds => lines_that_come(&place, &text),
            Kind::TakesOut => lines_that_go(&place, &text),
        }
    }

    /// The lines that a user adds to edit the file by hand. Empty if the change takes something
    /// out.
    pub(crate) fn lines_to_add(&self) -> String {
        match self.kind {
            Kind::Adds => self.lines_with_place(),
            Kind::TakesOut => String::new(),
        }
    }

    /// A line for each item of the list, or for the single value, behind the names of the place:
    /// `permissions.deny: "Read(~/notes/**)"`.
    fn lines_with_place(&self) -> String {
        let lines = settings::lines_at(&self.place, &self.value);
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    /// The part of this change that is still to be done, where `there` stands at the place now.
    /// None if nothing is.
    ///
    /// - Of a list: to add `["a", "b"]` where `["b"]` stands, `["a"]` is left; to take them out,
    ///   `["b"]`. What is no list counts as an empty one.
    /// - Of any other value, all or nothing. It is added only if nothing is there, since a value
    ///   that the user has set stays. It is taken out only if just this value is there.
    fn still_to_do(&self, there: Option<&Value>) -> Option<Self> {
        let mut left = self.clone();
        let is_to_do = if let Value::Array(items) = &mut left.value {
            let old = list_or_empty(there);
            items.retain(|item| match self.kind {
                Kind::Adds => !old.contains(item),
                Kind::TakesOut => old.contains(item),
            });
            !items.is_empty()
        } else {
            match self.kind {
                Kind::Adds => there.is_none(),
                Kind::TakesOut => there == Some(&self.value),
            }
        };
        if is_to_do { Some(left) } else { None }
    }

    /// What stands at the place after this change, if `there` stands now. Null if the change takes
    /// a single value away. The change must be one that is still to be done.
    fn applied_to(&self, there: Option<&Value>) -> Value {
        let Value::Array(items) = &self.value else {
            return match self.kind {
                Kind::Adds => self.value.clone(),
                Kind::TakesOut => Value::Null,
            };
        };
        let mut new = list_or_empty(there).to_vec();
        match self.kind {
            Kind::Adds => new.extend_from_slice(items),
            Kind::TakesOut => new.retain(|item| !items.contains(item)),
        }
        new.into()
    }
}

/// The longest line of a list, in bytes: with the sign and the blanks before the line, a terminal
/// of 80 characters shows it as one line.
const WIDTH: usize = 76;

/// The values as JSON, with commas between them: as many on a line as go into 76 bytes.
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

/// The items of the list `there`. Empty if it is no list, or if nothing is there.
fn list_or_empty(there: Option<&Value>) -> &[Value] {
    there.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The text of the settings with these changes made, and the lines that the user is shown of them.
/// A change that is made already counts as none, so nothing may be shown, and `text` may be the old
/// one. All else in the text stays: comments, blanks, and a byte order mark. An empty text counts
/// as `{}`.
///
/// # Errors
/// - [`EditError::Syntax`] if the text is no JSON.
/// - What [`Draft::make`] returns, if the text has no place for a change.
/// - [`EditError::ChangesMore`] if the new text, read again, does not have the value of the old one
///   with the changes made.
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
        // None if the settings have nothing at the place.
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
    /// [`Change::still_to_do`] returned: all that it takes out is there, and nothing that it adds.
    ///
    /// If a list with two names, such as `permissions.deny`, becomes empty, it is taken out whole,
    /// as a single value is. With it goes its table `permissions`, if that has nothing else.
    ///
    /// # Errors
    /// - If the text has an escape for half a character, such as `\ud83d`, or if the whole is no
    ///   object.
    /// - If the place cannot be changed (`apply_to_text`).
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
            // The list became empty, or the value goes. With three names, as in
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

/// Makes a change in the text. The `names` lead from this object to the place of the change, such
/// as `permissions` and `deny`. The first case that holds counts:
///
/// - A name is not there: it is added, with the other names and the change's value in it.
/// - The change is of a list: its items are added to the list at the place, or taken out.
/// - The change takes out a single value: nothing is done, since `prune` does it.
///
/// # Errors
/// - [`EditError::Twice`] if one of the names stands twice in its object.
/// - [`EditError::OtherKind`] if `permissions` is no object, or `deny` is no list.
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
    match same_name.count() {
        0 => {
            let mut value = change.value.clone();
            for table in inner.iter().rev() {
                value = json!({ *table: value });
            }
            add_member(object, name, &value);
            return Ok(());
        }
        1 => {}
        // Of two members with one name, programs differ in which one they take.
        _ => return Err(EditError::Twice(name)),
    }
    if !inner.is_empty() {
        let table = object
            .object_value(name)
            .ok_or(EditError::OtherKind(name))?;
        return apply_to_text(&table, inner, change);
    }
    // A single value that is there goes: `prune` takes it out.
    let Value::Array(items) = &change.value else {
        return Ok(());
    };
    let list = object.array_value(name).ok_or(EditError::OtherKind(name))?;
    match change.kind {
        Kind::Adds => add_items(&list, items),
        Kind::TakesOut => take_out_items(&list, items),
    }
    Ok(())
}

/// Adds these items at the end of the list in the text.
fn add_items(list: &CstArray, items: &[Value]) {
    for item in items {
        list.append(tree_value(item));
    }
}

/// Takes each element of the list in the text that is one of these items out of it.
fn take_out_items(list: &CstArray, items: &[Value]) {
    for element in list.elements() {
        let value = element.to_serde_value();
        if value.is_some_and(|value| items.contains(&value)) {
            element.remove();
        }
    }
}

/// Takes the member `name` of the table `group`, such as `deny` of `permissions`, out of the text
/// (`whole`) and out of the `value` that the text has. If the table has no other member, takes out
/// the whole table. The member must be there.
fn prune(whole: &CstObject, value: &mut Value, group: &str, name: &str) {
    let Some(table) = value.get_mut(group).and_then(Value::as_object_mut) else {
        return;
    };
    table.remove(name);
    let table_in_text = whole.object_value(group);
    let mut member = table_in_text.and_then(|table| table.get(name));
    if table.is_empty() {
        member = whole.get(group);
        if let Some(all) = value.as_object_mut() {
            all.remove(group);
        }
    }
    if let Some(member) = member {
        member.remove();
    }
}

/// Adds the member `name` with this value to an object of the text:
///
/// - If the object has members, all on one line, as its first member: `{"a": 1}` becomes
///   `{"new": 2, "a": 1}`. The parser's own function would break the line.
/// - Else as its last member, on a line of its own. If the value is a list, or a table whose last
///   member is one, that list gets a line for each of its items.
fn add_member(object: &CstObject, name: &str, value: &Value) {
    let first = object.properties().into_iter().next();
    let first_name = first.and_then(|member| member.name()?.as_string_lit());
    let is_one_line = !object.to_string().contains('\n');
    if let Some(first_name) = first_name
        && is_one_line
    {
        // The new member is written into the text of the first member's name.
        first_name.set_raw_value(format!("{}: {value}, {first_name}", json!(name)));
        return;
    }
    let member = object.append(name, tree_value(value));
    let table = member.object_value();
    let inner = table.and_then(|table| table.properties().pop());
    if let Some(list) = inner.unwrap_or(member).array_value() {
        list.ensure_multiline();
    }
}

/// The value in the parser's own type, which has no conversion from JSON. Lists and objects are
/// converted with all in them.
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
        // The parser writes a number's text without quotes, so null, true and false can be one.
        other => CstInputValue::Number(other.to_string()),
    }
}
