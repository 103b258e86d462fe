//! Reads the map's text: which tables and fields there may be, and what each may say. It
//! looks nothing up in the file system.
//!
//! No message quotes the map: what looks like a wrong field may be a key in the wrong place.

use super::{Binding, BindingName, Entry, Key, Location, Map, MapMistake, Table};
use crate::{
    agent::{AgentName, Malformed},
    limits::{DEFAULT_MAX_BYTES, MAX_MAX_BYTES},
};
use keyhole_walk::printable::{has_unseen, is_unprintable};
use std::{borrow::Cow, ops::Range, path::PathBuf};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

const MAP_FIELDS: [&str; 4] = [
    "roots",
    "max_bytes",
    Table::Key.as_str(),
    Table::Binding.as_str(),
];
const ENTRY_FIELDS: [&str; 4] = ["path", "max_bytes", "agents", "withhold"];
const BINDING_FIELDS: [&str; 5] = ["path", "max_bytes", "agents", "title", "description"];

/// The TOML parser's messages say where a mistake is, but seldom what to write instead.
const TOML_HELP: &str = r#"write an entry as two lines: [keys."KEY"] and path = "PATH". Use straight quotes. Write \ as \\"#;

const UNSEEN: &str = "a character that nobody sees stands in this line, as text from a web page may have it: write the line again";

type Name<'a> = Spanned<Cow<'a, str>>;
type Value<'a> = Spanned<DeValue<'a>>;
type Item<'d> = (&'d Name<'d>, &'d Value<'d>);
type Read<T> = Result<T, MapMistake>;

impl Map {
    /// Reads a map. All of it must be valid: an unknown field, a key that occurs twice or a number
    /// out of range is an error, never replaced by a default. One in the TOML itself comes first,
    /// then the first of the fields at the top, then of the keys, then of the bindings, each table
    /// from its top to its end.
    pub fn parse(bytes: &[u8], location: &Location) -> Result<Self, MapMistake> {
        let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        let ends = ends.map(|(end, _)| end).collect();
        let text = str::from_utf8(bytes);
        let reader = Reader {
            text: text.unwrap_or_default(),
            ends,
            location,
        };
        let text = text.map_err(|error| {
            let at = error.valid_up_to();
            reader.mistake(at..at, "the map is not UTF-8 from here on", None)
        })?;
        let document = DeTable::parse(text).map_err(|error| {
            let said = error.message();
            let help = if said.contains("duplicate key") {
                "remove one of the two"
            } else if said.contains("must be quoted") {
                "put straight quotes around the value: path = \"…\""
            } else {
                TOML_HELP
            };
            let at = error.span().unwrap_or_default();
            reader.mistake(at, format!("not TOML: {said}"), Some(help))
        })?;
        reader.map(document.get_ref())
    }
}

/// What `read` makes of a field, if the table has it.
fn optional<T>(
    table: &DeTable<'_>,
    field: &str,
    read: impl FnOnce(&Value<'_>) -> Read<T>,
) -> Read<Option<T>> {
    table.get(field).map(read).transpose()
}

struct Reader<'l> {
    text: &'l str,
    /// Where each line of the text ends.
    ends: Vec<usize>,
    location: &'l Location,
}

