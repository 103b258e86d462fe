//! Edits of a JSON file, as clients have them for their settings.

use crate::edit::{Change, EditError, apply, line_end, marked};
use jsonc_parser::{
    CollectOptions, ParseOptions,
    ast::{Array, Object, Value as Node},
    common::Ranged as _,
    parse_to_ast,
};
use serde_json::{Map, Value};

/// Parses the text. Comments and commas at the end are for clients that take them. None if it
/// is blank.
fn parse(text: &str, comments: bool) -> Result<Option<Node<'_>>, EditError> {
    let options = ParseOptions {
        allow_comments: comments,
        allow_loose_object_property_names: false,
        allow_trailing_commas: comments,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options);
    let parsed = parsed.map_err(|_| EditError::Syntax("JSON"))?;
    if let Some(node) = &parsed.value {
        no_duplicates(node)?;
    }
    Ok(parsed.value)
}

fn no_duplicates(node: &Node<'_>) -> Result<(), EditError> {
    match node {
        Node::Object(object) => {
            for (at, property) in object.properties.iter().enumerate() {
                let name = property.name.as_str();
                let before = object.properties.iter().take(at);
                if before.into_iter().any(|other| other.name.as_str() == name) {
                    return Err(EditError::Duplicate("a key".to_owned()));
                }
                no_duplicates(&property.value)?;
            }
            Ok(())
        }
        Node::Array(array) => array.elements.iter().try_for_each(no_duplicates),
        _ => Ok(()),
    }
}

fn value(node: &Node<'_>) -> Value {
    match node {
        Node::StringLit(text) => Value::from(&*text.value),
        Node::NumberLit(number) => {
            serde_json::from_str(number.value).unwrap_or_else(|_| Value::from(number.value))
        }
        Node::BooleanLit(is) => Value::from(is.value),
        Node::NullKeyword(_) => Value::Null,
        Node::Object(object) => {
            let pairs = object.properties.iter();
            let pairs = pairs.map(|p| (p.name.as_str().to_owned(), value(&p.value)));
            Value::Object(pairs.collect())
        }
        Node::Array(array) => array.elements.iter().map(value).collect(),
    }
}

/// The value that the text has, to read it.
///
/// # Errors
/// As [`merge`].
pub fn read(text: &str, comments: bool) -> Result<Value, EditError> {
    let node = parse(marked(text).1, comments)?;
    Ok(node.as_ref().map_or(Value::Object(Map::new()), value))
}

/// Whether the list at this path is a set, to which elements are added.
fn is_set(path: &[&str]) -> bool {
    matches!(path.first(), Some(&("permissions" | "hooks")))
}

/// The changes after which the text has all of `wanted`. What of it stands there stays. `ours`
/// is what setup wrote there before: that is replaced.
///
/// # Errors
/// [`EditError`].
pub fn merge(
    text: &str,
    wanted: &Map<String, Value>,
    ours: &Map<String, Value>,
    comments: bool,
) -> Result<Vec<Change>, EditError> {
    let (mark, body) = marked(text);
    let Some(node) = parse(body, comments)? else {
        if body.contains('/') {
            return Err(EditError::NotSafe);
        }
        let style = Style::of(body);
        let inserted = style.shown(&Value::Object(wanted.clone()), "") + style.end;
        return Ok(vec![Change::insert(text.len(), inserted, "")]);
    };
    let Node::Object(object) = &node else {
        return Err(EditError::Differs("the whole file".to_owned()));
    };
    let mut merge = Merge {
        text: body,
        style: Style::of(body),
        changes: Vec::new(),
    };
    let mut expected = value(&node);
    merge.object(object, wanted, ours, &mut Vec::new())?;
    expect(&mut expected, wanted, ours, &mut Vec::new());
    let mut changes = merge.changes;
    changes.sort_by_key(|change| change.at);
    let new = apply(body, &changes).ok_or(EditError::NotSafe)?;
    let is_as_expected = parse(&new, comments)?.is_some_and(|node| value(&node) == expected);
    if !is_as_expected {
        return Err(EditError::NotSafe);
    }
    changes.iter_mut().for_each(|change| change.at += mark);
    Ok(changes)
}

/// The part of `wanted` that `found` has not.
pub fn missing(found: &Value, wanted: &Map<String, Value>) -> Map<String, Value> {
    let part = |(name, wants): (&String, &Value)| {
        let part = match (found.get(name), wants) {
            (Some(found @ Value::Object(_)), Value::Object(more)) => missing(found, more).into(),
            (Some(Value::Array(found)), Value::Array(more)) => more
                .iter()
                .filter(|value| !found.contains(value))
                .cloned()
                .collect(),
            (Some(found), wants) if found == wants => Value::Null,
            (_, wants) => wants.clone(),
        };
        let is_empty = match &part {
            Value::Null => true,
            Value::Object(part) => part.is_empty(),
            Value::Array(part) => part.is_empty(),
            _ => false,
        };
        (!is_empty).then(|| (name.clone(), part))
    };
    wanted.iter().filter_map(part).collect()
}

