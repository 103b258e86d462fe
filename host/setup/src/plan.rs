//! What setup would change, file by file; and doing it.

use crate::{
    disk::{Disk, DiskError, Found},
    document::short,
    edit::{Change, EditError, apply, undo},
    json, map,
    record::{Entry, Record, Wanted, hash},
};
use keyhole_walk::printable::{printable, printable_text};
use serde_json::Value;
use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

/// Why there is no plan, or why it stopped.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// A file cannot be read or written.
    #[error("{0}")]
    Disk(#[from] DiskError),
    /// A file cannot be edited.
    #[error("{}: {error}", printable(.file))]
    Edit {
        /// The file.
        file: PathBuf,
        /// Why.
        #[source]
        error: EditError,
    },
}

impl PlanError {
    pub(crate) fn edit(file: &Path, error: EditError) -> Self {
        let file = file.to_owned();
        Self::Edit { file, error }
    }
}

/// A new version of one file.
#[derive(Debug)]
pub(crate) struct Step {
    /// For what.
    pub(crate) name: String,
    /// The file, as it is named.
    file: PathBuf,
    found: Found,
    /// None: it is removed.
    new: Option<Vec<u8>>,
    changes: Vec<Change>,
    /// What the record gets. None: nothing.
    wanted: Option<Wanted>,
    folders: Vec<PathBuf>,
}

/// Steps in their order, each over the ones before.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) steps: Vec<Step>,
    /// What the user must do by hand.
    pub(crate) left: Vec<String>,
}

impl Plan {
    /// Adds what a file is to have.
    pub(crate) fn want(
        &mut self,
        disk: &Disk,
        record: &Record,
        name: &str,
        file: &Path,
        wanted: Wanted,
    ) -> Result<(), PlanError> {
        let (found, text) = self.now(disk, file, 0o600)?;
        let ours = record.wanted(name, file, &wanted);
        let refuse = |error| PlanError::edit(file, error);
        let changes = wanted.changes(&text, ours).map_err(refuse)?;
        let kept = matches!((&wanted, ours), (Wanted::Whole(whole), Some(_)) if changes.is_empty() && *whole != text);
        if kept {
            self.left.push(format!(
                "{} was changed by hand since setup wrote it, and stays as it is",
                printable(file)
            ));
        }
        // What setup wrote for another name is this one's as well from now on: whoever is taken
        // away first leaves it to the other.
        let of_file = |entry: &&Entry| entry.file == file;
        let is_shared = record
            .entries
            .iter()
            .filter(of_file)
            .any(|e| e.name != name);
        if changes.is_empty() && (kept || !is_shared || ours == Some(&wanted)) {
            return Ok(());
        }
        let new = apply(&text, &changes).ok_or_else(|| refuse(EditError::NotSafe))?;
        self.steps.push(Step {
            name: name.to_owned(),
            file: file.to_owned(),
            folders: disk.missing_folders(&found.real),
            found,
            new: Some(new.into_bytes()),
            changes,
            wanted: Some(wanted),
        });
        Ok(())
    }

    /// How many changes of a file there are.
    pub(crate) fn changes(&self) -> usize {
        let changes = |step: &&Step| !step.changes.is_empty();
        self.steps.iter().filter(changes).count()
    }

    /// Adds a new file that the record does not name, so that nothing removes it.
    pub(crate) fn make(&mut self, disk: &Disk, file: &Path, text: &str) -> Result<(), PlanError> {
        let found = disk.find(file, 0o600)?;
        self.steps.push(Step {
            name: String::new(),
            file: file.to_owned(),
            folders: disk.missing_folders(&found.real),
            found,
            new: Some(text.as_bytes().to_vec()),
            changes: vec![Change::insert(0, text.to_owned(), "")],
            wanted: None,
        });
        Ok(())
    }

    /// The file as it is after the steps so far.
    fn now(&self, disk: &Disk, file: &Path, mode: u32) -> Result<(Found, String), PlanError> {
        let found = disk.find(file, mode)?;
        let before = self.steps.iter().rev().find(|step| step.file == file);
        let found = match before {
            Some(step) => Found {
                bytes: step.new.clone(),
                ..found
            },
            None => found,
        };
        let bytes = found.bytes.clone().unwrap_or_default();
        let text = String::from_utf8(bytes);
        let text = text.map_err(|_| PlanError::edit(file, EditError::NotText))?;
        Ok((found, text))
    }

