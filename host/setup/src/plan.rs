//! What setup would change, file by file; and doing it.

use crate::{
    disk::{Disk, FileError, Found, missing_folders},
    document::short,
    edit::{Change, EditError},
    json, map,
    record::{Entry, Record, Wanted, unwind},
};
use keyhole_walk::printable::{printable, printable_text};
use std::path::{Path, PathBuf};

/// A new version of one file.
#[derive(Debug)]
struct Step {
    /// The file, as it is named.
    file: PathBuf,
    found: Found,
    /// None: it is removed, and those folders with it that setup made for it.
    new: Option<String>,
    folders: Vec<PathBuf>,
    changes: Vec<Change>,
}

/// Steps in their order, each over the ones before.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    disk: &'a Disk,
    steps: Vec<Step>,
    /// The record as it was found, and with these steps.
    found: Found,
    pub(crate) record: Record,
    /// What the user must do by hand.
    pub(crate) left: Vec<String>,
}

impl<'a> Plan<'a> {
    /// A plan without steps.
    pub(crate) fn new(disk: &'a Disk, record: &Path) -> Result<Self, FileError> {
        let found = disk.find(record)?;
        Ok(Self {
            disk,
            steps: Vec::new(),
            record: Record::read(&found)?,
            found,
            left: Vec::new(),
        })
    }

    /// Adds what a file is to have. Returns its new text, if that changes it.
    pub(crate) fn want(
        &mut self,
        name: &str,
        file: &Path,
        wanted: Wanted,
    ) -> Result<Option<String>, FileError> {
        let (found, text) = self.now(file)?;
        self.record.forget_unwritten(file, &text);
        let refuse = |error: EditError| FileError::new(file, error);
        let ours = self.record.wanted(name, file, &wanted);
        let changes = wanted.changes(&text, ours).map_err(refuse)?;
        let is_changed = !changes.is_empty();
        if let (Wanted::Whole(whole), false) = (&wanted, is_changed)
            && *whole != text
        {
            self.left.push(format!(
                "{} was changed by hand since setup wrote it, and stays as it is",
                printable(file)
            ));
            return Ok(None);
        }
        // What setup wrote for another name is this one's as well from now on: whoever is taken
        // away first leaves it to the other.
        let is_shared = self.record.of_file(file).any(|entry| entry.name != name);
        if !is_changed && (!is_shared || ours == Some(&wanted)) {
            return Ok(None);
        }
        let is_new = found.bytes.is_none();
        let made = is_new.then(|| missing_folders(&found.real));
        let to = (name, file);
        let new = self.record.add(to, &text, wanted, changes.clone(), made);
        let new = new.map_err(refuse)?;
        if is_changed {
            self.step(file, found, Some(new.clone()), changes);
        }
        Ok(is_changed.then_some(new))
    }

    fn step(&mut self, file: &Path, found: Found, new: Option<String>, changes: Vec<Change>) {
        self.steps.push(Step {
            file: file.to_owned(),
            found,
            new,
            folders: Vec::new(),
            changes,
        });
    }

