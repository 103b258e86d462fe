//! What the filter answers, as the kernel would run it.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests"
)]

use super::filter;
use crate::{
    Rights,
    list::{CALLS, Call, Test},
};
use seccompiler::sock_filter;

const ALL: [Rights; 3] = [Rights::Read, Rights::Tickets, Rights::Sealed];

const ALLOWED: u32 = libc::SECCOMP_RET_ALLOW;
const REFUSED: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;

/// From `linux/audit.h`.
const ARCHITECTURE: u32 = if cfg!(target_arch = "x86_64") {
    0xc000_003e
} else {
    0xc000_00b7
};

/// What the filter answers to this call. It has the layout of `struct seccomp_data`.
fn runs(program: &[sock_filter], architecture: u32, call: u32, arguments: [u64; 6]) -> u32 {
    let word = |offset: u32| match offset {
        0 => call,
        4 => architecture,
        _ => {
            let argument = arguments[(offset as usize - 16) / 8];
            match offset.is_multiple_of(8) {
                true => argument as u32,
                false => (argument >> 32) as u32,
            }
        }
    };
    let (mut at, mut loaded) = (0, 0);
    loop {
        let now = &program[at];
        at += 1;
        let code = u32::from(now.code);
        let skip = |held| usize::from(if held { now.jt } else { now.jf });
        match (code & 7, code & 0xf0) {
            (libc::BPF_LD, _) => loaded = word(now.k),
            (libc::BPF_RET, _) => return now.k,
            (libc::BPF_ALU, libc::BPF_AND) => loaded &= now.k,
            (libc::BPF_JMP, libc::BPF_JA) => at += now.k as usize,
            (libc::BPF_JMP, libc::BPF_JEQ) => at += skip(loaded == now.k),
            (libc::BPF_JMP, libc::BPF_JGT) => at += skip(loaded > now.k),
            (libc::BPF_JMP, libc::BPF_JGE) => at += skip(loaded >= now.k),
            other => panic!("{other:x?}"),
        }
    }
}

/// Whether the test holds, read from the list and not from a program.
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
        true => ALLOWED,
        false => REFUSED,
    }
}

/// Numbers that stand in the call's tests, and some beside them.
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

/// Arguments of which up to two are not 0.
fn tried(call: &Call) -> impl Iterator<Item = [u64; 6]> {
    let numbers = interesting(call);
    let pairs = (0..6).flat_map(|one| (0..one).map(move |other| (one, other)));
    pairs.flat_map(move |(one, other)| {
        let numbers = numbers.clone();
        (0..numbers.len().pow(2)).map(move |n| {
            let mut arguments = [0; 6];
            arguments[one] = numbers[n % numbers.len()];
            arguments[other] = numbers[n / numbers.len()];
            arguments
        })
    })
}

#[test]
fn each_call_is_answered_as_the_list_says_with_any_arguments() {
    for rights in ALL {
        let filter = filter(rights).unwrap();
        for number in (0..1000).chain([0x4000_0000, 0x4000_0001, u32::MAX]) {
            let answer = |arguments| runs(&filter, ARCHITECTURE, number, arguments);
            let has_number = |call: &&Call| call.number == number.into();
            let listed = CALLS.iter().find(has_number);
            let Some(call) = listed.filter(|call| call.within.contains(&rights)) else {
                assert_eq!(answer([0; 6]), REFUSED, "{number}");
                continue;
            };
            for arguments in tried(call) {
                let expected = expected(call, arguments);
                assert_eq!(answer(arguments), expected, "{} {arguments:?}", call.name);
            }
        }
    }
}

#[test]
fn a_call_by_another_architectures_convention_ends_the_process() {
    let filter = filter(Rights::Read).unwrap();
    for other in [0x4000_0003, 0x4000_0028, ARCHITECTURE ^ 0x8000_0000] {
        let answer = runs(&filter, other, libc::SYS_read as u32, [0; 6]);
        assert_eq!(answer, libc::SECCOMP_RET_KILL_PROCESS);
    }
}
