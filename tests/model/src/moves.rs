//! The closed list of what another user may do between two steps of the host, and what
//! the user's own editor does. Each move needs the rights of whoever makes it, and is
//! one step, like one system call.

use crate::{
    disk::{Disk, File, Id, Label, MALLORY, MS, Node, STICKY, W, Who, X},
    lookup::Part,
    save::Save,
};
use keyhole::walk::Fault;
use std::{collections::BTreeMap, rc::Rc};

/// A path of a scene.
pub type Path = &'static str;

/// One step of somebody else. All but the last two are the attacker's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
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
    /// One `write` over all of a file.
    Write(Path, &'static str),
    /// `truncate` to nothing.
    Truncate(Path),
    /// `chmod`
    Chmod(Path, u32),
    /// `mkfifo`
    Fifo(Path),
    /// `fcntl(F_SETLEASE, F_WRLCK)`
    Lease(Path),
    /// This many milliseconds pass.
    Wait(u64),
    /// The next step of the user's save with this index.
    Save(usize),
}

/// What a step looks at, and what it changes.
#[derive(Clone, Debug, Default)]
pub struct Effect {
    /// What decides whether it is possible, and what it does.
    pub reads: Vec<Part>,
    /// Anyone who looks at any of these may see that it was done.
    pub writes: Vec<Part>,
}

/// What the attacker may write: a map of the attacker's own.
pub const FORGED_MAP: &str = "[keys]\n\"k-forged\" = \"/home/jane/diary.md\"\n\"k\" = \"/home/jane/diary.md\"\n\"k-old\" = \"/home/jane/diary.md\"\n";
/// A document of the attacker's own.
pub const FORGED_TEXT: &str = "written by mallory, twice: mallory";
/// Whose texts these are.
pub const MALLORYS: Label = "mallory's";

