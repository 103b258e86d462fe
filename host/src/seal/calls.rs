//! The filter of system calls, made from the [`list`](super::list).
//!
//! It is a program that the kernel runs before each call, except for calls that the
//! kernel has found to be allowed with any arguments. The program searches for the
//! call's number in a tree. The kernel checks and compiles the program, and tries all
//! numbers, when the filter is installed, and each start waits for that. So the program
//! is short: numbers that follow each other and have the same answer are one leaf of the
//! tree, and each answer stands in it once or twice.

use super::{
    Reach, SealError,
    list::{ABSENT, CALLS, Call, LOADING, Test},
};
use seccompiler::{BpfProgram, sock_filter};
use std::env::consts::ARCH;

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;

/// The answer to a call that is not on the list.
const REFUSE: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;

/// The answer to a call that does not exist for the process.
const NO_SUCH_CALL: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;

// Offsets in `seccomp_data`.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;

/// What decides on a call.
#[derive(Clone, Copy)]
enum Rule {
    /// It always gets this answer.
    Always(u32),
    /// It is allowed if all tests of one of these lists hold.
    If(&'static [&'static [Test]]),
}

/// What decides on each call, by the call's number. The first one for a number counts.
type Rules = Vec<(u32, Rule)>;

/// Allows the calls of the list and, until the sandbox is loaded, also those that
/// loading needs. A call by another architecture's convention, such as `int 0x80`, ends
/// the process. A call by the x32 convention has a number that is not on the list.
pub(super) fn filter(reach: Reach, loading: bool) -> Result<BpfProgram, SealError> {
    let mut rules = Rules::with_capacity(CALLS.len() + LOADING.len() + ABSENT.len());
    for call in LOADING.iter().filter(|_| loading) {
        rules.push((number(call.number)?, rule(call)));
    }
    for call in CALLS.iter().filter(|call| call.within.contains(&reach)) {
        rules.push((number(call.number)?, rule(call)));
    }
    for absent in &ABSENT {
        rules.push((number(absent.number)?, Rule::Always(NO_SUCH_CALL)));
    }
    program(rules, REFUSE)
}

/// Refuses the calls that only loading the sandbox needs, and leaves all others to
/// the filter that is already installed.
pub(super) fn filter_when_loaded(reach: Reach) -> Result<BpfProgram, SealError> {
    let mut rules = Rules::new();
    for loading in LOADING {
        let lasting = CALLS
            .iter()
            .find(|call| call.number == loading.number && call.within.contains(&reach));
        let rule = lasting.map_or(Rule::Always(REFUSE), rule);
        rules.push((number(loading.number)?, rule));
    }
    program(rules, ALLOW)
}

fn rule(call: &Call) -> Rule {
    match call.tests {
        [] => Rule::Always(ALLOW),
        tests => Rule::If(tests),
    }
}

fn program(mut rules: Rules, otherwise: u32) -> Result<BpfProgram, SealError> {
    // From `linux/audit.h`: the machine's number, 64 bits, little endian.
    let architecture = match ARCH {
        "x86_64" => 0xc000_003e,
        "aarch64" => 0xc000_00b7,
        _ => return Err(SealError::Seccomp("no list for this processor".into())),
    };
    rules.sort_by_key(|(number, _)| *number);
    rules.dedup_by_key(|(number, _)| *number);
    let mut program = Backwards(Vec::with_capacity(256));
    let search = program.search(&leaves(&rules, otherwise));
    // The tree begins with its first instruction, so this one runs into it.
    debug_assert_eq!(search.0 + 1, program.0.len());
    let begin = program.push(load(NUMBER));
    let end = program.answer(libc::SECCOMP_RET_KILL_PROCESS);
    program.compare(libc::BPF_JEQ, architecture, begin, end);
    program.push(load(ARCHITECTURE));
    program.0.reverse();
    Ok(program.0)
}

