//! Goes through a document of the map, or of a part of it: which tables there may be, which
//! fields they may have, and which mistake comes first.

use super::{
    Binding, BindingName, ParseError, Position, Said,
    binding::KeySource,
    entries::{Entries, List, New, narrow},
    key::check,
};
use crate::limits::DEFAULT_MAX_BYTES;
use std::{borrow::Cow, collections::BTreeMap, ops::Range};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// The fields at the top level of a map.
const MAP_FIELDS: [&str; 4] = ["roots", "max_bytes", "keys", "bindings"];
/// The fields of an entry that is a table.
const ENTRY_FIELDS: [&str; 3] = ["path", "max_bytes", "agents"];
/// The fields of a binding.
const BINDING_FIELDS: [&str; 5] = ["key", "key_file", "key_env", "title", "description"];

pub(super) type Value<'a> = Spanned<DeValue<'a>>;

/// A mistake. Its texts never quote the map: what looks like a wrong field may
/// be a key in the wrong place.
pub(super) struct Fault {
    span: Range<usize>,
    message: String,
    help: Option<String>,
}

impl Fault {
    /// One that belongs to no place.
    pub(super) fn at_the_start(message: &str) -> Self {
        Self {
            span: 0..0,
            message: message.into(),
            help: None,
        }
    }

    /// As the user learns of it.
    pub(super) fn of(self, text: &str) -> ParseError {
        ParseError::new(text, self.span, self.message, self.help)
    }
}

