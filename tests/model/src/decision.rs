//! The guest's decision in all worlds up to a bound, compared with a second version of it
//! that was written only from the contract's text (`wit/context.wit`).
//!
//! A world is everything that the guest may ask, with the answers. The questions create
//! it: each one branches into all its answers, first for the guest, then for whatever
//! else the second version asks. So no two worlds are the same for both versions, and
//! no world within the bound is left out:
//!
//! - keys: well formed, empty, with a blank, of 128 and of 129 characters;
//! - no grant, or one for each of `NAMES` and so many bytes; a preopen or none;
//! - each call fails in each way, at each place;
//! - a file says that it has up to one byte more than it may have, and any or none of
//!   its times; at the second look, it says the same, or something else in one field;
//! - each read returns all that was asked for, less, nothing, or one byte too many.
//!
//! The guest reads a file that changes a few times. If each of these attempts had all those
//! answers, there would be too many worlds. So there are two sorts: in one the file is at
//! rest after the first attempt; in the other each attempt has a few answers.

use crate::contract::contract;
use keyhole_guest::{Directory, File, Grant, Grants, LoadError, Stat, load};
use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
};

/// Names that a grant may have: two good ones, and one for each way to be bad.
const NAMES: [&str; 12] = [
    "a.md", "..md.md", ".md", "a.txt", "a.MD", "a.md ", "", ".", "..", "a/b.md", "a\\b.md",
    "a\0.md",
];

/// What the file system may answer instead.
const FAULTS: [LoadError; 6] = [
    LoadError::NotFound,
    LoadError::PermissionDenied,
    LoadError::OutsideRoot,
    LoadError::NotAFile,
    LoadError::Changed,
    LoadError::Internal,
];

/// The result of a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    Bytes(Vec<u8>),
    TooMuch,
}

/// How many answers there are to a question about an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Menu {
    All,
    Few,
    /// The file is at rest.
    One,
}

/// The answers that were given in this world, and the choices that led to them.
pub(crate) struct Oracle {
    /// The largest file that is granted, in bytes.
    pub(crate) most: u64,
    /// Whether each attempt has a few answers; or the first has all.
    is_deep: bool,
    /// What a read can return, by the number of bytes that it asks for.
    texts: Vec<Vec<Read>>,
    /// In order: the choice, and the number of choices.
    choices: Vec<(usize, usize)>,
    made: usize,
    look: Option<Result<bool, LoadError>>,
    open: Option<Result<(), LoadError>>,
    stats: Vec<Result<Stat, LoadError>>,
    /// With the number of bytes that were asked for, and the offset.
    reads: Vec<((u64, u64), Result<Read, LoadError>)>,
}

impl Oracle {
    fn new(most: u64, is_deep: bool) -> Self {
        // All texts of up to as many bytes as are asked for.
        let mut texts = vec![vec![Read::TooMuch]];
        let mut longest = vec![vec![]];
        for _ in 0..=most + 1 {
            let mut reads = texts.last().cloned().unwrap_or_default();
            reads.extend(longest.iter().cloned().map(Read::Bytes));
            texts.push(reads);
            let longer = |text: &Vec<u8>| b"ab".map(|byte| [&text[..], &[byte]].concat());
            longest = longest.iter().flat_map(longer).collect();
        }
        Self {
            most,
            is_deep,
            texts,
            choices: Vec::new(),
            made: 0,
            look: None,
            open: None,
            stats: Vec::new(),
            reads: Vec::new(),
        }
    }

    /// One of these answers or faults.
    fn choose<T: Clone>(&mut self, answers: &[T], faults: &[LoadError]) -> Result<T, LoadError> {
        if self.made == self.choices.len() {
            self.choices.push((0, answers.len() + faults.len()));
        }
        let choice = self.choices[self.made].0;
        self.made += 1;
        match answers.get(choice) {
            Some(answer) => Ok(answer.clone()),
            None => Err(faults[choice - answers.len()]),
        }
    }