/// Does to the value what [`merge`] does to the text.
fn expect<'a>(
    found: &mut Value,
    wanted: &'a Map<String, Value>,
    ours: &Map<String, Value>,
    path: &mut Vec<&'a str>,
) {
    let Some(found) = found.as_object_mut() else {
        return;
    };
    for (name, value) in wanted {
        path.push(name);
        let (empty, old) = (Map::new(), ours.get(name));
        match (found.get_mut(name), value) {
            (Some(inner @ Value::Object(_)), Value::Object(more)) => {
                let old = old.and_then(Value::as_object).unwrap_or(&empty);
                expect(inner, more, old, path);
            }
            (Some(Value::Array(list)), Value::Array(more)) if is_set(path) => {
                let stale = stale(old, more);
                let missing: Vec<_> = more.iter().filter(|v| !list.contains(v)).cloned().collect();
                let mut missing = missing.into_iter();
                list.retain_mut(|element| {
                    if stale.contains(&&*element) {
                        match missing.next() {
                            Some(new) => *element = new,
                            None => return false,
                        }
                    }
                    true
                });
                list.extend(missing);
            }
            _ => {
                found.insert(name.clone(), value.clone());
            }
        }
        path.pop();
    }
}

/// What setup wrote into this list before, and would no longer.
fn stale<'a>(old: Option<&'a Value>, wanted: &[Value]) -> Vec<&'a Value> {
    let old = old.and_then(Value::as_array).into_iter().flatten();
    old.filter(|value| !wanted.contains(value)).collect()
}

struct Merge<'t> {
    text: &'t str,
    style: Style,
    changes: Vec<Change>,
}

impl Merge<'_> {
    fn object<'w>(
        &mut self,
        object: &Object<'_>,
        wanted: &'w Map<String, Value>,
        ours: &Map<String, Value>,
        path: &mut Vec<&'w str>,
    ) -> Result<(), EditError> {
        let mut missing = Vec::new();
        let empty = Map::new();
        for (name, wants) in wanted {
            path.push(name);
            let old = ours.get(name);
            let found = object.get(name).map(|property| &property.value);
            match (found, wants) {
                (None, _) => missing.push((Some(&**name), wants)),
                (Some(Node::Object(inner)), Value::Object(more)) => {
                    let old = old.and_then(Value::as_object).unwrap_or(&empty);
                    self.object(inner, more, old, path)?;
                }
                (Some(Node::Array(list)), Value::Array(more)) if is_set(path) => {
                    self.set(list, more, old, &path.join("."));
                }
                (Some(node), _) if value(node) == *wants => {}
                (Some(node), _) if Some(&value(node)) == old => {
                    self.replace(node, wants, &path.join("."));
                }
                _ => return Err(EditError::Differs(path.join("."))),
            }
            path.pop();
        }
        let range = object.range;
        let members = object
            .properties
            .iter()
            .map(|p| (p.range.start, p.range.end));
        self.add(
            (range.start, range.end),
            members.collect(),
            &missing,
            &path.join("."),
        );
        Ok(())
    }

    fn set(&mut self, list: &Array<'_>, wanted: &[Value], old: Option<&Value>, place: &str) {
        let stale = stale(old, wanted);
        let has = |wants: &&Value| list.elements.iter().any(|node| value(node) == **wants);
        let mut missing = wanted.iter().filter(|wants| !has(wants));
        for node in &list.elements {
            if stale.contains(&&value(node))
                && let Some(wants) = missing.next()
            {
                self.replace(node, wants, place);
            }
        }
        let missing: Vec<_> = missing.map(|wants| (None, wants)).collect();
        let members = list.elements.iter().map(|node| (node.start(), node.end()));
        let range = (list.range.start, list.range.end);
        self.add(range, members.collect(), &missing, place);
    }

    fn replace(&mut self, node: &Node<'_>, wants: &Value, place: &str) {
        let at = node.start();
        let indent = self.style.indent_at(self.text, at);
        self.changes.push(Change {
            at,
            removed: self.text.get(at..node.end()).unwrap_or_default().to_owned(),
            inserted: self.style.shown(wants, &indent),
            place: place.to_owned(),
        });
    }

    /// Adds members at the end of what stands between two brackets, in the same style.
    fn add(
        &mut self,
        (start, end): (usize, usize),
        members: Vec<(usize, usize)>,
        missing: &[(Option<&str>, &Value)],
        place: &str,
    ) {
        if missing.is_empty() {
            return;
        }
        let (style, text) = (&self.style, self.text);
        let own = style.indent_at(text, start);
        let first = members.first().map(|(start, _)| *start);
        let between = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
        let is_one_line = first.is_some_and(|first| !between(start, first).contains('\n'));
        let indent = match members.last() {
            Some((at, _)) if !is_one_line => style.indent_at(text, *at),
            _ => format!("{own}{}", style.unit),
        };
        let line = format!("{}{indent}", style.end);
        let member = |(name, value): &(Option<&str>, &Value)| {
            let name = name.map_or_else(String::new, |name| format!("{}: ", Value::from(name)));
            name + &match is_one_line {
                true => value.to_string(),
                false => style.shown(value, &indent),
            }
        };
        let shown: Vec<_> = missing.iter().map(member).collect();
        let change = match members.last() {
            Some((_, last)) => {
                let before = if is_one_line {
                    ", ".to_owned()
                } else {
                    format!(",{line}")
                };
                let inserted: String = shown
                    .iter()
                    .map(|shown| format!("{before}{shown}"))
                    .collect();
                Change::insert(*last, inserted, place)
            }
            None => {
                let after = match between(start, end).contains('\n') {
                    true => String::new(),
                    false => format!("{}{own}", style.end),
                };
                let inserted = format!("{line}{}{after}", shown.join(&format!(",{line}")));
                Change::insert(start + 1, inserted, place)
            }
        };
        self.changes.push(change);
    }
}

