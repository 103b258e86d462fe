//! The closed list of what another user may do between two steps of the host, and what
//! the user's own editor does. Each move needs the rights of whoever makes it, and is
//! one step, like one system call.

use crate::{
    disk::{Disk, File, Id, Label, MALLORY, MS, Node, STICKY, W, X},
    lookup::Part,
    save::Save,
};
use keyhole_walk::SystemError;
use std::{collections::BTreeMap, sync::Arc};

pub(crate) type Path = &'static str;

/// One step of somebody else. All but the last three are the attacker's.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Move {
    /// `rename(a, b)`
    Rename(Path, Path),
    /// `renameat2(a, b, RENAME_EXCHANGE)`
    Swap(Path, Path),
    /// `link(a, b)`
    Link(Path, Path),
    /// `symlink(target, at)`
    Symlink(Path, Path),
    /// `unlink`, or `rmdir` of an empty directory.
    Remove(Path),
    /// `mkdir`
    Mkdir(Path),
    /// A new file with this text, made elsewhere and moved here.
    Create(Path, &'static str),
    /// One `write` over all of a file, or `truncate`.
    Write(Path, &'static str),
    /// `chmod`
    Chmod(Path, u32),
    /// This many milliseconds pass.
    Wait(u64),
    /// Somebody sets the clock, by so many milliseconds.
    SetClock(i64),
    /// The next step of the user's save with this index.
    Save(usize),
}

/// What a step looks at, and what it changes.
#[derive(Clone, Default)]
pub(crate) struct Effect {
    /// What decides whether it is possible, and what it does.
    pub(crate) reads: Vec<Part>,
    /// Anyone who looks at any of these may see that it was done.
    pub(crate) writes: Vec<Part>,
}

/// What the attacker may write: a map of the attacker's own.
pub(crate) const FORGED_MAP: &str = "[keys]\n\"k-forged\" = \"/home/jane/diary.md\"\n\"k\" = \"/home/jane/diary.md\"\n\"k-old\" = \"/home/jane/diary.md\"\n";
/// A document of the attacker's own.
pub(crate) const FORGED_TEXT: &str = "written by mallory, twice: mallory";
/// Whose texts these are.
pub(crate) const MALLORYS: Label = "mallory's";

/// Every move of the list with these names and targets of links.
pub(crate) fn all(names: &[Path], targets: &[Path], text: &'static str) -> Vec<Move> {
    let mut moves = Vec::new();
    for &a in names {
        moves.extend([Move::Remove(a), Move::Mkdir(a), Move::Create(a, text)]);
        moves.extend([Move::Write(a, text), Move::Write(a, "")]);
        moves.extend([0o666, 0o777, 0].map(|mode| Move::Chmod(a, mode)));
        moves.extend(targets.iter().map(|target| Move::Symlink(target, a)));
        for &b in names {
            if a != b {
                moves.extend([Move::Rename(a, b), Move::Link(a, b)]);
            }
            if a < b {
                moves.push(Move::Swap(a, b));
            }
        }
    }
    moves
}

impl Move {
    /// What this move looks at and changes. None if it is impossible or changes nothing.
    pub(crate) fn plan(self, disk: &Disk, saves: &[Save], progress: &[usize]) -> Option<Effect> {
        let mut effect = Effect::default();
        let own = |id: &Id| disk.nodes[*id].uid == MALLORY.uid;
        let found = match self {
            Self::Save(index) => return saves[index].plan(progress[index], disk),
            Self::Wait(_) | Self::SetClock(_) => {
                effect.writes.push(Part::All);
                Some(0)
            }
            Self::Rename(a, b) => effect.rename(disk, a, b),
            Self::Swap(a, b) => effect.swap(disk, a, b),
            Self::Link(a, b) => effect.link(disk, a, b),
            Self::Symlink(_, at) | Self::Mkdir(at) | Self::Create(at, _) => effect.create(disk, at),
            Self::Remove(path) => effect.remove(disk, path),
            Self::Write(path, text) => effect.node(disk, path).filter(|id| {
                let inode = &disk.nodes[*id];
                let changes = |file: &File| {
                    file.writing.is_none() && (text.is_empty() || *file.bytes != *text.as_bytes())
                };
                inode.lets(MALLORY, W) && inode.file().is_some_and(changes)
            }),
            Self::Chmod(path, mode) => effect
                .node(disk, path)
                .filter(|id| own(id) && disk.nodes[*id].mode != mode),
        };
        if effect.writes.iter().any(|w| matches!(w, Part::Name(..))) || disk.has_nameless() {
            effect.writes.push(Part::Numbers);
        }
        found.map(|_| effect)
    }

    /// Makes the move, after [`Self::plan`] said that it is possible.
    /// [`crate::world::World`] does the saves, and lets time pass.
    pub(crate) fn perform(self, disk: &mut Disk) {
        let place = |disk: &Disk, path| disk.parent(path, MALLORY, &mut Vec::new()).unwrap();
        let take = |disk: &mut Disk, (directory, name): &(Id, Arc<str>)| {
            let id = disk.remove(*directory, name);
            disk.touch(id, false);
            id
        };
        let put = |disk: &mut Disk, (directory, name), id| {
            disk.insert(directory, name, id);
            disk.touch(id, false);
        };
        let make = |disk: &mut Disk, path, node, mode| {
            let place = place(disk, path);
            let id = disk.add(node, MALLORY, mode, disk.nodes[place.0].device);
            put(disk, place, id);
        };
        match self {
            Self::Rename(a, b) => {
                let (from, to) = (place(disk, a), place(disk, b));
                let id = take(disk, &from);
                put(disk, to, id);
            }
            Self::Swap(a, b) => {
                let (a, b) = (place(disk, a), place(disk, b));
                let (first, second) = (take(disk, &a), take(disk, &b));
                put(disk, a, second);
                put(disk, b, first);
            }
            Self::Link(a, b) => {
                let id = disk.find(a, MALLORY, false, &mut Vec::new()).unwrap();
                let place = place(disk, b);
                put(disk, place, id);
            }
            Self::Remove(path) => {
                let place = place(disk, path);
                take(disk, &place);
            }
            Self::Symlink(target, at) => make(disk, at, Node::Link(target.into()), 0o777),
            Self::Mkdir(at) => make(disk, at, Node::Directory(BTreeMap::new()), 0o755),
            Self::Create(at, text) => {
                make(disk, at, Node::File(File::with(MALLORYS, text)), 0o644);
            }
            Self::Write(path, text) => {
                let id = disk.at(path);
                disk.put(id, text.as_bytes().into());
                let file = disk.file_mut(id);
                (file.label, file.whole) = (MALLORYS, true);
                disk.touch(id, true);
            }
            Self::Chmod(path, mode) => {
                let id = disk.at(path);
                disk.nodes[id].mode = mode;
                disk.touch(id, false);
            }
            Self::SetClock(ms) => disk.set += ms * MS as i64,
            Self::Wait(_) | Self::Save(_) => {}
        }
    }
}

/// The kernel's checks before a move of the attacker's. Each notes what it looks at.
impl Effect {
    /// A name that the attacker may make or remove, and its node.
    fn name(&mut self, disk: &Disk, path: Path) -> Option<(Id, Option<Id>)> {
        let (directory, name) = disk.parent(path, MALLORY, &mut self.reads).ok()?;
        let found = disk.child(directory, &name, MALLORY, &mut self.reads);
        self.writes.push(Part::Name(directory, name));
        let inode = &disk.nodes[directory];
        if inode.entries().is_none() || !inode.lets(MALLORY, W | X) {
            return None;
        }
        match found {
            // Something is mounted there.
            Ok(id) if disk.nodes[id].device != inode.device => None,
            Ok(id) => Some((directory, Some(id))),
            Err(SystemError::Missing) => Some((directory, None)),
            Err(_) => None,
        }
    }

    /// A node that may be moved away from its name: in a sticky directory, only the
    /// attacker's own.
    fn movable(&mut self, disk: &Disk, path: Path) -> Option<(Id, Id)> {
        let (directory, id) = self.name(disk, path)?;
        let (parent, inode) = (&disk.nodes[directory], &disk.nodes[id?]);
        self.writes.push(Part::Node(id?));
        let is_own = parent.uid == MALLORY.uid || inode.uid == MALLORY.uid;
        (is_own || parent.mode & STICKY == 0).then_some((directory, id?))
    }

    fn create(&mut self, disk: &Disk, path: Path) -> Option<Id> {
        let (directory, there) = self.name(disk, path)?;
        there.is_none().then_some(directory)
    }

    fn remove(&mut self, disk: &Disk, path: Path) -> Option<Id> {
        let (_, id) = self.movable(disk, path)?;
        let entries = disk.nodes[id].entries();
        entries.is_none_or(BTreeMap::is_empty).then_some(id)
    }

    fn rename(&mut self, disk: &Disk, a: Path, b: Path) -> Option<Id> {
        let (from, id) = self.movable(disk, a)?;
        let (to, there) = self.name(disk, b)?;
        moved(disk, id, from, to)?;
        if let Some(there) = there {
            self.movable(disk, b)?;
            match (disk.nodes[id].entries(), disk.nodes[there].entries()) {
                (None, None) if there != id => {}
                (Some(_), Some(entries)) if there != id && entries.is_empty() => {}
                _ => return None,
            }
        }
        Some(id)
    }

    fn swap(&mut self, disk: &Disk, a: Path, b: Path) -> Option<Id> {
        let (from, first) = self.movable(disk, a)?;
        let (to, second) = self.movable(disk, b)?;
        moved(disk, first, from, to)?;
        moved(disk, second, to, from)?;
        (first != second).then_some(first)
    }

    fn link(&mut self, disk: &Disk, a: Path, b: Path) -> Option<Id> {
        let id = disk.find(a, MALLORY, false, &mut self.reads).ok()?;
        self.reads.push(Part::Node(id));
        self.writes.push(Part::Node(id));
        let to = self.create(disk, b)?;
        let inode = &disk.nodes[id];
        // The rule of `fs.protected_hardlinks`.
        let may = inode.uid == MALLORY.uid
            || disk.free_links
            || (inode.file().is_some() && inode.lets(MALLORY, 6));
        let fits = inode.entries().is_none() && inode.device == disk.nodes[to].device;
        (may && fits).then_some(id)
    }

    fn node(&mut self, disk: &Disk, path: Path) -> Option<Id> {
        let id = disk.find(path, MALLORY, true, &mut self.reads).ok()?;
        self.reads.push(Part::Node(id));
        self.writes.push(Part::Node(id));
        Some(id)
    }
}

/// Whether a node may move to another directory. If it is one itself, it must be writable,
/// and must not move into itself. Nothing moves to another file system.
fn moved(disk: &Disk, id: Id, from: Id, to: Id) -> Option<()> {
    let inode = &disk.nodes[id];
    let fits = inode.entries().is_none() || inode.lets(MALLORY, W);
    let same = disk.nodes[from].device == disk.nodes[to].device;
    (from == to || fits && same && !holds(disk, id, to)).then_some(())
}

/// Whether `inner` is `outer`, or is in it.
fn holds(disk: &Disk, outer: Id, inner: Id) -> bool {
    let entries = disk.nodes[outer].entries();
    outer == inner
        || entries.is_some_and(|entries| entries.values().any(|id| holds(disk, *id, inner)))
}