    /// Adds what takes away all that setup wrote for `name`.
    pub(crate) fn remove(
        &mut self,
        disk: &Disk,
        record: &Record,
        name: &str,
    ) -> Result<Record, PlanError> {
        let mut rest = record.clone();
        let mut files: Vec<&Path> = Vec::new();
        for entry in record.entries.iter().filter(|entry| entry.name == name) {
            if !files.contains(&&*entry.file) {
                files.push(&entry.file);
            }
        }
        // The rules go last.
        files.reverse();
        for file in files {
            self.remove_from(disk, &mut rest, name, file)?;
        }
        rest.entries.retain(|entry| entry.name != name);
        Ok(rest)
    }

    fn remove_from(
        &mut self,
        disk: &Disk,
        rest: &mut Record,
        name: &str,
        file: &Path,
    ) -> Result<(), PlanError> {
        let (found, text) = self.now(disk, file, 0o600)?;
        rest.forget_unwritten(file, &hash(text.as_bytes()));
        let mut stack: Vec<Entry> = Vec::new();
        rest.entries.retain(|entry| {
            if entry.file == file {
                stack.push(entry.clone());
            }
            entry.file != file
        });
        let Some(lowest) = stack.iter().position(|entry| entry.name == name) else {
            rest.entries.extend(stack);
            return Ok(());
        };
        let ours = stack.iter().rev().filter(|entry| entry.name == name);
        let changes = ours.flat_map(|entry| &entry.changes).map(|change| Change {
            removed: change.inserted.clone(),
            inserted: change.removed.clone(),
            ..change.clone()
        });
        let changes = changes.collect();
        let made = stack
            .first()
            .filter(|entry| entry.made)
            .map(|entry| entry.folders.clone());
        let refuse = |error| PlanError::edit(file, error);
        let (new, left) = match unwind(&text, &stack[lowest..]) {
            Some(base) => {
                let mut base = base;
                let mut again = Vec::new();
                let above = stack.split_off(lowest);
                // Who comes first now has made the file.
                let first = above.first().filter(|entry| entry.made);
                let mut first = first.map(|entry| entry.folders.clone());
                for mut entry in above.into_iter().filter(|entry| entry.name != name) {
                    if let Some(folders) = first.take() {
                        (entry.made, entry.folders) = (true, folders);
                    }
                    let changes = entry.wanted.changes(&base, None).map_err(refuse)?;
                    entry.before = hash(base.as_bytes());
                    entry.wrote = wrote(&base, &entry.wanted);
                    base = apply(&base, &changes).ok_or_else(|| refuse(EditError::NotSafe))?;
                    (entry.after, entry.changes) = (hash(base.as_bytes()), changes);
                    again.push(entry);
                }
                stack.extend(again);
                (Some(base), None)
            }
            None => {
                let new = cut(&text, &stack, name).map_err(refuse)?;
                hand_over(&mut stack, name);
                stack.retain(|entry| entry.name != name);
                match new {
                    Some(new) => (Some(new), None),
                    None => (
                        None,
                        Some("was changed since setup wrote it: take its lines away yourself"),
                    ),
                }
            }
        };
        if let (Some(left), true) = (left, found.bytes.is_some()) {
            self.left.push(format!("{} {left}", printable(file)));
        }
        let new = new.filter(|new| *new != text);
        let goes = new.as_ref().is_some_and(|new| new.is_empty()) && stack.is_empty();
        rest.entries.extend(stack);
        if let Some(new) = new {
            let folders = made.filter(|_| goes);
            self.steps.push(Step {
                name: name.to_owned(),
                file: file.to_owned(),
                found,
                new: (folders.is_none()).then(|| new.into_bytes()),
                folders: folders.unwrap_or_default(),
                changes,
                wanted: None,
            });
        }
        Ok(())
    }

    /// For the user: each line that comes or goes, and nothing else of a file.
    pub(crate) fn shown(&self, home: &Path) -> String {
        let mut text = String::new();
        for step in self.steps.iter().filter(|step| !step.changes.is_empty()) {
            let file = short(&step.file, home).unwrap_or_else(|| printable(&step.file));
            let what = match (&step.found.bytes, &step.new) {
                (None, _) => " (new)",
                (_, None) => " (removed)",
                _ => "",
            };
            // Writing to a `String` cannot fail.
            let _ = writeln!(text, "\n{}{what}", printable_text(&file));
            for change in &step.changes {
                if !change.place.is_empty() {
                    let at = if change.place.starts_with("the ") {
                        "at"
                    } else {
                        "in"
                    };
                    let _ = writeln!(text, "  {at} {}:", printable_text(&change.place));
                }
                let sides = [('-', &change.removed), ('+', &change.inserted)];
                for (sign, side) in sides {
                    let side = side.trim_start_matches(',').trim_matches(['\r', '\n']);
                    for line in side.lines().filter(|line| !line.trim().is_empty()) {
                        let words = line.trim_start_matches([' ', '\t']);
                        let indent = line.strip_suffix(words).unwrap_or_default();
                        let indent = indent.replace('\t', "    ");
                        let _ = writeln!(text, "  {sign} {indent}{}", printable_text(words));
                    }
                }
            }
        }
        text
    }

