//! Known ways out of walls of this kind, each made by the number of its call, as somebody who
//! has broken out would do. What is on the list of allowed calls is tried with the arguments
//! that it must not have.

use crate::{
    attempts::{Attempt, attempts},
    world::{FILTERED, SEALED, World},
};
use libc as c;
use nix::errno::Errno;

pub(crate) const ATTEMPTS: [Attempt; 12] = attempts! {
    no_content_leaves_by_a_socket: FILTERED,
    no_descriptor_is_passed_in_or_out: FILTERED,
    no_system_v_ipc_is_used_by_its_number: FILTERED,
    no_other_process_is_slowed_or_moved: FILTERED,
    no_process_outlives_the_server: FILTERED,
    no_file_is_watched: FILTERED,
    no_link_or_attribute_is_read_by_path: SEALED,
    no_file_is_leased_locked_or_renumbered: FILTERED,
    no_namespace_is_made: FILTERED,
    root_mounts_and_freezes_nothing: FILTERED,
    no_machine_code_is_made: FILTERED,
    no_signal_is_sent_by_a_descriptor: FILTERED,
};

/// Makes a call by its number.
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

/// Asserts that the filter refuses each of these calls. If it lets one through by mistake,
/// the kernel finds nothing at these arguments, and answers otherwise.
#[track_caller]
pub(crate) fn never(calls: &[(i64, &[u64])]) {
    for (number, arguments) in calls {
        let answer = call(*number, arguments);
        assert_eq!(answer, Err(c::ENOSYS), "{number} {arguments:x?}");
    }
}

fn no_content_leaves_by_a_socket(_: &World) {
    never(&[
        (
            c::SYS_socketpair,
            &[c::AF_UNIX as u64, c::SOCK_DGRAM as u64],
        ),
        // A pair from before the wall can be written to, but not with an address.
        (c::SYS_sendto, &[0, 0, 0, 0, 1, 19]),
        (c::SYS_recvfrom, &[0, 0, 0, 0, 1]),
        (c::SYS_bind, &[]),
        (c::SYS_connect, &[]),
        (c::SYS_listen, &[]),
        (c::SYS_accept4, &[]),
    ]);
}

fn no_descriptor_is_passed_in_or_out(_: &World) {
    never(&[
        (c::SYS_sendmsg, &[]),
        (c::SYS_sendmmsg, &[]),
        (c::SYS_recvmsg, &[]),
        (c::SYS_recvmmsg, &[]),
        (c::SYS_pidfd_getfd, &[]),
    ]);
}

fn no_system_v_ipc_is_used_by_its_number(_: &World) {
    never(&[
        (c::SYS_shmget, &[1, 4096]),
        (c::SYS_shmat, &[]),
        (c::SYS_shmctl, &[]),
        (c::SYS_msgrcv, &[]),
        (c::SYS_msgsnd, &[]),
        (c::SYS_msgctl, &[]),
        (c::SYS_semop, &[]),
        (c::SYS_semctl, &[]),
        (c::SYS_mq_open, &[]),
    ]);
}

fn no_other_process_is_slowed_or_moved(world: &World) {
    let parent = world.parent.as_raw_nonzero().get() as u64;
    never(&[
        (c::SYS_setpriority, &[0, parent, 19]),
        (c::SYS_ioprio_set, &[1, parent, 3 << 13]),
        (c::SYS_sched_setaffinity, &[parent]),
        (c::SYS_sched_setscheduler, &[parent, 3]),
        (c::SYS_sched_setattr, &[parent]),
        (c::SYS_prlimit64, &[parent]),
        (c::SYS_prlimit64, &[0, 0, 1]),
        (c::SYS_tgkill, &[parent, parent]),
        (c::SYS_tgkill, &[parent, parent, c::SIGABRT as u64]),
        (c::SYS_kill, &[parent]),
        // The time that it has used.
        (c::SYS_clock_gettime, &[!parent << 3 | 2]),
    ]);
}

fn no_process_outlives_the_server(_: &World) {
    let vfork = (c::CLONE_VM | c::CLONE_VFORK | c::SIGCHLD) as u64;
    never(&[
        (c::SYS_clone, &[c::SIGCHLD as u64]),
        (c::SYS_clone, &[vfork]),
        (c::SYS_clone3, &[]),
        // `setsid` is not tried here, because the kernel refuses it to a session leader
        // anyway: see `walk`.
    ]);
    #[cfg(target_arch = "x86_64")]
    never(&[(c::SYS_fork, &[]), (c::SYS_vfork, &[])]);
}

