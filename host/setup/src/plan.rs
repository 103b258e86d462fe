//! What setup would change, file by file; what to say about it; and doing it.

use crate::{
    Result, Unfit,
    disk::Found,
    error::stop_with,
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

/// The change of one file.
#[derive(Debug)]
struct Edit {
    /// The file before the change.
    found: Found,
    /// The file's text after the change. None: the file is removed.
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
    /// The lines of Claude Code's settings that the user is asked about: the deny rules that come;
    /// or in a plan that takes a name away, all that may go.
    pub rules: String,
    /// Whether the plan switches the sandbox for shells on. The user is asked about that.
    pub has_sandbox: bool,
    /// Whether the map's new entry has the client ask before it publishes something of the file.
    pub has_gate: bool,
    /// Whether no rule can name the file, so the main conversation may read the file.
    pub no_rule_can_deny: bool,
    /// What the user pastes, and what to know of it.
    pub print: Vec<String>,
    /// What the user still has to do.
    pub todo: Vec<String>,
    /// The last step.
    pub last: String,
    /// The folders that are removed at the end, if they are empty then.
    pub(crate) folders_to_remove: Vec<PathBuf>,
    /// The text of the map as it would be.
    pub map: String,
    /// The entry of that map which gives the file: its table, and its key or name there.
    pub table: (Table, String),
}

impl Plan {
    /// Adds the change of the file `found`. `new` is the file's text after that, or None if the
    /// file is removed. `shown` has the lines that come and go, for the user.
    ///
    /// # Errors
    /// If the file must not be replaced: then the error says why, such as that it is read-only.
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

    /// Adds an edit that makes these changes in the file `settings` of Claude Code, as far as they
    /// are still to do. If none is, adds no edit.
    ///
    /// # Errors
    /// If the file must not be replaced, or the changes cannot be made in its text. The second
    /// error has the lines that the user can add by hand.
    pub(crate) fn change_settings(&mut self, settings: Found, changes: &[Change]) -> Result<()> {
        let edited = json::edit(settings.text()?, changes).map_err(|why| {
            let mut text = why.to_string();
            let lines: String = changes.iter().map(Change::lines_to_add).collect();
            if !lines.is_empty() {
                text += &format!(". It needs these lines:\n\n{lines}");
            }
            Unfit::file(&settings.named, text)
        })?;
        if edited.shown.is_empty() {
            return Ok(());
        }
        self.add_edit(settings, Some(edited.text), edited.shown)
    }

    /// Adds a note for each file that lies in a git repository, where its text may be committed.
    /// The files are those that the plan changes, and last the user's `document`, whether the plan
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

    /// The plan as the user reads it: for each file that changes, a line such as
    /// `~/.claude/settings.json (new)`, and then the lines that come or go. Behind the path stands
    /// `(new)`, `(removed)`, or for any other file nothing. Empty if nothing would change.
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

    /// Makes the changes of the plan: removes files, then writes files, then removes those of
    /// `folders_to_remove` that are empty.
    ///
    /// A client's file is removed before the map's entry for it is: if setup is killed between the
    /// two, the entry still tells of the file.
    ///
    /// # Errors
    /// Stops at the first file that cannot be removed or written, so the files after it stay as
    /// they are. The error says why, and has the whole plan.
    pub fn write(&self, home: &Path) -> Result<()> {
        let mut edits = Vec::from_iter(&self.edits);
        // False comes before true, so the files to remove come first.
        edits.sort_by_key(|edit| edit.new.is_some());
        for edit in edits {
            if let Err(why) = edit.found.replace(edit.new.as_deref()) {
                let plan = self.shown(home);
                return stop_with(format!(
                    "stopped, and nothing further is changed: {why}\n\nThe whole plan was:\n{plan}"
                ));
            }
        }
        for folder in &self.folders_to_remove {
            // This fails for a folder that is not empty: then it stays.
            let _ = fs::remove_dir(folder);
        }
        Ok(())
    }
}