    /// The next world. False means that this was the last.
    fn turn(&mut self) -> bool {
        (self.made, self.look, self.open) = (0, None, None);
        self.stats.clear();
        self.reads.clear();
        while let Some((choice, options)) = self.choices.last_mut() {
            *choice += 1;
            if choice < options {
                return true;
            }
            self.choices.pop();
        }
        false
    }

    /// How many answers there are to the next question about the open file.
    fn menu(&self) -> Menu {
        let is_second_reading = self.stats.len() == 2 && self.stats[0] == self.stats[1];
        match self.is_deep {
            true => Menu::Few,
            false if self.stats.len() < 2 || is_second_reading => Menu::All,
            false => Menu::One,
        }
    }

    pub(crate) fn look(&mut self) -> Result<bool, LoadError> {
        let known = self.look;
        let look = known.unwrap_or_else(|| self.choose(&[true, false], &FAULTS));
        *self.look.insert(look)
    }

    pub(crate) fn open(&mut self) -> Result<(), LoadError> {
        let known = self.open;
        let open = known.unwrap_or_else(|| self.choose(&[()], &FAULTS));
        *self.open.insert(open)
    }

    pub(crate) fn stat(&mut self, index: usize) -> Result<Stat, LoadError> {
        if index == self.stats.len() {
            let mut answers = match self.stats.last() {
                None => first_stats(self.most),
                Some(last) => next_stats((*last)?),
            };
            let faults = match self.menu() {
                Menu::All => &FAULTS[..],
                Menu::Few if index == 0 => {
                    answers.retain(|stat| stat.regular && stat.size == self.most);
                    &[]
                }
                Menu::Few => &FAULTS[5..],
                Menu::One => {
                    answers.truncate(1);
                    &[]
                }
            };
            let answer = self.choose(&answers, faults);
            self.stats.push(answer);
        }
        self.stats[index]
    }

    pub(crate) fn read(&mut self, index: usize, want: u64, from: u64) -> Result<Read, LoadError> {
        if index == self.reads.len() {
            let all = |byte| Read::Bytes(vec![byte; want as usize - 1]);
            let none = Read::Bytes(Vec::new());
            let answer = match self.menu() {
                Menu::All => {
                    let texts = self.texts[want as usize + 1].clone();
                    self.choose(&texts, &FAULTS)
                }
                Menu::Few if want == 1 => self.choose(&[none], &FAULTS[5..]),
                Menu::Few => self.choose(&[all(b'a'), all(b'b'), none], &FAULTS[5..]),
                Menu::One => Ok(all(b'a')),
            };
            self.reads.push(((want, from), answer));
        }
        let (asked, answer) = self.reads[index].clone();
        assert_eq!(asked, (want, from), "they ask for different bytes");
        answer
    }
}

/// What a file may report first.
fn first_stats(most: u64) -> Vec<Stat> {
    let stat = |size, times| Stat {
        regular: true,
        size,
        modified: (times & 1 != 0).then_some((7, 7)),
        changed: (times & 2 != 0).then_some((8, 8)),
    };
    let sizes = (0..=most + 1).flat_map(|size| (0..4).map(move |times| (size, times)));
    let mut stats: Vec<_> = sizes.map(|(size, times)| stat(size, times)).collect();
    stats.push(Stat {
        regular: false,
        ..stats[0]
    });
    stats
}

/// The same report, and each that differs in one field.
fn next_stats(last: Stat) -> Vec<Stat> {
    let other = |time: Option<_>| match time {
        None => Some((9, 9)),
        Some((seconds, nanoseconds)) => Some((seconds, nanoseconds + 1)),
    };
    let mut stats = vec![last; 5];
    stats[1].size += 1;
    stats[2].size = last.size.saturating_sub(1);
    stats[3].modified = other(last.modified);
    stats[4].changed = other(last.changed);
    stats
}