    /// Adds a new file that the record does not name, so that nothing removes it.
    pub(crate) fn make(&mut self, file: &Path, text: &str) -> Result<(), FileError> {
        let found = self.disk.find(file)?;
        let change = Change::insert(0, text.to_owned(), "");
        self.step(file, found, Some(text.to_owned()), vec![change]);
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The file, and its text after the steps so far.
    pub(crate) fn now(&self, file: &Path) -> Result<(Found, String), FileError> {
        let mut found = self.disk.find(file)?;
        if let Some(step) = self.steps.iter().rfind(|step| step.file == file) {
            found.bytes = step.new.clone().map(String::into_bytes);
        }
        let text = found.text()?;
        Ok((found, text))
    }

    /// Adds what takes away all that setup wrote for `name`: the rules last. False if that is
    /// nothing.
    pub(crate) fn remove(&mut self, name: &str) -> Result<bool, FileError> {
        let mut files: Vec<PathBuf> = Vec::new();
        let entries = self.record.entries.iter();
        for entry in entries.filter(|entry| entry.name == name) {
            if !files.contains(&entry.file) {
                files.insert(0, entry.file.clone());
            }
        }
        for file in &files {
            self.remove_from(name, file)?;
        }
        Ok(!files.is_empty())
    }

    fn remove_from(&mut self, name: &str, file: &Path) -> Result<(), FileError> {
        let refuse = |error: EditError| FileError::new(file, error);
        let (found, text) = self.now(file)?;
        self.record.forget_unwritten(file, &text);
        let stack: Vec<Entry> = self.record.of_file(file).cloned().collect();
        let Some(lowest) = stack.iter().position(|entry| entry.name == name) else {
            return Ok(());
        };
        self.record.entries.retain(|entry| entry.file != file);
        let (below, above) = stack.split_at(lowest);
        self.record.entries.extend_from_slice(below);
        let (ours, others): (Vec<_>, Vec<_>) =
            above.iter().cloned().partition(|entry| entry.name == name);
        let new = match unwind(&text, above) {
            // What others wrote above is written again.
            Some(base) => Some(others.into_iter().try_fold(base, |text, entry| {
                let changes = entry.wanted.changes(&text, None).map_err(refuse)?;
                let to = (&*entry.name, file);
                let new = self.record.add(to, &text, entry.wanted, changes, None);
                new.map_err(refuse)
            })?),
            None => {
                self.record.entries.extend(others);
                cut(&text, &ours, self.record.of_file(file)).map_err(refuse)?
            }
        };
        let made = stack.first().filter(|entry| entry.made);
        let mut made = made.map(|entry| entry.folders.clone());
        let mut left = self.record.entries.iter_mut();
        if let Some(first) = left.find(|entry| entry.file == file)
            && let Some(folders) = made.take()
        {
            // Who comes first now has made the file.
            (first.made, first.folders) = (true, folders);
        }
        let Some(new) = new else {
            if found.bytes.is_some() {
                self.left.push(format!(
                    "{} was changed since setup wrote it: take its lines away yourself",
                    printable(file)
                ));
            }
            return Ok(());
        };
        if new != text {
            let changes = ours.iter().rev().flat_map(|entry| &entry.changes);
            let made = made.filter(|_| new.is_empty());
            self.steps.push(Step {
                file: file.to_owned(),
                found,
                new: made.is_none().then_some(new),
                folders: made.unwrap_or_default(),
                changes: changes.map(Change::back).collect(),
            });
        }
        Ok(())
    }

    /// For the user: each line that comes or goes, and nothing else of a file.
    pub(crate) fn shown(&self, home: &Path) -> String {
        let mut text = String::new();
        for step in &self.steps {
            let file = short(&step.file, home).unwrap_or_else(|| printable(&step.file));
            let what = match (&step.found.bytes, &step.new) {
                (None, _) => " (new)",
                (_, None) => " (removed)",
                _ => "",
            };
            text += &format!("\n{}{what}\n", printable_text(&file));
            text.extend(step.changes.iter().map(Change::shown));
        }
        text
    }

    /// Does the steps, one after another, and stops at the first that fails. The record comes
    /// first when something is added, and last when it goes: so whatever is in a file is in the
    /// record.
    pub(crate) fn write(&self, adds: bool) -> Result<(), FileError> {
        let keep = || match (&self.record.entries[..], &self.found.bytes) {
            ([], None) => Ok(()),
            ([], Some(_)) => self.disk.remove(&self.found, &self.record.folders),
            _ => self
                .disk
                .replace(&self.found, self.record.text().as_bytes()),
        };
        if adds {
            keep()?;
        }
        for step in &self.steps {
            match &step.new {
                Some(new) => self.disk.replace(&step.found, new.as_bytes())?,
                None => self.disk.remove(&step.found, &step.folders)?,
            }
        }
        match adds {
            true => Ok(()),
            false => keep(),
        }
    }
}

/// The text without what setup wrote for one name, although somebody changed it since. None if
/// that cannot be told from the rest.
fn cut<'e>(
    text: &str,
    ours: &[Entry],
    others: impl Iterator<Item = &'e Entry>,
) -> Result<Option<String>, EditError> {
    let kept = json::joined(others.filter_map(|entry| match &entry.wanted {
        Wanted::Json { value, .. } => Some(value),
        _ => None,
    }));
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
