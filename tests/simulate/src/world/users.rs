//! What is done to the disk: its user saves files and the map, in every style, and
//! another user makes every move that the rights allow.

use super::{DOCUMENTS, MAP_LABEL, World};
use crate::{maps, rng::Rng};
use keyhole_model::{
    disk::{File, JANE, Label, MS, Node, ROOT},
    moves::{self, FORGED_TEXT, Move},
    save::{Save, Step},
};
use std::sync::LazyLock;

const NAMES: [&str; 6] = [
    "/srv/shared/d.md",
    "/srv/shared/sub",
    "/srv/shared/sub/e.md",
    "/srv/shared/x.md",
    "/srv/his/x.md",
    "/srv/his/sub",
];
const TARGETS: [&str; 4] = [
    "/home/jane/diary.md",
    "/home/jane",
    "/srv/his",
    "/srv/his/x.md",
];

/// The most obvious moves.
const FIRST: [Move; 5] = [
    Move::Rename("/srv/shared/d.md", "/srv/shared/x.md"),
    Move::Symlink("/home/jane/diary.md", "/srv/shared/d.md"),
    Move::Rename("/srv/shared/sub", "/srv/his/sub"),
    Move::Symlink("/home/jane", "/srv/shared/sub"),
    Move::Fifo("/srv/shared/d.md"),
];

static MOVES: LazyLock<Vec<Move>> = LazyLock::new(|| moves::all(&NAMES, &TARGETS, FORGED_TEXT));

/// A save that has begun.
#[derive(Clone, Debug)]
pub(super) struct Saving {
    save: Save,
    done: usize,
    not_before: u64,
    /// The disk is full after this many steps.
    full_after: usize,
}

impl World {
    /// When the user next does something that is already planned.
    #[must_use]
    pub fn next_save(&self) -> Option<u64> {
        let waits = self.saving.iter().map(|saving| saving.not_before);
        waits.filter(|at| *at > self.disk.clock).min()
    }

    /// One move of the user, or of the other. Returns it in words.
    pub fn act(&mut self, rng: &mut Rng) -> Option<String> {
        let told = match rng.below(8) {
            0..4 => self.go_on_saving(rng),
            4 | 5 => self.begin_to_save(rng),
            _ => self.attack(rng),
        };
        if told.is_some() {
            self.sync();
        }
        told
    }

    /// The user ends the saves that have begun.
    pub fn end_saves(&mut self, rng: &mut Rng) {
        self.full = 0;
        for _ in 0..200 {
            if self.saving.is_empty() {
                break;
            }
            self.disk.clock += 50 * MS;
            self.go_on_saving(rng);
            self.sync();
        }
    }

    /// The user ends the saves that have begun, and fixes the map. The other is gone.
    pub fn calm_down(&mut self, rng: &mut Rng) {
        self.disk.clock += 100 * MS;
        self.end_saves(rng);
        self.wanted.fix();
        for (path, label, text) in [
            (maps::PATH, MAP_LABEL, self.wanted.text()),
            (DOCUMENTS[0].2, "a", maps::text(0, 1)),
        ] {
            self.put(path, label, text);
        }
        self.sync();
    }

    /// A finished file takes this name.
    fn put(&mut self, path: &str, label: Label, text: &'static str) {
        let clock = self.disk.clock;
        let file = Node::File(File::with(label, text, clock));
        let id = self.disk.add(file, JANE, 0o600, 0);
        self.disk.touch(id, true);
        let (directory, name) = self.disk.parent(path, ROOT, &mut Vec::new()).unwrap();
        self.disk.insert(directory, name, id);
    }

    fn attack(&mut self, rng: &mut Rng) -> Option<String> {
        for _ in 0..6 {
            let made = match rng.once_in(3) {
                true => rng.of(&FIRST),
                false => rng.of(&MOVES),
            };
            if made.plan(&self.disk, &[], &[]).is_some() {
                made.perform(&mut self.disk);
                return Some(format!("mallory: {made}"));
            }
        }
        None
    }