/// What a line begins with.
fn indent(line: &str) -> &str {
    let text = line.trim_start_matches([' ', '\t']);
    line.strip_suffix(text).unwrap_or_default()
}

/// How a file is laid out.
struct Style {
    end: &'static str,
    unit: String,
}

impl Style {
    fn of(text: &str) -> Self {
        let unit = text.lines().map(indent).find(|indent| !indent.is_empty());
        Self {
            end: line_end(text),
            unit: unit.unwrap_or("  ").to_owned(),
        }
    }

    /// What the line of this place begins with.
    fn indent_at(&self, text: &str, at: usize) -> String {
        let line = text.get(..at).unwrap_or_default().rsplit('\n').next();
        indent(line.unwrap_or_default()).to_owned()
    }

    /// The value on several lines, which begin with `indent`.
    fn shown(&self, value: &Value, indent: &str) -> String {
        let text = format!("{value:#}");
        let lines = text.lines().map(|line| {
            let deep = line.len() - line.trim_start().len();
            self.unit.repeat(deep / 2) + line.trim_start()
        });
        lines
            .collect::<Vec<_>>()
            .join(&format!("{}{indent}", self.end))
    }
}

/// The text without what of `gone` is still there, except for `kept`. One after another, since
/// each cut moves what follows.
///
/// # Errors
/// [`EditError`].
pub fn without(
    text: &str,
    gone: &Map<String, Value>,
    kept: &Map<String, Value>,
    comments: bool,
) -> Result<String, EditError> {
    let (mark, body) = marked(text);
    let (head, mut body) = (text.get(..mark).unwrap_or_default(), body.to_owned());
    loop {
        let node = parse(&body, comments)?;
        let Some(Node::Object(object)) = &node else {
            return Ok(head.to_owned() + &body);
        };
        let Some((from, to)) = cut(&body, object, gone, kept) else {
            return Ok(head.to_owned() + &body);
        };
        body.replace_range(from..to, "");
    }
}

/// The first part of the text that goes.
fn cut(
    text: &str,
    object: &Object<'_>,
    gone: &Map<String, Value>,
    kept: &Map<String, Value>,
) -> Option<(usize, usize)> {
    let members: Vec<_> = object
        .properties
        .iter()
        .map(|p| (p.range.start, p.range.end))
        .collect();
    let empty = Map::new();
    object
        .properties
        .iter()
        .enumerate()
        .find_map(|(at, property)| {
            let name = property.name.as_str();
            let (goes, stays) = (gone.get(name)?, kept.get(name));
            match (&property.value, goes) {
                (node, goes) if stays.is_none() && value(node) == *goes => Some(cut_member(
                    text,
                    object.range.start,
                    object.range.end,
                    &members,
                    at,
                )),
                (Node::Object(inner), Value::Object(goes)) => {
                    let stays = stays.and_then(Value::as_object).unwrap_or(&empty);
                    cut(text, inner, goes, stays)
                }
                (Node::Array(list), Value::Array(goes)) => {
                    let stays = stays.and_then(Value::as_array);
                    let stays = |value: &Value| stays.is_some_and(|stays| stays.contains(value));
                    let at = list.elements.iter().position(|node| {
                        let value = value(node);
                        goes.contains(&value) && !stays(&value)
                    })?;
                    let members: Vec<_> =
                        list.elements.iter().map(|n| (n.start(), n.end())).collect();
                    Some(cut_member(
                        text,
                        list.range.start,
                        list.range.end,
                        &members,
                        at,
                    ))
                }
                _ => None,
            }
        })
}

fn cut_member(
    text: &str,
    start: usize,
    end: usize,
    members: &[(usize, usize)],
    at: usize,
) -> (usize, usize) {
    let (from, to) = members.get(at).copied().unwrap_or((0, 0));
    match (
        at.checked_sub(1).and_then(|at| members.get(at)),
        members.get(at + 1),
    ) {
        (Some((_, before)), _) => (*before, to),
        (None, Some((next, _))) => (from, *next),
        (None, None) => {
            let is_blank = |from: usize, to: usize| {
                text.get(from..to)
                    .is_some_and(|text| text.trim().is_empty())
            };
            match is_blank(start + 1, from) && is_blank(to, end - 1) {
                true => (start + 1, end - 1),
                false => (from, to),
            }
        }
    }
}