/// Goes through the parsed document and keeps the first mistake in the file: a table's
/// own mistakes are found before those in it.
pub(super) struct Reader<'a> {
    text: &'a str,
    /// The last position that was asked for.
    counted: Position,
    pub(super) has_home: bool,
    /// See [`Self::is_further`].
    further: (usize, usize),
    pub(super) entries: List,
    first: Option<Fault>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str, has_home: bool) -> Self {
        Self {
            text,
            counted: Position::START,
            has_home,
            further: (0, 0),
            entries: List::default(),
            first: None,
        }
    }

    /// From now on, what is read is a document of a part of the text. What stands in it
    /// from the byte `from` on stands `by` bytes further on in the text.
    pub(super) fn is_further(&mut self, from: usize, by: usize) {
        self.further = (from, by);
    }

    /// Where a place in a document is in the text.
    fn in_text(&self, span: Range<usize>) -> Range<usize> {
        let (from, by) = self.further;
        match span.start >= from {
            true => span.start + by..span.end + by,
            false => span,
        }
    }

    /// The entries, or the first mistake.
    pub(super) fn into_entries(self) -> Result<List, Fault> {
        match self.first {
            None => Ok(self.entries),
            Some(first) => Err(first),
        }
    }

    /// All that a document says. Its entries are added to those of the reader.
    pub(super) fn map(&mut self, document: &DeTable<'_>) -> Said {
        self.known_fields(document, &MAP_FIELDS);
        let roots = document.get("roots").and_then(|value| self.roots(value));
        let max_bytes = document
            .get("max_bytes")
            .and_then(|value| self.max_bytes(value))
            .unwrap_or(DEFAULT_MAX_BYTES);
        if let Some(value) = document.get("keys") {
            match value.get_ref() {
                DeValue::Table(keys) => {
                    for (name, value) in keys {
                        let _: Option<()> = self.entry(name, value, max_bytes);
                    }
                }
                other => self.wrong_type(value, "a table: write [keys]", other),
            }
        }
        let mut bindings = BTreeMap::new();
        if let Some(value) = document.get("bindings") {
            match value.get_ref() {
                DeValue::Table(named) => {
                    for (name, value) in named {
                        if let Some((name, binding)) = self.binding(name, value) {
                            bindings.insert(name, binding);
                        }
                    }
                }
                other => self.wrong_type(value, "a table: write [bindings.NAME]", other),
            }
        }
        Said {
            roots,
            max_bytes,
            entries: Entries::default(),
            bindings,
        }
    }

    /// The position of a name. Names mostly come in the order of the file, so lines
    /// are counted on from the last.
    fn place(&mut self, name: &Spanned<Cow<'_, str>>) -> Position {
        let start = narrow(self.in_text(name.span()).start);
        let counted = match self.counted {
            counted if counted.byte > start => Position::START,
            counted => counted,
        };
        self.counted = counted.on(self.text, start);
        self.counted
    }

    fn binding(
        &mut self,
        name: &Spanned<Cow<'_, str>>,
        value: &Value<'_>,
    ) -> Option<(BindingName, Binding)> {
        let valid = match BindingName::try_from(name.get_ref().as_ref()) {
            Ok(valid) => valid,
            Err(error) => return self.fault(name.span(), error.to_string(), None),
        };
        let DeValue::Table(fields) = value.get_ref() else {
            self.wrong_type(value, "a table with a key", value.get_ref());
            return None;
        };
        let all_known = self.known_fields(fields, &BINDING_FIELDS);
        // All fields are read before the first bad one ends this, as for an entry.
        let mut sources = Vec::new();
        for field in ["key", "key_file", "key_env"] {
            if let Some(value) = fields.get(field) {
                sources.push((value.span(), self.key_source(field, value)));
            }
        }
        sources.sort_unstable_by_key(|(span, _)| span.start);
        let source = match sources.len() {
            0 | 1 => sources.pop().map(|(_, source)| source),
            _ => {
                let span = sources.swap_remove(1).0;
                return self.fault(
                    span,
                    "this binding's key is given twice".into(),
                    Some("keep one of key, key_file, key_env".into()),
                );
            }
        };
        if source.is_none() && all_known {
            let help = "write key = \"…\", or key_file or key_env";
            let _: Option<()> = self.fault(
                value.span(),
                "this binding has no key".into(),
                Some(help.into()),
            );
        }
        let secret = match &source {
            Some(Some(KeySource::Here(key))) => Some(key.clone()),
            _ => None,
        };
        if secret
            .as_ref()
            .is_some_and(|key| name.get_ref().contains(key.expose()))
        {
            return self.fault(
                name.span(),
                "this name holds the key, and clients show it".into(),
                None,
            );
        }
        let mut label = |field, most| match fields.get(field) {
            None => Some(None),
            Some(value) => self.label(value, most, secret.as_ref()).map(Some),
        };
        let title = label("title", Binding::MAX_TITLE);
        let description = label("description", Binding::MAX_DESCRIPTION);
        let binding = Binding {
            source: source??,
            title: title?,
            description: description?,
            at: self.place(name),
        };
        Some((valid, binding))
    }

    /// Adds an entry. None if there is a mistake in it.
    pub(super) fn entry(
        &mut self,
        name: &Spanned<Cow<'_, str>>,
        value: &Value<'_>,
        max_bytes: u64,
    ) -> Option<()> {
        let key: &str = name.get_ref();
        if let Err(error) = check(key) {
            return self.fault(name.span(), error.to_string(), None);
        }
        let (path, max_bytes, agents) = match value.get_ref() {
            DeValue::String(path) => {
                let path = self.path(path, value.span())?;
                ((path, value.span()), max_bytes, None)
            }
            // A table that a dot created has the position of the name before the dot.
            DeValue::Table(_) if value.span() == name.span() => {
                return self.fault(
                    name.span(),
                    "a dot cuts this key in two".into(),
                    Some("put the whole key in quotes".into()),
                );
            }
            DeValue::Table(fields) => {
                let all_known = self.known_fields(fields, &ENTRY_FIELDS);
                let path = match fields.get("path") {
                    Some(path) => self
                        .string(path)
                        .and_then(|text| self.path(text, path.span()))
                        .map(|text| (text, path.span())),
                    // If a field is misspelt, its message says it better.
                    None if !all_known => None,
                    None => self.fault(
                        value.span(),
                        "this entry has no path".into(),
                        Some("write { path = \"…\" }".into()),
                    ),
                };
                // All fields are read before the first bad one ends this, so that the
                // first mistake in the file is found.
                let max_bytes = fields
                    .get("max_bytes")
                    .map_or(Some(max_bytes), |value| self.max_bytes(value));
                let agents = fields
                    .get("agents")
                    .map_or(Some(None), |value| self.agents(value).map(Some));
                (path?, max_bytes?, agents?)
            }
            _ if MAP_FIELDS.contains(&name.get_ref().as_ref()) => {
                return self.fault(
                    name.span(),
                    "this is under [keys], so it counts as a key".into(),
                    Some("move it above [keys]".into()),
                );
            }
            other => {
                self.wrong_type(value, "a path or a table with a path", other);
                return None;
            }
        };
        let new = New {
            key: (key, self.in_text(name.span())),
            path: (path.0, self.in_text(path.1)),
            max_bytes,
            agents,
        };
        self.entries.add(self.text, new);
        Some(())
    }

    /// Whether the table has only known fields.
    fn known_fields(&mut self, table: &DeTable<'_>, known: &[&str]) -> bool {
        let mut all_known = true;
        for name in table.keys() {
            if known.contains(&name.get_ref().as_ref()) {
                continue;
            }
            all_known = false;
            let lower = name.get_ref().to_ascii_lowercase();
            // With more than two typing errors in a short word, a guess does not help.
            let nearest = known
                .iter()
                .filter(|field| name.get_ref().len() <= field.len() + 2)
                .map(|field| (strsim::damerau_levenshtein(field, &lower), field))
                .filter(|(distance, _)| *distance <= 2)
                .min();
            let help = match nearest {
                Some((_, field)) => format!("did you mean {field}?"),
                None if known == MAP_FIELDS => {
                    format!("a map has {}; keys go under [keys]", known.join(", "))
                }
                None if known == BINDING_FIELDS => format!("a binding has {}", known.join(", ")),
                None => format!("an entry has {}", known.join(", ")),
            };
            let _: Option<()> = self.fault(name.span(), "unknown field".into(), Some(help));
        }
        all_known
    }

    pub(super) fn wrong_type(&mut self, value: &Value<'_>, wanted: &str, found: &DeValue<'_>) {
        let found = found.type_str();
        let _: Option<()> = self.fault(
            value.span(),
            format!("expected {wanted}; found: {found}"),
            None,
        );
    }

    /// Notes a mistake, if none before it in the file is noted.
    pub(super) fn fault<T>(
        &mut self,
        span: Range<usize>,
        message: String,
        help: Option<String>,
    ) -> Option<T> {
        if self
            .first
            .as_ref()
            .is_none_or(|first| span.start < first.span.start)
        {
            self.first = Some(Fault {
                span,
                message,
                help,
            });
        }
        None
    }
}
