//! A filter as a program that the kernel runs before each system call, except for calls
//! that the kernel has found to be allowed with any arguments.
//!
//! The program searches for the call's number in a tree. The kernel checks and compiles
//! the program, and tries all numbers, when the filter is installed, and each start waits
//! for that. So the program is short: numbers that follow each other and have the same
//! answer are one run, a leaf of the tree is a run with a few single numbers in it, and
//! each answer stands in the program once or twice.

use super::{SealError, list::Test};
use seccompiler::{BpfProgram, sock_filter};
use std::env::consts::ARCH;

pub(super) const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;

/// The answer to a call that is not on the list.
pub(super) const REFUSE: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;

// Offsets in `seccomp_data`.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;

/// What decides on a call.
#[derive(Clone, Copy)]
pub(super) enum Rule {
    /// It always gets this answer.
    Always(u32),
    /// It is allowed if all tests of one of these lists hold.
    If(&'static [&'static [Test]]),
}

impl Rule {
    /// Whether both always have the same answer.
    fn is(&self, other: &Self) -> bool {
        matches!((self, other), (Self::Always(one), Self::Always(other)) if one == other)
    }
}

/// What decides on each call, by the call's number. The first one for a number counts.
pub(super) type Rules = Vec<(u32, Rule)>;

/// The program for these rules. A call with no rule gets the answer `otherwise`.
pub(super) fn program(mut rules: Rules, otherwise: u32) -> Result<BpfProgram, SealError> {
    // From `linux/audit.h`: the machine's number, 64 bits, little endian.
    let architecture = match ARCH {
        "x86_64" => 0xc000_003e,
        "aarch64" => 0xc000_00b7,
        _ => return Err(SealError::Seccomp("no list for this processor".into())),
    };
    rules.sort_by_key(|(number, _)| *number);
    rules.dedup_by_key(|(number, _)| *number);
    let mut program = Backwards(Vec::with_capacity(256));
    let search = program.search(&leaves(&runs(&rules, otherwise)));
    // The tree begins with its first instruction, so this one runs into it.
    debug_assert_eq!(search.0 + 1, program.0.len());
    let begin = program.push(load(NUMBER));
    let end = program.answer(libc::SECCOMP_RET_KILL_PROCESS);
    program.compare(libc::BPF_JEQ, architecture, begin, end);
    program.push(load(ARCHITECTURE));
    program.0.reverse();
    Ok(program.0)
}

/// The first number of each run, and what decides on all numbers from there to the next
/// run. The first run begins at 0.
pub(super) fn runs(rules: &[(u32, Rule)], otherwise: u32) -> Vec<(u32, Rule)> {
    let mut runs: Vec<(u32, Rule)> = Vec::with_capacity(2 * rules.len() + 1);
    let mut add = |first, rule| match (runs.last(), rule) {
        (Some((_, Rule::Always(before))), Rule::Always(answer)) if *before == answer => {}
        _ => runs.push((first, rule)),
    };
    let mut next = 0;
    for (number, rule) in rules {
        if next < *number {
            add(next, Rule::Always(otherwise));
        }
        add(*number, *rule);
        next = number + 1;
    }
    add(next, Rule::Always(otherwise));
    runs
}

/// A leaf of the tree: all numbers from one to the next leaf.
pub(super) struct Leaf<'a> {
    /// The first run begins the leaf.
    runs: &'a [(u32, Rule)],
    /// What decides on all numbers but the single ones.
    others: Rule,
}

/// The most numbers of a leaf that are compared one after the other. That takes one
/// comparison for each, and the tree takes two. But each other number of the leaf passes
/// all of these comparisons.
pub(super) const SINGLES: usize = 4;

impl Leaf<'_> {
    /// The first number.
    pub(super) fn first(&self) -> u32 {
        self.runs.first().map_or(0, |(first, _)| *first)
    }

    /// The numbers that are compared one after the other.
    pub(super) fn singles(&self) -> impl DoubleEndedIterator<Item = &(u32, Rule)> {
        self.runs.iter().filter(|(_, rule)| !rule.is(&self.others))
    }
}

/// The runs as leaves. The first leaf begins at 0.
pub(super) fn leaves(mut runs: &[(u32, Rule)]) -> Vec<Leaf<'_>> {
    let mut leaves = Vec::with_capacity(runs.len());
    while let Some((_, rule)) = runs.first() {
        let is_single = |at: usize| match (runs.get(at), runs.get(at + 1)) {
            (Some((first, _)), Some((next, _))) => first + 1 == *next,
            // The last run has no end.
            _ => false,
        };
        let mut all = runs.iter().enumerate();
        let long = all.find(|(at, _)| !is_single(*at));
        let others = long.map_or(*rule, |(_, (_, rule))| *rule);
        let mut singles = 0;
        let fits = |(at, (_, rule)): &(usize, &(u32, Rule))| {
            rule.is(&others) || {
                singles += 1;
                is_single(*at) && singles <= SINGLES
            }
        };
        let length = runs.iter().enumerate().take_while(fits).count();
        let (leaf, rest) = runs.split_at(length.max(1));
        leaves.push(Leaf { runs: leaf, others });
        runs = rest;
    }
    leaves
}

/// An instruction of a program that is written from its end to its beginning: how many
/// follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place(usize);

/// A program that is written from its end to its beginning: all that it jumps to is
/// there already. The last instruction comes first.
struct Backwards(BpfProgram);

impl Backwards {
    fn push(&mut self, instruction: sock_filter) -> Place {
        self.0.push(instruction);
        Place(self.0.len() - 1)
    }