/// The first number of each leaf, and what decides on all numbers from there to the next
/// leaf. The first leaf begins at 0.
fn leaves(rules: &[(u32, Rule)], otherwise: u32) -> Vec<(u32, Rule)> {
    let mut leaves: Vec<(u32, Rule)> = Vec::with_capacity(2 * rules.len() + 1);
    let mut add = |first, rule| match (leaves.last(), rule) {
        (Some((_, Rule::Always(before))), Rule::Always(answer)) if *before == answer => {}
        _ => leaves.push((first, rule)),
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
    fn search(&mut self, leaves: &[(u32, Rule)]) -> Place {
        let (lower, upper) = leaves.split_at(leaves.len() / 2);
        match (lower, upper) {
            ([], [(_, Rule::Always(answer)), ..]) => self.answer(*answer),
            ([], [(_, Rule::If(tests)), ..]) => self.decide(tests),
            (_, [(first, _), ..]) => {
                let upper = self.search(upper);
                let lower = self.search(lower);
                self.compare(libc::BPF_JGE, *first, upper, lower)
            }
            (_, []) => self.answer(REFUSE),
        }
    }

    /// Decides on a call by its arguments.
    fn decide(&mut self, lists: &[&[Test]]) -> Place {
        let mut not = self.answer(REFUSE);
        for tests in lists.iter().rev() {
            let mut held = self.answer(ALLOW);
            for test in tests.iter().rev() {
                held = self.test(test, held, not);
            }
            not = held;
        }
        not
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

fn number(call: i64) -> Result<u32, SealError> {
    u32::try_from(call).map_err(|error| SealError::Seccomp(error.into()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

    use super::{ALLOW, NO_SUCH_CALL, REFUSE, filter, filter_when_loaded, leaves, number, rule};
    use crate::seal::{
        Reach,
        list::{ABSENT, CALLS, Call, LOADING, Test},
    };
    use seccompiler::sock_filter;
    use std::collections::BTreeMap;

    const REACHES: [Reach; 3] = [Reach::Reading, Reach::Tickets, Reach::Sealed];

    /// What the program answers to this call, as the kernel would run it.
    fn answered(program: &[sock_filter], call: u32, arguments: [u64; 6]) -> u32 {
        let architecture = match std::env::consts::ARCH {
            "x86_64" => 0xc000_003e,
            _ => 0xc000_00b7,
        };
        let word = |offset: u32| match offset {
            0 => call,
            4 => architecture,
            _ => {
                let argument = arguments[(offset as usize - 16) / 8];
                if offset.is_multiple_of(8) {
                    argument as u32
                } else {
                    (argument >> 32) as u32
                }
            }
        };
        let (mut at, mut loaded) = (0, 0);
        loop {
            let now = &program[at];
            at += 1;
            let code = u32::from(now.code);
            let skip = |held| usize::from(if held { now.jt } else { now.jf });
            match code & 7 {
                0 => loaded = word(now.k),
                6 => return now.k,
                5 => {
                    at += match code & 0xf0 {
                        libc::BPF_JA => now.k as usize,
                        libc::BPF_JEQ => skip(loaded == now.k),
                        libc::BPF_JGT => skip(loaded > now.k),
                        libc::BPF_JGE => skip(loaded >= now.k),
                        libc::BPF_JSET => skip(loaded & now.k != 0),
                        other => panic!("{other:#x}"),
                    }
                }
                other => panic!("{other:#x}"),
            }
        }
    }

    /// Whether the test holds, read from the list and not from the program.
    fn holds(test: &Test, arguments: [u64; 6]) -> bool {
        let short = |at: &u8| arguments[usize::from(*at)] as u32;
        match test {
            Test::Is(at, with) => short(at) == *with,
            Test::IsLong(at, with) => arguments[usize::from(*at)] == *with,
            Test::AtMost(at, with) => short(at) <= *with,
            Test::Without(at, bits) => short(at) & bits == 0,
            Test::Own(at) => short(at) == std::process::id(),
        }
    }

    fn expected(call: &Call, arguments: [u64; 6]) -> u32 {
        let all = |tests: &&[Test]| tests.iter().all(|test| holds(test, arguments));
        match call.tests.is_empty() || call.tests.iter().any(all) {
            true => ALLOW,
            false => REFUSE,
        }
    }

    /// Numbers that stand in the list's tests, and some beside them.
    fn interesting(call: &Call) -> Vec<u64> {
        let mut all = vec![0, 1, 2, u64::MAX, 1 << 32, std::process::id().into()];
        for test in call.tests.iter().copied().flatten() {
            let number = match *test {
                Test::Is(_, number) | Test::AtMost(_, number) | Test::Without(_, number) => {
                    number.into()
                }
                Test::IsLong(_, number) => number,
                Test::Own(_) => continue,
            };
            all.extend([number, number + 1, number | 1 << 40, number << 32]);
            all.extend((0..32).map(|bit| number & (1 << bit)));
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Each call with arguments of which up to two are not 0.
    fn tried(call: &Call) -> impl Iterator<Item = [u64; 6]> {
        let numbers = interesting(call);
        let pairs = (0..6).flat_map(|one| (0..6).map(move |other| (one, other)));
        pairs.flat_map(move |(one, other)| {
            let numbers = numbers.clone();
            let seconds = numbers.clone();
            numbers.into_iter().flat_map(move |first| {
                let with = move |second| {
                    let mut arguments = [0; 6];
                    arguments[one] = first;
                    arguments[other] = second;
                    arguments
                };
                seconds.clone().into_iter().map(with).collect::<Vec<_>>()
            })
        })
    }

    #[test]
    fn each_call_is_answered_as_the_list_says_with_any_arguments() {
        for reach in REACHES {
            for loading in [false, true] {
                let program = filter(reach, loading).unwrap();
                let mut listed: BTreeMap<i64, &Call> = BTreeMap::new();
                for call in CALLS.iter().filter(|call| call.within.contains(&reach)) {
                    listed.insert(call.number, call);
                }
                for call in LOADING.iter().filter(|_| loading) {
                    listed.insert(call.number, call);
                }
                for number in (0..1000).chain([0x4000_0000, 0x4000_0001, u32::MAX.into()]) {
                    let answer = |arguments| answered(&program, number as u32, arguments);
                    if ABSENT.iter().any(|absent| absent.number == number) {
                        assert_eq!(answer([0; 6]), NO_SUCH_CALL);
                        continue;
                    }
                    let Some(call) = listed.get(&number) else {
                        assert_eq!(answer([0; 6]), REFUSE, "{number}");
                        continue;
                    };
                    for arguments in tried(call) {
                        let expected = expected(call, arguments);
                        assert_eq!(answer(arguments), expected, "{} {arguments:?}", call.name);
                    }
                }
            }
        }
    }

    #[test]
    fn the_second_filter_takes_back_what_loading_needed_and_nothing_else() {
        for reach in REACHES {
            let program = filter_when_loaded(reach).unwrap();
            for number in 0..1000 {
                let answer = |arguments| answered(&program, number as u32, arguments);
                if !LOADING.iter().any(|call| call.number == number) {
                    assert_eq!(answer([0; 6]), ALLOW, "{number}");
                    continue;
                }
                let lasting = |call: &&Call| call.number == number && call.within.contains(&reach);
                match CALLS.iter().find(lasting) {
                    None => assert_eq!(answer([0; 6]), REFUSE, "{number}"),
                    Some(call) => {
                        for arguments in tried(call) {
                            let expected = expected(call, arguments);
                            assert_eq!(answer(arguments), expected, "{} {arguments:?}", call.name);
                        }
                    }
                }
            }
        }
    }

    /// A start waits while the kernel checks and compiles it: an eighth of a microsecond
    /// for each instruction.
    #[test]
    fn the_filter_is_short() {
        for reach in REACHES {
            let length = filter(reach, true).unwrap().len();
            assert!(length <= 190, "{length}");
        }
        let length = filter_when_loaded(Reach::Reading).unwrap().len();
        assert!(length <= 20, "{length}");
    }

    #[test]
    fn numbers_that_follow_each_other_are_one_leaf() {
        let read = CALLS.iter().find(|call| call.name == "read").unwrap();
        let rules = [7, 8, 9].map(|number| (number, rule(read)));
        let leaves = leaves(&rules, REFUSE);
        let begin: Vec<_> = leaves.iter().map(|(first, _)| *first).collect();
        assert_eq!(begin, [0, 7, 10]);
        assert!(number(-1).is_err());
    }
}
