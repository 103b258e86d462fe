//! Makes every system call behind each wall: the result is what the list says.

use crate::{
    reach::call,
    world::{Attempt, Does::Itself, Wall, World},
};
use keyhole_wall::{
    Rights,
    list::{CALLS, Call},
};
use nix::{
    sys::{
        signal::Signal,
        wait::{WaitStatus, waitpid},
    },
    unistd::{ForkResult, fork},
};
use std::{
    ffi::c_int,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
};

/// The call numbers that are tried: all of Linux 6.18, and a hundred more.
const NUMBERS: std::ops::Range<i64> = 0..570;

/// `uretprobe` and `uprobe`, which the kernel allows whatever a filter says: points
/// in a program that root traces jump there. From anywhere else they end the process
/// or fail.
const UNFILTERED: &[i64] = if cfg!(target_arch = "x86_64") {
    &[335, 336]
} else {
    &[]
};

/// The bit that is added to try a number again in the x32 manner.
const X32: i64 = 0x4000_0000;

/// The seconds that one call may take.
const PATIENCE: u32 = 20;

const WALKED: &[Wall] = &[Wall::Plain, Wall::Tickets, Wall::Roots];

pub(crate) const ATTEMPTS: &[Attempt] = &[
    (
        "every_call_is_answered_as_the_list_says",
        Itself(every_call_is_answered_as_the_list_says),
        WALKED,
    ),
    #[cfg(target_arch = "x86_64")]
    (
        "a_call_by_another_architectures_convention_ends_the_process",
        Itself(a_call_by_another_architectures_convention_ends_the_process),
        WALKED,
    ),
];

/// Arguments with which an allowed call passes its tests and does nothing. Other calls
/// get arguments with which they would do nothing either if the wall let them through.
fn harmless(number: i64) -> [u64; 3] {
    match number {
        libc::SYS_fcntl => [0, libc::F_GETFD as u64, 0],
        libc::SYS_madvise => [0, 0, libc::MADV_DONTNEED as u64],
        libc::SYS_prctl => [libc::PR_SET_NAME as u64, 0, 0],
        libc::SYS_tgkill => [std::process::id().into(), 0, libc::SIGABRT as u64],
        // With zeros, these calls would remove the machine's name.
        libc::SYS_sethostname | libc::SYS_setdomainname => [0, u64::MAX, 0],
        libc::SYS_acct => [1, 0, 0],
        // With zeros, it would wait for ever.
        libc::SYS_ppoll => [0, u64::MAX, 0],
        _ => [0; 3],
    }
}

/// Each call is made in a process of its own.
fn every_call_is_answered_as_the_list_says(world: &World, wall: Wall) {
    // A call that is let through by mistake must not reach a terminal.
    let _ = nix::unistd::setsid();
    let rights = match wall {
        Wall::Tickets => Rights::Tickets,
        _ => Rights::Read,
    };
    let mut wrong = Vec::new();
    for number in NUMBERS.filter(|number| !UNFILTERED.contains(number)) {
        let is_listed = |call: &Call| call.number == number && call.within.contains(&rights);
        let expected = i32::from(!CALLS.iter().any(is_listed));
        let answered = match in_a_fork(world, wall, || answer(number)) {
            WaitStatus::Exited(_, answer) => Ok(answer),
            other => Err(other),
        };
        // A kernel may be built without a call, such as `rseq`.
        let is_missing = || {
            let answered = in_a_fork(world, Wall::Neither, || answer(number));
            matches!(answered, WaitStatus::Exited(_, REFUSED))
        };
        if answered != Ok(expected) && !(answered == Ok(REFUSED) && is_missing()) {
            wrong.push(format!("{number}: {answered:?} instead of {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The filter refused the call. Else it reached the kernel: 0, as `exit` and `exit_group` end.
const REFUSED: i32 = 1;
const X32_ALLOWED: i32 = 2;

fn answer(number: i64) -> i32 {
    let is_refused = |number| call(number, &harmless(number)) == Err(libc::ENOSYS);
    if cfg!(target_arch = "x86_64") && !is_refused(X32 | number) {
        return X32_ALLOWED;
    }
    let is_refused = match number {
        // A real thread is started, because it has no arguments with which it does nothing.
        libc::SYS_clone => thread::Builder::new().spawn(|| ()).is_err(),
        libc::SYS_rt_sigreturn => !a_handler_returns(),
        _ => is_refused(number),
    };
    i32::from(is_refused)
}

/// A handler returns by `rt_sigreturn`, from a frame that the kernel made. Without one, what
/// lies on the stack would decide how the process ends.
fn a_handler_returns() -> bool {
    static IS_HANDLED: AtomicBool = AtomicBool::new(false);
    extern "C" fn handle(_: c_int) {
        IS_HANDLED.store(true, Relaxed);
    }
    let (process, handler) = (std::process::id().into(), handle as extern "C" fn(c_int));
    // SAFETY: the handler does no more than a handler may.
    unsafe { libc::signal(libc::SIGABRT, handler as libc::sighandler_t) };
    let sent = call(libc::SYS_tgkill, &[process, process, libc::SIGABRT as u64]);
    sent.is_ok() && IS_HANDLED.load(Relaxed)
}

/// How a process ended that put the wall up, did this, and made its answer its status.
fn in_a_fork(world: &World, wall: Wall, does: impl FnOnce() -> i32) -> WaitStatus {
    // SAFETY: this process has one thread, so its child may do all that it may do.
    let forked = unsafe { fork() };
    match forked.unwrap() {
        ForkResult::Child => {
            // SAFETY: it sets a timer, which ends this process if a call hangs.
            unsafe { libc::alarm(PATIENCE) };
            world.restrict(wall).unwrap();
            let status = does();
            // `_exit` skips the usual end of a program, which would make other calls.
            // SAFETY: it ends the process, and nothing else.
            unsafe { libc::_exit(status) }
        }
        ForkResult::Parent { child } => waitpid(child, None).unwrap(),
    }
}

/// A program of 32 bits makes its calls by `int 0x80`, and any program can.
#[cfg(target_arch = "x86_64")]
fn a_call_by_another_architectures_convention_ends_the_process(world: &World, wall: Wall) {
    let ended = in_a_fork(world, wall, || {
        // SAFETY: 20 is `getpid` there, which takes nothing and gives a number.
        unsafe { std::arch::asm!("int 0x80", inlateout("eax") 20 => _, options(nostack)) };
        0
    });
    match ended {
        WaitStatus::Signaled(_, Signal::SIGSYS, _) => {}
        // The kernel has no such calls.
        WaitStatus::Signaled(_, Signal::SIGSEGV, _) => {
            eprintln!("skipped: a_call_by_another_architectures_convention (no 32-bit calls here)")
        }
        other => panic!("{other:?}"),
    }
}
