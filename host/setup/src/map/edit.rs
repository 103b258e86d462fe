//! Edits of the map's text: an entry at its end, a string among its roots, and an entry taken away.
//!
//! The map decides who may read what. So each edit is made twice: in the text, and in the tables
//! that the old text has. The new text must have exactly those tables, or nothing is edited. What
//! is written is the old map with what the user is shown, and nothing else.

use crate::{
    EditError,
    paste::quoted,
    shown::{Edited, lines_that_come},
};
use toml::de::DeTable;

/// What comes into a map.
pub(super) struct Addition {
    /// The entry, as it is written. None if the map has it already.
    pub(super) table: Option<String>,
    /// A folder among the roots. None if the map needs no other.
    pub(super) root: Option<String>,
}

impl Addition {
    /// The text of the map `old` with the table at its end, and the root among its roots.
    ///
    /// # Errors
    /// - If `old` is no TOML.
    /// - If the text has no place for the root (`Inserted::root`), or has an entry of the table's
    ///   name already.
    /// - If the new text has other tables than `old` with the table and the root added.
    pub(super) fn added_to(&self, old: &str) -> Result<Edited, EditError> {
        let mut draft = Draft {
            text: old.to_owned(),
            tables: parse(old)?,
            shown: String::new(),
        };
        if let Some(root) = &self.root {
            draft.add_root(root)?;
        }
        if let Some(table) = &self.table {
            draft.add_table(table)?;
        }
        // Each step above changed both the text and the tables. They must still say the same.
        if !parse(&draft.text).is_ok_and(|tables| tables == draft.tables) {
            return Err(EditError::ChangesMore);
        }
        Ok(Edited {
            text: draft.text,
            shown: draft.shown,
        })
    }
}

/// A map while it is edited.
struct Draft {
    text: String,
    /// The tables that the text must have.
    tables: toml::Table,
    /// The lines that come, for the user.
    shown: String,
}

impl Draft {
    /// Adds this folder to the map's `roots`, in the text and in the tables. The user is shown a
    /// line `roots = ["~/notes"]` that is new; or of a list that is there, only the new string,
    /// below `in roots:`.
    ///
    /// # Errors
    /// If `roots` is there, but is no list, or an empty one; or if the text is no TOML.
    fn add_root(&mut self, root: &str) -> Result<(), EditError> {
        let new = Inserted::root(&self.text, root)?;
        self.text.insert_str(new.at, &new.text);
        self.shown += &lines_that_come(new.place, &new.text);
        let roots = self.tables.entry("roots");
        let there = roots.or_insert(toml::Value::Array(Vec::new()));
        let list = there.as_array_mut().ok_or(EditError::ChangesMore)?;
        list.push(root.into());
        Ok(())
    }

    /// Adds the entry with these lines at the end of the map, behind a blank line. In an empty map,
    /// no line comes before the entry.
    ///
    /// # Errors
    /// If the map has an entry of this name already (`insert_entry`).
    fn add_table(&mut self, table: &str) -> Result<(), EditError> {
        let end = line_end(&self.text);
        // What comes between: nothing in an empty map, which may have a byte order mark.
        let before = match &*self.text {
            "" | "\u{feff}" => "",
            ended if ended.ends_with('\n') => end,
            _ => &end.repeat(2),
        };
        self.text += &format!("{before}{}", table.replace('\n', end));
        self.shown += &lines_that_come("", table);
        insert_entry(table, &mut self.tables)
    }
}

/// A text that is put into a map, and where.
struct Inserted {
    /// The byte of the map before which the text is put.
    at: usize,
    text: String,
    /// The list in which the text is one more string. Empty if the text is a line of its own.
    place: &'static str,
}

impl Inserted {
    /// How this root is put into the map:
    ///
    /// - In a map with `roots = ["~/a"]`, as one more string: `, "~/notes"` behind `"~/a"`.
    /// - In a map without `roots`, as a line of its own at the top: `roots = ["~/notes"]`. The
    ///   caller has checked that such a map has no entries: the root would refuse their files.
    ///
    /// # Errors
    /// If the map is no TOML, or if its `roots` are no list, or an empty list.
    fn root(map: &str, root: &str) -> Result<Self, EditError> {
        let document = DeTable::parse(map).map_err(|_| EditError::Syntax("TOML"))?;
        let Some(roots) = document.get_ref().get("roots") else {
            return Ok(Self {
                at: map.len() - below_schema(map).len(),
                text: format!("roots = [{}]{}", quoted(root), line_end(map)),
                place: "",
            });
        };
        // The loader takes no map with an empty list either.
        let list = roots.get_ref().as_array().ok_or(EditError::ChangesMore)?;
        let last = list.iter().last().ok_or(EditError::ChangesMore)?;
        Ok(Self {
            at: last.span().end,
            text: format!(", {}", quoted(root)),
            place: "roots",
        })
    }
}

/// The map without its first line, if that begins with `#:schema`: an editor looks for the schema
/// only there, so nothing may come above. Else the whole map, without a byte order mark.
fn below_schema(map: &str) -> &str {
    let body = map.trim_start_matches('\u{feff}');
    match body.split_once('\n') {
        Some((first, rest)) if first.starts_with("#:schema") => rest,
        _ => body,
    }
}

/// The map `text` without this table, such as `[bindings.notes]` with its lines, and without one
/// blank line above the table. None in three cases:
///
/// - The table does not stand in the map with just these lines, from the start of a line on.
/// - The table stands in the map more than once.
/// - The new map, with the table put back, would not have the tables of the old map, as if the user
///   added a line `max_bytes = 9` below: that would come into the table above.
pub(crate) fn without_table(text: &str, table: &str) -> Option<String> {
    let end = line_end(text);
    let (before, after) = text.split_once(&table.replace('\n', end))?;
    // The table does not begin a line.
    if !before.is_empty() && !before.ends_with(['\n', '\u{feff}']) {
        return None;
    }
    let mut above = before;
    // Setup wrote the blank line above the table, too.
    if before.ends_with(&end.repeat(2)) {
        above = before.strip_suffix(end)?;
    }
    let new = above.to_owned() + after;
    // The check puts the table back, and does not take it out of the old map's tables: after that,
    // an empty `[keys]` could be there or not.
    let mut tables = parse(&new).ok()?;
    // None if the new map still has the table, which stood in the old one twice.
    insert_entry(table, &mut tables).ok()?;
    if tables == parse(text).ok()? {
        Some(new)
    } else {
        None
    }
}

/// Puts the entry with these lines into the `tables` of a map: `[keys.k1]` becomes the member `k1`
/// of the table `keys`, which is made if it is not there.
///
/// # Errors
/// [`EditError::ChangesMore`] if the lines are no TOML table, if `keys` is no table, or if a member
/// `k1` is there already.
fn insert_entry(lines: &str, tables: &mut toml::Table) -> Result<(), EditError> {
    let parsed = parse(lines).map_err(|_| EditError::ChangesMore)?;
    for (kind, entries) in parsed {
        let table = tables.entry(kind).or_insert(toml::Table::new().into());
        let there = table.as_table_mut().ok_or(EditError::ChangesMore)?;
        for (name, fields) in entries.as_table().ok_or(EditError::ChangesMore)? {
            if there.insert(name.clone(), fields.clone()).is_some() {
                return Err(EditError::ChangesMore);
            }
        }
    }
    Ok(())
}

/// The tables of this text, as TOML has them.
fn parse(text: &str) -> Result<toml::Table, EditError> {
    text.parse().map_err(|_| EditError::Syntax("TOML"))
}

/// The end of a line in this text: `\r\n` if it is there at all, else `\n`.
fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}
