//! The system calls that a process behind the wall may make. Other calls fail with `ENOSYS`,
//! so a library that has another way takes it, such as `clone` for `clone3`, whose flags no
//! filter can see. A call of another architecture ends the process. One by the x32 convention
//! has a number that is not here. The kernel never filters two calls, `uretprobe` and
//! `uprobe`: they end the process or fail.
//!
//! A new version of the C library, the runtime or wasmtime may need a call that is
//! not here. The tests run the real program behind this list, so they show it.
//! Before you add a call, think of what an attacker could do with it. The filter can
//! check an argument that is a number, but not what a pointer points to.

use crate::Rights;
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
    pub within: &'static [Rights],
    /// The call is allowed if all tests of one of these inner lists hold. If there are no
    /// inner lists, any arguments are allowed.
    pub(crate) tests: &'static [&'static [Test]],
}

/// What an argument of a call must be. The first value is the argument's position, from 0.
#[derive(Debug)]
pub(crate) enum Test {
    /// This number; the kernel uses 32 bits.
    Is(u8, u32),
    /// This number; the kernel uses 64 bits.
    IsLong(u8, u64),
    /// At most this number, in 32 bits.
    AtMost(u8, u32),
    /// A number that has none of these bits.
    Without(u8, u32),
    /// The number of this process (pid).
    Own(u8),
}
use Test::{AtMost, Is, IsLong, Own, Without};

const ALL: &[Rights] = &[Rights::Read, Rights::Tickets];
const TICKETS: &[Rights] = &[Rights::Tickets];

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

// From `asm-generic/mman-common.h`.
const MADV_GUARD_INSTALL: u32 = 102;
const MADV_GUARD_REMOVE: u32 = 103;

