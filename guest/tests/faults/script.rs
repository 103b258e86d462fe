//! A directory with one file, which answers as a test tells it to.

use keyhole_guest::{Directory, File, Grant, Grants, LoadError, Stat, load};
use std::cell::{Cell, RefCell};

/// The grant's `max-bytes` if a test does not set another.
pub(crate) const MAX_BYTES: u64 = 64;

struct Map {
    max_bytes: u64,
}

impl Grants for Map {
    fn find(&self, _: &str) -> Option<Grant> {
        Some(Grant {
            name: "x.md".into(),
            max_bytes: self.max_bytes,
        })
    }
}

/// What a look returns, given how many there were before.
type Look<'a> = dyn Fn(usize) -> Result<Stat, LoadError> + 'a;

/// What a read returns, given how many looks there were before, how much was asked for,
/// and from which offset.
type Read<'a> = dyn Fn(usize, u64, u64) -> Result<Vec<u8>, LoadError> + 'a;

/// A directory that answers as a test tells it to.
#[derive(Clone, Copy)]
pub(crate) struct Script<'a> {
    /// Whether the name is a regular file.
    pub(crate) kind: Result<bool, LoadError>,
    pub(crate) open: Result<(), LoadError>,
    pub(crate) look: &'a Look<'a>,
    pub(crate) read: &'a Read<'a>,
}

/// A [`Script`] with a record of its use.
pub(crate) struct Run<'a> {
    script: Script<'a>,
    /// How often the file was opened.
    pub(crate) opens: Cell<usize>,
    /// How often the open file was looked at.
    pub(crate) looks: Cell<usize>,
    /// How much each read asked for, and from which offset.
    pub(crate) reads: RefCell<Vec<(u64, u64)>>,
}

impl<'a> Directory for &'a Run<'a> {
    type File = Self;

    fn is_regular(&self, name: &str) -> Result<bool, LoadError> {
        assert_eq!(name, "x.md");
        self.script.kind
    }

    fn open(&self, name: &str) -> Result<Self, LoadError> {
        assert_eq!(name, "x.md");
        self.opens.set(self.opens.get() + 1);
        self.script.open.map(|()| *self)
    }
}

impl File for &Run<'_> {
    fn stat(&self) -> Result<Stat, LoadError> {
        (self.script.look)(self.looks.replace(self.looks.get() + 1))
    }

    fn read(&self, len: u64, offset: u64) -> Result<Vec<u8>, LoadError> {
        let mut reads = self.reads.borrow_mut();
        reads.push((len, offset));
        assert!(reads.len() <= 200, "the guest reads without end");
        (self.script.read)(self.looks.get(), len, offset)
    }
}

/// The content of the file that can be read.
pub(crate) const CONTENT: &[u8] = b"0123456789";

/// What the file that can be read reports.
pub(crate) fn stat() -> Stat {
    Stat {
        regular: true,
        size: CONTENT.len() as u64,
        modified: Some((1_000, 500)),
        changed: Some((1_000, 500)),
    }
}

/// Reads `content` as a file system does.
pub(crate) fn read_from(content: &[u8], len: u64, offset: u64) -> Vec<u8> {
    let rest = &content[content.len().min(offset as usize)..];
    rest[..rest.len().min(len as usize)].to_vec()
}

/// A file that can be read: each test changes one part of it.
pub(crate) fn good() -> Script<'static> {
    Script {
        kind: Ok(true),
        open: Ok(()),
        look: &|_| Ok(stat()),
        read: &|_, len, offset| Ok(read_from(CONTENT, len, offset)),
    }
}

/// The same, if it was changed lately.
pub(crate) fn recent() -> Script<'static> {
    Script {
        look: &|_| {
            Ok(Stat {
                changed: None,
                ..stat()
            })
        },
        ..good()
    }
}

/// What the guest makes of it, with this `max-bytes`. `inspect` gets the record of the
/// file's use.
pub(crate) fn run_with(
    script: Script,
    max_bytes: u64,
    inspect: impl FnOnce(&Run),
) -> Result<Vec<u8>, LoadError> {
    let run = Run {
        script,
        opens: Cell::new(0),
        looks: Cell::new(0),
        reads: RefCell::default(),
    };
    let outcome = load("k-good", &Map { max_bytes }, Some(&&run));
    inspect(&run);
    outcome
}
