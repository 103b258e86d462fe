//! Known ways out of walls of this kind, each made by the number of its call, as somebody who
//! has broken out would do. What is on the list of allowed calls is tried with the arguments
//! that it must not have.

use crate::world::{Attempt, Does::Behind, FILTERED, World};
use libc::*;
use nix::errno::Errno;

// What libc does not name.
const FREEZE: u64 = 0xc004_5877;
const NOTIFY: u64 = 1026;
const SET_FLAGS: u64 = 0x4008_6602;
const SET_OWNER: u64 = 0x8901;
const SET_SIGNAL: u64 = 10;
const SET_VERSION: u64 = 0x4008_6604;
const SYS_OPEN_TREE_ATTR: i64 = 467;
/// All memory that can be read can then be executed.
const READ_IMPLIES_EXEC: u64 = 0x0040_0000;
/// A look at 32 bits alone would not see it.
const HIGH_BIT: u64 = 1 << 32;

pub(crate) fn call(number: i64, arguments: &[u64]) -> Result<i64, i32> {
    let [a, b, c, d, e, f] = std::array::from_fn(|n| arguments.get(n).copied().unwrap_or(0));
    // SAFETY: the kernel refuses the call before it looks at the arguments, or these
    // are null or numbers.
    let answer = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    match answer {
        -1 => Err(Errno::last_raw()),
        answer => Ok(answer),
    }
}

/// Asserts that the filter refuses this call. If it lets it through by mistake, the kernel
/// finds nothing at these arguments, and answers otherwise.
#[track_caller]
fn never(number: i64, arguments: &[u64]) {
    let answer = call(number, arguments);
    assert_eq!(answer, Err(ENOSYS), "{number} {arguments:x?}");
}