    /// How many instructions the next one would skip to get there.
    fn over(&self, place: Place) -> usize {
        self.0.len() - place.0 - 1
    }

    /// An instruction from which one of the next two can get to `place`. A comparison
    /// cannot jump further than 255 instructions.
    fn near(&mut self, place: Place) -> Place {
        match self.over(place) {
            0..=253 => place,
            over => {
                let over = u32::try_from(over).unwrap_or(u32::MAX);
                self.push(instruction(libc::BPF_JMP | libc::BPF_JA, over, 0, 0))
            }
        }
    }

    /// The end of the program with this answer.
    fn answer(&mut self, answer: u32) -> Place {
        let wanted = instruction(libc::BPF_RET | libc::BPF_K, answer, 0, 0);
        let is_wanted = |instruction: &sock_filter| *instruction == wanted;
        // One that can be jumped to, with some room for what jumps there.
        let near = self.0.len().saturating_sub(200);
        let found = self.0.iter().skip(near).position(is_wanted);
        found.map_or_else(|| self.push(wanted), |found| Place(near + found))
    }

    /// Continues at `held` if the comparison holds, otherwise at `not`.
    fn compare(&mut self, compared: u32, with: u32, held: Place, not: Place) -> Place {
        let held = self.near(held);
        let not = self.near(not);
        let [held, not] = [held, not].map(|to| u8::try_from(self.over(to)).unwrap_or(u8::MAX));
        let code = libc::BPF_JMP | compared | libc::BPF_K;
        self.push(instruction(code, with, held, not))
    }

    /// Searches for the leaf with the call's number.
    fn search(&mut self, leaves: &[Leaf<'_>]) -> Place {
        let (lower, upper) = leaves.split_at(leaves.len() / 2);
        match (lower, upper) {
            ([], [leaf, ..]) => self.leaf(leaf),
            (_, [leaf, ..]) => {
                let upper = self.search(upper);
                let lower = self.search(lower);
                self.compare(libc::BPF_JGE, leaf.first(), upper, lower)
            }
            (_, []) => self.answer(REFUSE),
        }
    }

    /// Decides on the numbers of a leaf.
    fn leaf(&mut self, leaf: &Leaf<'_>) -> Place {
        // They stand behind the comparisons, which follow each other.
        let mut held = [None; SINGLES];
        for (held, (_, rule)) in held.iter_mut().zip(leaf.singles()) {
            *held = Some(self.rule(rule));
        }
        let mut not = self.rule(&leaf.others);
        let singles = leaf.singles().rev();
        for ((number, _), held) in singles.zip(held.into_iter().flatten().rev()) {
            not = self.compare(libc::BPF_JEQ, *number, held, not);
        }
        not
    }

    fn rule(&mut self, rule: &Rule) -> Place {
        match rule {
            Rule::Always(answer) => self.answer(*answer),
            Rule::If(tests) => self.decide(tests),
        }
    }

    /// Decides on a call by its arguments.
    fn decide(&mut self, lists: &[&[Test]]) -> Place {
        let mut not = self.answer(REFUSE);
        for tests in lists.iter().rev() {
            if let [test] = tests {
                not = self.without_load(not, test);
            }
            let mut held = self.answer(ALLOW);
            for test in tests.iter().rev() {
                held = self.test(test, held, not);
            }
            not = held;
        }
        not
    }

    /// The same place without the load that it begins with, if only `test` continues there
    /// and has already loaded it.
    fn without_load(&mut self, place: Place, test: &Test) -> Place {
        let loaded = match *test {
            Test::Is(argument, _)
            | Test::Own(argument)
            | Test::AtMost(argument, _)
            | Test::Without(argument, _) => load(half(argument)),
            // It may continue there after each half.
            Test::IsLong(..) => return place,
        };
        match self.0.last() {
            Some(last) if self.over(place) == 0 && *last == loaded => {
                self.0.pop();
                Place(place.0 - 1)
            }
            _ => place,
        }
    }

    /// Continues at `held` if the test holds, otherwise at `not`.
    fn test(&mut self, test: &Test, held: Place, not: Place) -> Place {
        let (argument, compared, with, is) = match *test {
            Test::Is(argument, number) => (argument, libc::BPF_JEQ, number, true),
            Test::Own(argument) => (argument, libc::BPF_JEQ, std::process::id(), true),
            Test::AtMost(argument, number) => (argument, libc::BPF_JGT, number, false),
            Test::Without(argument, bits) => (argument, libc::BPF_JSET, bits, false),
            Test::IsLong(argument, number) => {
                let (upper, lower) = ((number >> 32) as u32, number as u32);
                let held = self.test(&Test::Is(argument, lower), held, not);
                return self.look(half(argument) + 4, libc::BPF_JEQ, upper, held, not);
            }
        };
        let (held, not) = if is { (held, not) } else { (not, held) };
        self.look(half(argument), compared, with, held, not)
    }

    /// Loads a part of the call and compares it.
    fn look(&mut self, from: u32, compared: u32, with: u32, held: Place, not: Place) -> Place {
        // Whatever begins with the same load need not load it again.
        let load = load(from);
        let loaded = |place: Place| match self.0.get(place.0) {
            Some(begin) if *begin == load => Place(place.0 - 1),
            _ => place,
        };
        let (held, not) = (loaded(held), loaded(not));
        self.compare(compared, with, held, not);
        self.push(load)
    }
}

/// The offset of an argument's lower half. Both architectures are little endian.
fn half(argument: u8) -> u32 {
    ARGUMENTS + 8 * u32::from(argument)
}

fn load(from: u32) -> sock_filter {
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, from, 0, 0)
}

fn instruction(code: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    }
}