/// Makes the list. Each row names a call, the processes that may make it, and what needs it. If
/// only some arguments are allowed, the row also has the condition, in words and as tests. In
/// `SYS_openat ALL "…" if "…" [Without(2, WRITES)]`, the third argument may have no bit of
/// `WRITES`.
macro_rules! calls {
    ($($(#[$cfg:meta])* $call:ident $within:ident $why:literal $(if $condition:literal $([$($test:expr),*])+)?;)*) => {
        /// The list.
        pub const CALLS: &[Call] = &[$($(#[$cfg])* Call {
            name: stringify!($call).split_at("SYS_".len()).1,
            number: libc::$call,
            within: $within,
            tests: &[$($(&[$($test),*]),+)?],
        }),*];
    };
}

calls! {
    // Files.
    SYS_openat ALL "opening files and directories"
        if "flags: read only; no `O_CREAT`, `O_TRUNC`, `O_TMPFILE`" [Without(2, WRITES)];
    SYS_read ALL "files, requests";
    SYS_readv ALL "the same, if the library prefers it";
    SYS_pread64 ALL "files, for the guest";
    SYS_preadv ALL "the same, if the library prefers it";
    SYS_lseek ALL "the size of a file, and its holes";
    SYS_fstat ALL "metadata of an open file";
    SYS_newfstatat ALL "metadata of an open file, or of a name";
    SYS_statx ALL "the same";
    SYS_fstatfs ALL "the file system of an open file";
    SYS_fgetxattr ALL "the access list of an open file";
    SYS_readlinkat ALL "links in the path of a map or a mapped file";
    SYS_faccessat2 ALL "whether permissions or this wall keep a file from being opened";
    SYS_close ALL "closing what was opened";
    SYS_fcntl ALL "copies of descriptors, and their flags"
        if "command: `F_DUPFD_CLOEXEC`, `F_GETFD`, `F_GETFL`, `F_SETFD` with 1"
        [Is(1, F_DUPFD_CLOEXEC as u32)]
        [Is(1, F_GETFD as u32)]
        [Is(1, F_GETFL as u32)]
        [Is(1, F_SETFD as u32), Is(2, FD_CLOEXEC as u32)];
    SYS_unlinkat TICKETS "deleting a used ticket"
        if "flags: none, so no directory" [Is(2, 0)];
    // The session.
    SYS_write ALL "answers; a wake-up between threads";
    SYS_writev ALL "answers; the line of a panic";
    SYS_sendto ALL "a signal wakes the runtime, over a socket pair made before"
        if "address: none" [IsLong(4, 0)];
    SYS_recvfrom ALL "the same"
        if "address: none" [IsLong(4, 0)];
    SYS_epoll_ctl ALL "the runtime waits for requests";
    SYS_epoll_pwait ALL "the same";
    SYS_ppoll ALL "a standard stream that does not block is not ready";
    // Memory.
    SYS_brk ALL "the allocator";
    SYS_mmap ALL "the allocator, threads' stacks, the sandbox's memory"
        if "protection: not `PROT_EXEC`" [Without(2, PROT_EXEC as u32)];
    SYS_mprotect ALL "the same"
        if "protection: not `PROT_EXEC`" [Without(2, PROT_EXEC as u32)];
    SYS_mremap ALL "the allocator";
    SYS_munmap ALL "the allocator, threads' stacks";
    SYS_madvise ALL "the allocator, threads' stacks, the sandbox's memory"
        if "advice: `MADV_DONTNEED`, `_FREE`, `_HUGEPAGE`, `_GUARD_INSTALL`, `_REMOVE`"
        [Is(2, MADV_DONTNEED as u32)]
        [Is(2, MADV_FREE as u32)]
        [Is(2, MADV_HUGEPAGE as u32)]
        [Is(2, MADV_GUARD_INSTALL)]
        [Is(2, MADV_GUARD_REMOVE)];
    // Threads. Each call has one.
    SYS_clone ALL "a new thread"
        if "flags: exactly those of a thread of this process"
        [IsLong(0, THREAD)]
        [IsLong(0, THREAD_OF_MUSL)];
    SYS_futex ALL "threads wait for each other";
    SYS_set_robust_list ALL "a new thread";
    SYS_rseq ALL "a new thread";
    SYS_sigaltstack ALL "a new thread: the stack of a stack overflow's handler";
    SYS_sched_getaffinity ALL "a new thread: the C library asks for it with the stack";
    SYS_prctl ALL "the name of a thread"
        if "command: `PR_SET_NAME`" [Is(0, PR_SET_NAME as u32)];
    SYS_prlimit64 ALL "the size of a stack"
        if "process: its own; new limit: none" [Is(0, 0), IsLong(2, 0)];
    SYS_sched_yield ALL "a thread that waits for another";
    SYS_gettid ALL "the handler of a stack overflow; `abort`";
    SYS_getpid ALL "`abort`";
    SYS_exit ALL "the end of a thread";
    SYS_exit_group ALL "the end of the process";
    // Signals.
    SYS_rt_sigaction ALL "`abort`; the handler of a stack overflow";
    SYS_rt_sigprocmask ALL "a new thread; `abort`";
    SYS_rt_sigreturn ALL "the end of a handler";
    SYS_restart_syscall ALL "the kernel resumes a call after a stop with it";
    SYS_tgkill ALL "`abort`"
        if "process: its own; signal: `SIGABRT`" [Own(0), Is(2, SIGABRT as u32)];
    // Time, random bytes, and the user's id.
    SYS_clock_gettime ALL "deadlines, if the kernel does not answer in memory"
        if "clock: the system's" [AtMost(0, LAST_CLOCK)];
    SYS_clock_nanosleep ALL "a map or file that was just changed settles"
        if "clock: the system's" [AtMost(0, LAST_CLOCK)];
    SYS_nanosleep ALL "the same, in musl";
    SYS_getrandom ALL "the seeds of hash tables";
    SYS_getuid ALL "whose files are trusted";
    SYS_geteuid ALL "the same";
    SYS_getgid ALL "the same";
    SYS_getegid ALL "the same";
    // Older forms that only the older architecture has.
    #[cfg(target_arch = "x86_64")] SYS_open ALL "what `openat` does, in musl"
        if "flags: as for `openat`" [Without(1, WRITES)];
    #[cfg(target_arch = "x86_64")] SYS_epoll_wait ALL "what `epoll_pwait` does, in glibc";
}
