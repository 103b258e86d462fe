//! What is on the disk, and who may do what with it: Linux's rules, in memory.
//!
//! The model leaves out what nothing in the host asks for: the times and the link
//! count of a directory (always the same here), access times, and inode numbers that
//! are reused while somebody holds the old one (the kernel never does that).

use keyhole_walk::{Kind, Stat};
use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher as _},
    sync::Arc,
};

/// A node's place in [`Disk::nodes`]. Unlike an inode number, it is never reused.
pub(crate) type Id = usize;

/// Somebody who acts: a user and the user's groups, the primary one first.
#[derive(Clone, Copy)]
pub(crate) struct Who {
    pub(crate) uid: u32,
    pub(crate) groups: &'static [u32],
}

/// A group that has both users in it.
pub(crate) const TEAM: u32 = 60;

const fn who(uid: u32, groups: &'static [u32]) -> Who {
    Who { uid, groups }
}
pub(crate) const ROOT: Who = who(0, &[0]);
/// The user whose rights the host has.
pub(crate) const JANE: Who = who(1000, &[1000, TEAM]);
/// Another user of the machine.
pub(crate) const MALLORY: Who = who(2000, &[2000, TEAM]);

// Permission to read, to write, and to search.
pub(crate) const R: u32 = 4;
pub(crate) const W: u32 = 2;
pub(crate) const X: u32 = 1;
/// In such a directory, only an object's owner, or the directory's, may move it.
pub(crate) const STICKY: u32 = 0o1000;

/// A millisecond of the disk's clock.
pub(crate) const MS: u64 = 1_000_000;
/// The clock when a scene begins, in nanoseconds since 1970: in the middle of a second.
pub(crate) const START: u64 = 1_700_000_000 * 1000 * MS + 503 * MS;

/// Whose text a file holds. The checks read it; the host never sees it.
pub(crate) type Label = &'static str;

#[derive(Clone, Hash)]
pub(crate) enum Node {
    File(File),
    Directory(BTreeMap<Arc<str>, Id>),
    Link(Arc<str>),
}

#[derive(Clone, Hash)]
pub(crate) struct File {
    pub(crate) bytes: Arc<[u8]>,
    /// Whose text that is.
    pub(crate) label: Label,
    /// A single write that has begun and not ended: the bytes that it will have written.
    pub(crate) writing: Option<Arc<[u8]>>,
    /// Whether the content is the whole of a saved version.
    pub(crate) whole: bool,
    /// How many bytes one read returns at most.
    pub(crate) piece: usize,
}

pub(crate) struct Inode {
    pub(crate) node: Node,
    /// Permissions and the sticky bit.
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// A user who may write as well, by an access control list.
    pub(crate) acl: Option<u32>,
    /// The mount that it is in: an index into [`Disk::mounts`].
    pub(crate) device: usize,
    /// The inode number. A free one is reused, as ext4 does.
    number: u64,
    names: u64,
    /// The time stamps of the last change of its content, and of anything.
    pub(crate) modified: u64,
    pub(crate) changed: u64,
    /// Shared with everybody who holds it open.
    pub(crate) held: Arc<()>,
}

