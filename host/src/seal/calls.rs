//! The filter of system calls, made from the [`list`](super::list): what decides on each
//! call. [`program`](super::program) makes of it what the kernel runs.

use super::{
    Reach, SealError,
    list::{ABSENT, CALLS, Call, LOADING},
    program::{ALLOW, REFUSE, Rule, Rules, program},
};
use seccompiler::BpfProgram;

/// The answer to a call that does not exist for the process.
const NO_SUCH_CALL: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;

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

fn number(call: i64) -> Result<u32, SealError> {
    u32::try_from(call).map_err(|error| SealError::Seccomp(error.into()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

    use super::{ALLOW, NO_SUCH_CALL, REFUSE, filter, filter_when_loaded, number, rule};
    use crate::seal::{
        Reach,
        list::{ABSENT, CALLS, Call, LOADING, Test},
        program::{SINGLES, leaves, runs},
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

    /// A start waits while the kernel checks and compiles it: the longer it is, the longer.
    #[test]
    fn the_filter_is_short() {
        for reach in REACHES {
            let length = filter(reach, true).unwrap().len();
            assert!(length <= 135, "{length}");
        }
        let length = filter_when_loaded(Reach::Reading).unwrap().len();
        assert!(length <= 14, "{length}");
    }

    #[test]
    fn numbers_that_follow_each_other_are_one_run() {
        let read = CALLS.iter().find(|call| call.name == "read").unwrap();
        let rules = [7, 8, 9].map(|number| (number, rule(read)));
        let runs = runs(&rules, REFUSE);
        let begin: Vec<_> = runs.iter().map(|(first, _)| *first).collect();
        assert_eq!(begin, [0, 7, 10]);
        assert!(number(-1).is_err());
    }

    #[test]
    fn a_leaf_is_a_long_run_and_a_few_single_numbers() {
        let read = CALLS.iter().find(|call| call.name == "read").unwrap();
        let odd: Vec<_> = (1..=9).step_by(2).collect();
        let all = odd.iter().copied().chain(20..30);
        let rules: Vec<_> = all.map(|number| (number, rule(read))).collect();
        let runs = runs(&rules, REFUSE);
        let leaves = leaves(&runs);
        let found: Vec<_> = leaves
            .iter()
            .map(|leaf| {
                let singles = leaf.singles().map(|(number, _)| *number);
                (leaf.first(), singles.collect::<Vec<_>>())
            })
            .collect();
        assert_eq!(
            found,
            [
                (0, odd[..SINGLES].to_vec()),
                (9, vec![9]),
                (20, vec![]),
                (30, vec![]),
            ]
        );
    }
}
