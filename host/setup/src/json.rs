//! Edits of a JSON file, as clients have them for their settings.

use crate::{
    edit::{Change, EditError, edited, line_end, marked},
    rules::stands_for,
};
use jsonc_parser::{
    CollectOptions, ParseOptions,
    ast::{Array, Object, Value as Node},
    common::{Range, Ranged},
    parse_to_ast,
};
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};

/// Parses the text: its syntax, of which there is none if it is blank, and its value. Comments
/// and commas at the end are for clients that take them.
fn parse(text: &str, comments: bool) -> Result<(Option<Node<'_>>, Value), EditError> {
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
    let node = parsed.map_err(|_| EditError::Syntax("JSON"))?.value;
    // The parser takes more characters between values than JSON has.
    let is_strict = || serde_json::from_str::<IgnoredAny>(text).is_ok();
    if !comments && node.is_some() && !is_strict() {
        return Err(EditError::Syntax("JSON"));
    }
    let value = node.as_ref().map_or(Ok(json!({})), value)?;
    Ok((node, value))
}

fn value(node: &Node<'_>) -> Result<Value, EditError> {
    Ok(match node {
        Node::StringLit(text) => Value::from(&*text.value),
        Node::NumberLit(number) => {
            serde_json::from_str(number.value).unwrap_or_else(|_| Value::from(number.value))
        }
        Node::BooleanLit(is) => Value::from(is.value),
        Node::NullKeyword(_) => Value::Null,
        Node::Object(object) => {
            let pairs = object.properties.iter();
            let pairs = pairs.map(|p| Ok((p.name.as_str().to_owned(), value(&p.value)?)));
            let map = pairs.collect::<Result<Map<_, _>, _>>()?;
            if map.len() < object.properties.len() {
                return Err(EditError::Duplicate);
            }
            map.into()
        }
        Node::Array(array) => array.elements.iter().map(value).collect::<Result<_, _>>()?,
    })
}

/// The value that the text has, to read it.
pub(crate) fn read(text: &str, comments: bool) -> Result<Value, EditError> {
    Ok(parse(marked(text).1, comments)?.1)
}

/// The changes after which the text has all of the object `wanted`. What of it stands there
/// stays. `ours` is what setup wrote there before: that is replaced.
pub(crate) fn merge(
    text: &str,
    wanted: &Value,
    ours: &Value,
    comments: bool,
) -> Result<Vec<Change>, EditError> {
    let make = |text: &str| {
        let style = Style::of(text);
        let (node, mut expected) = parse(text, comments)?;
        let Some(node) = node else {
            if text.contains('/') {
                return Err(EditError::NotSafe);
            }
            let inserted = style.shown(wanted, "") + style.end;
            let change = Change::insert(text.len(), inserted, "");
            return Ok((vec![change], wanted.clone()));
        };
        let Node::Object(object) = &node else {
            return Err(EditError::Differs("the whole file".to_owned()));
        };
        let mut merge = Merge {
            text,
            style,
            changes: Vec::new(),
        };
        merge.object(object, &mut expected, wanted, ours, &mut Vec::new())?;
        Ok((merge.changes, expected))
    };
    edited(text, make, |text| read(text, comments))
}

/// The part of `wanted` that `found` has not.
pub(crate) fn missing(found: &Value, wanted: &Value) -> Value {
    match (found, wanted) {
        (Value::Object(_), Value::Object(more)) => {
            let parts = more
                .iter()
                .map(|(name, wants)| (name, missing(&found[name], wants)));
            let is_empty =
                |part: &Value| *part == json!(null) || *part == json!({}) || *part == json!([]);
            let parts = parts.filter(|(_, part)| !is_empty(part));
            Value::Object(parts.map(|(name, part)| (name.clone(), part)).collect())
        }
        (Value::Array(found), Value::Array(more)) => {
            let missing = more.iter().filter(|value| !found.contains(value));
            missing.cloned().collect()
        }
        _ if found == wanted => Value::Null,
        _ => wanted.clone(),
    }
}

