//! Follows a program with `ptrace`, as strace does, and counts its system calls. It needs
//! no package.

use crate::skipped;
use nix::{
    errno::Errno,
    libc,
    sys::{
        ptrace::{self, Options},
        signal::{Signal, kill},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::Pid,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    thread,
};

/// What a program has done.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    /// System calls, by their number.
    calls: BTreeMap<i64, u64>,
    /// Threads, beside the first.
    pub(super) threads: u64,
}

impl Counts {
    /// System calls to wait for another thread, or to wake it. How many are needed depends
    /// on which one is faster.
    pub(super) fn futex(&self) -> u64 {
        self.of(libc::SYS_futex)
    }

    /// All others, which hardly vary. Without those that only unoptimised programs make:
    /// their standard library asks whether a descriptor is open before it closes it.
    pub(super) fn steady(&self) -> u64 {
        self.calls.values().sum::<u64>() - self.futex() - self.of(libc::SYS_fcntl)
    }

    fn of(&self, number: i64) -> u64 {
        self.calls.get(&number).copied().unwrap_or_default()
    }
}

/// Runs `command`, with `client` at its standard input and output, to its end.
///
/// None if the system does not let us follow a program; this is said in the name of `test`.
#[allow(clippy::zombie_processes, reason = "the follower waits for it")]
pub(super) fn follow(
    test: &str,
    command: &Command,
    client: impl FnOnce(ChildStdin, ChildStdout) + Send,
) -> Option<Counts> {
    // It waits until it is followed, and only then becomes the program.
    let mut shell = Command::new("/bin/sh");
    shell
        .args(["-c", r#"kill -STOP $$; exec "$0" "$@""#])
        .arg(command.get_program())
        .args(command.get_args())
        .env_clear();
    for (name, value) in command.get_envs() {
        shell.env(name, value.unwrap_or_default());
    }
    let mut child = shell
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    thread::scope(|scope| {
        // What is followed belongs to one thread: this one.
        let followed = match seize(&child) {
            Ok(followed) => followed,
            Err(error) => {
                skipped(test, format!("no program can be followed here: {error}"));
                return None;
            }
        };
        let client = scope.spawn(|| client(to, from));
        let counts = Follower::default().run(followed).unwrap();
        client.join().unwrap();
        Some(counts)
    })
}

/// Processes of other threads are theirs to wait for.
const OURS: WaitPidFlag = WaitPidFlag::__WNOTHREAD.union(WaitPidFlag::__WALL);

fn seize(child: &Child) -> Result<Pid, Errno> {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
    waitpid(pid, Some(OURS | WaitPidFlag::WUNTRACED))?;
    let options = Options::PTRACE_O_TRACESYSGOOD
        | Options::PTRACE_O_TRACECLONE
        | Options::PTRACE_O_TRACEEXEC
        | Options::PTRACE_O_EXITKILL;
    let seized = ptrace::seize(pid, options);
    if seized.is_err() {
        kill(pid, Signal::SIGKILL)?;
        waitpid(pid, Some(OURS))?;
    }
    seized
        .and_then(|()| kill(pid, Signal::SIGCONT))
        .map(|()| pid)
}

#[derive(Default)]
struct Follower {
    counts: Counts,
    /// Whether the program has taken the place of the shell.
    has_begun: bool,
    /// Threads that are in the kernel.
    inside: BTreeSet<Pid>,
}

impl Follower {
    fn run(mut self, first: Pid) -> Result<Counts, Errno> {
        loop {
            let status = match waitpid(None, Some(OURS)) {
                Err(Errno::ECHILD) => return Ok(self.counts),
                status => status?,
            };
            let mut signal = None;
            let pid = match status {
                WaitStatus::PtraceSyscall(pid) => {
                    self.at_a_call(pid);
                    pid
                }
                WaitStatus::PtraceEvent(pid, _, event) => {
                    self.event(event, pid == first);
                    pid
                }
                WaitStatus::Stopped(pid, other) => {
                    signal = Some(other);
                    pid
                }
                _ => continue,
            };
            match ptrace::syscall(pid, signal) {
                // It was killed in the meantime.
                Ok(()) | Err(Errno::ESRCH) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn at_a_call(&mut self, pid: Pid) {
        if self.inside.remove(&pid) {
            return;
        }
        self.inside.insert(pid);
        if self.has_begun
            && let Ok(number) = number(pid)
        {
            *self.counts.calls.entry(number).or_default() += 1;
        }
    }

    fn event(&mut self, event: i32, is_first: bool) {
        match event {
            libc::PTRACE_EVENT_EXEC if is_first => self.has_begun = true,
            libc::PTRACE_EVENT_CLONE => self.counts.threads += 1,
            _ => {}
        }
    }
}

/// The number of the system call that a thread begins.
fn number(pid: Pid) -> Result<i64, Errno> {
    let registers = ptrace::getregs(pid)?;
    #[cfg(target_arch = "x86_64")]
    let number = registers.orig_rax;
    #[cfg(target_arch = "aarch64")]
    let number = registers.regs[8];
    Ok(number.cast_signed())
}