impl Clone for Inode {
    /// The clone is on another disk, so nobody holds it.
    fn clone(&self) -> Self {
        Self {
            node: self.node.clone(),
            held: Arc::new(()),
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
    pub(crate) fn entries(&self) -> Option<&BTreeMap<Arc<str>, Id>> {
        match &self.node {
            Node::Directory(entries) => Some(entries),
            _ => None,
        }
    }

    pub(crate) fn file(&self) -> Option<&File> {
        match &self.node {
            Node::File(file) => Some(file),
            _ => None,
        }
    }

    /// Whether `who` has all of `rights`, each a sum of [`R`], [`W`] and [`X`].
    pub(crate) fn lets(&self, who: Who, rights: u32) -> bool {
        let bits = if who.uid == self.uid {
            self.mode >> 6
        } else if self.acl == Some(who.uid) || who.groups.contains(&self.gid) {
            self.mode >> 3
        } else {
            self.mode
        };
        who.uid == 0 || bits & rights == rights
    }

    fn is_gone(&self) -> bool {
        self.names == 0 && self.number > 1 && Arc::strong_count(&self.held) == 1
    }

    /// What a descriptor for it reports.
    pub(crate) fn stat(&self) -> Stat {
        let is_directory = self.entries().is_some();
        let time = |ns: u64| match is_directory {
            true => (0, 0),
            false => ((ns / (1000 * MS)) as i64, (ns % (1000 * MS)) as i64),
        };
        Stat {
            kind: match &self.node {
                Node::File(_) => Kind::File,
                Node::Directory(_) => Kind::Directory,
                Node::Link(_) => Kind::Link,
            },
            mode: self.mode,
            owner: self.uid,
            group: self.gid,
            names: if is_directory { 2 } else { self.names },
            device: self.device as u64,
            inode: self.number,
            size: self.file().map_or(0, |file| file.bytes.len() as u64),
            modified: time(self.modified),
            changed: time(self.changed),
        }
    }
}

#[derive(Clone, Copy)]
pub(crate) enum Mounted {
    /// Mounted by root.
    Ordinary,
    /// Mounted by this user, through FUSE: it may say anything.
    By(u32),
    /// It keeps no owners, and tells every user that everything is the user's own.
    WithoutOwners,
    /// The kernel makes its content.
    Kernel,
}

#[derive(Clone)]
pub(crate) struct Disk {
    /// Every node that ever was. The first is `/`.
    pub(crate) nodes: Vec<Inode>,
    pub(crate) mounts: Vec<Mounted>,
    /// The time, in nanoseconds since 1970. It only ever passes.
    pub(crate) clock: u64,
    /// Each time stamp is a multiple of this: a kernel's tick, or the unit that the file
    /// system keeps.
    pub(crate) tick: u64,
    /// How far the clock of the time stamps is ahead of ours, as a file server's may be.
    pub(crate) skew: i64,
    /// How far all clocks were set since the scene began.
    pub(crate) set: i64,
    /// Whether users can link others' files (`fs.protected_hardlinks = 0`).
    pub(crate) free_links: bool,
}

impl File {
    pub(crate) fn with(label: Label, text: &str) -> Self {
        Self {
            bytes: text.as_bytes().into(),
            label,
            writing: None,
            whole: true,
            piece: usize::MAX,
        }
    }
}

impl Disk {
    /// Adds a node without a name.
    pub(crate) fn add(&mut self, node: Node, who: Who, mode: u32, device: usize) -> Id {
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
            held: Arc::new(()),
        });
        self.nodes.len() - 1
    }

    /// The time that the clock shows.
    pub(crate) fn now(&self) -> u64 {
        self.clock.saturating_add_signed(self.set)
    }

    /// The time stamp of a change now.
    fn stamp(&self) -> u64 {
        self.now().saturating_add_signed(self.skew) / self.tick * self.tick
    }

    /// Notes a change of a node, and of its content if `content` says so.
    pub(crate) fn touch(&mut self, id: Id, content: bool) {
        let stamp = self.stamp();
        let inode = &mut self.nodes[id];
        inode.changed = stamp;
        if content {
            inode.modified = stamp;
        }
    }

    /// Gives a node a name, which another node may have had before.
    pub(crate) fn insert(&mut self, directory: Id, name: Arc<str>, id: Id) {
        self.nodes[id].names += 1;
        if let Some(before) = self.entries_mut(directory).insert(name, id) {
            self.nodes[before].names -= 1;
        }
    }

    pub(crate) fn remove(&mut self, directory: Id, name: &str) -> Id {
        let id = self.entries_mut(directory).remove(name).unwrap();
        self.nodes[id].names -= 1;
        id
    }

    fn entries_mut(&mut self, directory: Id) -> &mut BTreeMap<Arc<str>, Id> {
        match &mut self.nodes[directory].node {
            Node::Directory(entries) => entries,
            _ => panic!("no directory"),
        }
    }

    pub(crate) fn file_mut(&mut self, id: Id) -> &mut File {
        match &mut self.nodes[id].node {
            Node::File(file) => file,
            _ => panic!("no file"),
        }
    }

    /// Changes the content of a file. What it holds then may be half of something.
    pub(crate) fn put(&mut self, id: Id, bytes: Arc<[u8]>) {
        let file = self.file_mut(id);
        if file.bytes != bytes {
            (file.bytes, file.whole) = (bytes, false);
        }
    }

    /// Whether there is a node without a name, whose number may be reused.
    pub(crate) fn has_nameless(&self) -> bool {
        self.nodes[1..].iter().any(|n| n.names == 0 && n.number > 0)
    }

    /// One number for all that the host or others can see, except the clock.
    pub(crate) fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.nodes.hash(&mut hasher);
        hasher.finish()
    }
}
