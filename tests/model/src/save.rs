//! The user's own ordinary work: saving a file, in the steps that an editor, `cat`,
//! `cp`, `dd` or a program with a memory mapping takes.

use crate::{
    disk::{Disk, ROOT},
    lookup::Part,
    moves::{Effect, Path},
};
use std::sync::Arc;

/// One file, saved once.
#[derive(Clone)]
pub(crate) struct Save {
    pub(crate) path: Path,
    /// What the file will hold.
    pub(crate) text: &'static str,
    pub(crate) steps: Vec<Step>,
    /// Whether a write may take longer than [`keyhole_walk::BETWEEN_LOOKS`]. Such a save is not
    /// always served whole.
    pub(crate) slow: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// `open(O_TRUNC)`
    Truncate,
    /// A `write` of this text begins: the kernel sets the times.
    Begin(&'static str),
    /// Half of the new text is there.
    Copy,
    /// The `write` has ended.
    End,
    /// A store through a memory mapping of a page that is dirty already.
    Store,
    /// A file that was written under this other name takes the name.
    Rename(Path),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Before,
    Amid,
    After,
}

impl Save {
    fn of(path: Path, text: &'static str, steps: Vec<Step>) -> Self {
        Self {
            path,
            text,
            steps,
            slow: false,
        }
    }

    /// `cat >`, `cp`: truncated, then written by one `write`.
    pub(crate) fn in_place(path: Path, text: &'static str) -> Self {
        let mut save = Self::over(path, text);
        save.steps.insert(0, Step::Truncate);
        save
    }

    /// One `pwrite` over the old content.
    pub(crate) fn over(path: Path, text: &'static str) -> Self {
        let steps = vec![Step::Begin(text), Step::Copy, Step::End];
        Self::of(path, text, steps)
    }

    /// `dd conv=notrunc`: so many `write`s, each a little further.
    pub(crate) fn in_pieces(path: Path, text: &'static str, count: usize) -> Self {
        let mut save = Self::over(path, text);
        let piece = |number| &text[..text.len() * number / count];
        let writes = (1..count).flat_map(|number| [Step::Begin(piece(number)), Step::End]);
        save.steps.splice(0..0, writes);
        save
    }

    /// A store through a mapping of a page that is dirty already, in one step.
    pub(crate) fn by_mapping(path: Path, text: &'static str) -> Self {
        Self::of(path, text, vec![Step::Store])
    }

    /// The finished file at `beside` takes the name.
    pub(crate) fn by_rename(path: Path, text: &'static str, beside: Path) -> Self {
        Self::of(path, text, vec![Step::Rename(beside)])
    }

    /// Its state after this number of steps.
    pub(crate) fn stage(&self, done: usize) -> Stage {
        match done {
            0 => Stage::Before,
            done if done < self.steps.len() => Stage::Amid,
            _ => Stage::After,
        }
    }

    /// What this step changes, if there is one and it is possible. Modes do not stop the
    /// user's editor; it stops if somebody moved its file away.
    pub(crate) fn plan(&self, step: usize, disk: &Disk) -> Option<Effect> {
        let step = *self.steps.get(step)?;
        let mut effect = Effect::default();
        let (path, to) = match step {
            Step::Rename(beside) => (beside, Some(self.path)),
            _ => (self.path, None),
        };
        let id = disk.find(path, ROOT, true, &mut effect.reads).ok()?;
        let writing = disk.nodes[id].file()?.writing.is_some();
        if writing != matches!(step, Step::Copy | Step::End) {
            return None;
        }
        effect.writes.push(Part::Node(id));
        if let Some(to) = to {
            let there = disk.find(to, ROOT, false, &mut effect.reads);
            effect.writes.extend(there.ok().map(Part::Node));
            for path in [path, to] {
                let (directory, name) = disk.parent(path, ROOT, &mut effect.reads).ok()?;
                effect.writes.push(Part::Name(directory, name));
            }
            effect.writes.push(Part::Numbers);
        }
        Some(effect)
    }

    /// Takes this step, after [`Self::plan`] said that it is possible.
    pub(crate) fn perform(&self, step: usize, disk: &mut Disk) {
        if let Step::Rename(beside) = self.steps[step] {
            let place = |path| disk.parent(path, ROOT, &mut Vec::new()).unwrap();
            let ((from, name), (to, new)) = (place(beside), place(self.path));
            let id = disk.remove(from, &name);
            disk.insert(to, new, id);
            return disk.touch(id, false);
        }
        let id = disk.at(self.path);
        let file = disk.file_mut(id);
        let (bytes, writing) = (file.bytes.clone(), file.writing.clone());
        match self.steps[step] {
            Step::Begin(text) => file.writing = Some(text.as_bytes().into()),
            Step::End => file.writing = None,
            _ => {}
        }
        match (self.steps[step], writing) {
            (Step::Truncate, _) => disk.put(id, [].into()),
            (Step::Store, _) => disk.put(id, self.text.as_bytes().into()),
            (Step::Copy, Some(text)) => disk.put(id, over(&bytes, &text[..text.len() / 2])),
            (Step::End, Some(text)) => disk.put(id, over(&bytes, &text)),
            _ => {}
        }
        if let Step::Truncate | Step::Begin(_) = self.steps[step] {
            disk.touch(id, true);
        }
        if self.stage(step + 1) == Stage::After {
            disk.file_mut(id).whole = true;
        }
    }
}

/// The content after `text` was written over the begin of `bytes`.
fn over(bytes: &[u8], text: &[u8]) -> Arc<[u8]> {
    let rest = bytes.get(text.len()..).unwrap_or_default();
    [text, rest].concat().into()
}
