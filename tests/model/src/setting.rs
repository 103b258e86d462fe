//! Sets up the disk of a scene. A mistake in a scene is a panic.

use crate::disk::{Disk, File, Id, Inode, JANE, Label, MS, Mounted, Node, ROOT, START, Who};
use std::collections::BTreeMap;

const USERS: &str = "root:x:0:0::/:/bin/sh\njane:x:1000:1000::/home/jane:/bin/sh\nmallory:x:2000:2000::/home/mallory:/bin/sh\n";
const GROUPS: &str = "root:x:0:\njane:x:1000:\nmallory:x:2000:\nteam:x:60:jane,mallory\n";

impl Default for Disk {
    /// `/`, and the files that list users and groups.
    fn default() -> Self {
        let mut disk = Self {
            nodes: Vec::new(),
            mounts: vec![Mounted::Ordinary],
            clock: START,
            tick: 4 * MS,
            skew: 0,
            set: 0,
            free_links: false,
        };
        disk.add(Node::Directory(BTreeMap::new()), ROOT, 0o755, 0);
        disk.directory("/etc", ROOT, 0o755);
        disk.file("/etc/passwd", ROOT, 0o644, "system", USERS);
        disk.file("/etc/group", ROOT, 0o644, "system", GROUPS);
        disk.directory("/home", ROOT, 0o755);
        disk.directory("/home/jane", JANE, 0o700);
        disk
    }
}

impl Disk {
    pub(crate) fn directory(&mut self, path: &str, who: Who, mode: u32) {
        self.make(path, Node::Directory(BTreeMap::new()), who, mode);
    }

    /// Makes a file that was saved long ago.
    pub(crate) fn file(&mut self, path: &str, who: Who, mode: u32, label: Label, text: &str) -> Id {
        self.make(path, Node::File(File::with(label, text)), who, mode)
    }

    pub(crate) fn link(&mut self, path: &str, who: Who, target: &str) {
        self.make(path, Node::Link(target.into()), who, 0o777);
    }

    /// Mounts a file system at a new directory.
    pub(crate) fn mount(&mut self, path: &str, mounted: Mounted) {
        self.directory(path, ROOT, 0o755);
        self.mounts.push(mounted);
        self.node(path).device = self.mounts.len() - 1;
    }

    fn make(&mut self, path: &str, node: Node, who: Who, mode: u32) -> Id {
        let (directory, name) = self.parent(path, ROOT, &mut Vec::new()).unwrap();
        let before = self.find(path, ROOT, false, &mut Vec::new());
        assert!(before.is_err(), "{path} is there twice");
        let id = self.add(node, who, mode, self.nodes[directory].device);
        self.nodes[id].changed = START - 3_600_000 * MS;
        self.nodes[id].modified = START - 3_600_000 * MS;
        self.insert(directory, name, id);
        id
    }

    /// The node that a path leads to, following links.
    pub(crate) fn at(&self, path: &str) -> Id {
        self.find(path, ROOT, true, &mut Vec::new()).unwrap()
    }

    /// The same, to be changed.
    pub(crate) fn node(&mut self, path: &str) -> &mut Inode {
        let id = self.at(path);
        &mut self.nodes[id]
    }
}
