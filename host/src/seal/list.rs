//! The system calls that a process behind the wall may make. The filter refuses all
//! others with `EPERM`, and a call of another architecture ends the process.
//!
//! A new version of the C library, the runtime or wasmtime may need a call that is
//! not here. The tests run the real program behind this list, so they show it.
//! Before you add a call, think of what an attacker could do with it. The filter can
//! check an argument that is a number, but not what a pointer points to.
//! `docs/second-wall.md` is made from this list.

use super::Reach;
use libc::{
    CLONE_CHILD_CLEARTID, CLONE_DETACHED, CLONE_FILES, CLONE_FS, CLONE_PARENT_SETTID, CLONE_SETTLS,
    CLONE_SIGHAND, CLONE_SYSVSEM, CLONE_THREAD, CLONE_VM, F_DUPFD_CLOEXEC, F_GETFD, F_GETFL,
    F_SETFD, FD_CLOEXEC, MADV_DONTNEED, MADV_FREE, MADV_HUGEPAGE, O_CREAT, O_DIRECTORY, O_RDWR,
    O_TMPFILE, O_TRUNC, O_WRONLY, PR_SET_NAME, PROT_EXEC, SIGABRT,
};

/// An allowed system call.
#[derive(Debug)]
pub struct Call {
    /// Its name.
    pub name: &'static str,
    /// Its number on this architecture.
    pub number: i64,
    /// The processes that may make it.
    pub within: &'static [Reach],
    /// The call is allowed if all tests of one of these lists hold. If there are no
    /// lists, any arguments are allowed.
    pub(super) tests: &'static [&'static [Test]],
    /// The tests in words.
    pub condition: &'static str,
    /// What needs it.
    pub why: &'static str,
}

/// What an argument, counted from 0, must be.
#[derive(Debug)]
pub(super) enum Test {
    /// This number; the kernel uses 32 bits.
    Is(u8, u32),
    /// This number; the kernel uses 64 bits.
    IsLong(u8, u64),
    /// At most this number, in 32 bits.
    AtMost(u8, u32),
    /// None of these bits.
    Without(u8, u32),
    /// This process's own number.
    Own(u8),
}
use Test::{AtMost, Is, IsLong, Own, Without};

const ALL: &[Reach] = &[Reach::Reading, Reach::Tickets, Reach::Sealed];
const PLAIN: &[Reach] = &[Reach::Reading, Reach::Tickets];
const TICKETS: &[Reach] = &[Reach::Tickets];

/// The flags with which glibc creates a thread. musl adds a flag that has no effect.
const THREAD: u64 = (CLONE_VM
    | CLONE_FS
    | CLONE_FILES
    | CLONE_SIGHAND
    | CLONE_THREAD
    | CLONE_SYSVSEM
    | CLONE_SETTLS
    | CLONE_PARENT_SETTID
    | CLONE_CHILD_CLEARTID) as u64;
const THREAD_OF_MUSL: u64 = THREAD | CLONE_DETACHED as u64;

/// The flags that make `open` write, create or truncate a file. `O_ACCMODE` is not
/// used here, because in musl it has a bit that only looks.
const WRITES: u32 = (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | (O_TMPFILE & !O_DIRECTORY)) as u32;

/// The last of the system's clocks. The clocks of another process, or of a device,
/// have higher numbers.
const LAST_CLOCK: u32 = libc::CLOCK_TAI as u32;

// From `linux/fs.h` and `asm-generic/mman-common.h`.
const PAGEMAP_SCAN: u32 = 0xc060_6610;
const MADV_GUARD_INSTALL: u32 = 102;
const MADV_GUARD_REMOVE: u32 = 103;

/// A call that does not exist for the process (`ENOSYS`), because its flags stand
/// behind a pointer. Callers then use something else.
#[derive(Debug)]
pub struct Absent {
    /// Its name.
    pub name: &'static str,
    /// Its number, on all architectures.
    pub number: i64,
    /// What callers use instead.
    pub instead: &'static str,
}

/// The calls that do not exist for a process behind the wall.
pub const ABSENT: [Absent; 2] = [
    Absent {
        name: "clone3",
        number: libc::SYS_clone3,
        instead: "the C library uses `clone`",
    },
    Absent {
        name: "openat2",
        number: libc::SYS_openat2,
        instead: "a path is walked one name at a time, with `openat`",
    },
];

const fn call(
    name: &'static str,
    number: i64,
    within: &'static [Reach],
    why: &'static str,
) -> Call {
    Call {
        name,
        number,
        within,
        tests: &[],
        condition: "",
        why,
    }
}

impl Call {
    const fn only_if(self, tests: &'static [&'static [Test]], condition: &'static str) -> Self {
        Self {
            tests,
            condition,
            ..self
        }
    }
}