fn no_file_is_watched(_: &World) {
    never(&[
        (c::SYS_inotify_init1, &[]),
        (c::SYS_inotify_add_watch, &[]),
        (c::SYS_fanotify_init, &[]),
    ]);
}

fn no_link_or_attribute_is_read_by_path(_: &World) {
    never(&[
        (c::SYS_readlinkat, &[]),
        (c::SYS_getxattr, &[]),
        (c::SYS_listxattr, &[]),
        (c::SYS_faccessat, &[]),
    ]);
    #[cfg(target_arch = "x86_64")]
    never(&[(c::SYS_readlink, &[])]);
}

fn no_file_is_leased_locked_or_renumbered(_: &World) {
    const SET_VERSION: u64 = 0x4008_6604;
    const NOTIFY: u64 = 1026;
    never(&[
        (c::SYS_ioctl, &[0, SET_VERSION]),
        (c::SYS_fcntl, &[0, c::F_SETLEASE as u64]),
        (c::SYS_fcntl, &[0, NOTIFY, 1]),
        (c::SYS_fcntl, &[0, c::F_SETLK as u64]),
        (c::SYS_flock, &[0, c::LOCK_SH as u64]),
    ]);
}

fn no_namespace_is_made(_: &World) {
    let user = c::CLONE_NEWUSER as u64;
    never(&[
        (c::SYS_clone, &[user | c::SIGCHLD as u64]),
        (c::SYS_unshare, &[user]),
        (c::SYS_setns, &[0, user]),
    ]);
}

fn root_mounts_and_freezes_nothing(_: &World) {
    const OPEN_TREE_ATTR: i64 = 467;
    const FREEZE: u64 = 0xc004_5877;
    never(&[
        (OPEN_TREE_ATTR, &[]),
        (c::SYS_open_tree, &[]),
        (c::SYS_mount, &[]),
        (c::SYS_chroot, &[]),
        (c::SYS_sethostname, &[0, u64::MAX]),
        (c::SYS_adjtimex, &[]),
        (c::SYS_vhangup, &[]),
        (c::SYS_ioctl, &[0, FREEZE]),
    ]);
}

/// The sandbox's code is in place when the wall is put up. Nothing adds to it.
fn no_machine_code_is_made(_: &World) {
    // With this, all memory that can be read can be executed.
    const READ_IMPLIES_EXEC: u64 = 0x0040_0000;
    let anonymous = (c::MAP_PRIVATE | c::MAP_ANONYMOUS) as u64;
    for protection in 0..8 {
        let map = [0, 4096, protection, anonymous, u64::MAX];
        if protection & c::PROT_EXEC as u64 == 0 {
            let memory = call(c::SYS_mmap, &map).unwrap() as u64;
            let execute = protection | c::PROT_EXEC as u64;
            never(&[
                (c::SYS_mprotect, &[memory, 4096, execute]),
                (c::SYS_pkey_mprotect, &[memory, 4096, execute, u64::MAX]),
            ]);
        } else {
            never(&[(c::SYS_mmap, &map)]);
        }
    }
    never(&[
        // From a file.
        (c::SYS_mmap, &[0, 4096, 5, c::MAP_PRIVATE as u64, 0]),
        (c::SYS_personality, &[READ_IMPLIES_EXEC]),
        (c::SYS_memfd_create, &[]),
        (c::SYS_seccomp, &[1, 1]),
        (c::SYS_prctl, &[c::PR_SET_DUMPABLE as u64, 1]),
    ]);
}

fn no_signal_is_sent_by_a_descriptor(world: &World) {
    const SET_OWNER: u64 = 0x8901;
    let parent = world.parent.as_raw_nonzero().get() as u64;
    never(&[
        (c::SYS_fcntl, &[0, c::F_SETOWN as u64, parent]),
        (c::SYS_fcntl, &[0, 10, 9]),
        (c::SYS_fcntl, &[0, c::F_SETFL as u64, c::O_ASYNC as u64]),
        (c::SYS_ioctl, &[0, SET_OWNER]),
    ]);
}
