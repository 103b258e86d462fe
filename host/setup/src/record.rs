//! What setup wrote, so that it can be taken away: hashes, and its own lines. Never a copy of
//! a file.

use crate::{
    disk::{Disk, DiskError, Found},
    edit::{Change, EditError},
    json, map,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::path::{Path, PathBuf};

/// What setup wants a file to have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wanted {
    /// This in a JSON file.
    Json {
        /// What it has then.
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
            (Self::Whole(whole), _) if text.is_empty() => {
                Ok(vec![Change::insert(0, whole.clone(), "")])
            }
            // It was changed by hand.
            (Self::Whole(_), Some(Self::Whole(ours))) if text != ours => Ok(Vec::new()),
            (Self::Whole(whole), Some(Self::Whole(ours))) => Ok(vec![Change {
                at: 0,
                removed: ours.clone(),
                inserted: whole.clone(),
                place: String::new(),
            }]),
            (Self::Whole(_), _) => Err(EditError::Differs("the whole file".to_owned())),
        }
    }
}

/// One file that setup changed once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// For what: a binding's name, an agent's, or `plugin`.
    pub name: String,
    /// Which file, as it was named.
    pub file: PathBuf,
    /// Whether it was made.
    pub made: bool,
    /// The folders that were made for it.
    pub folders: Vec<PathBuf>,
    /// The hash of the file before.
    pub before: String,
    /// The hash after.
    pub after: String,
    /// What was changed.
    pub changes: Vec<Change>,
    /// What it is to have.
    pub wanted: Wanted,
    /// In JSON: what of that it had not before.
    pub wrote: Value,
}

/// All of them, in order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The shape of this file.
    version: u32,
    /// The folders that were made for it.
    pub(crate) folders: Vec<PathBuf>,
    /// What was written, the oldest first.
    pub entries: Vec<Entry>,
}

impl Record {
    /// Reads it. Without one, nothing was written.
    ///
    /// # Errors
    /// If it is there and cannot be read.
    pub fn read(disk: &Disk, file: &Path) -> Result<(Self, Found), DiskError> {
        let found = disk.find(file, 0o600)?;
        let record = match &found.bytes {
            None => Self {
                version: 1,
                folders: disk.missing_folders(&found.real),
                entries: Vec::new(),
            },
            Some(bytes) => serde_json::from_slice(bytes)
                .ok()
                .filter(|record: &Self| record.version == 1)
                .ok_or(DiskError::Refused {
                    file: file.to_owned(),
                    why: "it is not a record of this program",
                })?,
        };
        Ok((record, found))
    }

    /// Its text.
    pub fn text(&self) -> String {
        let text = serde_json::to_string_pretty(self);
        // Strings and numbers can always be written.
        text.unwrap_or_default() + "\n"
    }

    /// Forgets what a killed run has not written: `now` is the hash of what the file has.
    pub(crate) fn forget_unwritten(&mut self, file: &Path, now: &str) {
        let last = |entries: &[Entry]| entries.iter().rposition(|entry| entry.file == file);
        while let Some(at) = last(&self.entries)
            && let Some(entry) = self.entries.get(at)
            && entry.after != now
            && entry.before == now
        {
            self.entries.remove(at);
        }
    }

    /// The rules that setup wrote into this file.
    pub(crate) fn denied(&self, file: &Path) -> Vec<String> {
        let of_file = self.entries.iter().filter(|entry| entry.file == file);
        let lists =
            of_file.filter_map(|entry| entry.wrote.get("permissions")?.get("deny")?.as_array());
        let rules = lists.flatten().filter_map(Value::as_str);
        rules.map(str::to_owned).collect()
    }

    /// What setup wanted for this name in this file, at last.
    pub(crate) fn wanted(&self, name: &str, file: &Path, like: &Wanted) -> Option<&Wanted> {
        let same = |wanted: &Wanted| std::mem::discriminant(wanted) == std::mem::discriminant(like);
        let mut of = self.entries.iter().rev();
        of.find(|entry| entry.name == name && entry.file == file && same(&entry.wanted))
            .map(|entry| &entry.wanted)
    }
}

/// The hash of a file's bytes.
pub(crate) fn hash(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
