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

/// The filter of system calls for a process with these rights. A call that is on the list for these
/// rights is allowed if its arguments pass the tests there; any other one fails with `ENOSYS`. A
/// call by another architecture's convention, such as `int 0x80`, ends the process. None if no
/// filter can be made for this machine.
pub(crate) fn filter(rights: Rights) -> Option<BpfProgram> {
    let mut allowed = BTreeMap::new();
    for call in CALLS {
        if call.within.contains(&rights) {
            allowed.insert(call.number, rules(call)?);
        }
    }
    let refused = SeccompAction::Errno(libc::ENOSYS as u32);
    let machine = ARCH.try_into().ok()?;
    SeccompFilter::new(allowed, refused, SeccompAction::Allow, machine)
        .ok()?
        .try_into()
        .ok()
}

/// The rules for the arguments of a call. It is allowed if one of them holds. A call without rules
/// may have any arguments.
fn rules(call: &Call) -> Option<Vec<SeccompRule>> {
    let mut rules = Vec::new();
    for tests in call.tests {
        rules.push(rule(tests)?);
    }
    Some(rules)
}

/// The rule that holds if all tests do.
fn rule(tests: &[Test]) -> Option<SeccompRule> {
    let conditions = tests.iter().map(condition).collect::<Option<_>>()?;
    SeccompRule::new(conditions).ok()
}

/// A test, as the filter makes it: which argument, how much of it the kernel uses (`Dword` is 32
/// bits, `Qword` 64), how it is compared, and with what. `MaskedEq` compares only these bits.
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
