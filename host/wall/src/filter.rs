//! The filter of system calls, which `seccompiler` makes from the [list](crate::list).

use crate::{
    Rights,
    list::{CALLS, Call, Test},
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};
use std::{collections::BTreeMap, env::consts::ARCH, process};

/// The filter. A call by another architecture's convention, such as `int 0x80`, ends the process.
/// None if there can be no filter for this machine.
pub(crate) fn filter(rights: Rights) -> Option<BpfProgram> {
    let mut allowed = BTreeMap::new();
    for call in CALLS.iter().filter(|call| call.within.contains(&rights)) {
        allowed.insert(call.number, rules(call)?);
    }
    let refused = SeccompAction::Errno(libc::ENOSYS as u32);
    let here = ARCH.try_into().ok()?;
    let filter = SeccompFilter::new(allowed, refused, SeccompAction::Allow, here).ok()?;
    filter.try_into().ok()
}

/// No rules: any arguments. Otherwise all tests of one of the rules must hold.
fn rules(call: &Call) -> Option<Vec<SeccompRule>> {
    let rule = |tests: &&[Test]| {
        let conditions: Option<_> = tests.iter().map(condition).collect();
        SeccompRule::new(conditions?).ok()
    };
    call.tests.iter().map(rule).collect()
}

fn condition(test: &Test) -> Option<SeccompCondition> {
    use {SeccompCmpArgLen as Len, SeccompCmpOp as Op};
    let (argument, length, operator, number) = match *test {
        Test::Is(at, number) => (at, Len::Dword, Op::Eq, number.into()),
        Test::IsLong(at, number) => (at, Len::Qword, Op::Eq, number),
        Test::AtMost(at, number) => (at, Len::Dword, Op::Le, number.into()),
        Test::Without(at, bits) => (at, Len::Dword, Op::MaskedEq(bits.into()), 0),
        Test::Own(at) => (at, Len::Dword, Op::Eq, process::id().into()),
    };
    SeccompCondition::new(argument, length, operator, number).ok()
}
