//! Turns the map's text into its entries. It looks nothing up in the file system.

use super::{
    Binding, BindingName, Entry, Key, Location, Map, ParseError, Position, binding::KeySource,
    events,
};
use crate::limits::DEFAULT_MAX_BYTES;
use indexmap::IndexMap;
use memchr::memchr_iter;
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

/// The TOML parser's messages say where a mistake is, but seldom what to write instead.
const TOML_HELP: &str = r#"under [keys] each line reads "KEY" = "PATH", in straight quotes, a \ written as \\, and no name occurs twice"#;

pub(super) type Value<'a> = Spanned<DeValue<'a>>;

impl Map {
    /// Reads a map. All of it must be valid: an unknown field, a key that occurs twice
    /// or a number out of range is an error, never replaced by a default.
    ///
    /// # Errors
    /// The first mistake in the order of the file. A mistake in the TOML itself comes
    /// before all others.
    pub fn parse(bytes: &[u8], location: &Location) -> Result<Self, ParseError> {
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let good =
                    String::from_utf8_lossy(bytes.get(..error.valid_up_to()).unwrap_or_default());
                let end = good.len()..good.len();
                return Err(ParseError::new(
                    &good,
                    end,
                    "the map is not UTF-8 from here on".into(),
                    None,
                ));
            }
        };
        match events::read(text, location, events::TOKENS) {
            Some(map) => Ok(map),
            None => Self::parse_whole(text, location),
        }
    }

    /// As [`Self::parse`], as one document, however large it is.
    pub(super) fn parse_whole(text: &str, location: &Location) -> Result<Self, ParseError> {
        let document = DeTable::parse(text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            let message = format!("not TOML: {}", error.message());
            ParseError::new(text, span, message, Some(TOML_HELP.into()))
        })?;
        let mut reader = Reader::new(text, location.home().is_some());
        let map = reader.map(document.get_ref(), location);
        match reader.first {
            None => Ok(map),
            Some(Fault {
                span,
                message,
                help,
            }) => Err(ParseError::new(text, span, message, help)),
        }
    }
}

/// A mistake. Its texts never quote the map: what looks like a wrong field may
/// be a key in the wrong place.
pub(super) struct Fault {
    span: Range<usize>,
    message: String,
    help: Option<String>,
}

/// Goes through the parsed document and keeps the first mistake in the file: a table's
/// own mistakes are found before those in it.
pub(super) struct Reader<'a> {
    text: &'a str,
    /// A byte offset, and the line that it is on, from 1.
    counted: (usize, u32),
    pub(super) has_home: bool,
    /// What the document is without: see [`Self::without`].
    missing: Range<usize>,
    first: Option<Fault>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str, has_home: bool) -> Self {
        Self {
            text,
            counted: (0, 1),
            has_home,
            missing: 0..0,
            first: None,
        }
    }

    /// From now on, what is read is a document of the text without this part of it.
    pub(super) fn without(&mut self, part: Range<usize>) {
        self.missing = part;
    }

    /// The first mistake, if there is one.
    pub(super) fn into_first(self) -> Option<Fault> {
        self.first
    }

    pub(super) fn map(&mut self, document: &DeTable<'_>, location: &Location) -> Map {
        self.known_fields(document, &MAP_FIELDS);
        let roots = document.get("roots").and_then(|value| self.roots(value));
        let max_bytes = document
            .get("max_bytes")
            .and_then(|value| self.max_bytes(value))
            .unwrap_or(DEFAULT_MAX_BYTES);
        let mut entries = IndexMap::new();
        if let Some(value) = document.get("keys") {
            match value.get_ref() {
                DeValue::Table(keys) => {
                    entries.reserve(keys.len());
                    for (name, value) in keys {
                        if let Some((key, entry)) = self.entry(name, value, max_bytes) {
                            entries.insert(key, entry);
                        }
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
        Map {
            location: location.clone(),
            roots,
            max_bytes,
            entries,
            bindings,
        }
    }

    /// The position of a name. Names mostly come in the order of the file, so lines
    /// are counted on from the last.
    fn place(&mut self, name: &Spanned<Cow<'_, str>>) -> Position {
        let start = match name.span().start {
            start if start >= self.missing.start => start + self.missing.len(),
            start => start,
        };
        let (from, line) = match self.counted {
            (at, _) if at > start => (0, 1),
            counted => counted,
        };
        let between = self.text.as_bytes().get(from..start).unwrap_or_default();
        let breaks = memchr_iter(b'\n', between).count();
        let narrow = |number| u32::try_from(number).unwrap_or(u32::MAX);
        let line = line.saturating_add(narrow(breaks));
        self.counted = (start, line);
        Position {
            line,
            byte: narrow(start),
        }
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

    pub(super) fn entry(
        &mut self,
        name: &Spanned<Cow<'_, str>>,
        value: &Value<'_>,
        max_bytes: u64,
    ) -> Option<(Key, Entry)> {
        let at = self.place(name);
        let key = match Key::try_from(name.get_ref().as_ref()) {
            Ok(key) => key,
            Err(error) => return self.fault(name.span(), error.to_string(), None),
        };
        let entry = match value.get_ref() {
            DeValue::String(path) => Entry {
                path: self.path(path, value.span())?,
                max_bytes,
                agents: None,
                at,
            },
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
                        .and_then(|text| self.path(text, path.span())),
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
                Entry {
                    path: path?,
                    max_bytes: max_bytes?,
                    agents: agents?,
                    at,
                }
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
        Some((key, entry))
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

#[cfg(test)]
mod tests;
