//! A run in words, as a person would tell it.

use crate::{moves::Move, save::Step};
use std::fmt;

impl fmt::Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rename(a, b) => write!(f, "rename {a} → {b}"),
            Self::Swap(a, b) => write!(f, "exchange {a} and {b}"),
            Self::Link(a, b) => write!(f, "hard link {b} to {a}"),
            Self::Symlink(target, at) => write!(f, "symlink {at} → {target}"),
            Self::Remove(path) => write!(f, "remove {path}"),
            Self::Mkdir(path) => write!(f, "mkdir {path}"),
            Self::Create(path, _) => write!(f, "put a file of his own at {path}"),
            Self::Write(path, _) => write!(f, "write to {path}"),
            Self::Chmod(path, mode) => write!(f, "chmod {mode:o} {path}"),
            Self::Fifo(path) => write!(f, "put a FIFO at {path}"),
            Self::Lease(path) => write!(f, "take a write lease on {path}"),
            Self::Wait(ms) => write!(f, "wait for {ms} ms"),
            Self::Save(save) => write!(f, "the next step of save {save}"),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncate => write!(f, "opens it and truncates it"),
            Self::Begin(text) => write!(f, "begins to write {text:?}"),
            Self::Copy => write!(f, "half of that is there"),
            Self::End => write!(f, "has written it"),
            Self::Store => write!(f, "stores the new text in a mapping"),
            Self::Rename(from) => write!(f, "renames {from} to it"),
        }
    }
}

/// A script as text: `3:7 12:0` is move 7 before step 3, then move 0 before step 12.
pub fn written(script: &[(usize, usize)]) -> String {
    let moves: Vec<_> = script
        .iter()
        .map(|(step, index)| format!("{step}:{index}"))
        .collect();
    moves.join(" ")
}

/// The script in such a text. None means that it is not a script.
pub fn read(written: &str) -> Option<Vec<(usize, usize)>> {
    let part = |part: &str| {
        let (step, index) = part.split_once(':')?;
        Some((step.parse().ok()?, index.parse().ok()?))
    };
    written.split_whitespace().map(part).collect()
}
