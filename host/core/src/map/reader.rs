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
use std::{borrow::Cow, collections::HashMap, ops::Range, path::PathBuf};
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
const ENTRY_FIELDS: [&str; 5] = ["path", "max_bytes", "agents", "withhold", "publish_only_in"];
const BINDING_FIELDS: [&str; 5] = ["path", "max_bytes", "agents", "title", "description"];

/// The TOML parser's messages say where a mistake is, but seldom what to write instead.
const TOML_HELP: &str = r#"write an entry as two lines: [keys."KEY"] and path = "PATH". Use straight quotes. Write \ as \\"#;

/// The help where a line has a character that nobody sees, which may be the mistake itself.
const HAS_UNSEEN: &str = "a character that nobody sees stands in this line, as text from a web page may have it: write the line again";

/// A name in the map's text, and where it stands.
type Name<'a> = Spanned<Cow<'a, str>>;
/// A value in the map's text, and where it stands.
type Value<'a> = Spanned<DeValue<'a>>;
/// What a part of the map says, or the first mistake that was found in it.
type Read<T> = Result<T, MapMistake>;

/// A name in a table, and its value: `k1` and `"a.md"` of `k1 = "a.md"`.
#[derive(Clone, Copy)]
struct Item<'d> {
    name: &'d Name<'d>,
    value: &'d Value<'d>,
}

impl Map {
    /// Reads a map. `location` says where it is: relative paths begin in its folder.
    ///
    /// # Errors
    /// All of the map must be valid: an unknown field, a key that occurs twice or a number out of
    /// range is an error, never replaced by a default. Of several errors, this returns one: that
    /// the text is not UTF-8; else that it is not TOML; else an error in the fields at the top;
    /// else the first in the keys; else the first in the bindings.
    pub fn parse(bytes: &[u8], location: &Location) -> Result<Self, MapMistake> {
        let mut line_ends = Vec::new();
        for (place, byte) in bytes.iter().enumerate() {
            if *byte == b'\n' {
                line_ends.push(place);
            }
        }
        let decoded = str::from_utf8(bytes);
        // For a text that is not UTF-8, the reader only says on which line that is.
        let reader = Reader {
            text: decoded.unwrap_or_default(),
            line_ends,
            location,
        };
        let text = decoded.map_err(|error| {
            let at = error.valid_up_to();
            let help = Some("save the map as UTF-8");
            reader.mistake(at..at, "the map is not UTF-8 from here on", help)
        })?;
        let document = DeTable::parse(text).map_err(|error| reader.not_toml(&error))?;
        reader.map(document.get_ref())
    }
}

/// What `read` makes of the value of this field, or its mistake. None if the table has no such
/// field.
fn optional<T>(
    table: &DeTable<'_>,
    field: &str,
    read: impl FnOnce(&Value<'_>) -> Read<T>,
) -> Read<Option<T>> {
    table.get(field).map(read).transpose()
}

/// Whether the name is one of these.
fn is_one_of(name: &Name<'_>, names: &[&str]) -> bool {
    let name: &str = name.get_ref();
    names.contains(&name)
}

/// Reads the text of one map.
struct Reader<'l> {
    /// The whole text. Empty if it is not UTF-8.
    text: &'l str,
    /// The place of each newline in the text, in bytes.
    line_ends: Vec<usize>,
    /// Where the map is: relative paths begin in its folder.
    location: &'l Location,
}

