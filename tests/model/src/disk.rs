//! What is on the disk, and who may do what with it: Linux's rules, in memory.
//!
//! The model leaves out what nothing in the host asks for: the times and the link
//! count of a directory (always the same here), access times, and inode numbers that
//! are reused while somebody holds the old one (the kernel never does that).

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher as _},
    rc::Rc,
};

/// A node's place in [`Disk::nodes`]. Unlike an inode number, it is never reused.
pub type Id = usize;

/// Somebody who acts: a user and the user's groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Who {
    /// The user's number.
    pub uid: u32,
    /// Primary and other groups.
    pub groups: &'static [u32],
}

/// A group that has both users in it.
pub const TEAM: u32 = 60;
/// The administrator.
pub const ROOT: Who = Who {
    uid: 0,
    groups: &[0],
};
/// The user whose rights the host has.
pub const JANE: Who = Who {
    uid: 1000,
    groups: &[1000, TEAM],
};
/// Another user of the machine.
pub const MALLORY: Who = Who {
    uid: 2000,
    groups: &[2000, TEAM],
};

/// Permission to read, to write, and to search or run.
pub const R: u32 = 4;
/// See [`R`].
pub const W: u32 = 2;
/// See [`R`].
pub const X: u32 = 1;
/// In such a directory, only an object's owner, or the directory's, may move it.
pub const STICKY: u32 = 0o1000;

/// A millisecond of the disk's clock.
pub const MS: u64 = 1_000_000;
/// The clock when a scene begins, in nanoseconds since 1970: in the middle of a second.
pub const START: u64 = 1_700_000_000 * 1000 * MS + 503 * MS;

/// Whose text a file holds. The checks read it; the host never sees it.
pub type Label = &'static str;

/// What a node is.
#[derive(Clone, Debug, Hash)]
pub enum Node {
    /// A regular file.
    File(File),
    /// A directory, and the names in it.
    Directory(BTreeMap<Rc<str>, Id>),
    /// A symbolic link.
    Link(Rc<str>),
    /// A FIFO that nobody has open.
    Fifo,
}

/// A regular file.
#[derive(Clone, Debug, Hash)]
pub struct File {
    /// Its content.
    pub bytes: Rc<[u8]>,
    /// Whose text that is.
    pub label: Label,
    /// A single write that has begun and not ended: the bytes that it will have written.
    pub writing: Option<Rc<[u8]>>,
    /// Whether the content is the whole of a saved version.
    pub whole: bool,
    /// Who holds a write lease on it.
    pub lease: Option<u32>,
    /// When the last change of it began. The time stamps are coarser.
    pub touched: u64,
    /// How many bytes one read returns at most.
    pub piece: usize,
}

/// Something with an inode.
#[derive(Debug)]
pub struct Inode {
    /// What it is.
    pub node: Node,
    /// Permissions and the sticky bit.
    pub mode: u32,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// A user who may write as well, by an access control list.
    pub acl: Option<u32>,
    /// The mount that it is in: an index into [`Disk::mounts`].
    pub device: usize,
    /// The inode number. A free one is reused, as ext4 does.
    pub number: u64,
    /// How many names it has.
    pub names: u64,
    /// The time stamp of the last change of its content.
    pub modified: u64,
    /// The time stamp of the last change of anything.
    pub changed: u64,
    /// Shared with everybody who holds it open.
    pub held: Rc<()>,
}

impl Clone for Inode {
    /// The clone is on another disk, so nobody holds it.
    fn clone(&self) -> Self {
        Self {
            node: self.node.clone(),
            held: Rc::new(()),
            ..*self
        }
    }
}

impl Hash for Inode {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.node.hash(state);
        (self.mode, self.uid, self.device, self.number, self.names).hash(state);
        (self.modified, self.changed).hash(state);
    }
}

impl Inode {
    /// The names in this directory.
    #[must_use]
    pub fn entries(&self) -> Option<&BTreeMap<Rc<str>, Id>> {
        match &self.node {
            Node::Directory(entries) => Some(entries),
            _ => None,
        }
    }

    /// This file's content.
    #[must_use]
    pub fn file(&self) -> Option<&File> {
        match &self.node {
            Node::File(file) => Some(file),
            _ => None,
        }
    }