    /// The record with these steps, before they are done.
    pub(crate) fn recorded(&self, record: &Record) -> Record {
        let mut record = record.clone();
        for step in &self.steps {
            let (Some(wanted), Some(new)) = (&step.wanted, &step.new) else {
                continue;
            };
            let before = step.found.bytes.clone().unwrap_or_default();
            let wrote = wrote(&String::from_utf8_lossy(&before), wanted);
            let now = hash(&before);
            record.forget_unwritten(&step.file, &now);
            record.entries.push(Entry {
                name: step.name.clone(),
                file: step.file.clone(),
                made: step.found.bytes.is_none(),
                folders: step.folders.clone(),
                before: now,
                after: hash(new),
                changes: step.changes.clone(),
                wanted: wanted.clone(),
                wrote,
            });
        }
        record
    }

    /// Does the steps, one after another, and stops at the first that fails.
    ///
    /// # Errors
    /// Why it stopped.
    pub(crate) fn apply(&self, disk: &Disk) -> Result<(), DiskError> {
        for step in self.steps.iter().filter(|step| !step.changes.is_empty()) {
            disk.make_folders(&step.found.real)?;
            match &step.new {
                Some(new) => disk.replace(&step.found, new)?,
                None => disk.remove(&step.found, &step.folders)?,
            }
        }
        Ok(())
    }

    /// What the map would be.
    pub(crate) fn new_text(&self, file: &Path) -> Option<&[u8]> {
        let step = self.steps.iter().rev().find(|step| step.file == file)?;
        step.new.as_deref()
    }
}

/// In JSON: what a text has not before, of what is wanted.
fn wrote(before: &str, wanted: &Wanted) -> Value {
    match wanted {
        Wanted::Json { value, comments } => json::read(before, *comments)
            .map_or_else(|_| value.clone(), |old| json::missing(&old, value)),
        _ => Value::Null,
    }
}

/// What was written for `name`, and is wanted for others as well, is theirs from now on.
fn hand_over(stack: &mut [Entry], name: &str) {
    let mut gone = Value::Null;
    for entry in stack.iter().filter(|entry| entry.name == name) {
        join(&mut gone, &entry.wrote);
    }
    for entry in stack.iter_mut().filter(|entry| entry.name != name) {
        if let Wanted::Json { value, .. } = &entry.wanted {
            let alone = json::missing(value, &gone);
            let shared = json::missing(&alone, &gone);
            join(&mut entry.wrote, &shared);
        }
    }
}

/// The text before all of these edits. None if somebody else changed it since.
fn unwind(text: &str, stack: &[Entry]) -> Option<String> {
    let mut text = text.to_owned();
    for entry in stack.iter().rev() {
        if hash(text.as_bytes()) != entry.after {
            return None;
        }
        text = undo(&text, &entry.changes)?;
        if hash(text.as_bytes()) != entry.before {
            return None;
        }
    }
    Some(text)
}

/// The text without what setup wrote for `name`, although somebody changed it since. None if
/// that cannot be told from the rest.
fn cut(text: &str, stack: &[Entry], name: &str) -> Result<Option<String>, EditError> {
    let (ours, others): (Vec<_>, Vec<_>) = stack.iter().partition(|entry| entry.name == name);
    let mut kept = Value::Null;
    for entry in others {
        if let Wanted::Json { value, .. } = &entry.wanted {
            join(&mut kept, value);
        }
    }
    let mut new = text.to_owned();
    for entry in ours.iter().rev() {
        new = match &entry.wanted {
            Wanted::Json { comments, .. } => json::without(&new, &entry.wrote, &kept, *comments)?,
            Wanted::Map(_) => {
                let Some(cut) = cut_lines(&new, &entry.changes) else {
                    return Ok(None);
                };
                map::read(&cut)?;
                cut
            }
            Wanted::Whole(_) => return Ok(None),
        };
    }
    Ok(Some(new))
}

/// The text without each inserted part, if that stands there once, or not at all any more.
fn cut_lines(text: &str, changes: &[Change]) -> Option<String> {
    let mut text = text.to_owned();
    // A root may be another entry's by now.
    for change in changes.iter().filter(|change| change.place == "the end") {
        let mut places = text.match_indices(&*change.inserted).map(|(at, _)| at);
        match (places.next(), places.next()) {
            (Some(at), None) => text.replace_range(at..at + change.inserted.len(), ""),
            _ => return None,
        }
    }
    Some(text)
}

/// Adds members and elements.
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
