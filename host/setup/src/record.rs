//! What setup wrote, so that it can be taken away: hashes, and its own lines. Never a copy of
//! a file.

use crate::{
    disk::{FileError, Found, Why, missing_folders},
    edit::{Change, EditError, apply, undo},
    json, map,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::{
    iter,
    path::{Path, PathBuf},
};

/// What setup wants a file to have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Wanted {
    /// This in a JSON file.
    Json {
        value: Value,
        /// Whether its client takes comments.
        comments: bool,
    },
    /// This in the map.
    Map(map::Table),
    /// This and nothing else.
    Whole(String),
}

impl Wanted {
    /// The changes of a file that has `text`. `ours` is what setup wanted there before.
    pub(crate) fn changes(
        &self,
        text: &str,
        ours: Option<&Self>,
    ) -> Result<Vec<Change>, EditError> {
        match (self, ours) {
            (Self::Json { value, comments }, ours) => {
                let ours = match ours {
                    Some(Self::Json { value, .. }) => value,
                    _ => &Value::Null,
                };
                json::merge(text, value, ours, *comments)
            }
            (Self::Map(table), _) => map::merge(text, table),
            (Self::Whole(whole), _) if text == whole => Ok(Vec::new()),
            // It was changed by hand.
            (Self::Whole(whole), Some(Self::Whole(ours))) if text != ours && !text.is_empty() => {
                renewed(text, ours, whole)
            }
            (Self::Whole(_), None) if !text.is_empty() => {
                Err(EditError::Differs("the whole file".to_owned()))
            }
            (Self::Whole(whole), _) => {
                let change = Change::replace(text, 0..text.len(), whole.clone(), "");
                Ok(vec![change])
            }
        }
    }

    /// What such a file loses and gets, for the user.
    pub(crate) fn difference(&self, old: &str, new: &str) -> Change {
        let only = |one: &str, other: &str| match self {
            Self::Json { comments, .. } => {
                let read = |text| json::read(text, *comments).unwrap_or_default();
                match json::missing(&read(other), &read(one)) {
                    none if none == Value::Null || none == json!({}) => String::new(),
                    // Its braces are those of the whole file.
                    some => format!("{some:#}").trim_matches(['{', '}']).to_owned(),
                }
            }
            _ => {
                let mut others: Vec<_> = other.lines().collect();
                let mut is_other = |line: &&str| {
                    let at = others.iter().position(|other| other == line);
                    at.map(|at| others.swap_remove(at)).is_some()
                };
                let lines: Vec<_> = one.lines().filter(|line| !is_other(line)).collect();
                lines.join("\n")
            }
        };
        Change {
            removed: only(old, new),
            ..Change::insert(0, only(new, old), "")
        }
    }
}

/// The changes after which a text, which the user has changed since it was `ours`, has the lines
/// that are others in `whole`.
fn renewed(text: &str, ours: &str, whole: &str) -> Result<Vec<Change>, EditError> {
    let mut changes = Vec::new();
    // Only a last line comes or goes.
    for (old, new) in ours.lines().chain(iter::repeat("")).zip(whole.lines()) {
        if old == new || text.lines().any(|line| line == new) {
            continue;
        }
        let mut end = 0;
        let lines = text.split_inclusive('\n').map(|line| {
            end += line.len();
            (end - line.len(), line.trim_end_matches(['\r', '\n']))
        });
        let is_old = |(_, line): &(usize, &str)| !old.is_empty() && *line == old;
        let [(at, old)] = lines.filter(is_old).collect::<Vec<_>>()[..] else {
            return Err(EditError::ByHand(new.to_owned()));
        };
        let old = at..at + old.len();
        changes.push(Change::replace(text, old, new.to_owned(), ""));
    }
    changes.sort_by_key(|change| change.at);
    Ok(changes)
}

/// One file that setup changed once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// For what: a binding's name, an agent's, or `plugin`.
    pub(crate) name: String,
    /// Which file, as it was named.
    pub(crate) file: PathBuf,
    /// Whether the file was made, and which folders were made for it.
    pub(crate) made: bool,
    pub(crate) folders: Vec<PathBuf>,
    /// The hash of the file before.
    before: String,
    after: String,
    pub(crate) changes: Vec<Change>,
    pub(crate) wanted: Wanted,
    /// In JSON: what of that it had not before setup wrote there at all.
    pub(crate) wrote: Value,
    /// In JSON: the lists and tables of that which the user had.
    pub(crate) had: Value,
}

