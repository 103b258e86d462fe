//! The guest's decision in all worlds up to a bound, compared with a second version of it
//! that was written only from the contract's text (`wit/context.wit`).
//!
//! A world is everything that the guest may ask, with the answers. The questions create
//! it: each one branches into all its answers. The second version must then ask the same
//! questions, in the same order, and decide the same: so the guest opens and reads nothing
//! that the contract does not want. No world within the bound is left out:
//!
//! - keys: well formed, empty, with a blank, of 128 and of 129 characters;
//! - no grant, or one for each of `NAMES` and so many bytes; a preopen or none;
//! - each call fails in each way, at each place;
//! - a file says that it has up to one byte more than it may have, and any or none of
//!   its times; at the second look, it says the same, or something else in one field;
//! - each read returns all that was asked for, less, nothing, or one byte too many.
//!
//! The guest makes a few attempts if the file changes. If each had all those answers, there
//! would be too many worlds. So there are two sorts: in one the file is at rest after the first
//! attempt; in the other each attempt has a few answers.

use crate::contract::contract;
use keyhole_guest::{Directory, File, Grant, LoadError, Stat, load};
use std::{cell::RefCell, collections::BTreeMap};

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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Question {
    Look,
    Open,
    Stat,
    /// With the number of bytes that are asked for, and the offset.
    Read(u64, u64),
}

/// How many answers there are to a question.
enum Menu {
    All,
    Few,
    One,
}

struct World {
    /// The granted name, and the largest file that is granted, in bytes.
    grant: Option<&'static str>,
    most: u64,
    /// Whether each attempt has a few answers; or the first has all.
    is_deep: bool,
    /// What a read can return, by the number of bytes that it asks for.
    texts: Vec<Vec<Vec<u8>>>,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    /// For each question in order: the choice, and the number of choices.
    choices: Vec<(usize, usize)>,
    asked: Vec<Question>,
    attempts: usize,
    /// What the file said of itself last, and whether that was in this attempt.
    last: Option<Stat>,
    has_looked: bool,
}

impl World {
    /// One of these answers or faults.
    fn answer<T: Clone>(
        &self,
        question: Question,
        answers: &[T],
        faults: &[LoadError],
    ) -> Result<T, LoadError> {
        let mut state = self.state.borrow_mut();
        let at = state.asked.len();
        state.asked.push(question);
        if at == state.choices.len() {
            state.choices.push((0, answers.len() + faults.len()));
        }
        let choice = state.choices[at].0;
        match answers.get(choice) {
            Some(answer) => Ok(answer.clone()),
            None => Err(faults[choice - answers.len()]),
        }
    }

    /// The same world from the beginning. Returns what was asked in it.
    fn rewind(&self) -> Vec<Question> {
        let choices = std::mem::take(&mut self.state.borrow_mut().choices);
        let next = State {
            choices,
            ..State::default()
        };
        self.state.replace(next).asked
    }

    /// The next world. False means that this was the last.
    fn turn(&self) -> bool {
        let choices = &mut self.state.borrow_mut().choices;
        while let Some((choice, options)) = choices.last_mut() {
            *choice += 1;
            if choice < options {
                return true;
            }
            choices.pop();
        }
        false
    }

    /// How many answers there are to the next question.
    fn menu(&self) -> Menu {
        match self.state.borrow().attempts {
            _ if self.is_deep => Menu::Few,
            1 => Menu::All,
            _ => Menu::One,
        }
    }
}