/// The list.
pub const CALLS: &[Call] = &[
    // Files.
    call(
        "openat",
        libc::SYS_openat,
        ALL,
        "opening files and directories",
    )
    .only_if(
        &[&[Without(2, WRITES)]],
        "flags: read only; no `O_CREAT`, `O_TRUNC`, `O_TMPFILE`",
    ),
    call("read", libc::SYS_read, ALL, "files, requests"),
    call(
        "readv",
        libc::SYS_readv,
        ALL,
        "the same, if the library prefers it",
    ),
    call("pread64", libc::SYS_pread64, ALL, "files, for the guest"),
    call(
        "preadv",
        libc::SYS_preadv,
        ALL,
        "the same, if the library prefers it",
    ),
    call(
        "lseek",
        libc::SYS_lseek,
        ALL,
        "the size of a file, and its holes",
    ),
    call("fstat", libc::SYS_fstat, ALL, "metadata of an open file"),
    call(
        "newfstatat",
        libc::SYS_newfstatat,
        ALL,
        "metadata of an open file, or of a name",
    ),
    call("statx", libc::SYS_statx, ALL, "the same"),
    call(
        "fstatfs",
        libc::SYS_fstatfs,
        ALL,
        "the file system of an open file",
    ),
    call(
        "fgetxattr",
        libc::SYS_fgetxattr,
        ALL,
        "the access list of an open file",
    ),
    call(
        "readlinkat",
        libc::SYS_readlinkat,
        PLAIN,
        "links in the path of a map or a mapped file",
    ),
    call("close", libc::SYS_close, ALL, "closing what was opened"),
    call(
        "fcntl",
        libc::SYS_fcntl,
        ALL,
        "copies of descriptors, and their flags",
    )
    .only_if(
        &[
            &[Is(1, F_DUPFD_CLOEXEC as u32)],
            &[Is(1, F_GETFD as u32)],
            &[Is(1, F_GETFL as u32)],
            &[Is(1, F_SETFD as u32), Is(2, FD_CLOEXEC as u32)],
        ],
        "command: `F_DUPFD_CLOEXEC`, `F_GETFD`, `F_GETFL`, `F_SETFD` with 1",
    ),
    call(
        "getdents64",
        libc::SYS_getdents64,
        TICKETS,
        "finding old tickets",
    ),
    call(
        "unlinkat",
        libc::SYS_unlinkat,
        TICKETS,
        "deleting a used ticket",
    )
    .only_if(&[&[Is(2, 0)]], "flags: none, so no directory"),
    // The session.
    call(
        "write",
        libc::SYS_write,
        ALL,
        "answers; a wake-up between threads",
    ),
    call(
        "writev",
        libc::SYS_writev,
        ALL,
        "answers; the line of a panic",
    ),
    call(
        "sendto",
        libc::SYS_sendto,
        ALL,
        "a signal wakes the runtime, over a socket pair made before",
    )
    .only_if(&[&[IsLong(4, 0)]], "address: none"),
    call("recvfrom", libc::SYS_recvfrom, ALL, "the same")
        .only_if(&[&[IsLong(4, 0)]], "address: none"),
    call(
        "epoll_ctl",
        libc::SYS_epoll_ctl,
        ALL,
        "the runtime waits for requests",
    ),
    call("epoll_pwait", libc::SYS_epoll_pwait, ALL, "the same"),
    // Memory.
    call("brk", libc::SYS_brk, ALL, "the allocator"),
    call(
        "mmap",
        libc::SYS_mmap,
        ALL,
        "the allocator, threads' stacks, the sandbox's memory",
    )
    .only_if(
        &[&[Without(2, PROT_EXEC as u32)]],
        "protection: not `PROT_EXEC`",
    ),
    call("mprotect", libc::SYS_mprotect, ALL, "the same").only_if(
        &[&[Without(2, PROT_EXEC as u32)]],
        "protection: not `PROT_EXEC`",
    ),
    call("mremap", libc::SYS_mremap, ALL, "the allocator"),
    call(
        "munmap",
        libc::SYS_munmap,
        ALL,
        "the allocator, threads' stacks",
    ),
    call(
        "madvise",
        libc::SYS_madvise,
        ALL,
        "the allocator, threads' stacks, the sandbox's memory",
    )
    .only_if(
        &[
            &[Is(2, MADV_DONTNEED as u32)],
            &[Is(2, MADV_FREE as u32)],
            &[Is(2, MADV_HUGEPAGE as u32)],
            &[Is(2, MADV_GUARD_INSTALL)],
            &[Is(2, MADV_GUARD_REMOVE)],
        ],
        "advice: `MADV_DONTNEED`, `_FREE`, `_HUGEPAGE`, `_GUARD_INSTALL`, `_REMOVE`",
    ),
    call(
        "ioctl",
        libc::SYS_ioctl,
        ALL,
        "which pages of its memory a call has touched, to wipe them",
    )
    .only_if(&[&[Is(1, PAGEMAP_SCAN)]], "command: `PAGEMAP_SCAN`"),
    // Threads. Each call has one.
    call("clone", libc::SYS_clone, ALL, "a new thread").only_if(
        &[&[IsLong(0, THREAD)], &[IsLong(0, THREAD_OF_MUSL)]],
        "flags: exactly those of a thread of this process",
    ),
    call("futex", libc::SYS_futex, ALL, "threads wait for each other"),
    call(
        "set_robust_list",
        libc::SYS_set_robust_list,
        ALL,
        "a new thread",
    ),
    call("rseq", libc::SYS_rseq, ALL, "a new thread"),
    call(
        "sigaltstack",
        libc::SYS_sigaltstack,
        ALL,
        "a new thread: the stack of a stack overflow's handler",
    ),
    call(
        "sched_getaffinity",
        libc::SYS_sched_getaffinity,
        ALL,
        "a new thread: the C library asks for it with the stack",
    ),
    call("prctl", libc::SYS_prctl, ALL, "the name of a thread")
        .only_if(&[&[Is(0, PR_SET_NAME as u32)]], "command: `PR_SET_NAME`"),
    call("prlimit64", libc::SYS_prlimit64, ALL, "the size of a stack").only_if(
        &[&[Is(0, 0), IsLong(2, 0)]],
        "process: its own; new limit: none",
    ),
    call(
        "sched_yield",
        libc::SYS_sched_yield,
        ALL,
        "a thread that waits for another",
    ),
    call(
        "gettid",
        libc::SYS_gettid,
        ALL,
        "the handler of a stack overflow; `abort`",
    ),
    call("getpid", libc::SYS_getpid, ALL, "`abort`"),
    call("exit", libc::SYS_exit, ALL, "the end of a thread"),
    call(
        "exit_group",
        libc::SYS_exit_group,
        ALL,
        "the end of the process",
    ),
    // Signals.
    call(
        "rt_sigaction",
        libc::SYS_rt_sigaction,
        ALL,
        "`abort`; the handler of a stack overflow",
    ),
    call(
        "rt_sigprocmask",
        libc::SYS_rt_sigprocmask,
        ALL,
        "a new thread; `abort`",
    ),
    call(
        "rt_sigreturn",
        libc::SYS_rt_sigreturn,
        ALL,
        "the end of a handler",
    ),
    call(
        "restart_syscall",
        libc::SYS_restart_syscall,
        ALL,
        "the kernel resumes a call after a stop with it",
    ),
    call("tgkill", libc::SYS_tgkill, ALL, "`abort`").only_if(
        &[&[Own(0), Is(2, SIGABRT as u32)]],
        "process: its own; signal: `SIGABRT`",
    ),
    // Time, random bytes, and the user's id.
    call(
        "clock_gettime",
        libc::SYS_clock_gettime,
        ALL,
        "deadlines, if the kernel does not answer in memory",
    )
    .only_if(&[&[AtMost(0, LAST_CLOCK)]], "clock: the system's"),
    call(
        "clock_nanosleep",
        libc::SYS_clock_nanosleep,
        ALL,
        "a map or file that was just changed settles",
    )
    .only_if(&[&[AtMost(0, LAST_CLOCK)]], "clock: the system's"),
    call("nanosleep", libc::SYS_nanosleep, ALL, "the same, in musl"),
    call(
        "getrandom",
        libc::SYS_getrandom,
        ALL,
        "the seeds of hash tables",
    ),
    call("getuid", libc::SYS_getuid, ALL, "whose files are trusted"),
    call("geteuid", libc::SYS_geteuid, ALL, "the same"),
    call("getgid", libc::SYS_getgid, ALL, "the same"),
    call("getegid", libc::SYS_getegid, ALL, "the same"),
    // Older forms that only the older architecture has.
    #[cfg(target_arch = "x86_64")]
    call("open", libc::SYS_open, PLAIN, "what `openat` does, in musl")
        .only_if(&[&[Without(1, WRITES)]], "flags: as for `openat`"),
    #[cfg(target_arch = "x86_64")]
    call(
        "epoll_wait",
        libc::SYS_epoll_wait,
        ALL,
        "what `epoll_pwait` does, in glibc",
    ),
];

