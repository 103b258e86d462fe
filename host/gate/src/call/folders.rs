//! In which folders the commands of a call run, as far as its words tell.

use super::words::expand;
use std::{
    mem,
    path::{Path, PathBuf},
};

/// How many folders a call enters at most.
const MAX_ENTERED: usize = 64;

/// The bytes that folders add to the names of a call at most. So a long call costs as much as it is
/// long.
const MAX_ADDED_BYTES: usize = 1 << 20;

/// The folders of a call, as its commands are read one after another.
pub(super) struct Folders {
    /// Where the next command may run: one folder, or several if nobody knows which.
    now: Vec<PathBuf>,
    /// All folders that commands have entered so far. The first is the session's.
    entered: Vec<PathBuf>,
    /// The brackets that are open, from the outermost.
    brackets: Vec<Bracket>,
    /// See [`MAX_ADDED_BYTES`].
    added_bytes: usize,
}

/// An open bracket of a shell's command.
struct Bracket {
    kind: BracketKind,
    /// Where the commands behind its end run: where the one before it runs.
    folders: Vec<PathBuf>,
}

/// What a bracket is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum BracketKind {
    /// `(`: its commands only run in folders of their own.
    Subshell,
    /// `$(`, a backtick or `<(`: what its commands print goes into a command.
    Substitution,
}

impl Folders {
    /// A call begins in the session's folder.
    pub(super) fn new(session: &Path) -> Self {
        Self {
            now: vec![session.to_owned()],
            entered: vec![session.to_owned()],
            brackets: Vec::new(),
            added_bytes: 0,
        }
    }

    /// Where the next command may run.
    pub(super) fn now(&self) -> &[PathBuf] {
        &self.now
    }

    /// All folders that commands have entered so far. The first is the session's.
    pub(super) fn entered(&self) -> &[PathBuf] {
        &self.entered
    }

    /// Whether there is more than is looked at: more than 64 folders, or 1 MiB of paths. Then
    /// nothing more should be read, which could take long.
    pub(super) const fn is_too_much(&self) -> bool {
        self.entered.len() > MAX_ENTERED || self.added_bytes > MAX_ADDED_BYTES
    }

    /// A `cd` enters: the next command runs in one of these folders, and nobody knows in which. If
    /// there is [too much](Self::is_too_much), the next command runs where the last one ran.
    pub(super) fn enter(&mut self, folders: Vec<PathBuf>) {
        for folder in &folders {
            if self.is_too_much() {
                return;
            }
            if !self.entered.contains(folder) {
                self.entered.push(folder.clone());
            }
        }
        self.now = folders;
    }

    /// The next command may run in each of the folders so far, as behind `popd`.
    pub(super) fn enter_any(&mut self) {
        self.now.clone_from(&self.entered);
    }

    /// Sets where the next command runs, without a `cd`: `git -C a` runs in `a`. Returns the
    /// folders before.
    pub(super) fn replace(&mut self, folders: Vec<PathBuf>) -> Vec<PathBuf> {
        mem::replace(&mut self.now, folders)
    }

    /// A bracket begins.
    pub(super) fn open(&mut self, kind: BracketKind) {
        self.brackets.push(Bracket {
            kind,
            folders: self.now.clone(),
        });
    }

    /// The last bracket that is open ends: the next command runs where the one before it runs.
    pub(super) fn close(&mut self) {
        if let Some(bracket) = self.brackets.pop() {
            self.now = bracket.folders;
        }
    }

    /// Whether what the next command prints goes into a command.
    pub(super) fn is_in_substitution(&self) -> bool {
        let mut open = self.brackets.iter();
        open.any(|bracket| bracket.kind == BracketKind::Substitution)
    }

    /// The folders that a typed path may mean: from each current folder, such as `/w/src` for `src`
    /// in `/w`. Nobody knows what `-` and a path with a `$` mean: for these, all folders that
    /// commands have entered so far.
    pub(super) fn meant_by(&mut self, typed: &str, home: Option<&Path>) -> Vec<PathBuf> {
        if typed == "-" || typed.contains('$') {
            return self.entered.clone();
        }
        let path = expand(typed, home);
        let folders: Vec<PathBuf> = self.now.iter().map(|folder| folder.join(&path)).collect();
        for folder in &folders {
            self.added_bytes += folder.as_os_str().len();
        }
        folders
    }

    /// The names, and the whole path of each in each current folder: with the name `a` and the
    /// folder `/w`, these are `a` and `/w/a`. The path is for a command that publishes from another
    /// folder. A path that is no UTF-8 is left out. If there is [too much](Self::is_too_much),
    /// further paths are left out.
    pub(super) fn with_paths(&mut self, names: Vec<String>) -> Vec<String> {
        let mut paths = Vec::new();
        for name in &names {
            for folder in &self.now {
                if self.is_too_much() {
                    break;
                }
                let path = folder.join(name).into_os_string();
                self.added_bytes += path.len();
                paths.extend(path.into_string());
            }
        }
        [names, paths].concat()
    }
}
