//! A kernel that lacks some of its calls, for this thread and what it starts.

use rustix::io::Errno;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, SeccompRule, apply_filter};
use std::{collections::BTreeMap, env};

/// Makes the kernel answer these calls with `errno` from now on: all of them, or those that
/// fit one of the rules.
pub fn fail_calls(calls: impl IntoIterator<Item = (i64, Vec<SeccompRule>)>, errno: Errno) {
    let filter = SeccompFilter::new(
        BTreeMap::from_iter(calls),
        SeccompAction::Allow,
        SeccompAction::Errno(errno.raw_os_error() as u32),
        env::consts::ARCH.try_into().unwrap(),
    );
    let filter: BpfProgram = filter.unwrap().try_into().unwrap();
    apply_filter(&filter).unwrap();
}