impl Reader<'_> {
    /// The map that this document is. The fields at its top are read first, then `[keys]`, then
    /// `[bindings]`: the first mistake is returned. An unknown field at the top is a mistake, too.
    fn map(&self, document: &DeTable<'_>) -> Read<Map> {
        self.check_fields(document, &MAP_FIELDS, "a map has")?;
        let roots = optional(document, "roots", |value| self.roots(value))?;
        let max_bytes = optional(document, "max_bytes", |value| self.max_bytes(value))?;
        let default_max_bytes = max_bytes.unwrap_or(DEFAULT_MAX_BYTES);
        let key_items = self.table(document, Table::Key, "tables: write [keys.\"KEY\"]")?;
        let mut entries = HashMap::with_capacity(key_items.len());
        for item in key_items {
            let (key, entry) = self.entry(item, default_max_bytes)?;
            entries.insert(key, entry);
        }
        let binding_items =
            self.table(document, Table::Binding, "a table: write [bindings.NAME]")?;
        let mut bindings = Vec::with_capacity(binding_items.len());
        for item in binding_items {
            bindings.push(self.binding(item, default_max_bytes)?);
        }
        Ok(Map {
            location: self.location.clone(),
            roots,
            entries,
            bindings,
        })
    }

    /// The items of this table of the map, in the order of the text. `top` is the whole map.
    /// Without the table, as in an empty map, there is no item. A value that is no table, as in
    /// `keys = 1`, is refused, and `wanted` is what the mistake says to write instead.
    fn table<'d>(&self, top: &'d DeTable<'d>, table: Table, wanted: &str) -> Read<Vec<Item<'d>>> {
        let Some(found) = top.get(table.as_str()) else {
            return Ok(Vec::new());
        };
        let DeValue::Table(rows) = found.get_ref() else {
            return Err(self.wrong_type(found, wanted));
        };
        let mut items = Vec::with_capacity(rows.len());
        for (name, value) in rows {
            items.push(Item { name, value });
        }
        items.sort_unstable_by_key(|item| item.name.span().start);
        Ok(items)
    }

    /// The key and the entry of an item of `[keys]`: `k1 = "a.md"` or `k1 = { path = "a.md" }`.
    /// `default_max_bytes` is the largest file, in bytes, if the entry does not say it.
    ///
    /// Refused: a name that cannot be a key, as `"two words"`; a field that no entry has; what
    /// [`Self::file`] refuses; and any other value, as in `k1 = 7`. If the name is that of a field
    /// at the map's top (`max_bytes = 7`), the mistake says where to move it.
    fn entry(&self, item: Item<'_>, default_max_bytes: u64) -> Read<(Key, Entry)> {
        let Item { name, value } = item;
        let text: &str = name.get_ref();
        let key = self.valid(name, Key::try_from(text))?;
        let entry = match value.get_ref() {
            DeValue::String(_) => self.file(item, &DeTable::new(), default_max_bytes)?,
            DeValue::Table(fields) => {
                self.check_fields(fields, &ENTRY_FIELDS, "an entry has")?;
                self.file(item, fields, default_max_bytes)?
            }
            _ if is_one_of(name, &MAP_FIELDS) => {
                let message = "this is under [keys], so it counts as a key";
                let help = Some("move it to the top of the map");
                return Err(self.mistake(name.span(), message, help));
            }
            _ => return Err(self.wrong_type(value, "a path or a table with a path")),
        };
        Ok((key, entry))
    }

    /// The name and the binding of an item of `[bindings]`: `notes = { path = "a.md" }`.
    /// `default_max_bytes` is the largest file, in bytes, if the binding does not say it.
    ///
    /// Refused: a name that cannot be a binding's, as `Notes`; a value that is no table, as in
    /// `notes = "a.md"`; a field that no binding has; a title or description that is empty or too
    /// long; and what [`Self::file`] refuses.
    fn binding(&self, item: Item<'_>, default_max_bytes: u64) -> Read<(BindingName, Binding)> {
        let Item { name, value } = item;
        let binding_name: BindingName = self.valid(name, name.get_ref().parse())?;
        let DeValue::Table(fields) = value.get_ref() else {
            return Err(self.wrong_type(value, "a table with a path"));
        };
        self.check_fields(fields, &BINDING_FIELDS, "a binding has")?;
        let entry = self.file(item, fields, default_max_bytes)?;
        let title = optional(fields, "title", |value| {
            self.label(value, Binding::MAX_TITLE)
        })?;
        let description = optional(fields, "description", |value| {
            self.label(value, Binding::MAX_DESCRIPTION)
        })?;
        let binding = Binding {
            entry,
            title,
            description,
        };
        Ok((binding_name, binding))
    }

    /// The file of an entry or binding, and who may have it. `default_max_bytes` is the largest
    /// file, in bytes, if the item does not say it.
    ///
    /// `fields` are those of the item's table, as in `k1 = { path = "a.md" }`. They are empty if
    /// the item's value is the path itself, as in `k1 = "a.md"`. A table without `path` is refused,
    /// and so is the first field with a wrong value.
    fn file(&self, item: Item<'_>, fields: &DeTable<'_>, default_max_bytes: u64) -> Read<Entry> {
        let Item { name, value } = item;
        let path = match fields.get("path") {
            Some(path) => self.path(path)?,
            None if value.get_ref().is_str() => self.path(value)?,
            None => {
                let help = Some("add a line: path = \"…\"");
                return Err(self.mistake(value.span(), "this entry has no path", help));
            }
        };
        let max_bytes = optional(fields, "max_bytes", |value| self.max_bytes(value))?;
        let withhold = optional(fields, "withhold", |value| self.withhold(value, fields))?;
        let publish_only_in = optional(fields, "publish_only_in", |value| self.folders(value))?;
        let place = name.span().start;
        Ok(Entry {
            path,
            max_bytes: max_bytes.unwrap_or(default_max_bytes),
            agents: optional(fields, "agents", |value| self.agents(value))?,
            withhold: withhold.unwrap_or_default(),
            publish_only_in,
            line: self.line(place),
            place,
        })
    }

    /// Whether an entry with these `fields` withholds its file: its field `withhold`, of this
    /// `value`, says so. Refused if the value is not `true` or `false`, and if the entry has no
    /// `agents`, also with `withhold = false`.
    fn withhold(&self, value: &Value<'_>, fields: &DeTable<'_>) -> Read<bool> {
        let DeValue::Boolean(withhold) = *value.get_ref() else {
            return Err(self.wrong_type(value, "true or false"));
        };
        if !fields.contains_key("agents") {
            let help = Some("add a line: agents = [\"NAME\"]");
            return Err(self.mistake(value.span(), "withhold needs agents", help));
        }
        Ok(withhold)
    }

    /// The folders of a list of roots: `["~/notes"]`. An empty list is refused.
    fn roots(&self, value: &Value<'_>) -> Read<Box<[PathBuf]>> {
        let empty = "with no roots, every file is refused; name one, or remove the line";
        let roots = self.list(value, "a list: write roots = [\"FOLDER\"]", empty)?;
        let folders = roots.iter().map(|root| self.folder(root, "a root"));
        folders.collect()
    }

    /// The folders of the list `publish_only_in`, which may be empty.
    fn folders(&self, value: &Value<'_>) -> Read<Box<[PathBuf]>> {
        let DeValue::Array(items) = value.get_ref() else {
            let wanted = "a list: write publish_only_in = [\"FOLDER\"]";
            return Err(self.wrong_type(value, wanted));
        };
        let folders = items.iter().map(|item| self.folder(item, "a folder"));
        folders.collect()
    }

    /// A folder as an absolute path: `/srv`, or the folder in the home for `~/notes`. Any other
    /// path, as `notes`, is refused, unlike a file's: `what` names the folder in the mistake ("a
    /// root").
    fn folder(&self, value: &Value<'_>, what: &str) -> Read<PathBuf> {
        let text = self.string(value)?;
        if text.starts_with('/') || text.starts_with("~/") {
            let path = self.path(value)?;
            if let Some(absolute) = self.location.expand(&path) {
                return Ok(absolute);
            }
        }
        let message = format!("{what} must begin with / or ~/");
        Err(self.mistake(value.span(), message, None))
    }

    /// The names of a list of agents: `["acme:reviewer"]`. An empty list is refused.
    fn agents(&self, value: &Value<'_>) -> Read<Box<[AgentName]>> {
        let empty = "with no agents, nobody may have the file; name one, or remove the field";
        let agents = self.list(value, "a list: write agents = [\"NAME\"]", empty)?;
        agents.iter().map(|agent| self.agent(agent)).collect()
    }

    /// The name of one agent in a list of agents. `two words` and `*` are refused.
    fn agent(&self, value: &Value<'_>) -> Read<AgentName> {
        let text = self.string(value)?;
        AgentName::in_map(text).map_err(|error| {
            let help = Some("without agents, any agent may use the key");
            self.mistake(value.span(), error.to_string(), help)
        })
    }

    /// The values of a list. Two values are refused: `[]`, where the mistake says what to do with
    /// an `empty` list, and a value that is no list, where it says what is `wanted`.
    fn list<'v>(&self, value: &'v Value<'v>, wanted: &str, empty: &str) -> Read<&'v [Value<'v>]> {
        match value.get_ref() {
            DeValue::Array(items) if items.is_empty() => {
                Err(self.mistake(value.span(), "this list is empty", Some(empty)))
            }
            DeValue::Array(items) => Ok(items),
            _ => Err(self.wrong_type(value, wanted)),
        }
    }

    /// A path in a form that a map may contain, wherever it leads: `/a.md`, `~/a.md` or `a.md`.
    /// Refused: an empty path, one with a NUL, `~theo/a.md`, and `~/a.md` if there is no home.
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

    /// A text that a client shows and a model reads: one line of 1 to `most` characters. An empty
    /// or longer text is refused, and so is one with a line end, another control character, or a
    /// mark that reorders text.
    fn label(&self, value: &Value<'_>, most: usize) -> Read<Box<str>> {
        let text = self.string(value)?;
        let chars = text.chars().count();
        let message = if !(1..=most).contains(&chars) {
            format!("this text must have 1 to {most} characters")
        } else if text.chars().any(is_unprintable) {
            "this text holds a control or direction character; write it as one line, without such characters".into()
        } else {
            return Ok(text.into());
        };
        Err(self.mistake(value.span(), message, None))
    }

    /// The largest size of a file, in bytes: 1 to 8 MiB ([`MAX_MAX_BYTES`]), as `65536`. Any other
    /// number is refused, and so is a text.
    fn max_bytes(&self, value: &Value<'_>) -> Read<u64> {
        let DeValue::Integer(number) = value.get_ref() else {
            return Err(self.wrong_type(value, "a number: write max_bytes = 65536"));
        };
        match u64::from_str_radix(number.as_str(), number.radix()) {
            Ok(bytes) if (1..=MAX_MAX_BYTES).contains(&bytes) => Ok(bytes),
            _ => {
                let message = format!("max_bytes must be 1 to {MAX_MAX_BYTES}");
                Err(self.mistake(value.span(), message, None))
            }
        }
    }

    /// The text of a value that is a string. A number or a list is refused.
    fn string<'v>(&self, value: &'v Value<'_>) -> Read<&'v str> {
        match value.get_ref() {
            DeValue::String(text) => Ok(text),
            _ => Err(self.wrong_type(value, "a string")),
        }
    }

    /// Fails at the first field of the table, in the order of the text, that is not one of `known`.
    /// The help says that the field belongs to the top of the map, if it is one of the fields there
    /// (`roots`); else which fields are known. `has` begins that sentence: "an entry has".
    fn check_fields(&self, table: &DeTable<'_>, known: &[&str], has: &str) -> Read<()> {
        let first_unknown = table
            .keys()
            .filter(|name| !is_one_of(name, known))
            .min_by_key(|name| name.span().start);
        let Some(name) = first_unknown else {
            return Ok(());
        };
        let help = if is_one_of(name, &MAP_FIELDS) {
            // A line that is appended to a map belongs to the table that comes last.
            "move this line to the top of the map"
        } else {
            &format!("{has} {}; a key goes into [keys.\"KEY\"]", known.join(", "))
        };
        Err(self.mistake(name.span(), "unknown field", Some(help)))
    }

    /// The mistake that the text is not TOML. Its message is the parser's. The help depends on that
    /// message: to remove a duplicate, to put quotes, or how an entry is written.
    fn not_toml(&self, error: &toml::de::Error) -> MapMistake {
        let said = error.message();
        let help = if said.contains("duplicate key") {
            "remove one of the two"
        } else if said.contains("must be quoted") {
            "put straight quotes around the value: path = \"…\""
        } else {
            TOML_HELP
        };
        let at = error.span().unwrap_or_default();
        self.mistake(at, format!("not TOML: {said}"), Some(help))
    }

    /// The mistake that the value is of another type than `wanted`, as "a string".
    fn wrong_type(&self, value: &Value<'_>, wanted: &str) -> MapMistake {
        let said = format!("expected {wanted}; found: {}", value.get_ref().type_str());
        self.mistake(value.span(), said, None)
    }

    /// What was `made` of this name; or, if the name is malformed, the mistake at its place.
    fn valid<T>(&self, name: &Name<'_>, made: Result<T, Malformed>) -> Read<T> {
        made.map_err(|error| self.mistake(name.span(), error.to_string(), None))
    }

    /// A mistake at this place of the text, in bytes: what is wrong, and what to write instead, if
    /// that is known. If the line has a character that nobody sees, the help says so first.
    fn mistake(&self, at: Range<usize>, said: impl Into<String>, help: Option<&str>) -> MapMistake {
        let line = self.line(at.start);
        let mut lines = self.text.split('\n');
        let line_has_unseen = lines.nth(line as usize - 1).is_some_and(has_unseen);
        let whole_help = match help {
            Some(help) if line_has_unseen => Some(format!("{HAS_UNSEEN}; or else {help}")),
            None if line_has_unseen => Some(HAS_UNSEEN.to_owned()),
            unchanged => unchanged.map(str::to_owned),
        };
        MapMistake {
            line,
            message: said.into(),
            help: whole_help,
        }
    }

    /// The line that the byte at this place is in, from 1.
    fn line(&self, byte: usize) -> u32 {
        let before = self.line_ends.partition_point(|end| *end < byte);
        u32::try_from(before + 1).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests;
