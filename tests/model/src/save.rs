//! The user's own ordinary work: saving a file, in the steps that an editor, `cat`,
//! `cp` or a program with a memory mapping takes.

use crate::{
    disk::{Disk, Label, MS},
    lookup::Part,
    moves::{Effect, Path},
};
use std::rc::Rc;

/// One file, saved once.
#[derive(Clone, Debug)]
pub struct Save {
    /// The file.
    pub path: Path,
    /// Whose text it is.
    pub label: Label,
    /// What it will hold.
    pub text: &'static str,
    /// The steps of the save.
    pub steps: Vec<Step>,
}

/// One step of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// `open(O_TRUNC)`
    Truncate(Path),
    /// A `write` of this text begins: the kernel sets the times.
    Begin(Path, &'static str),
    /// Half of the new text is there.
    Copy(Path),
    /// The `write` has ended.
    End(Path),
    /// A store through a memory mapping of a page that is dirty already.
    Store(Path, &'static str),
    /// A file that was written under another name takes its name.
    Rename(Path, Path),
    /// The file loses its name.
    Remove(Path),
    /// This many milliseconds pass.
    Wait(u64),
}

/// The state of a save.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It has not begun.
    Before,
    /// It has begun, and not ended.
    Amid,
    /// It has ended.
    After,
}

impl Save {
    /// `cat >`, `cp`: truncated, then written by one `write`.
    #[must_use]
    pub fn in_place(path: Path, label: Label, text: &'static str) -> Self {
        let mut save = Self::over(path, label, text);
        save.steps.insert(0, Step::Truncate(path));
        save
    }

    /// One `pwrite` over the old content.
    #[must_use]
    pub fn over(path: Path, label: Label, text: &'static str) -> Self {
        let steps = vec![Step::Begin(path, text), Step::Copy(path), Step::End(path)];
        Self {
            path,
            label,
            text,
            steps,
        }
    }

    /// Two `write`s, with `ms` between them.
    #[must_use]
    pub fn in_two(path: Path, label: Label, text: &'static str, ms: u64) -> Self {
        let mut save = Self::over(path, label, text);
        let half = &text[..text.len() / 2];
        let first = [Step::Begin(path, half), Step::End(path), Step::Wait(ms)];
        save.steps.splice(0..0, first);
        save
    }

    /// A store through a mapping of a page that is dirty already, in one step.
    #[must_use]
    pub fn by_mapping(path: Path, label: Label, text: &'static str) -> Self {
        Self {
            steps: vec![Step::Store(path, text)],
            ..Self::over(path, label, text)
        }
    }

    /// The finished file at `beside` takes the name.
    #[must_use]
    pub fn by_rename(path: Path, label: Label, text: &'static str, beside: Path) -> Self {
        Self {
            steps: vec![Step::Rename(beside, path)],
            ..Self::over(path, label, text)
        }
    }

    /// Its state after this number of steps.
    #[must_use]
    pub fn stage(&self, done: usize) -> Stage {
        match done {
            0 => Stage::Before,
            done if done < self.steps.len() => Stage::Amid,
            _ => Stage::After,
        }
    }
}

impl Step {
    /// The file of this step.
    #[must_use]
    pub fn path(self) -> Option<Path> {
        match self {
            Self::Truncate(path)
            | Self::Begin(path, _)
            | Self::Copy(path)
            | Self::End(path)
            | Self::Store(path, _)
            | Self::Rename(path, _)
            | Self::Remove(path) => Some(path),
            Self::Wait(_) => None,
        }
    }

    /// What it changes, if it is possible. Modes do not stop the user's editor; it stops if
    /// somebody moved its file away.
    #[must_use]
    pub fn plan(self, disk: &Disk) -> Option<Effect> {
        let mut effect = Effect::default();
        let Some(path) = self.path() else {
            effect.writes.push(Part::All);
            return Some(effect);
        };
        let id = disk
            .find(path, crate::disk::ROOT, true, &mut effect.reads)
            .ok()?;
        let writing = disk.nodes[id].file()?.writing.is_some();
        if writing != matches!(self, Self::Copy(_) | Self::End(_)) {
            return None;
        }
        effect.writes.push(Part::Node(id));
        if let Self::Rename(_, to) | Self::Remove(to) = self {
            if let Ok(there) = disk.find(to, crate::disk::ROOT, false, &mut effect.reads) {
                effect.writes.push(Part::Node(there));
            }
            for path in [path, to] {
                let (directory, name) = disk
                    .parent(path, crate::disk::ROOT, &mut effect.reads)
                    .ok()?;
                effect.writes.push(Part::Name(directory, name));
            }
            effect.writes.push(Part::Numbers);
        }
        Some(effect)
    }

    /// Takes this step.
    pub fn perform(self, disk: &mut Disk, save: &Save) {
        if let Self::Wait(ms) = self {
            disk.clock += ms * MS;
            return;
        }
        let who = crate::disk::ROOT;
        let path = self.path().unwrap();
        let id = disk.find(path, who, true, &mut Vec::new()).unwrap();
        let now = disk.clock;
        match self {
            Self::Truncate(_) => {
                let file = disk.file_mut(id);
                file.whole &= file.bytes.is_empty();
                file.bytes = [].into();
                disk.touch(id, true);
            }
            Self::Begin(_, text) => {
                disk.file_mut(id).writing = Some(text.as_bytes().into());
                disk.touch(id, true);
            }
            Self::Copy(_) => {
                let file = disk.file_mut(id);
                let text = file.writing.clone().unwrap();
                let bytes = over(&file.bytes, &text[..text.len() / 2]);
                file.whole &= bytes == file.bytes;
                file.bytes = bytes;
            }
            Self::End(_) => {
                let file = disk.file_mut(id);
                file.bytes = over(&file.bytes, &file.writing.take().unwrap());
                file.whole = *file.bytes == *save.text.as_bytes();
            }
            Self::Store(_, text) => {
                let file = disk.file_mut(id);
                file.bytes = text.as_bytes().into();
                file.touched = now;
            }
            Self::Rename(from, to) => {
                let (a, name) = disk.parent(from, who, &mut Vec::new()).unwrap();
                disk.remove(a, &name);
                let (b, name) = disk.parent(to, who, &mut Vec::new()).unwrap();
                disk.insert(b, name, id);
                disk.nodes[id].changed = disk.stamp();
            }
            Self::Remove(path) => {
                let (directory, name) = disk.parent(path, who, &mut Vec::new()).unwrap();
                disk.remove(directory, &name);
            }
            Self::Wait(_) => {}
        }
    }
}

/// The content after `text` was written over the begin of `bytes`.
fn over(bytes: &[u8], text: &[u8]) -> Rc<[u8]> {
    let rest = bytes.get(text.len()..).unwrap_or_default();
    [text, rest].concat().into()
}