/// The lists and tables of `wanted` that are `found` there, but for those that setup made: they
/// are in what it `wrote`, and not among those that it `had` found before.
pub(crate) fn had(found: &Value, wanted: &Value, wrote: &Value, had: &Value) -> Value {
    match (found, wanted) {
        _ if had.is_null() && !wrote.is_null() => Value::Null,
        (Value::Object(found), Value::Object(wanted)) => {
            let parts = wanted.iter().filter_map(|(name, wants)| {
                let part = self::had(found.get(name)?, wants, &wrote[name], &had[name]);
                (!part.is_null()).then(|| (name.clone(), part))
            });
            parts.collect()
        }
        (Value::Array(_), Value::Array(_)) => json!([]),
        _ => Value::Null,
    }
}

/// All members and elements of these.
pub(crate) fn joined<'v>(values: impl Iterator<Item = &'v Value>) -> Value {
    let mut all = Value::Null;
    values.for_each(|more| join(&mut all, more));
    all
}

fn join(all: &mut Value, more: &Value) {
    match (all, more) {
        (Value::Object(all), Value::Object(more)) => {
            for (name, value) in more {
                join(all.entry(name).or_insert(Value::Null), value);
            }
        }
        (Value::Array(all), Value::Array(more)) => all.extend(more.iter().cloned()),
        (_, Value::Null) => {}
        (all, more) => *all = more.clone(),
    }
}

/// Merges in the text, and does the same to its value.
struct Merge<'t> {
    text: &'t str,
    style: Style,
    changes: Vec<Change>,
}

impl Merge<'_> {
    fn object<'w>(
        &mut self,
        object: &Object<'_>,
        found: &mut Value,
        wanted: &'w Value,
        ours: &Value,
        path: &mut Vec<&'w str>,
    ) -> Result<(), EditError> {
        let mut missing = Vec::new();
        for (name, wants) in wanted.as_object().into_iter().flatten() {
            path.push(name);
            // Elements are added to these lists only.
            let is_set = matches!(path.first(), Some(&("permissions" | "hooks")));
            let (old, found) = (&ours[name], &mut found[name]);
            let node = object.get(name).map(|property| &property.value);
            match (node, wants) {
                (None, _) => {
                    missing.push((Some(&**name), wants));
                    *found = wants.clone();
                }
                (Some(Node::Object(inner)), Value::Object(_)) => {
                    self.object(inner, found, wants, old, path)?;
                }
                (Some(Node::Array(list)), Value::Array(more)) if is_set => {
                    self.set(list, found, more, old, &path.join("."));
                }
                _ if *found == *wants => {
                    if path.first() == Some(&"permission") && is_undone(object, name, wants) {
                        return Err(EditError::Undone(path.join(".")));
                    }
                }
                (Some(node), _) if !old.is_null() && *found == *old => {
                    self.replace(node, found, wants, &path.join("."));
                }
                _ => return Err(EditError::Differs(path.join("."))),
            }
            path.pop();
        }
        self.add(object, &object.properties, &missing, &path.join("."));
        Ok(())
    }

    fn set(
        &mut self,
        list: &Array<'_>,
        found: &mut Value,
        wanted: &[Value],
        old: &Value,
        place: &str,
    ) {
        let Some(found) = found.as_array_mut() else {
            return;
        };
        let old = old.as_array().map_or(&[][..], |old| old);
        // A rule is not: another name may need it by now.
        let is_stale = |value: &Value| {
            place.starts_with("hooks.") && old.contains(value) && !wanted.contains(value)
        };
        let missing = wanted.iter().filter(|wants| !found.contains(wants));
        let mut missing = missing.collect::<Vec<_>>().into_iter();
        for (node, value) in list.elements.iter().zip(&mut *found) {
            if is_stale(value)
                && let Some(wants) = missing.next()
            {
                self.replace(node, value, wants, place);
            }
        }
        let missing: Vec<_> = missing.map(|wants| (None, wants)).collect();
        self.add(list, &list.elements, &missing, place);
        found.extend(missing.into_iter().map(|(_, wants)| wants.clone()));
    }

    fn replace(&mut self, node: &Node<'_>, found: &mut Value, wants: &Value, place: &str) {
        let indent = self.style.indent_at(self.text, node.start());
        let inserted = self.style.shown(wants, &indent);
        let old = node.start()..node.end();
        self.changes
            .push(Change::replace(self.text, old, inserted, place));
        *found = wants.clone();
    }

    /// Adds members at the end of what stands between two brackets, in the same style.
    fn add(
        &mut self,
        whole: &impl Ranged,
        members: &[impl Ranged],
        missing: &[(Option<&str>, &Value)],
        place: &str,
    ) {
        if missing.is_empty() {
            return;
        }
        let (style, text) = (&self.style, self.text);
        let own = style.indent_at(text, whole.start());
        let has_lines =
            |from: usize, to: usize| text.get(from..to).is_some_and(|t| t.contains('\n'));
        let is_one_line = members
            .first()
            .is_some_and(|first| !has_lines(whole.start(), first.start()));
        let indent = match members.last() {
            Some(last) if !is_one_line => style.indent_at(text, last.start()),
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
        let comma = match is_one_line {
            true => ", ".to_owned(),
            false => format!(",{line}"),
        };
        let shown = shown.join(&comma);
        self.changes.push(match members.last() {
            Some(last) => Change::insert(last.end(), comma + &shown, place),
            None if has_lines(whole.start(), whole.end()) => {
                Change::insert(whole.start() + 1, line + &shown, place)
            }
            None => {
                let inserted = format!("{line}{shown}{}{own}", style.end);
                Change::insert(whole.start() + 1, inserted, place)
            }
        });
    }
}

