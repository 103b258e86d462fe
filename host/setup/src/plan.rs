//! What setup would change, file by file; and doing it.

use crate::{
    disk::{Disk, FileError, Found, Why, missing_folders},
    document::short,
    edit::{Change, EditError, marked},
    json, map,
    record::{Entry, Record, Wanted, unwind},
};
use keyhole_walk::printable::{printable, printable_text};
use serde_json::{Value, json};
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

    /// Adds a file's new text, of which the record does not know, so that nothing takes it back.
    pub(crate) fn put(
        &mut self,
        file: &Path,
        text: String,
        changes: Vec<Change>,
    ) -> Result<(), FileError> {
        let found = self.disk.find(file)?;
        self.step(file, found, Some(text), changes);
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
        let is_made = |folder: &PathBuf| {
            self.record
                .of_file(file)
                .any(|e| e.folders.contains(folder))
        };
        let gone = "it is not there. If it was moved, move it back first, or take away yourself what setup wrote there";
        if !missing_folders(file).iter().all(is_made) {
            let mut entries = self.record.of_file(file);
            if entries.any(|entry| matches!(entry.wanted, Wanted::Map(_))) {
                // A map that is somewhere still needs the rules.
                return Err(FileError::new(file, Why::Refused(gone)));
            }
            self.left.push(format!("{}: {gone}", printable(file)));
            return Ok(());
        }
        let (found, text) = self.now(file)?;
        if found.bytes.is_none() {
            self.left.push(format!("{}: {gone}", printable(file)));
        }
        self.record.forget_unwritten(file, &text);
        let stack: Vec<Entry> = self.record.of_file(file).cloned().collect();
        let Some(lowest) = stack.iter().position(|entry| entry.name == name) else {
            return Ok(());
        };
        let (below, above) = stack.split_at(lowest);
        let (ours, others): (Vec<_>, Vec<_>) =
            above.iter().cloned().partition(|entry| entry.name == name);
        let base = unwind(&text, above);
        if base.is_none()
            && matches!(above, [entry, ..] if matches!(entry.wanted, Wanted::Whole(_)))
        {
            self.left.push(format!(
                "{} was changed since setup wrote it, and stays: remove it yourself",
                printable(file)
            ));
            return Ok(());
        }
        self.record.entries.retain(|entry| entry.file != file);
        self.record.entries.extend_from_slice(below);
        let new = match base {
            Some(base) => {
                // What others wrote above is written again.
                let new = others.into_iter().try_fold(base, |text, entry| {
                    let changes = entry.wanted.changes(&text, None).map_err(refuse)?;
                    let to = (&*entry.name, file);
                    let new = self.record.add(to, &text, entry.wanted, changes, None);
                    new.map_err(refuse)
                })?;
                // What it only shared with a name that is gone by now.
                let kept = self.kept(file, &ours);
                let new = ours.iter().try_fold(new, |new, entry| match entry.wanted {
                    Wanted::Json { comments, .. } => {
                        json::without(&new, &entry.wrote, &kept, comments)
                    }
                    _ => Ok(new),
                });
                new.map_err(refuse)?
            }
            None => {
                self.record.entries.extend(others);
                self.cut(&text, &ours, file).map_err(refuse)?
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
        // A folder that another file is in goes with that one.
        for folder in made.iter().flatten() {
            let mut others = self.record.entries.iter_mut();
            let other = others.find(|entry| entry.made && entry.file.starts_with(folder));
            if let Some(other) = other.filter(|other| !other.folders.contains(folder)) {
                other.folders.push(folder.clone());
                // The highest first.
                other.folders.sort();
            }
        }
        if new != text {
            let changes = ours
                .first()
                .map(|entry| entry.wanted.difference(&text, &new));
            // Somebody may have written it again, in another layout.
            let mut made = made.filter(|_| matches!(marked(&new).1.trim(), "" | "{}"));
            if found.real != file && made.take().is_some() {
                self.left.push(format!(
                    "{} is a link now: what it leads to stays as an empty file",
                    printable(file)
                ));
            }
            self.steps.push(Step {
                file: file.to_owned(),
                found,
                new: made.is_none().then_some(new),
                folders: made.unwrap_or_default(),
                changes: changes.into_iter().collect(),
            });
        }
        Ok(())
    }

    /// What stays in a JSON file: what others need, and what was empty before.
    fn kept(&self, file: &Path, ours: &[Entry]) -> Value {
        let others = self.record.of_file(file);
        let others = others.filter_map(|entry| match &entry.wanted {
            Wanted::Json { value, .. } => Some(value),
            _ => None,
        });
        json::joined(others.chain(ours.iter().map(|entry| &entry.had)))
    }

    /// The text without what setup wrote for one name, although somebody changed it since.
    fn cut(&mut self, text: &str, ours: &[Entry], file: &Path) -> Result<String, EditError> {
        let kept = self.kept(file, ours);
        let mut new = text.to_owned();
        for entry in ours.iter().rev() {
            match &entry.wanted {
                Wanted::Json { comments, .. } => {
                    let before = json::read(text, *comments)?;
                    new = json::without(&new, &entry.wrote, &kept, *comments)?;
                    let after = json::read(&new, *comments)?;
                    if json::missing(&before, &entry.wrote) != json!({})
                        || is_left(&after, &entry.wrote, &kept)
                    {
                        self.left.push(format!(
                            "{} was changed since setup wrote it: look whether a part of what it wrote is left there",
                            printable(file)
                        ));
                    }
                }
                Wanted::Map(table) => {
                    new = map::without(&new, table, &entry.changes)?;
                    for root in map::roots_left(&new, table, &entry.changes)? {
                        self.left.push(format!(
                            "{} was changed since setup wrote it: {} stays in its roots. Take it away yourself if nothing else needs it",
                            printable(file),
                            printable_text(&root)
                        ));
                    }
                }
                Wanted::Whole(_) => return Err(EditError::NotSafe),
            }
        }
        self.left.dedup();
        Ok(new)
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

/// Whether a member that was setup's own is still there in part. These lists have others'
/// elements too.
fn is_left(found: &Value, gone: &Value, kept: &Value) -> bool {
    let groups = gone.as_object().into_iter().flatten();
    let own = groups.filter(|(group, _)| !matches!(&***group, "permissions" | "hooks"));
    let mut members = own.flat_map(|(group, members)| {
        let names = members.as_object().into_iter().flatten();
        names.map(move |(name, _)| (group, name))
    });
    members.any(|(group, name)| !found[group][name].is_null() && kept[group][name].is_null())
}