/// All of them, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The shape of this file.
    version: u32,
    /// The folders that were made for it.
    pub(crate) folders: Vec<PathBuf>,
    /// What was written, the oldest first.
    pub(crate) entries: Vec<Entry>,
}

impl Record {
    /// Reads it. Without one, nothing was written.
    pub(crate) fn read(found: &Found) -> Result<Self, FileError> {
        let none = Self {
            version: 1,
            folders: missing_folders(&found.real),
            entries: Vec::new(),
        };
        let bytes = found.bytes.as_deref();
        let record = bytes.map_or(Some(none), |bytes| serde_json::from_slice(bytes).ok());
        let why = Why::Refused(
            "it is no record of this version's setup: move it away, and take what the old version wrote out by hand",
        );
        let record = record.filter(|record| record.version == 1);
        record.ok_or_else(|| FileError::new(&found.real, why))
    }

    /// Its text.
    pub(crate) fn text(&self) -> String {
        let text = serde_json::to_string_pretty(self);
        // Strings and numbers can always be written.
        text.unwrap_or_default() + "\n"
    }

    pub(crate) fn of_file<'r>(&'r self, file: &Path) -> impl DoubleEndedIterator<Item = &'r Entry> {
        self.entries.iter().filter(move |entry| entry.file == file)
    }

    /// Adds the changes of a file that has `text`; if it is `made`, with these folders. Returns
    /// what it has then.
    pub(crate) fn add(
        &mut self,
        (name, file): (&str, &Path),
        text: &str,
        wanted: Wanted,
        changes: Vec<Change>,
        made: Option<Vec<PathBuf>>,
    ) -> Result<String, EditError> {
        let new = apply(text, &changes).ok_or(EditError::NotSafe)?;
        let (wrote, had) = match &wanted {
            Wanted::Json { value, comments } => {
                let found = json::read(text, *comments).unwrap_or_default();
                let wrote = self.wrote(file, |_| true);
                let had = json::joined(self.of_file(file).map(|entry| &entry.had));
                let had = json::had(&found, value, &wrote, &had);
                (json::missing(&json::missing(&wrote, &found), value), had)
            }
            _ => Default::default(),
        };
        self.entries.push(Entry {
            name: name.to_owned(),
            file: file.to_owned(),
            made: made.is_some(),
            folders: made.unwrap_or_default(),
            before: hash(text),
            after: hash(&new),
            changes,
            wanted,
            wrote,
            had,
        });
        Ok(new)
    }

    /// Forgets what a killed run has not written into a file that has `text`.
    pub(crate) fn forget_unwritten(&mut self, file: &Path, text: &str) {
        let now = hash(text);
        let of_file = self.entries.iter().enumerate().rev();
        let unwritten = of_file
            .filter(|(_, entry)| entry.file == file)
            .take_while(|(_, entry)| entry.after != now)
            .filter(|(_, entry)| entry.before == now);
        // A run may write a file more than once.
        if let Some((at, _)) = unwritten.last() {
            let later = self.entries.split_off(at);
            let others = later.into_iter().filter(|entry| entry.file != file);
            self.entries.extend(others);
        }
    }

    /// All that setup wrote into a JSON file for these names.
    pub(crate) fn wrote(&self, file: &Path, is_for: impl Fn(&str) -> bool) -> Value {
        let entries = self.of_file(file).filter(|entry| is_for(&entry.name));
        json::joined(entries.map(|entry| &entry.wrote))
    }

    /// What setup wanted for this name in this file, at last.
    pub(crate) fn wanted(&self, name: &str, file: &Path, like: &Wanted) -> Option<&Wanted> {
        let same =
            |wanted: &&Wanted| std::mem::discriminant(*wanted) == std::mem::discriminant(like);
        let of_name = self.of_file(file).filter(|entry| entry.name == name);
        of_name.map(|entry| &entry.wanted).rfind(same)
    }
}

/// The text before all of these edits. None if somebody else changed it since.
pub(crate) fn unwind(text: &str, entries: &[Entry]) -> Option<String> {
    let mut text = text.to_owned();
    for entry in entries.iter().rev() {
        if hash(&text) != entry.after {
            return None;
        }
        text = undo(&text, &entry.changes)?;
        if hash(&text) != entry.before {
            return None;
        }
    }
    Some(text)
}

fn hash(text: &str) -> String {
    format!("{:x}", Sha256::digest(text))
}