/// All texts of up to so many bytes, and one that is too long.
fn texts(want: u64) -> Vec<Vec<u8>> {
    let mut longest = vec![Vec::new()];
    let mut all = longest.clone();
    for _ in 0..want {
        let longer = |text: &Vec<u8>| b"ab".map(|byte| [&text[..], &[byte]].concat());
        longest = longest.iter().flat_map(longer).collect();
        all.extend(longest.clone());
    }
    all.push(vec![b'a'; want as usize + 1]);
    all
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

impl World {
    fn grant(&self) -> Option<Grant> {
        self.grant.map(|name| Grant {
            name: name.into(),
            max_bytes: self.most,
        })
    }
}

impl<'a> Directory for &'a World {
    type File = &'a World;

    fn is_regular(&self, _: &str) -> Result<bool, LoadError> {
        let mut state = self.state.borrow_mut();
        state.attempts += 1;
        state.has_looked = false;
        drop(state);
        match self.menu() {
            Menu::All => self.answer(Question::Look, &[true, false], &FAULTS),
            Menu::Few => self.answer(Question::Look, &[true, false], &[]),
            Menu::One => self.answer(Question::Look, &[true], &[]),
        }
    }

    fn open(&self, _: &str) -> Result<&'a World, LoadError> {
        let faults = match self.menu() {
            Menu::All => &FAULTS[..],
            Menu::Few => &FAULTS[4..5],
            Menu::One => &[],
        };
        self.answer(Question::Open, &[*self], faults)
    }
}

impl File for &World {
    fn stat(&self) -> Result<Stat, LoadError> {
        let mut state = self.state.borrow_mut();
        let is_first = !std::mem::replace(&mut state.has_looked, true);
        let last = state.last;
        drop(state);
        let mut answers = match last.filter(|_| !is_first) {
            None => first_stats(self.most),
            Some(last) => next_stats(last),
        };
        let faults = match self.menu() {
            Menu::All => &FAULTS[..],
            Menu::Few => {
                let has_times = |stat: &Stat| stat.modified.is_some() && stat.changed.is_some();
                let few = |stat: &Stat| !stat.regular || stat.size >= self.most && has_times(stat);
                answers.retain(|stat| !is_first || few(stat));
                &FAULTS[5..]
            }
            Menu::One => {
                answers = last.into_iter().collect();
                &[]
            }
        };
        let stat = self.answer(Question::Stat, &answers, faults)?;
        self.state.borrow_mut().last = Some(stat);
        Ok(stat)
    }

    fn read(&self, want: u64, from: u64) -> Result<Vec<u8>, LoadError> {
        let question = Question::Read(want, from);
        let all = vec![b'a'; want as usize - 1];
        match self.menu() {
            Menu::All => self.answer(question, &self.texts[want as usize], &FAULTS),
            Menu::Few if want == 1 => self.answer(question, &[all], &FAULTS[5..]),
            Menu::Few => self.answer(question, &[all, Vec::new()], &FAULTS[5..]),
            Menu::One => self.answer(question, &[all], &[]),
        }
    }
}

/// What was decided in all worlds.
#[derive(Debug, Default)]
pub struct Decided {
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
    for (index, key) in keys.into_iter().enumerate() {
        for grant in std::iter::once(None).chain(NAMES.map(Some)) {
            for preopen in [false, true] {
                // What follows is the same for any other good key and name.
                if index > 0 && key.1 && grant == Some(NAMES[0]) && preopen {
                    continue;
                }
                for is_deep in [false, true] {
                    let world = World {
                        grant,
                        most,
                        is_deep,
                        texts: (0..=most + 1).map(texts).collect(),
                        state: RefCell::default(),
                    };
                    decide_in(&mut decided, &world, key, preopen);
                }
            }
        }
    }
    decided
}

fn decide_in(decided: &mut Decided, world: &World, key: (&str, bool), preopen: bool) {
    while decided.differs.is_none() {
        let directory = preopen.then_some(&world);
        let found = load(key.0, |_| world.grant(), directory);
        let asked = world.rewind();
        let expected = contract(key.1, world.grant(), directory);
        let should_ask = world.rewind();
        let end = expected
            .as_ref()
            .map_or_else(|error| error.name(), |_| "served");
        *decided.ends.entry(end).or_default() += 1;
        if (&found, &asked) != (&expected, &should_ask) {
            let (grant, choices) = (world.grant, &world.state.borrow().choices);
            decided.differs = Some(format!(
                "{key:?} {grant:?} {preopen} {choices:?}: {asked:?} and {found:?}, and the contract says {should_ask:?} and {expected:?}",
            ));
        }
        if !world.turn() {
            return;
        }
    }
}