/// An attempt of each name, behind these walls: none of its calls is let through. The
/// arguments that are left out are 0. `$parent` is the number of the server's client.
macro_rules! never {
    (|$parent:ident| $($name:ident, $walls:expr => $(
        $(#[$here:meta])? $call:ident($($argument:expr),*)
    )*;)*) => {
        [$((stringify!($name), Behind(|world| {
            let $parent = world.parent.as_raw_nonzero().get();
            let _ = $parent;
            $($(#[$here])? never($call, &[$($argument as u64),*]);)*
        }), $walls)),*]
    };
}

pub(crate) const ATTEMPTS: [Attempt; 13] = never! { |parent|
    no_content_leaves_by_a_socket, FILTERED =>
        SYS_socketpair(AF_UNIX, SOCK_DGRAM)
        // A pair from before the wall can be written to, but not with an address.
        SYS_sendto(0, 0, 0, 0, 1, 19)
        SYS_sendto(0, 0, 0, 0, HIGH_BIT, 19)
        SYS_recvfrom(0, 0, 0, 0, 1)
        SYS_recvfrom(0, 0, 0, 0, HIGH_BIT)
        SYS_bind() SYS_connect() SYS_listen() SYS_accept4();
    no_descriptor_is_passed_in_or_out, FILTERED =>
        SYS_sendmsg() SYS_sendmmsg() SYS_recvmsg() SYS_recvmmsg() SYS_pidfd_getfd()
        SYS_fcntl(0, F_SETFD) SYS_fcntl(0, F_DUPFD);
    no_system_v_ipc_is_used_by_its_number, FILTERED =>
        SYS_shmget(1, 4096) SYS_shmat() SYS_shmctl()
        SYS_msgrcv() SYS_msgsnd() SYS_msgctl()
        SYS_semop() SYS_semctl()
        SYS_mq_open();
    no_other_process_is_read_ended_slowed_or_moved, FILTERED =>
        SYS_kill(parent)
        SYS_tgkill(parent, parent)
        SYS_tgkill(parent, parent, SIGABRT)
        SYS_tgkill(std::process::id(), parent, SIGTERM)
        SYS_pidfd_open(parent)
        SYS_ptrace(PTRACE_ATTACH, parent)
        SYS_process_vm_readv(parent)
        SYS_process_vm_writev(parent)
        SYS_prlimit64(parent)
        SYS_prlimit64(0, 0, 1)
        SYS_prlimit64(0, 0, HIGH_BIT)
        SYS_setpriority(0, parent, 19)
        SYS_ioprio_set(1, parent, 3 << 13)
        SYS_sched_setaffinity(parent)
        SYS_sched_setscheduler(parent, 3)
        SYS_sched_setattr(parent)
        // The time that it has used.
        SYS_clock_gettime(!(parent as u64) << 3 | 2)
        SYS_clock_nanosleep(!(parent as u64) << 3 | 2);
    no_process_outlives_the_server, FILTERED =>
        SYS_clone(SIGCHLD)
        SYS_clone(CLONE_VM | CLONE_VFORK | SIGCHLD)
        SYS_clone3()
        // `setsid` is not tried here, because the kernel refuses it to a session leader
        // anyway: see `walk`.
        #[cfg(target_arch = "x86_64")] SYS_fork()
        #[cfg(target_arch = "x86_64")] SYS_vfork();
    no_file_is_watched, FILTERED =>
        SYS_inotify_init1() SYS_inotify_add_watch() SYS_fanotify_init();
    no_attribute_is_changed, FILTERED =>
        SYS_fchmodat() SYS_fchmod() SYS_fchownat() SYS_fchown()
        SYS_utimensat() SYS_setxattr() SYS_removexattr()
        SYS_ioctl(0, SET_FLAGS)
        SYS_unlinkat(0, 0, AT_REMOVEDIR)
        #[cfg(target_arch = "x86_64")] SYS_open(0, O_RDWR)
        #[cfg(target_arch = "x86_64")] SYS_open(0, O_CREAT);
    no_attribute_is_read_by_path, FILTERED =>
        SYS_getxattr() SYS_listxattr() SYS_faccessat()
        #[cfg(target_arch = "x86_64")] SYS_readlink();
    no_file_is_leased_locked_or_renumbered, FILTERED =>
        SYS_ioctl(0, SET_VERSION)
        SYS_fcntl(0, F_SETLEASE)
        SYS_fcntl(0, NOTIFY, 1)
        SYS_fcntl(0, F_SETLK)
        SYS_flock(0, LOCK_SH);
    no_namespace_is_made, FILTERED =>
        SYS_clone(CLONE_NEWUSER | SIGCHLD)
        SYS_unshare(CLONE_NEWUSER)
        SYS_setns(0, CLONE_NEWUSER);
    root_mounts_and_freezes_nothing, FILTERED =>
        SYS_OPEN_TREE_ATTR() SYS_open_tree() SYS_mount() SYS_chroot()
        SYS_sethostname(0, u64::MAX)
        SYS_adjtimex() SYS_vhangup()
        SYS_ioctl(0, FREEZE);
    no_signal_is_sent_by_a_descriptor, FILTERED =>
        SYS_fcntl(0, F_SETOWN, parent)
        SYS_fcntl(0, SET_SIGNAL, 9)
        SYS_fcntl(0, F_SETFL, O_ASYNC)
        SYS_ioctl(0, SET_OWNER);
    no_machine_code_is_added_from_a_file_or_by_a_right, FILTERED =>
        SYS_mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, 0)
        SYS_personality(READ_IMPLIES_EXEC)
        SYS_memfd_create()
        SYS_seccomp(1, 1)
        SYS_prctl(PR_SET_DUMPABLE, 1)
        SYS_madvise(0, 0, MADV_REMOVE)
        SYS_madvise(0, 0, MADV_DONTFORK);
};

/// The sandbox's code is in place when the wall is put up. Nothing adds to it.
pub(crate) fn no_memory_can_be_executed(_: &World) {
    let anonymous = (MAP_PRIVATE | MAP_ANONYMOUS) as u64;
    for protection in 0..8 {
        let map = [0, 4096, protection, anonymous, u64::MAX];
        if protection & PROT_EXEC as u64 == 0 {
            let memory = call(SYS_mmap, &map).unwrap() as u64;
            let execute = protection | PROT_EXEC as u64;
            never(SYS_mprotect, &[memory, 4096, execute]);
            never(SYS_pkey_mprotect, &[memory, 4096, execute, u64::MAX]);
        } else {
            never(SYS_mmap, &map);
        }
    }
}

pub(crate) fn no_socket_is_made(_: &World) {
    for family in [AF_INET, AF_INET6, AF_UNIX, AF_NETLINK, AF_PACKET] {
        for kind in [SOCK_STREAM, SOCK_DGRAM, SOCK_RAW] {
            let arguments = [family as u64, kind as u64];
            never(SYS_socket, &arguments);
            never(SYS_socketpair, &arguments);
        }
    }
}
