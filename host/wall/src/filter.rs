//! The filter of system calls, which `seccompiler` makes from the [list](crate::list).

use crate::{
    list::{CALLS, Call, Test},
    status::Rights,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};
use std::{collections::BTreeMap, env::consts::ARCH, process};

/// The filter of system calls for a process with these rights. A call that is on the list
/// ([`CALLS`]) for these rights is allowed if its arguments pass the tests there. Any other call
/// fails with `ENOSYS`, for example `socket`. A call by another architecture's convention, such as
/// `int 0x80`, ends the process. None if no filter can be made for this machine.
pub(crate) fn filter(rights: Rights) -> Option<BpfProgram> {
    let mut allowed = BTreeMap::new();
    for call in CALLS {
        if call.within.contains(&rights) {
            allowed.insert(call.number, rules(call)?);
        }
    }
    let refused = SeccompAction::Errno(libc::ENOSYS as u32);
    // None for an architecture that `seccompiler` does not know.
    let machine = ARCH.try_into().ok()?;
    SeccompFilter::new(allowed, refused, SeccompAction::Allow, machine)
        .ok()?
        .try_into()
        .ok()
}

/// The rules for the arguments of a call: the call is allowed if one of them holds. A call without
/// rules may have any arguments. None if `seccompiler` cannot make a rule.
fn rules(call: &Call) -> Option<Vec<SeccompRule>> {
    let mut rules = Vec::new();
    for tests in call.tests {
        rules.push(rule(tests)?);
    }
    Some(rules)
}

/// The rule that holds if all of these tests hold. None if `seccompiler` cannot make it.
fn rule(tests: &[Test]) -> Option<SeccompRule> {
    let conditions = tests.iter().map(condition).collect::<Option<_>>()?;
    SeccompRule::new(conditions).ok()
}

/// A test in the form of `seccompiler`: the argument's position, how much of the argument the
/// kernel uses (`Dword` is 32 bits, `Qword` 64), the comparison, and the number to compare with.
/// `MaskedEq(bits)` compares only these bits. None if `seccompiler` refuses the test, for example
/// for a seventh argument.
fn condition(test: &Test) -> Option<SeccompCondition> {
    use SeccompCmpArgLen::{Dword, Qword};
    use SeccompCmpOp::{Eq, Le, MaskedEq};
    let (argument, length, operator, number) = match *test {
        Test::Is(at, number) => (at, Dword, Eq, number.into()),
        Test::IsLong(at, number) => (at, Qword, Eq, number),
        Test::AtMost(at, number) => (at, Dword, Le, number.into()),
        Test::Without(at, bits) => (at, Dword, MaskedEq(bits.into()), 0),
        Test::Own(at) => (at, Dword, Eq, process::id().into()),
    };
    SeccompCondition::new(argument, length, operator, number).ok()
}
