//! Edits of the map's text: an entry at its end, a string among its roots, and an entry taken away.
//!
//! The map decides who may read what. So each edit is made twice: in the text, and in the tables
//! that the old text has. The new text must have exactly those tables, or nothing is edited. What
//! is written is the old map with what the user is shown, and nothing else.

use crate::{
    EditError,
    paste::quoted,
    shown::{Edited, lines_of},
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
    /// The map `old` with the table at its end, and the root among its roots.
    ///
    /// # Errors
    /// If `old` is no TOML; or if the new text, read again, has not the tables of `old` with the new
    /// table and root added. Each addition changes the draft's text and its tables.
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
    /// Adds this folder to the roots, in the text, in the tables and in what the user is shown.
    ///
    /// # Errors
    /// If [`Inserted::root`] finds no place for it, or if `roots` is no list.
    fn add_root(&mut self, root: &str) -> Result<(), EditError> {
        let Inserted {
            at,
            text,
            is_own_line,
        } = Inserted::root(&self.text, root)?;
        self.text.insert_str(at, &text);
        // One more string of the list is shown as `in roots`.
        let place = if is_own_line { "" } else { "roots" };
        self.shown += &lines_of(place, "", &text);
        let roots = self.tables.entry("roots");
        let there = roots.or_insert(toml::Value::Array(Vec::new()));
        let list = there.as_array_mut().ok_or(EditError::ChangesMore)?;
        list.push(root.into());
        Ok(())
    }

    /// Adds an entry at the end, behind a blank line.
    fn add_table(&mut self, table: &str) -> Result<(), EditError> {
        let end = line_end(&self.text);
        let before = match &*self.text {
            "" | "\u{feff}" => "",
            ended if ended.ends_with('\n') => end,
            _ => &end.repeat(2),
        };
        self.text += &format!("{before}{}", table.replace('\n', end));
        self.shown += &lines_of("", "", table);
        insert_entry(table, &mut self.tables)
    }
}

/// A text that comes into a map.
struct Inserted {
    /// Before which byte of the map.
    at: usize,
    text: String,
    /// Whether it is a line of its own, and not one more string of a list.
    is_own_line: bool,
}

impl Inserted {
    /// Where and how this root comes into the map: as one more string behind the last of its
    /// `roots`; or in a map without `roots`, as a line of its own at the top. The caller
    /// has checked that a map without `roots` has no entries: the new root would refuse their files.
    ///
    /// # Errors
    /// If the map is no TOML, or if its `roots` are no list, or an empty one.
    fn root(map: &str, root: &str) -> Result<Self, EditError> {
        let document = DeTable::parse(map).map_err(|_| EditError::Syntax("TOML"))?;
        let Some(roots) = document.get_ref().get("roots") else {
            return Ok(Self {
                at: map.len() - below_schema(map).len(),
                text: format!("roots = [{}]{}", quoted(root), line_end(map)),
                is_own_line: true,
            });
        };
        // A map with an empty list is no valid one.
        let list = roots.get_ref().as_array().ok_or(EditError::ChangesMore)?;
        let last = list.iter().last().ok_or(EditError::ChangesMore)?;
        Ok(Self {
            at: last.span().end,
            text: format!(", {}", quoted(root)),
            is_own_line: false,
        })
    }
}

/// The map below a first line `#:schema`, in which alone an editor looks for its schema.
fn below_schema(map: &str) -> &str {
    let body = map.trim_start_matches('\u{feff}');
    match body.split_once('\n') {
        Some((first, rest)) if first.starts_with("#:schema") => rest,
        _ => body,
    }
}

/// The map `text` without this table, and without one blank line above it. None if the table does
/// not stand in the map with just these lines, or not at the start of a line; if it stands there
/// more than once; or if the rest with the table put back would have other tables than the old map.
pub(crate) fn without_table(text: &str, table: &str) -> Option<String> {
    let end = line_end(text);
    let (before, after) = text.split_once(&table.replace('\n', end))?;
    // The table does not begin a line.
    if !before.is_empty() && !before.ends_with(['\n', '\u{feff}']) {
        return None;
    }
    let mut above = before;
    // The blank line above is setup's, too.
    if before.ends_with(&end.repeat(2)) {
        above = before.strip_suffix(end)?;
    }
    let new = above.to_owned() + after;
    // The table is put back, and not taken out of the old map's tables: that would not tell whether
    // an empty `[keys]` stays.
    let mut tables = parse(&new).ok()?;
    // This fails if the table is still there: it stood there twice.
    insert_entry(table, &mut tables).ok()?;
    if tables == parse(text).ok()? {
        Some(new)
    } else {
        None
    }
}

/// Puts the entry with these lines among the tables of a map: `[keys.k1]` becomes the member `k1`
/// of the table `keys`, which is made if it is not there.
///
/// # Errors
/// If the lines are no TOML table, or the entry's name is there already.
fn insert_entry(entry: &str, tables: &mut toml::Table) -> Result<(), EditError> {
    let parsed = parse(entry).map_err(|_| EditError::ChangesMore)?;
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

/// The tables that this text of a map has.
fn parse(text: &str) -> Result<toml::Table, EditError> {
    text.parse().map_err(|_| EditError::Syntax("TOML"))
}

/// The end of a line, as the text has it.
fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}
