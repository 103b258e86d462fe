//! A directory with one file, which answers as a test tells it to.

use keyhole_guest::{Directory, Fault, File, Grant, Grants, LoadError, Part, Stat, load, open};
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

/// What each read returns, given how much was asked for and from which offset.
type Read<'a> = dyn Fn(u64, u64) -> Result<Vec<u8>, Fault> + 'a;

/// A directory that answers as a test tells it to.
pub(crate) struct Script<'a> {
    pub(crate) look: Result<bool, Fault>,
    pub(crate) open: Result<(), Fault>,
    /// The look before the read, and the look after it.
    pub(crate) stats: [Result<Stat, Fault>; 2],
    pub(crate) read: &'a Read<'a>,
}

/// A file that was opened, and a record of its use.
pub(crate) struct Opened<'a> {
    stats: [Result<Stat, Fault>; 2],
    stats_taken: &'a Cell<usize>,
    read: &'a Read<'a>,
    reads: &'a RefCell<Vec<(u64, u64)>>,
}

/// A [`Script`] with a record of its use.
pub(crate) struct Run<'a> {
    script: Script<'a>,
    /// How often the file was opened.
    pub(crate) opens: Cell<usize>,
    /// How often the open file was looked at.
    pub(crate) stats_taken: Cell<usize>,
    /// How much each read asked for, and from which offset.
    pub(crate) reads: RefCell<Vec<(u64, u64)>>,
}

impl<'a> Directory for &'a Run<'a> {
    type File = Opened<'a>;

    fn is_regular(&self, name: &str) -> Result<bool, Fault> {
        assert_eq!(name, "x.md");
        self.script.look
    }

    fn open(&self, name: &str) -> Result<Opened<'a>, Fault> {
        assert_eq!(name, "x.md");
        self.opens.set(self.opens.get() + 1);
        self.script.open?;
        Ok(Opened {
            stats: self.script.stats,
            stats_taken: &self.stats_taken,
            read: self.script.read,
            reads: &self.reads,
        })
    }
}

impl File for Opened<'_> {
    fn stat(&self) -> Result<Stat, Fault> {
        let taken = self.stats_taken.replace(self.stats_taken.get() + 1);
        self.stats[taken] // a third look is not expected
    }

    fn read(&self, len: u64, offset: u64) -> Result<Vec<u8>, Fault> {
        let mut reads = self.reads.borrow_mut();
        reads.push((len, offset));
        assert!(reads.len() <= 100, "the guest reads without end");
        (self.read)(len, offset)
    }
}

/// The content of the file that can be read.
pub(crate) const CONTENT: &[u8] = b"0123456789";

/// What that file reports.
pub(crate) fn stat() -> Stat {
    Stat {
        regular: true,
        size: CONTENT.len() as u64,
        modified: Some((1_000, 500)),
        changed: Some((1_000, 500)),
    }
}

/// The same, of a file system without a clock that shows every change.
pub(crate) fn timeless() -> Stat {
    Stat {
        changed: None,
        ..stat()
    }
}

/// Reads `content` as a file system does.
pub(crate) fn read_from(content: &[u8], len: u64, offset: u64) -> Vec<u8> {
    let rest = &content[content.len().min(offset as usize)..];
    rest[..rest.len().min(len as usize)].to_vec()
}

fn read_well(len: u64, offset: u64) -> Result<Vec<u8>, Fault> {
    Ok(read_from(CONTENT, len, offset))
}

/// A file that can be read: each test changes one part of it.
pub(crate) fn good() -> Script<'static> {
    Script {
        look: Ok(true),
        open: Ok(()),
        stats: [Ok(stat()), Ok(stat())],
        read: &read_well,
    }
}

/// The same, of which each read returns this.
pub(crate) fn reading<'a>(read: &'a Read<'a>) -> Script<'a> {
    Script { read, ..good() }
}

/// The same, with these looks at it.
pub(crate) fn seen(first: Stat, after: Stat) -> Script<'static> {
    Script {
        stats: [Ok(first), Ok(after)],
        ..good()
    }
}

/// What the guest makes of a file whose read of this number goes wrong. The earlier ones
/// are right, and short if the second is the wrong one.
pub(crate) fn run_to(
    stat: Stat,
    wrong: usize,
    then: impl Fn(u64) -> Result<Vec<u8>, Fault>,
) -> Result<String, LoadError> {
    let reads = Cell::new(0);
    run(Script {
        stats: [Ok(stat); 2],
        read: &|len, offset| {
            reads.set(reads.get() + 1);
            match reads.get() < wrong {
                true if wrong == 2 => Ok(read_from(CONTENT, 5, offset)),
                true => Ok(read_from(CONTENT, len, offset)),
                false => then(len),
            }
        },
        ..good()
    })
}

/// A file of this content that does not change.
pub(crate) fn unchanged(content: &[u8]) -> Stat {
    Stat {
        size: content.len() as u64,
        ..stat()
    }
}

/// The parts of a file, as the component gives them away one by one, and the record of its
/// use. If there is an error, it is all that anybody gets.
pub(crate) fn run_in_parts(
    script: Script,
    part_bytes: u64,
    inspect: impl FnOnce(&Run),
) -> Result<Vec<String>, LoadError> {
    let run = Run {
        script,
        opens: Cell::new(0),
        stats_taken: Cell::new(0),
        reads: RefCell::default(),
    };
    let max_bytes = u64::MAX;
    let outcome =
        open("k-good", &Map { max_bytes }, Some(&&run), part_bytes).and_then(|mut file| {
            let mut parts = Vec::new();
            loop {
                let (bytes, is_last) = match file.next_part()? {
                    Part::More(bytes) => (bytes, false),
                    Part::Last(bytes) => (bytes, true),
                };
                assert!(is_last || !bytes.is_empty(), "an empty part is the last");
                parts.push(bytes);
                if is_last {
                    // As the host does: each part must be text.
                    let parts = parts.into_iter().map(String::from_utf8);
                    return parts
                        .collect::<Result<_, _>>()
                        .map_err(|_| LoadError::NotUtf8);
                }
            }
        });
    inspect(&run);
    outcome
}

/// What the guest makes of it.
pub(crate) fn run(script: Script) -> Result<String, LoadError> {
    run_with(script, MAX_BYTES, |_| ())
}

/// [`run`] with another `max-bytes`, and with the record of the file's use.
pub(crate) fn run_with(
    script: Script,
    max_bytes: u64,
    inspect: impl FnOnce(&Run),
) -> Result<String, LoadError> {
    let run = Run {
        script,
        opens: Cell::new(0),
        stats_taken: Cell::new(0),
        reads: RefCell::default(),
    };
    let outcome = load("k-good", &Map { max_bytes }, Some(&&run));
    inspect(&run);
    outcome
}
