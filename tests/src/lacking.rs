//! A kernel that lacks some of its calls, or whose disk has a fault.

use rustix::{
    fs::{AtFlags, CWD, statat},
    io::Errno,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter,
};
use std::{collections::BTreeMap, env, thread};

/// Runs `then`, and what it starts, as if the kernel answered each of these calls so.
pub fn lacking<T: Send>(calls: &[(i64, Errno)], then: impl FnOnce() -> T + Send) -> T {
    in_a_thread(|| {
        // Without `seccomp`, no other filter can be installed, so that call comes last.
        for (call, errno) in calls {
            fail(*call, Vec::new(), *errno);
        }
        then()
    })
}

/// Runs `then`, and what it starts, as on a disk with a fault: each question what a mapped name
/// is fails with `EIO`. The filter knows the question by its flag, to follow no link, with which
/// the program asks of nothing else.
pub fn with_failing_disk<T: Send>(then: impl FnOnce() -> T + Send) -> T {
    in_a_thread(|| {
        let (fourth, follows_none) = (3, AtFlags::SYMLINK_NOFOLLOW.bits().into());
        let length = SeccompCmpArgLen::Dword;
        let is = SeccompCondition::new(fourth, length, SeccompCmpOp::Eq, follows_none).unwrap();
        let rule = SeccompRule::new(vec![is]).unwrap();
        fail(libc::SYS_newfstatat, vec![rule], Errno::IO);
        let asked = statat(CWD, ".", AtFlags::SYMLINK_NOFOLLOW);
        assert_eq!(asked.err(), Some(Errno::IO), "asking still works");
        then()
    })
}

/// Runs `then`, and what it starts, as on a system that has no piece of memory of 1 MiB or more.
pub fn without_large_memory<T: Send>(then: impl FnOnce() -> T + Send) -> T {
    in_a_thread(|| {
        let (second, length) = (1, SeccompCmpArgLen::Qword);
        let is = SeccompCondition::new(second, length, SeccompCmpOp::Ge, 1 << 20).unwrap();
        let rule = SeccompRule::new(vec![is]).unwrap();
        fail(libc::SYS_mmap, vec![rule], Errno::NOMEM);
        then()
    })
}

/// A filter covers the thread that installs it, and what that starts.
fn in_a_thread<T: Send>(does: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| scope.spawn(does).join().unwrap())
}

fn fail(call: i64, rules: Vec<SeccompRule>, errno: Errno) {
    let filter = SeccompFilter::new(
        BTreeMap::from([(call, rules)]),
        SeccompAction::Allow,
        SeccompAction::Errno(errno.raw_os_error() as u32),
        env::consts::ARCH.try_into().unwrap(),
    );
    let filter: BpfProgram = filter.unwrap().try_into().unwrap();
    apply_filter(&filter).unwrap();
}