/// Every move of the list with these names and targets of links.
#[must_use]
pub fn all(names: &[Path], targets: &[Path], text: &'static str) -> Vec<Move> {
    let mut moves = Vec::new();
    for &a in names {
        moves.extend([
            Move::Remove(a),
            Move::Mkdir(a),
            Move::Create(a, text),
            Move::Write(a, text),
            Move::Truncate(a),
            Move::Chmod(a, 0o666),
            Move::Chmod(a, 0o777),
            Move::Chmod(a, 0),
            Move::Fifo(a),
            Move::Lease(a),
        ]);
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
    #[must_use]
    pub fn plan(self, disk: &Disk, saves: &[Save], progress: &[usize]) -> Option<Effect> {
        let mut effect = Effect::default();
        let who = MALLORY;
        let found = match self {
            Self::Save(index) => {
                let step = saves[index].steps.get(progress[index])?;
                return step.plan(disk);
            }
            Self::Wait(_) => Some(effect.all()),
            Self::Rename(a, b) => effect.rename(disk, a, b),
            Self::Swap(a, b) => effect.swap(disk, a, b),
            Self::Link(a, b) => effect.link(disk, a, b),
            Self::Symlink(_, at) | Self::Mkdir(at) | Self::Create(at, _) | Self::Fifo(at) => {
                effect.create(disk, at)
            }
            Self::Remove(path) => effect.remove(disk, path),
            Self::Write(path, text) => effect.write(disk, path).filter(|id| {
                disk.nodes[*id]
                    .file()
                    .is_some_and(|file| *file.bytes != *text.as_bytes())
            }),
            Self::Truncate(path) => effect.write(disk, path),
            Self::Chmod(path, mode) => effect
                .node(disk, path)
                .filter(|id| disk.nodes[*id].uid == who.uid && disk.nodes[*id].mode != mode),
            Self::Lease(path) => effect.node(disk, path).filter(|id| {
                let inode = &disk.nodes[*id];
                inode.uid == who.uid && inode.file().is_some_and(|file| file.lease.is_none())
            }),
        };
        if effect.writes.iter().any(|w| matches!(w, Part::Name(..))) || disk.has_nameless() {
            effect.writes.push(Part::Numbers);
        }
        found.map(|_| effect)
    }

    /// Makes the move, after [`Self::plan`] said that it is possible.
    /// [`crate::world::World`] does the saves.
    pub fn perform(self, disk: &mut Disk) {
        let who = MALLORY;
        let parent = |disk: &Disk, path| disk.parent(path, who, &mut Vec::new()).unwrap();
        let make = |disk: &mut Disk, path, node, mode| {
            let (directory, name) = parent(disk, path);
            let id = disk.add(node, who, mode, disk.nodes[directory].device);
            disk.insert(directory, name, id);
        };
        match self {
            Self::Rename(a, b) => {
                let ((from, a), (to, b)) = (parent(disk, a), parent(disk, b));
                let id = disk.remove(from, &a);
                disk.insert(to, b, id);
                disk.touch_name(id);
            }
            Self::Swap(a, b) => {
                let ((from, a), (to, b)) = (parent(disk, a), parent(disk, b));
                let (first, second) = (disk.remove(from, &a), disk.remove(to, &b));
                disk.insert(from, a, second);
                disk.insert(to, b, first);
                disk.touch_name(first);
                disk.touch_name(second);
            }
            Self::Link(a, b) => {
                let id = disk.find(a, who, false, &mut Vec::new()).unwrap();
                let (to, b) = parent(disk, b);
                disk.insert(to, b, id);
                disk.touch_name(id);
            }
            Self::Remove(path) => {
                let (directory, name) = parent(disk, path);
                let id = disk.remove(directory, &name);
                disk.touch_name(id);
            }
            Self::Symlink(target, at) => make(disk, at, Node::Link(target.into()), 0o777),
            Self::Mkdir(at) => make(disk, at, Node::Directory(BTreeMap::new()), 0o755),
            Self::Fifo(at) => make(disk, at, Node::Fifo, 0o666),
            Self::Create(at, text) => {
                let file = File::with(MALLORYS, text, disk.clock);
                make(disk, at, Node::File(file), 0o644);
            }
            Self::Write(path, text) => {
                let id = disk.find(path, who, true, &mut Vec::new()).unwrap();
                let file = disk.file_mut(id);
                (file.bytes, file.label) = (text.as_bytes().into(), MALLORYS);
                disk.touch(id, true);
            }
            Self::Truncate(path) => {
                let id = disk.find(path, who, true, &mut Vec::new()).unwrap();
                let file = disk.file_mut(id);
                (file.bytes, file.label) = ([].into(), MALLORYS);
                disk.touch(id, true);
            }
            Self::Chmod(path, mode) => {
                let id = disk.find(path, who, true, &mut Vec::new()).unwrap();
                disk.nodes[id].mode = mode;
                disk.touch(id, false);
            }
            Self::Lease(path) => {
                let id = disk.find(path, who, true, &mut Vec::new()).unwrap();
                disk.file_mut(id).lease = Some(who.uid);
            }
            Self::Wait(ms) => disk.clock += ms * MS,
            Self::Save(_) => {}
        }
    }
}

impl Disk {
    /// A new or lost name changes the file, but not the age of its content.
    fn touch_name(&mut self, id: Id) {
        self.nodes[id].changed = self.stamp();
    }
}

/// The kernel's checks before a move. Each notes what it looks at.
impl Effect {
    fn all(&mut self) -> Id {
        self.writes.push(Part::All);
        0
    }

    /// A name that `who` may make or remove, and its node.
    fn name(&mut self, disk: &Disk, path: Path) -> Option<(Id, Rc<str>, Option<Id>)> {
        let who = MALLORY;
        let (directory, name) = disk.parent(path, who, &mut self.reads).ok()?;
        let found = disk.child(directory, &name, who, &mut self.reads);
        self.writes.push(Part::Name(directory, name.clone()));
        let inode = &disk.nodes[directory];
        if inode.entries().is_none() || !inode.lets(who, W | X) {
            return None;
        }
        match found {
            Ok(id) if disk.nodes[id].device != disk.nodes[directory].device => None,
            Ok(id) => Some((directory, name, Some(id))),
            Err(Fault::Missing) => Some((directory, name, None)),
            Err(_) => None,
        }
    }

    /// A node that may be moved away from its name: in a sticky directory, only the
    /// user's own.
    fn movable(&mut self, disk: &Disk, path: Path, who: Who) -> Option<(Id, Id)> {
        let (directory, _, id) = self.name(disk, path)?;
        let (parent, inode) = (&disk.nodes[directory], &disk.nodes[id?]);
        self.writes.push(Part::Node(id?));
        let kept = parent.mode & STICKY != 0 && parent.uid != who.uid && inode.uid != who.uid;
        (!kept).then_some((directory, id?))
    }

    fn create(&mut self, disk: &Disk, path: Path) -> Option<Id> {
        let (directory, _, there) = self.name(disk, path)?;
        there.is_none().then_some(directory)
    }

    fn remove(&mut self, disk: &Disk, path: Path) -> Option<Id> {
        let (_, id) = self.movable(disk, path, MALLORY)?;
        disk.nodes[id]
            .entries()
            .is_none_or(BTreeMap::is_empty)
            .then_some(id)
    }

    fn rename(&mut self, disk: &Disk, a: Path, b: Path) -> Option<Id> {
        let (from, id) = self.movable(disk, a, MALLORY)?;
        let (to, _, there) = self.name(disk, b)?;
        self.moved(disk, id, from, to)?;
        if let Some(there) = there {
            if there == id {
                return None;
            }
            self.movable(disk, b, MALLORY)?;
            match (disk.nodes[id].entries(), disk.nodes[there].entries()) {
                (None, None) => {}
                (Some(_), Some(entries)) if entries.is_empty() => {}
                _ => return None,
            }
        }
        Some(id)
    }

    fn swap(&mut self, disk: &Disk, a: Path, b: Path) -> Option<Id> {
        let (from, first) = self.movable(disk, a, MALLORY)?;
        let (to, second) = self.movable(disk, b, MALLORY)?;
        self.moved(disk, first, from, to)?;
        self.moved(disk, second, to, from)?;
        (first != second).then_some(first)
    }

    /// A directory that moves into another one must be writable, and must not move into
    /// itself. Nothing moves to another file system.
    fn moved(&mut self, disk: &Disk, id: Id, from: Id, to: Id) -> Option<()> {
        let inode = &disk.nodes[id];
        if from == to {
            return Some(());
        }
        let fits = inode.entries().is_none() || inode.lets(MALLORY, W);
        let same = disk.nodes[from].device == disk.nodes[to].device;
        (fits && same && !disk.holds(id, to)).then_some(())
    }

    fn link(&mut self, disk: &Disk, a: Path, b: Path) -> Option<Id> {
        let who = MALLORY;
        let id = disk.find(a, who, false, &mut self.reads).ok()?;
        self.reads.push(Part::Node(id));
        self.writes.push(Part::Node(id));
        let to = self.create(disk, b)?;
        let inode = &disk.nodes[id];
        // The rule of `fs.protected_hardlinks`.
        let own = inode.uid == who.uid
            || disk.free_links
            || (inode.file().is_some() && inode.lets(who, 6));
        let fits = inode.entries().is_none() && inode.device == disk.nodes[to].device;
        (own && fits).then_some(id)
    }

    fn node(&mut self, disk: &Disk, path: Path) -> Option<Id> {
        let id = disk.find(path, MALLORY, true, &mut self.reads).ok()?;
        self.reads.push(Part::Node(id));
        self.writes.push(Part::Node(id));
        Some(id)
    }

    fn write(&mut self, disk: &Disk, path: Path) -> Option<Id> {
        let id = self.node(disk, path)?;
        let inode = &disk.nodes[id];
        let is_file = inode.file().is_some_and(|file| file.writing.is_none());
        (is_file && inode.lets(MALLORY, W)).then_some(id)
    }
}

impl Disk {
    /// Whether `inner` is `outer`, or is in it.
    fn holds(&self, outer: Id, inner: Id) -> bool {
        outer == inner
            || self.nodes[outer]
                .entries()
                .is_some_and(|entries| entries.values().any(|id| self.holds(*id, inner)))
    }
}