    /// Whether `who` has all of `rights`, each a sum of [`R`], [`W`] and [`X`].
    #[must_use]
    pub fn lets(&self, who: Who, rights: u32) -> bool {
        let bits = if who.uid == self.uid {
            self.mode >> 6
        } else if self.acl == Some(who.uid) || who.groups.contains(&self.gid) {
            self.mode >> 3
        } else {
            self.mode
        };
        who.uid == 0 || bits & rights == rights
    }
}

/// A file system that is mounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mounted {
    /// Mounted by root.
    Ordinary,
    /// Mounted by this user, through FUSE: it may say anything.
    By(u32),
    /// It keeps no owners, and tells every user that everything is the user's own.
    WithoutOwners,
    /// The kernel makes its content.
    Kernel,
}

/// The whole disk.
#[derive(Clone, Debug)]
pub struct Disk {
    /// Every node that ever was. The first is `/`.
    pub nodes: Vec<Inode>,
    /// The mounts, by device.
    pub mounts: Vec<Mounted>,
    /// The time, in nanoseconds since 1970.
    pub clock: u64,
    /// Each time stamp is a multiple of this: a kernel's tick, or the unit that the file
    /// system keeps.
    pub tick: u64,
    /// How far the clock of the time stamps is ahead of ours, as a file server's may be.
    pub skew: u64,
    /// Whether users can link others' files (`fs.protected_hardlinks = 0`).
    pub free_links: bool,
}

impl File {
    /// A file with this text.
    #[must_use]
    pub fn with(label: Label, text: &str, touched: u64) -> Self {
        Self {
            bytes: text.as_bytes().into(),
            label,
            writing: None,
            whole: true,
            lease: None,
            touched,
            piece: usize::MAX,
        }
    }
}

/// What the kernel does.
impl Disk {
    /// Adds a node without a name.
    pub fn add(&mut self, node: Node, who: Who, mode: u32, device: usize) -> Id {
        let now = self.stamp();
        // The number of a removed node is reused.
        let free = self.nodes.iter_mut().find(|n| n.is_gone());
        let number = free.map(|gone| std::mem::take(&mut gone.number));
        self.nodes.push(Inode {
            node,
            mode,
            uid: who.uid,
            gid: who.groups[0],
            acl: None,
            device,
            number: number.unwrap_or(self.nodes.len() as u64 + 1),
            names: 0,
            modified: now,
            changed: now,
            held: Rc::new(()),
        });
        self.nodes.len() - 1
    }

    /// The time stamp of a change now.
    #[must_use]
    pub fn stamp(&self) -> u64 {
        (self.clock + self.skew) / self.tick * self.tick
    }

    /// Notes a change of a node, and of its content if `content` says so.
    pub fn touch(&mut self, id: Id, content: bool) {
        let (stamp, now) = (self.stamp(), self.clock);
        let inode = &mut self.nodes[id];
        inode.changed = stamp;
        if content {
            inode.modified = stamp;
        }
        if let Node::File(file) = &mut inode.node {
            file.touched = now;
        }
    }

    /// Gives a node a name, and returns the node that had the name before.
    pub fn insert(&mut self, directory: Id, name: Rc<str>, id: Id) -> Option<Id> {
        self.nodes[id].names += 1;
        let before = self.entries_mut(directory).insert(name, id);
        if let Some(before) = before {
            self.nodes[before].names -= 1;
        }
        before
    }

    /// Removes a name.
    pub fn remove(&mut self, directory: Id, name: &str) -> Id {
        let id = self.entries_mut(directory).remove(name).unwrap();
        self.nodes[id].names -= 1;
        id
    }

    fn entries_mut(&mut self, directory: Id) -> &mut BTreeMap<Rc<str>, Id> {
        match &mut self.nodes[directory].node {
            Node::Directory(entries) => entries,
            _ => panic!("no directory"),
        }
    }

    /// The file at `id`, to be changed.
    pub fn file_mut(&mut self, id: Id) -> &mut File {
        match &mut self.nodes[id].node {
            Node::File(file) => file,
            _ => panic!("no file"),
        }
    }

    /// Whether there is a node without a name, whose number may be reused.
    #[must_use]
    pub fn has_nameless(&self) -> bool {
        self.nodes[1..].iter().any(|n| n.names == 0 && n.number > 0)
    }

    /// One number for all that the host or others can see, except the clock.
    #[must_use]
    pub fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.nodes.hash(&mut hasher);
        hasher.finish()
    }
}

impl Inode {
    fn is_gone(&self) -> bool {
        self.names == 0 && self.number > 1 && Rc::strong_count(&self.held) == 1
    }
}
