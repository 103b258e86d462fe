//! Follows a program with `ptrace`, as strace does, and counts its system calls. It needs
//! no package.

use nix::{
    errno::Errno,
    libc,
    sys::{
        ptrace::{self, Options},
        signal::Signal,
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::Pid,
};
use std::{
    collections::BTreeSet,
    io,
    os::unix::process::CommandExt as _,
    process::{ChildStdin, ChildStdout, Command, Stdio},
    thread,
};

/// Runs `command`, with `client` at its standard input and output, to its end. Returns how
/// many system calls it made.
///
/// Those that wait for another thread or for the client, or wake a thread, do not count: how
/// many there are depends on who is faster. Nor do those that only unoptimised programs make:
/// their standard library asks whether a descriptor is open before it closes it. Nor does the
/// time: whether the kernel answers it in memory depends on the processor's clock.
///
/// # Errors
/// The system does not let us follow a program.
#[allow(clippy::zombie_processes, reason = "the follower waits for it")]
pub(crate) fn count_calls(
    command: &mut Command,
    client: impl FnOnce(ChildStdin, ChildStdout) + Send,
) -> io::Result<u32> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    // SAFETY: the child makes one system call here, and touches no memory.
    unsafe { command.pre_exec(|| Ok(ptrace::traceme()?)) };
    let mut child = command.spawn()?;
    let (to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let first = Pid::from_raw(i32::try_from(child.id()).unwrap());
    thread::scope(|scope| {
        let client = scope.spawn(|| client(to, from));
        let calls = follow(first).unwrap();
        client.join().unwrap();
        Ok(calls)
    })
}

/// Whether the call counts that a thread begins. It may have been killed.
fn counts(thread: Pid) -> bool {
    let Ok(registers) = ptrace::getregs(thread) else {
        return false;
    };
    #[cfg(target_arch = "x86_64")]
    let (number, third) = (registers.orig_rax, registers.rdx);
    #[cfg(target_arch = "aarch64")]
    let (number, third) = (registers.regs[8], registers.regs[2]);
    match number.cast_signed() {
        libc::SYS_futex | libc::SYS_fcntl | libc::SYS_epoll_pwait | libc::SYS_clock_gettime => {
            false
        }
        #[cfg(target_arch = "x86_64")]
        libc::SYS_epoll_wait => false,
        // Of an eventfd, by which a thread wakes the one that waits. Nothing else is so
        // short.
        libc::SYS_read | libc::SYS_write => third != 8,
        _ => true,
    }
}

/// Counts the system calls of a program and its threads, from its `exec` on. Only the thread
/// that started it may follow it.
fn follow(first: Pid) -> Result<u32, Errno> {
    // Processes of other threads are theirs to wait for.
    let ours = WaitPidFlag::__WNOTHREAD | WaitPidFlag::__WALL;
    waitpid(first, Some(ours))?;
    let options =
        Options::PTRACE_O_TRACESYSGOOD | Options::PTRACE_O_TRACECLONE | Options::PTRACE_O_EXITKILL;
    ptrace::setoptions(first, options)?;
    ptrace::syscall(first, None)?;
    let mut calls = 0;
    // The threads that are in the kernel.
    let mut inside = BTreeSet::new();
    loop {
        let mut signal = None;
        let thread = match waitpid(None, Some(ours)) {
            Err(Errno::ECHILD) => return Ok(calls),
            Err(error) => return Err(error),
            Ok(WaitStatus::PtraceSyscall(thread)) => {
                if !inside.remove(&thread) {
                    inside.insert(thread);
                    calls += u32::from(counts(thread));
                }
                thread
            }
            Ok(WaitStatus::PtraceEvent(thread, ..)) => thread,
            Ok(WaitStatus::Stopped(thread, other)) => {
                // A new thread begins with this one, which is not meant for it.
                signal = (other != Signal::SIGSTOP).then_some(other);
                thread
            }
            Ok(_) => continue,
        };
        match ptrace::syscall(thread, signal) {
            // It was killed in the meantime.
            Ok(()) | Err(Errno::ESRCH) => {}
            Err(error) => return Err(error),
        }
    }
}
