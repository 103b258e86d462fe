//! The guest's decision in all worlds up to a bound, compared with a second version of it
//! that was written only from the contract's text (`wit/context.wit`).
//!
//! A world is everything that the guest may ask, with the answers. The questions create
//! it: each one branches into all its answers, first for the guest, then for whatever
//! else the second version asks. So no two worlds are the same for both versions, and
//! no world within the bound is left out:
//!
//! - keys: well formed, empty, with a blank, of 128 and of 129 characters;
//! - no grant, or one for each of [`NAMES`] and so many bytes; a preopen or none;
//! - each call fails in each way, at each place;
//! - a file says that it has up to one byte more than it may have, and any or none of
//!   its times; at the second look, it says the same, or something else in one field;
//! - each read returns all that was asked for, less, nothing, or one byte too many, of
//!   bytes that are text, half a character, or its other half.

use crate::contract::contract;
use keyhole_guest::{Directory, Fault, File, Grant, Grants, Stat, load};
use std::{cell::RefCell, collections::BTreeMap};

/// Names that a grant may have: two good ones, and one for each way to be bad.
pub const NAMES: [&str; 12] = [
    "a.md", "..md.md", ".md", "a.txt", "a.MD", "a.md ", "", ".", "..", "a/b.md", "a\\b.md",
    "a\0.md",
];

const FAULTS: [Fault; 6] = [
    Fault::Missing,
    Fault::Denied,
    Fault::Escapes,
    Fault::NotAFile,
    Fault::Unsettled,
    Fault::Other,
];

/// A question to a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Question {
    Look,
    Open,
    Stat(usize),
    Read(usize),
}

/// The result of a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    Bytes(Vec<u8>),
    TooMuch,
}

/// Answers that were given in this world, and the choices that led to them.
pub(crate) struct Oracle {
    /// The largest file that is granted, in bytes.
    pub(crate) most: u64,
    /// What a read can return, by the number of bytes that it asks for.
    texts: Vec<Vec<Read>>,
    /// For each question, in order: the choice, and the number of choices.
    choices: Vec<(usize, usize)>,
    asked: BTreeMap<Question, usize>,
    stats: usize,
    reads: usize,
}

impl Oracle {
    fn new(most: u64) -> Self {
        // All texts of up to as many bytes as are asked for.
        let mut texts = vec![vec![Read::TooMuch]];
        let mut longest = vec![vec![]];
        for _ in 0..=most + 1 {
            let mut reads = texts.last().cloned().unwrap_or_default();
            reads.extend(longest.iter().cloned().map(Read::Bytes));
            texts.push(reads);
            let longer = |text: &Vec<u8>| b"a\xc3\xa9".map(|byte| [&text[..], &[byte]].concat());
            longest = longest.iter().flat_map(longer).collect();
        }
        Self {
            most,
            texts,
            choices: Vec::new(),
            asked: BTreeMap::new(),
            stats: 0,
            reads: 0,
        }
    }

    fn answer(&mut self, question: Question, options: usize) -> usize {
        let next = self.asked.len();
        let index = *self.asked.entry(question).or_insert(next);
        if index == self.choices.len() {
            self.choices.push((0, options));
        }
        self.choices[index].0
    }

    pub(crate) fn fail<T: Clone>(&mut self, question: Question, answers: &[T]) -> Result<T, Fault> {
        let choice = self.answer(question, answers.len() + FAULTS.len());
        pick(choice, answers)
    }

    /// The next world. False means that this was the last.
    fn turn(&mut self) -> bool {
        (self.stats, self.reads) = (0, 0);
        self.asked.clear();
        while let Some((choice, options)) = self.choices.last_mut() {
            *choice += 1;
            if choice < options {
                return true;
            }
            self.choices.pop();
        }
        false
    }

    pub(crate) fn stat(&mut self, index: usize) -> Result<Stat, Fault> {
        let mut stats = Vec::new();
        if index == 0 {
            for size in 0..=self.most + 1 {
                for times in 0..4 {
                    stats.push(Stat {
                        regular: true,
                        size,
                        modified: (times & 1 != 0).then_some((7, 7)),
                        changed: (times & 2 != 0).then_some((8, 8)),
                    });
                }
            }
            stats.push(Stat {
                regular: false,
                ..stats[0]
            });
        } else {
            // The same answer, and each one that differs in one field.
            let first = self.stat(0)?;
            let other = |time: Option<_>| match time {
                None => Some((9, 9)),
                Some((seconds, nanoseconds)) => Some((seconds, nanoseconds + 1)),
            };
            stats.push(first);
            stats.push(Stat {
                size: first.size + 1,
                ..first
            });
            stats.push(Stat {
                size: first.size.saturating_sub(1),
                ..first
            });
            stats.push(Stat {
                modified: other(first.modified),
                ..first
            });
            stats.push(Stat {
                changed: other(first.changed),
                ..first
            });
        }
        self.fail(Question::Stat(index), &stats)
    }

    pub(crate) fn read(&mut self, index: usize, want: u64) -> Result<Read, Fault> {
        let options = self.texts[want as usize + 1].len() + FAULTS.len();
        let choice = self.answer(Question::Read(index), options);
        pick(choice, &self.texts[want as usize + 1])
    }
}

fn pick<T: Clone>(choice: usize, answers: &[T]) -> Result<T, Fault> {
    match answers.get(choice) {
        Some(answer) => Ok(answer.clone()),
        None => Err(FAULTS[choice - answers.len()]),
    }
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

    fn is_regular(&self, _: &str) -> Result<bool, Fault> {
        self.oracle
            .borrow_mut()
            .fail(Question::Look, &[true, false])
    }

    fn open(&self, _: &str) -> Result<Opened<'a>, Fault> {
        self.oracle.borrow_mut().fail(Question::Open, &[()])?;
        Ok(Opened(self.oracle))
    }
}

struct Opened<'a>(&'a RefCell<Oracle>);

impl File for Opened<'_> {
    fn stat(&self) -> Result<Stat, Fault> {
        let oracle = &mut *self.0.borrow_mut();
        oracle.stats += 1;
        oracle.stat(oracle.stats - 1)
    }

    fn read(&self, len: u64, _: u64) -> Result<Vec<u8>, Fault> {
        let oracle = &mut *self.0.borrow_mut();
        oracle.reads += 1;
        match oracle.read(oracle.reads - 1, len)? {
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
    /// The first in which guest and contract differ.
    pub differs: Option<String>,
}

/// Decides in all worlds with files of at most `most` bytes.
#[must_use]
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
                let oracle = RefCell::new(Oracle::new(most));
                decide_in(&mut decided, &oracle, (key, good), grant, preopen);
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
        let found = load(key.0, &world, preopen.then_some(&world)).map(String::into_bytes);
        let expected = contract(&mut oracle.borrow_mut(), key.1, grant, preopen);
        decided.worlds += 1;
        let end = expected
            .as_ref()
            .map_or_else(|error| error.name(), |_| "served");
        *decided.ends.entry(end).or_default() += 1;
        if found != expected && decided.differs.is_none() {
            let oracle = oracle.borrow();
            decided.differs = Some(format!(
                "{key:?} {grant:?} {preopen} {:?} {:?}: {found:?}, and the contract says {expected:?}",
                oracle.asked, oracle.choices
            ));
        }
        if !oracle.borrow_mut().turn() {
            return;
        }
    }
}