/// Whether opencode takes another permission for our tool: of those that match, the last.
fn is_undone(object: &Object<'_>, ours: &str, wants: &Value) -> bool {
    let tool = ours.replace('*', "load_context");
    let lines = object.properties.iter();
    let mut matching = lines.filter(|line| {
        let pattern = line.name.as_str().replace('?', "*");
        stands_for(&pattern, &tool)
    });
    let last = matching.next_back();
    last.is_some_and(|line| value(&line.value).as_ref() != Ok(wants))
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
pub(crate) fn without(
    text: &str,
    gone: &Value,
    kept: &Value,
    comments: bool,
) -> Result<String, EditError> {
    let (mark, body) = marked(text);
    let (head, mut body) = (text.get(..mark).unwrap_or_default(), body.to_owned());
    loop {
        let (node, found) = parse(&body, comments)?;
        let cut = match &node {
            Some(Node::Object(object)) => cut(&body, object, &found, gone, kept),
            _ => None,
        };
        let Some(Range { start, end }) = cut else {
            return Ok(head.to_owned() + &body);
        };
        body.replace_range(start..end, "");
    }
}

/// The first part of the text that goes.
fn cut(
    text: &str,
    object: &Object<'_>,
    found: &Value,
    gone: &Value,
    kept: &Value,
) -> Option<Range> {
    let mut properties = object.properties.iter().enumerate();
    properties.find_map(|(at, property)| {
        let name = property.name.as_str();
        let (found, goes, stays) = (&found[name], gone.get(name)?, &kept[name]);
        match (&property.value, goes) {
            _ if stays.is_null() && found == goes => {
                Some(cut_member(text, object, &object.properties, at))
            }
            (Node::Object(inner), Value::Object(_)) => cut(text, inner, found, goes, stays),
            (Node::Array(list), Value::Array(goes)) => {
                let stays = stays.as_array().map_or(&[][..], |stays| stays);
                let is_gone = |value| goes.contains(value) && !stays.contains(value);
                let at = found.as_array()?.iter().position(is_gone)?;
                Some(cut_member(text, list, &list.elements, at))
            }
            _ => None,
        }
    })
}

/// Where a member stands, with the comma beside it, and what is blank; or all between the
/// brackets, if that is it. A comment stays.
fn cut_member(text: &str, whole: &impl Ranged, members: &[impl Ranged], at: usize) -> Range {
    let own = members.get(at).map_or(whole.range(), Ranged::range);
    let before = at.checked_sub(1).and_then(|before| members.get(before));
    let inner = Range::new(whole.start() + 1, whole.end() - 1);
    let is_blank = |from: usize, to: usize| {
        let between = text.get(from..to).map(|text| text.replace(',', ""));
        between.is_some_and(|text| text.trim().is_empty())
    };
    match (before, members.get(at + 1)) {
        (Some(before), _) if is_blank(before.end(), own.start) => Range::new(before.end(), own.end),
        (_, Some(next)) if is_blank(own.end, next.start()) => Range::new(own.start, next.start()),
        (None, None) if is_blank(inner.start, own.start) && is_blank(own.end, inner.end) => inner,
        _ => {
            let rest = text.get(own.end..).unwrap_or_default();
            let comma = rest.trim_start().strip_prefix(',').map(str::len);
            Range::new(own.start, comma.map_or(own.end, |left| text.len() - left))
        }
    }
}
