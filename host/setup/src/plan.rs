//! What setup would change, file by file; what to say about it; and doing it.

use crate::{
    Result, Unfit,
    disk::Found,
    error::{not_edited, stop_with},
    file::{repository_above, shown},
    json::{self, Change},
};
use keyhole_claude::paths::without_links;
use keyhole_core::Table;
use keyhole_walk::printable::printable;
use std::{
    fs,
    path::{Path, PathBuf},
};

#[derive(Debug)]
struct Edit {
    found: Found,
    /// None: it is taken away.
    new: Option<String>,
    /// The lines that come and go, for the user.
    shown: String,
}

/// What would change, and what to say about it.
#[derive(Debug, Default)]
pub struct Plan {
    edits: Vec<Edit>,
    /// Who gets the file.
    pub who: String,
    /// What to know before the question.
    pub notes: Vec<String>,
    /// The rules that come; or, of what is taken away, those that may go. They are asked about.
    pub rules: String,
    /// Whether it switches the sandbox for shells on. It is asked about.
    pub has_sandbox: bool,
    /// Whether the map's new entry has the client ask before it publishes something of the file.
    pub has_gate: bool,
    /// Whether no rule can name the file, so the main conversation may read it.
    pub no_rule_can_deny: bool,
    /// What the user pastes, and what to know of it.
    pub print: Vec<String>,
    /// What the user still has to do.
    pub todo: Vec<String>,
    /// The last step.
    pub last: String,
    /// The folders that go at the end, if they are empty then.
    pub(crate) folders_to_remove: Vec<PathBuf>,
    /// The map as it would be, and what of it is asked for.
    pub map: String,
    /// See [`Self::map`].
    pub table: (Table, String),
}

impl Plan {
    /// Adds the change of the file `found`: `new` is its text after that, or None if the file is
    /// taken away, and `shown` the lines that come and go, for the user.
    ///
    /// # Errors
    /// If the file must not be replaced.
    pub(crate) fn add_edit(
        &mut self,
        found: Found,
        new: Option<String>,
        shown: String,
    ) -> Result<()> {
        if let Some(why) = found.why_not_replaced {
            return Err(Unfit::file(&found.named, why).into());
        }
        self.edits.push(Edit { found, new, shown });
        Ok(())
    }

    /// Adds an edit that makes these changes in Claude Code's settings, as far as they are still to
    /// do.
    pub(crate) fn change_settings(&mut self, settings: Found, changes: &[Change]) -> Result<()> {
        let edited = json::edit(settings.text()?, changes).map_err(|why| {
            let lines: String = changes.iter().map(Change::lines_to_add).collect();
            not_edited(&settings.named, why, &lines)
        })?;
        if edited.shown.is_empty() {
            return Ok(());
        }
        self.add_edit(settings, Some(edited.text), edited.shown)
    }

    /// Adds a note for each of these files that lies in a git repository, as what it has may be
    /// committed: the files that the plan changes, and last the user's `document`, whether the plan
    /// changes that or not.
    pub(crate) fn warn_of_repositories(&mut self, document: &Path) {
        let mut files: Vec<&Path> = self.edits.iter().map(|edit| &*edit.found.named).collect();
        files.retain(|file| *file != document);
        files.push(document);
        for file in files {
            if let Some(repository) = repository_above(&without_links(file)) {
                let (place, repository) = (printable(file), printable(&repository));
                self.notes.push(format!("{place} lies in a git repository, {repository}: what stands there may be committed."));
            }
        }
    }

    /// Whether nothing would change.
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// The plan as the user reads it: each file that changes, whether it is new or is removed, and
    /// its lines that come or go. Empty if nothing would change.
    pub fn shown(&self, home: &Path) -> String {
        let mut text = String::new();
        for edit in &self.edits {
            let path = shown(&edit.found.named, home);
            let state = if !edit.found.is_there() {
                " (new)"
            } else if edit.new.is_none() {
                " (removed)"
            } else {
                ""
            };
            text += &format!("\n{path}{state}\n{}", edit.shown);
        }
        text
    }

    /// Removes or writes each file of the plan. At the end, removes those of `folders_to_remove`
    /// that are empty then. A file goes before the entry that names it: if this is killed between
    /// the two, the entry still tells of the file.
    ///
    /// # Errors
    /// The first file that fails: what comes after it is not changed. The error has the whole plan.
    pub fn write(&self, home: &Path) -> Result<()> {
        let (removed, written): (Vec<_>, Vec<_>) =
            self.edits.iter().partition(|edit| edit.new.is_none());
        for edit in removed.into_iter().chain(written) {
            if let Err(why) = edit.found.replace(edit.new.as_deref()) {
                let plan = self.shown(home);
                return stop_with(format!(
                    "stopped, and nothing further is changed: {why}\n\nThe whole plan was:\n{plan}"
                ));
            }
        }
        for folder in &self.folders_to_remove {
            let _ = fs::remove_dir(folder);
        }
        Ok(())
    }
}
