//! The disk, and a record of what was ever saved on it, and when: the run judges the
//! host by it.

mod users;

use crate::{
    maps::{self, Map},
    rng::Rng,
};
use keyhole_model::{
    disk::{Disk, JANE, Label, MALLORY, MS, Node, ROOT, START},
    moves::{FORGED_MAP, FORGED_TEXT, MALLORYS},
};
use std::{collections::HashMap, rc::Rc};
use users::Saving;

/// How long nobody must have changed a file before it counts as saved; see
/// `keyhole-model`.
const REST: u64 = 20 * MS;

/// The user's documents: label, path, and real path.
pub const DOCUMENTS: [(Label, &str, &str); 5] = [
    ("a", "/home/jane/notes/a.md", "/home/jane/notes/a.md"),
    ("b", "/home/jane/notes/b.md", "/home/jane/notes/b.md"),
    ("c", "/home/jane/notes/link.md", "/home/jane/real/c.md"),
    ("d", "/srv/shared/d.md", "/srv/shared/d.md"),
    ("e", "/srv/shared/sub/e.md", "/srv/shared/sub/e.md"),
];
/// The label of the map.
pub const MAP_LABEL: Label = "map";

/// A saved text that was on the disk, from one step to another.
#[derive(Clone, Debug)]
pub struct Span {
    /// The text.
    pub bytes: Rc<[u8]>,
    /// Whose text.
    pub label: Label,
    /// The step at which it came.
    pub from: u64,
    /// The step at which it went. None means that it is still there.
    pub to: Option<u64>,
}

/// See the module.
pub struct World {
    /// The disk as it is.
    pub disk: Disk,
    /// All saved texts that were ever on the disk.
    pub spans: Vec<Span>,
    /// How many steps there were.
    pub now: u64,
    /// The map as the user last wanted it.
    pub wanted: Map,
    /// One in this many saves fails, because the disk is full. 0 means none.
    pub full: usize,
    current: HashMap<usize, usize>,
    saving: Vec<Saving>,
    texts: usize,
}

impl World {
    /// The disk before the first call.
    #[must_use]
    pub fn new(rng: &mut Rng) -> Self {
        let mut disk = Disk {
            tick: rng.of(&[1, MS, 4 * MS, 10 * MS, 1000 * MS]),
            ..Disk::default()
        };
        for directory in ["/home/jane/.config", "/home/jane/.config/keyhole"] {
            disk.directory(directory, JANE, 0o700);
        }
        disk.directory("/home/jane/notes", JANE, 0o755);
        disk.directory("/home/jane/real", JANE, 0o755);
        disk.directory("/srv", ROOT, 0o755);
        disk.directory("/srv/shared", JANE, 0o777);
        disk.directory("/srv/shared/sub", JANE, 0o755);
        disk.directory("/srv/his", MALLORY, 0o755);
        disk.file("/srv/his/x.md", MALLORY, 0o644, MALLORYS, FORGED_TEXT);
        disk.file("/home/jane/diary.md", JANE, 0o600, "diary", "dear diary");
        for (index, (label, _, real)) in DOCUMENTS.iter().enumerate() {
            disk.file(real, JANE, 0o644, label, maps::text(index, 0));
        }
        disk.link("/home/jane/notes/link.md", JANE, "../real/c.md");
        let wanted = Map::new(rng);
        disk.file(maps::PATH, JANE, 0o600, MAP_LABEL, wanted.text());
        let mut world = Self {
            disk,
            spans: Vec::new(),
            now: 0,
            wanted,
            full: rng.of(&[0, 0, 3, 8]),
            current: HashMap::new(),
            saving: Vec::new(),
            texts: 0,
        };
        world.sync();
        world
    }

    /// How long the run has taken.
    #[must_use]
    pub fn elapsed(&self) -> u64 {
        self.disk.clock - START
    }

    /// Notes the saved texts that are there: those that were written to their end, or that
    /// nobody has changed for long enough.
    pub fn sync(&mut self) {
        self.now += 1;
        let rest = match self.disk.tick {
            tick if tick < REST => REST - tick,
            _ => REST,
        };
        let clock = self.disk.clock;
        for (id, inode) in self.disk.nodes.iter_mut().enumerate() {
            let Node::File(file) = &mut inode.node else {
                continue;
            };
            file.whole |= file.writing.is_none() && clock - file.touched >= rest;
            // Whoever has it open can still read it after its last name is gone.
            let is_held = Rc::strong_count(&inode.held) > 1;
            let there = file.whole && (inode.names > 0 || is_held);
            if let Some(span) = self.current.get(&id) {
                let known = &mut self.spans[*span];
                if there && known.bytes == file.bytes && known.label == file.label {
                    continue;
                }
                known.to = Some(self.now);
                self.current.remove(&id);
            }
            if there {
                self.current.insert(id, self.spans.len());
                self.spans.push(Span {
                    bytes: file.bytes.clone(),
                    label: file.label,
                    from: self.now,
                    to: None,
                });
            }
        }
    }

    /// The saved texts that were there since `from`.
    pub fn since(&self, from: u64) -> impl Iterator<Item = &Span> {
        let recent = move |span: &&Span| span.to.is_none_or(|to| to > from);
        self.spans.iter().filter(recent)
    }

    /// Whether this text may be served for this key, to a call that began at `from`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn judge(
        &self,
        key: &str,
        agent: Option<&str>,
        text: &str,
        from: u64,
    ) -> Result<(), String> {
        let mut granted: Vec<Label> = Vec::new();
        for map in self.since(from).filter(|span| span.label == MAP_LABEL) {
            granted.extend(maps::granted(&map.bytes, key, agent));
        }
        let mut saved = self
            .since(from)
            .filter(|span| *span.bytes == *text.as_bytes());
        if granted.is_empty() {
            return Err(format!(
                "the map does not grant this key anything: {text:?}"
            ));
        }
        // The other user may have put it there, and may save in any way.
        if granted.contains(&MALLORYS) && [FORGED_TEXT, FORGED_MAP, ""].contains(&text) {
            return Ok(());
        }
        match saved.next() {
            None => Err(format!("what was served was never saved so: {text:?}")),
            Some(first)
                if !saved
                    .chain([first])
                    .any(|span| granted.contains(&span.label)) =>
            {
                Err(format!(
                    "the map does not grant this: {text:?} ({})",
                    first.label
                ))
            }
            Some(_) => Ok(()),
        }
    }
}
