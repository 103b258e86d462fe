//! What the commands of a call name and publish, and the parts that this makes.

use super::{
    Part,
    publishing::{COMMITTING, Kind},
    pushes::{HEAD_MOVING, may_name_commit},
    reader::MAX_STEPS,
    words::has_one_of,
};
use keyhole_outgoing::{Extra, Remote, Sent, Takes, Wanted};
use keyhole_walk::normal;
use std::path::{Path, PathBuf};

/// What is noted of the commands that are read so far.
#[derive(Default)]
pub(super) struct Noted {
    /// The text of each command but `cd`: where a folder is, nobody publishes.
    pub(super) texts: Vec<String>,
    /// The words of all commands, but for [`Self::outputs`], and the text of each heredoc.
    pub(super) words: Vec<String>,
    /// What the words of all commands but git's may name, and the paths of these names: git sends
    /// what a file has by its repository.
    pub(super) names_but_gits: Vec<String>,
    /// The files whose texts leave as they are: by options such as `-F`, or because a command in
    /// `$(…)` may print them.
    pub(super) whole_files: Vec<String>,
    /// See [`Part::trees`].
    pub(super) trees: Vec<String>,
    /// Whether something was not understood.
    pub(super) is_unclear: bool,
    /// The files that commands write, perhaps with what another file has: `a` of `>a` and `tee a`.
    /// `.` if it does not name them.
    pub(super) outputs: Vec<String>,
    /// Whether git brings in what commits or a stash have.
    pub(super) brings_in: bool,
    /// The names of the remotes to which git gives another name or address, and the other words of
    /// these commands.
    pub(super) changed_remotes: Vec<String>,
    /// What all commands take of a repository together.
    pub(super) wanted: Wanted,
    /// What publishes, each once.
    pub(super) steps: Vec<Step>,
}

/// A command that publishes.
#[derive(PartialEq, Eq)]
pub(super) struct Step {
    /// Where it runs.
    pub(super) folder: PathBuf,
    pub(super) kind: Kind,
    /// Which commits it sends, if any.
    pub(super) sends: Option<Sent>,
}

impl Noted {
    /// Whether more steps publish than are looked at.
    pub(super) const fn is_too_much(&self) -> bool {
        self.steps.len() > MAX_STEPS
    }

    /// What the steps publish: one part for each step. A step that another one covers has no part:
    /// of `git commit && git push`, only the push has one. A part has all that the call's words
    /// name, whichever command names it. `entered` are all folders that `cd` has entered, and the
    /// session's.
    pub(super) fn parts(mut self, entered: &[PathBuf]) -> Vec<Part> {
        self.wanted.words.sort_unstable();
        self.wanted.words.dedup();
        let mut whole_files = self.whole_files.clone();
        // What is written into a file may be the text of any file that a word names.
        if self.may_read_output(entered) {
            whole_files.extend_from_slice(&self.names_but_gits);
        }
        let makes_commit = has_one_of(&self.words, &COMMITTING);
        let mut parts = Vec::new();
        for step in &self.steps {
            if self.steps.iter().any(|other| other.covers(step)) {
                continue;
            }
            let mut files = whole_files.clone();
            // Only git and jj need an option to send a file as it is.
            if !step.kind.is_gits() {
                files.extend_from_slice(&self.names_but_gits);
            }
            // `jj` commits all changes. `npm publish` packs also what git does not have.
            let takes_uncommitted = matches!(step.kind, Kind::TakesChanges | Kind::Packs);
            let mut takes = self.wanted.takes;
            if step.kind == Kind::Packs {
                takes = Takes::All;
            }
            let wanted = Wanted {
                only_committed: !makes_commit && !takes_uncommitted,
                takes,
                sends: self.sent_with(step),
                ..self.wanted.clone()
            };
            // `curl` and the like send nothing of a repository, and only files.
            parts.push(Part {
                folder: step.folder.clone(),
                wanted: Some(wanted).filter(|_| step.kind != Kind::SendsFiles),
                files,
                trees: self.trees.clone(),
            });
        }
        parts
    }

    /// Which commits this step sends with what the call's other commands do. None if no commit
    /// leaves with the step: it sends none, and git brings in none.
    fn sent_with(&self, step: &Step) -> Option<Sent> {
        let mut sends = step.sends.clone();
        if self.brings_in {
            let sent = sends.get_or_insert_default();
            // A commit that is named by its digits may be of any branch.
            if self.words.iter().any(|word| may_name_commit(word)) {
                sent.extra = Extra::Branches;
            }
        }
        let sent = sends.as_mut()?;
        // `git remote add origin x; git push origin` may go to a place that has nothing yet.
        let goes_elsewhere = match &sent.remote {
            Remote::Named(name) => self.changed_remotes.contains(name),
            Remote::Default => !self.changed_remotes.is_empty(),
            Remote::Any | Remote::Unknown => false,
        };
        if goes_elsewhere {
            sent.remote = Remote::Unknown;
        }
        if has_one_of(&self.words, &COMMITTING) || has_one_of(&self.words, &HEAD_MOVING) {
            // A branch that the push names may get what HEAD has.
            sent.only.clear();
        }
        sends
    }

    /// Whether another command may read a file that the call writes. False with `>/tmp/log` if no
    /// word names that file, a folder above it or a pattern that fits, and no command runs beneath
    /// `/tmp`. True for a relative path, and with more outputs than are looked at (64).
    fn may_read_output(&self, entered: &[PathBuf]) -> bool {
        if self.outputs.len() > MAX_STEPS {
            return true;
        }
        let step_folders = self.steps.iter().map(|step| &step.folder);
        let folders: Vec<PathBuf> = step_folders
            .chain(entered)
            .map(|path| normal(path))
            .collect();
        let mut outputs = self.outputs.iter();
        outputs.any(|output| {
            // `/` and the first name: `/tmp`.
            let names = Path::new(output).components();
            let start: PathBuf = names.take(2).collect();
            !output.starts_with('/')
                || folders.iter().any(|folder| folder.starts_with(&start))
                || self.words.iter().any(|word| may_name(word, output))
        })
    }
}

/// Whether a word names the file with this whole path, a folder above it or a pattern that may fit:
/// `@/tmp/log`, `/tmp` and `/tmp/*.log` for `/tmp/log`.
fn may_name(word: &str, path: &str) -> bool {
    let mut parts = word.split(['*', '?', '[', '{']);
    let start = parts.next().unwrap_or_default();
    word.contains(path) || (start.len() > 1 && path.starts_with(start))
}

impl Step {
    /// Whether this step has all of the other one, as `git push` has of `git commit`, and more.
    fn covers(&self, other: &Self) -> bool {
        let is_more =
            self.sends.is_some() && other.kind != Kind::SendsFiles && other.sends.is_none();
        let is_there = self.folder == other.folder;
        is_more && is_there && self.kind.is_gits() == other.kind.is_gits()
    }
}