impl Reader<'_> {
    fn map(&self, document: &DeTable<'_>) -> Read<Map> {
        self.check_fields(document, &MAP_FIELDS, "a map has")?;
        let roots = optional(document, "roots", |value| self.roots(value))?;
        let max_bytes = optional(document, "max_bytes", |value| self.max_bytes(value))?;
        let max_bytes = max_bytes.unwrap_or(DEFAULT_MAX_BYTES);
        let keys = self.table(document, Table::Key, "tables: write [keys.\"KEY\"]")?;
        let entry = |item| self.entry(item, max_bytes);
        let entries = keys.into_iter().map(entry).collect::<Read<_>>()?;
        let bindings = self.table(document, Table::Binding, "a table: write [bindings.NAME]")?;
        let binding = |item| self.binding(item, max_bytes);
        Ok(Map {
            location: self.location.clone(),
            roots,
            entries,
            bindings: bindings.into_iter().map(binding).collect::<Read<_>>()?,
        })
    }

    /// What this table has, in the order of the text.
    fn table<'d>(&self, top: &'d DeTable<'d>, table: Table, wanted: &str) -> Read<Vec<Item<'d>>> {
        let Some(value) = top.get(table.as_str()) else {
            return Ok(Vec::new());
        };
        let DeValue::Table(table) = value.get_ref() else {
            return Err(self.wrong_type(value, wanted));
        };
        let mut items: Vec<_> = table.iter().collect();
        items.sort_unstable_by_key(|(name, _)| name.span().start);
        Ok(items)
    }

    fn entry(&self, item: Item<'_>, default: u64) -> Read<(Key, Entry)> {
        let (name, value) = item;
        let key = self.valid(name.span(), Key::try_from(&**name.get_ref()))?;
        let entry = match value.get_ref() {
            DeValue::String(_) => self.file(item, &DeTable::new(), default)?,
            DeValue::Table(fields) => {
                self.check_fields(fields, &ENTRY_FIELDS, "an entry has")?;
                self.file(item, fields, default)?
            }
            _ if MAP_FIELDS.contains(&&**name.get_ref()) => {
                let message = "this is under [keys], so it counts as a key";
                let help = Some("move it to the top of the map");
                return Err(self.mistake(name.span(), message, help));
            }
            _ => return Err(self.wrong_type(value, "a path or a table with a path")),
        };
        Ok((key, entry))
    }

    fn binding(&self, item: Item<'_>, default: u64) -> Read<(BindingName, Binding)> {
        let (name, value) = item;
        let valid = self.valid(name.span(), name.get_ref().parse::<BindingName>())?;
        let DeValue::Table(fields) = value.get_ref() else {
            return Err(self.wrong_type(value, "a table with a path"));
        };
        self.check_fields(fields, &BINDING_FIELDS, "a binding has")?;
        let entry = self.file(item, fields, default)?;
        let label = |field, most| optional(fields, field, |value| self.label(value, most));
        let binding = Binding {
            entry,
            title: label("title", Binding::MAX_TITLE)?,
            description: label("description", Binding::MAX_DESCRIPTION)?,
        };
        Ok((valid, binding))
    }

    /// The file of an entry or binding that has these fields, or is a path, and who may have it.
    fn file(&self, item: Item<'_>, fields: &DeTable<'_>, default: u64) -> Read<Entry> {
        let (name, value) = item;
        let help = Some("add a line: path = \"…\"");
        let none = || self.mistake(value.span(), "this entry has no path", help);
        let own = Some(value).filter(|value| value.get_ref().is_str());
        let path = self.path(fields.get("path").or(own).ok_or_else(none)?)?;
        let max_bytes = optional(fields, "max_bytes", |value| self.max_bytes(value))?;
        let withhold = optional(fields, "withhold", |value| match value.get_ref() {
            DeValue::Boolean(_) if !fields.contains_key("agents") => {
                let help = Some("add a line: agents = [\"NAME\"]");
                Err(self.mistake(value.span(), "withhold needs agents", help))
            }
            DeValue::Boolean(withhold) => Ok(*withhold),
            _ => Err(self.wrong_type(value, "true or false")),
        })?;
        let place = name.span().start;
        Ok(Entry {
            path,
            max_bytes: max_bytes.unwrap_or(default),
            agents: optional(fields, "agents", |value| self.agents(value))?,
            withhold: withhold.unwrap_or_default(),
            line: self.line(place),
            place,
        })
    }

    fn roots(&self, value: &Value<'_>) -> Read<Box<[PathBuf]>> {
        let empty = "with no roots, every file is refused; name one, or remove the line";
        let roots = self.list(value, "a list: write roots = [\"FOLDER\"]", empty)?;
        let absolute = |root: &Value<'_>| {
            let mistake = || self.mistake(root.span(), "a root must begin with / or ~/", None);
            let text = self.string(root)?;
            if !text.starts_with('/') && !text.starts_with("~/") {
                return Err(mistake());
            }
            self.location.expand(&self.path(root)?).ok_or_else(mistake)
        };
        roots.iter().map(absolute).collect()
    }

    fn agents(&self, value: &Value<'_>) -> Read<Box<[AgentName]>> {
        let empty = "with no agents, nobody may have the file; name one, or remove the field";
        let agents = self.list(value, "a list: write agents = [\"NAME\"]", empty)?;
        let named = |value: &Value<'_>| {
            let help = Some("without agents, any agent may use the key");
            let name = AgentName::in_map(self.string(value)?);
            name.map_err(|error| self.mistake(value.span(), error.to_string(), help))
        };
        agents.iter().map(named).collect()
    }

    /// The values of a list that is not empty.
    fn list<'v>(&self, value: &'v Value<'v>, wanted: &str, empty: &str) -> Read<&'v [Value<'v>]> {
        match value.get_ref() {
            DeValue::Array(items) if items.is_empty() => {
                Err(self.mistake(value.span(), "this list is empty", Some(empty)))
            }
            DeValue::Array(items) => Ok(items),
            _ => Err(self.wrong_type(value, wanted)),
        }
    }

    /// A path in a form that a map may contain, wherever it leads.
    fn path(&self, value: &Value<'_>) -> Read<Box<str>> {
        let path = self.string(value)?;
        let (message, help) = if path.is_empty() {
            ("a path is empty", None)
        } else if path.contains('\0') {
            ("a path holds a NUL character", None)
        } else if path.starts_with('~') && !path.starts_with("~/") {
            let help = "write the whole path, from /; or ./~… for a name that begins with ~";
            ("only ~/ may be short", Some(help))
        } else if path.starts_with("~/") && self.location.home.is_none() {
            let message = "~/ has no meaning here: HOME is not set to an absolute path";
            (message, None)
        } else {
            return Ok(path.into());
        };
        Err(self.mistake(value.span(), message, help))
    }

    /// A text that a client shows and a model reads: one line of 1 to `most` characters.
    fn label(&self, value: &Value<'_>, most: usize) -> Read<Box<str>> {
        let text = self.string(value)?;
        let message = if !(1..=most).contains(&text.chars().count()) {
            format!("this text must have 1 to {most} characters")
        } else if text.chars().any(is_unprintable) {
            "this text holds a control or direction character; write it as one line, without such characters".into()
        } else {
            return Ok(text.into());
        };
        Err(self.mistake(value.span(), message, None))
    }

    fn max_bytes(&self, value: &Value<'_>) -> Read<u64> {
        let DeValue::Integer(number) = value.get_ref() else {
            return Err(self.wrong_type(value, "a number: write max_bytes = 65536"));
        };
        let bytes = u64::from_str_radix(number.as_str(), number.radix());
        let is_allowed = |bytes: &u64| (1..=MAX_MAX_BYTES).contains(bytes);
        let message = format!("max_bytes must be 1 to {MAX_MAX_BYTES}");
        let bytes = bytes.ok().filter(is_allowed);
        bytes.ok_or_else(|| self.mistake(value.span(), message, None))
    }

    fn string<'v>(&self, value: &'v Value<'_>) -> Read<&'v str> {
        match value.get_ref() {
            DeValue::String(text) => Ok(text),
            _ => Err(self.wrong_type(value, "a string")),
        }
    }

    fn check_fields(&self, table: &DeTable<'_>, known: &[&'static str], has: &str) -> Read<()> {
        let is_unknown = |name: &&Name<'_>| !known.contains(&&**name.get_ref());
        let unknown = table.keys().filter(is_unknown);
        let Some(name) = unknown.min_by_key(|name| name.span().start) else {
            return Ok(());
        };
        let help = if MAP_FIELDS.contains(&&**name.get_ref()) {
            // Such a line was appended, and belongs to whatever table came last.
            "move this line to the top of the map"
        } else {
            &format!("{has} {}; a key goes into [keys.\"KEY\"]", known.join(", "))
        };
        Err(self.mistake(name.span(), "unknown field", Some(help)))
    }

    fn wrong_type(&self, value: &Value<'_>, wanted: &str) -> MapMistake {
        let said = format!("expected {wanted}; found: {}", value.get_ref().type_str());
        self.mistake(value.span(), said, None)
    }

    fn valid<T>(&self, at: Range<usize>, read: Result<T, Malformed>) -> Read<T> {
        read.map_err(|error| self.mistake(at, error.to_string(), None))
    }

    fn mistake(&self, at: Range<usize>, said: impl Into<String>, help: Option<&str>) -> MapMistake {
        let line = self.line(at.start);
        let text = self.text.split('\n').nth(line as usize - 1);
        let unseen = text.filter(|text| has_unseen(text)).map(|_| UNSEEN);
        let help: Vec<_> = unseen.into_iter().chain(help).collect();
        MapMistake {
            line,
            message: said.into(),
            help: (!help.is_empty()).then(|| help.join("; or else ")),
        }
    }

    fn line(&self, byte: usize) -> u32 {
        let before = self.ends.partition_point(|end| *end < byte);
        u32::try_from(before + 1).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests;