/// Until the sandbox is loaded, these rules replace those of the list for a process
/// that is not sealed. The sandbox is loaded a millisecond after the start, and the
/// server returns no file before that.
pub(super) const LOADING: &[Call] = &[
    call(
        "mprotect",
        libc::SYS_mprotect,
        PLAIN,
        "the guest's machine code",
    ),
    call(
        "membarrier",
        libc::SYS_membarrier,
        PLAIN,
        "the same, on aarch64",
    ),
    call(
        "prctl",
        libc::SYS_prctl,
        PLAIN,
        "to give this up, and to hide its memory",
    )
    .only_if(
        &[
            &[Is(0, PR_SET_NAME as u32)],
            &[Is(0, libc::PR_SET_NO_NEW_PRIVS as u32)],
            &[Is(0, libc::PR_SET_DUMPABLE as u32), IsLong(1, 0)],
        ],
        "command: `PR_SET_NAME`, `PR_SET_NO_NEW_PRIVS`, `PR_SET_DUMPABLE` to 0",
    ),
    call("seccomp", libc::SYS_seccomp, PLAIN, "to give this up").only_if(
        &[&[
            Is(0, libc::SECCOMP_SET_MODE_FILTER),
            IsLong(1, libc::SECCOMP_FILTER_FLAG_TSYNC),
        ]],
        "operation: another filter, for all threads",
    ),
];