    fn begin_to_save(&mut self, rng: &mut Rng) -> Option<String> {
        if rng.once_in(3) {
            self.wanted.edit(rng);
            let text = self.wanted.text();
            return self.begin(rng, maps::PATH, MAP_LABEL, text);
        }
        let index = rng.below(DOCUMENTS.len());
        let (label, _, path) = DOCUMENTS[index];
        self.texts += 1;
        let text = maps::text(index, self.texts);
        self.begin(rng, path, label, text)
    }

    fn begin(
        &mut self,
        rng: &mut Rng,
        path: &'static str,
        label: Label,
        text: &'static str,
    ) -> Option<String> {
        if self.saving.iter().any(|saving| saving.save.path == path) {
            return None;
        }
        let there = self.disk.find(path, ROOT, true, &mut Vec::new());
        let writable = there.is_ok_and(|id| {
            let inode = &self.disk.nodes[id];
            inode.uid == JANE.uid && inode.file().is_some_and(|f| f.label == label)
        });
        let mut save = match rng.below(8) {
            _ if !writable => return None,
            0..3 => {
                if let Some(id) = self.rename_beside(path, label, text) {
                    return Some(format!("jane: saves {path} by renaming (node {id})"));
                }
                return None;
            }
            3 | 4 => Save::in_place(path, label, text),
            5 => Save::over(path, label, text),
            _ => Save::in_two(path, label, text, rng.of(&[1, 5, 12, 15, 60, 400])),
        };
        if rng.once_in(2) && matches!(save.steps[0], Step::Begin(..)) {
            save.steps.insert(0, Step::Truncate(path));
        }
        let full_after = match rng.once_in(self.full) {
            true => 1 + rng.below(save.steps.len()),
            false => usize::MAX,
        };
        self.saving.push(Saving {
            save,
            done: 0,
            not_before: 0,
            full_after,
        });
        Some(format!("jane: begins to save {path}"))
    }

    /// A file is written under another name and takes its name.
    fn rename_beside(&mut self, path: &str, label: Label, text: &'static str) -> Option<usize> {
        let (directory, _) = self.disk.parent(path, JANE, &mut Vec::new()).ok()?;
        (self.disk.nodes[directory].uid == JANE.uid).then(|| self.put(path, label, text))?;
        Some(self.disk.nodes.len() - 1)
    }

    fn go_on_saving(&mut self, rng: &mut Rng) -> Option<String> {
        if self.saving.is_empty() {
            return None;
        }
        let index = rng.below(self.saving.len());
        let clock = self.disk.clock;
        let mut saving = self.saving.swap_remove(index);
        if saving.not_before > clock {
            self.saving.push(saving);
            return None;
        }
        let step = saving.save.steps[saving.done];
        if step.plan(&self.disk).is_none() {
            // Somebody moved it away: the writer has it open, and ends the write.
            self.end_writes();
            return Some(format!("jane: cannot go on saving {}", saving.save.path));
        }
        if saving.done >= saving.full_after && matches!(step, Step::Begin(..)) {
            return Some(format!(
                "jane: the disk is full, in the middle of {}",
                saving.save.path
            ));
        }
        if let Step::Wait(ms) = step {
            saving.not_before = clock + ms * MS;
        } else {
            step.perform(&mut self.disk, &saving.save);
        }
        saving.done += 1;
        if saving.done < saving.save.steps.len() {
            self.saving.push(saving);
        }
        Some(format!("jane: {step}"))
    }

    /// Ends the writes that nobody continues.
    fn end_writes(&mut self) {
        let saving = &self.saving;
        let disk = &self.disk;
        let ongoing: Vec<usize> = saving
            .iter()
            .filter_map(|saving| {
                disk.find(saving.save.path, ROOT, true, &mut Vec::new())
                    .ok()
            })
            .collect();
        for (id, inode) in self.disk.nodes.iter_mut().enumerate() {
            if let Node::File(file) = &mut inode.node
                && !ongoing.contains(&id)
                && let Some(text) = file.writing.take()
            {
                file.bytes = text;
            }
        }
    }
}
