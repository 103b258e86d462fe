//! The filter of system calls, made from the [`list`](super::list).
//!
//! It is a program that the kernel runs before each call, except for calls that the
//! kernel has found to be allowed with any arguments. The program searches for the
//! call's number in a tree. The kernel tries all numbers when the filter is
//! installed, so a plain sequence of comparisons would cost each start a fifth of a
//! millisecond.

use super::{
    Reach, SealError,
    list::{ABSENT, CALLS, Call, LOADING, Test},
};
use seccompiler::{BpfProgram, sock_filter};
use std::{collections::BTreeMap, env::consts::ARCH};

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;

/// The answer to a call that is not on the list.
const REFUSE: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;

/// The answer to a call that does not exist for the process.
const NO_SUCH_CALL: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;

// Offsets in `seccomp_data`.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;

/// The instructions that decide on a call, by the call's number.
type Rules = BTreeMap<u32, BpfProgram>;

/// Allows the calls of the list and, until the sandbox is loaded, also those that
/// loading needs. A call by another architecture's convention, such as `int 0x80`, ends
/// the process. A call by the x32 convention has a number that is not on the list.
pub(super) fn filter(reach: Reach, loading: bool) -> Result<BpfProgram, SealError> {
    let absent = ABSENT
        .iter()
        .map(|absent| Ok((number(absent.number)?, vec![answer(NO_SUCH_CALL)])));
    let mut rules = absent.collect::<Result<Rules, SealError>>()?;
    for call in CALLS.iter().filter(|call| call.within.contains(&reach)) {
        rules.insert(number(call.number)?, rule(call));
    }
    for call in LOADING.iter().filter(|_| loading) {
        rules.insert(number(call.number)?, rule(call));
    }
    program(&rules, REFUSE)
}

/// Refuses the calls that only loading the sandbox needs, and leaves all others to
/// the filter that is already installed.
pub(super) fn filter_when_loaded(reach: Reach) -> Result<BpfProgram, SealError> {
    let mut rules = Rules::new();
    for loading in LOADING {
        let lasting = CALLS
            .iter()
            .find(|call| call.number == loading.number && call.within.contains(&reach));
        let rule = lasting.map_or_else(|| vec![answer(REFUSE)], rule);
        rules.insert(number(loading.number)?, rule);
    }
    program(&rules, ALLOW)
}

fn program(rules: &Rules, otherwise: u32) -> Result<BpfProgram, SealError> {
    // From `linux/audit.h`: the machine's number, 64 bits, little endian.
    let architecture = match ARCH {
        "x86_64" => 0xc000_003e,
        "aarch64" => 0xc000_00b7,
        _ => return Err(SealError::Seccomp("no list for this processor".into())),
    };
    let mut program = vec![
        load(ARCHITECTURE),
        jump(libc::BPF_JEQ, architecture, 1, 0),
        answer(libc::SECCOMP_RET_KILL_PROCESS),
        load(NUMBER),
    ];
    program.extend(search(&rules.iter().collect::<Vec<_>>(), otherwise));
    Ok(program)
}

/// Searches for the call's number among `rules`, which are sorted by number.
fn search(rules: &[(&u32, &BpfProgram)], otherwise: u32) -> BpfProgram {
    let (lower, upper) = rules.split_at(rules.len() / 2);
    match (lower, upper) {
        ([], []) => vec![answer(otherwise)],
        ([], [(number, rule), ..]) => {
            let mut program = branch(libc::BPF_JEQ, **number, true, rule);
            program.push(answer(otherwise));
            program
        }
        (_, [(number, _), ..]) => {
            let mut program = branch(libc::BPF_JGE, **number, true, &search(upper, otherwise));
            program.extend(search(lower, otherwise));
            program
        }
        (_, []) => search(lower, otherwise),
    }
}

/// Runs `then` if the result of the comparison is `held`, and skips it if not.
fn branch(compared: u32, with: u32, held: bool, then: &[sock_filter]) -> BpfProgram {
    let mut program = match (u8::try_from(then.len()), held) {
        (Ok(over), true) => vec![jump(compared, with, 0, over)],
        (Ok(over), false) => vec![jump(compared, with, over, 0)],
        // A comparison cannot jump further than 255 instructions.
        (Err(_), held) => {
            let over = u32::try_from(then.len()).unwrap_or(u32::MAX);
            let far = instruction(libc::BPF_JMP | libc::BPF_JA, over, 0, 0);
            vec![jump(compared, with, held.into(), (!held).into()), far]
        }
    };
    program.extend_from_slice(then);
    program
}

/// Decides on a call by its arguments.
fn rule(call: &Call) -> BpfProgram {
    let mut program = BpfProgram::new();
    for tests in call.tests {
        // A test that fails jumps over the answer `ALLOW` that these tests lead to.
        let mut tried = vec![answer(ALLOW)];
        for test in tests.iter().rev() {
            tried = tested(test, &tried);
        }
        program.extend(tried);
    }
    program.push(answer(match call.tests {
        [] => ALLOW,
        _ => REFUSE,
    }));
    program
}

/// Runs `then` if the test holds, and skips it if not.
fn tested(test: &Test, then: &[sock_filter]) -> BpfProgram {
    let (argument, compared, with, held) = match *test {
        Test::Is(argument, number) => (argument, libc::BPF_JEQ, number, true),
        Test::Own(argument) => (argument, libc::BPF_JEQ, std::process::id(), true),
        Test::AtMost(argument, number) => (argument, libc::BPF_JGT, number, false),
        Test::Without(argument, bits) => (argument, libc::BPF_JSET, bits, false),
        Test::IsLong(argument, number) => {
            let (upper, lower) = ((number >> 32) as u32, number as u32);
            let rest = tested(&Test::Is(argument, lower), then);
            let mut program = vec![load(half(argument) + 4)];
            program.extend(branch(libc::BPF_JEQ, upper, true, &rest));
            return program;
        }
    };
    let mut program = vec![load(half(argument))];
    program.extend(branch(compared, with, held, then));
    program
}

/// The offset of an argument's lower half. Both architectures are little endian.
fn half(argument: u8) -> u32 {
    ARGUMENTS + 8 * u32::from(argument)
}

fn load(from: u32) -> sock_filter {
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, from, 0, 0)
}

/// Skips `held` instructions if the comparison holds, otherwise `not` instructions.
fn jump(compared: u32, with: u32, held: u8, not: u8) -> sock_filter {
    instruction(libc::BPF_JMP | compared | libc::BPF_K, with, held, not)
}

fn answer(action: u32) -> sock_filter {
    instruction(libc::BPF_RET | libc::BPF_K, action, 0, 0)
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