/// The world as the guest sees it.
struct World<'a> {
    oracle: &'a RefCell<Oracle>,
    grant: Option<&'static str>,
}

impl Grants for World<'_> {
    fn find(&self, _: &str) -> Option<Grant> {
        self.grant.map(|name| Grant {
            name: name.into(),
            max_bytes: self.oracle.borrow().most,
        })
    }
}

impl<'a> Directory for World<'a> {
    type File = Opened<'a>;

    fn is_regular(&self, _: &str) -> Result<bool, LoadError> {
        self.oracle.borrow_mut().look()
    }

    fn open(&self, _: &str) -> Result<Opened<'a>, LoadError> {
        self.oracle.borrow_mut().open()?;
        Ok(Opened {
            oracle: self.oracle,
            asked: Cell::default(),
        })
    }
}

struct Opened<'a> {
    oracle: &'a RefCell<Oracle>,
    /// How many looks and reads there were.
    asked: Cell<(usize, usize)>,
}

impl File for Opened<'_> {
    fn stat(&self) -> Result<Stat, LoadError> {
        let (stats, reads) = self.asked.get();
        self.asked.set((stats + 1, reads));
        self.oracle.borrow_mut().stat(stats)
    }

    fn read(&self, len: u64, offset: u64) -> Result<Vec<u8>, LoadError> {
        let (stats, reads) = self.asked.get();
        self.asked.set((stats, reads + 1));
        match self.oracle.borrow_mut().read(reads, len, offset)? {
            Read::Bytes(bytes) => Ok(bytes),
            Read::TooMuch => Ok(vec![b'a'; len as usize + 1]),
        }
    }
}

/// What was decided in all worlds.
#[derive(Debug, Default)]
pub struct Decided {
    /// How many there are.
    pub worlds: usize,
    /// How many of them end in each case, by its name; `served` is one.
    pub ends: BTreeMap<&'static str, usize>,
    /// That in which guest and contract differ.
    pub differs: Option<String>,
}

/// Decides in all worlds with files of at most `most` bytes, until guest and contract
/// differ.
pub fn decide(most: u64) -> Decided {
    let (longest, too_long) = ("k".repeat(128), "k".repeat(129));
    let keys = [
        ("k", true),
        (&*longest, true),
        ("", false),
        ("k k", false),
        (&*too_long, false),
    ];
    let mut decided = Decided::default();
    for (index, (key, good)) in keys.into_iter().enumerate() {
        for grant in std::iter::once(None).chain(NAMES.map(Some)) {
            for preopen in [false, true] {
                // What follows is the same for any other good key and name.
                if index > 0 && good && grant == Some(NAMES[0]) && preopen {
                    continue;
                }
                for is_deep in [false, true] {
                    if decided.differs.is_some() {
                        return decided;
                    }
                    let oracle = RefCell::new(Oracle::new(most, is_deep));
                    decide_in(&mut decided, &oracle, (key, good), grant, preopen);
                }
            }
        }
    }
    decided
}

fn decide_in(
    decided: &mut Decided,
    oracle: &RefCell<Oracle>,
    key: (&str, bool),
    grant: Option<&'static str>,
    preopen: bool,
) {
    loop {
        let world = World { oracle, grant };
        let found = load(key.0, &world, preopen.then_some(&world));
        let expected = contract(&mut oracle.borrow_mut(), key.1, grant, preopen);
        decided.worlds += 1;
        let end = expected
            .as_ref()
            .map_or_else(|error| error.name(), |_| "served");
        *decided.ends.entry(end).or_default() += 1;
        if found != expected {
            let oracle = oracle.borrow();
            decided.differs = Some(format!(
                "{key:?} {grant:?} {preopen} {:?} {:?} {:?}: {found:?}, and the contract says {expected:?}",
                oracle.stats, oracle.reads, oracle.choices
            ));
        }
        if decided.differs.is_some() || !oracle.borrow_mut().turn() {
            return;
        }
    }
}
