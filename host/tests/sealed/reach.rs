//! Known ways out of walls of this kind.

use crate::{
    attempts::{Attempt, attempts, refused},
    world::{FILTERED, SEALED, World},
};
use nix::errno::Errno;
use std::{
    ffi::{CStr, CString},
    fs::File,
    os::{
        fd::{AsRawFd as _, RawFd},
        unix::ffi::OsStrExt as _,
    },
    path::Path,
};

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

/// Makes a call by its number, as somebody who has broken out would do.
#[track_caller]
pub(crate) fn call(number: i64, arguments: &[u64]) -> Result<i64, i32> {
    let [a, b, c, d, e, f] = std::array::from_fn(|n| arguments.get(n).copied().unwrap_or(0));
    // SAFETY: the kernel refuses the call before it looks at the arguments, or these
    // are null, numbers, or pointers to memory that the caller owns.
    let answer = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    match answer {
        -1 => Err(Errno::last_raw()),
        answer => Ok(answer),
    }
}

#[track_caller]
fn is_refused(what: &str, number: i64, arguments: &[u64]) {
    refused(what, call(number, arguments));
}

fn at(text: &CStr) -> u64 {
    text.as_ptr() as u64
}

fn number_of(descriptor: RawFd) -> u64 {
    descriptor as u64
}

fn text(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap()
}

/// System V memory, messages and semaphores. Any process that knows their numbers
/// could use them.
pub(crate) struct SystemV([u64; 3]);

impl SystemV {
    /// Creates the objects. The caller must remove them, because they outlive every
    /// process.
    pub(crate) fn make() -> Self {
        const PRIVATE: u64 = 0;
        let made = [
            call(libc::SYS_shmget, &[PRIVATE, 4096, 0o1600]),
            call(libc::SYS_msgget, &[PRIVATE, 0o1600]),
            call(libc::SYS_semget, &[PRIVATE, 1, 0o1600]),
        ];
        Self(made.map(|id| id.unwrap() as u64))
    }

    pub(crate) fn remove(&self) {
        let remove = libc::IPC_RMID as u64;
        let Self([memory, messages, semaphores]) = *self;
        call(libc::SYS_shmctl, &[memory, remove]).unwrap();
        call(libc::SYS_msgctl, &[messages, remove]).unwrap();
        call(libc::SYS_semctl, &[semaphores, 0, remove]).unwrap();
    }

    pub(crate) fn to_text(&self) -> String {
        self.0.map(|id| id.to_string()).join(" ")
    }

    pub(crate) fn from_text(text: &str) -> Self {
        let mut ids = text.split(' ').map(|id| id.parse().unwrap());
        Self(std::array::from_fn(|_| ids.next().unwrap()))
    }
}

fn no_content_leaves_by_a_socket(world: &World) {
    for kind in [libc::SOCK_DGRAM, libc::SOCK_STREAM, libc::SOCK_SEQPACKET] {
        let mut made = [0; 2];
        let pair = made.as_mut_ptr() as u64;
        let unix = libc::AF_UNIX as u64;
        is_refused(
            "a pair",
            libc::SYS_socketpair,
            &[unix, kind as u64, 0, pair],
        );
    }
    // A pair from before the wall can be written to, but nothing else.
    let socket = number_of(world.pair.0.as_raw_fd());
    let content = c"content";
    for name in [&b"\x01\0/tmp/keyhole-test"[..], b"\x01\0\0/tmp/keyhole-tes"] {
        let (text, address) = (at(content), name.as_ptr() as u64);
        is_refused(
            "sendto",
            libc::SYS_sendto,
            &[socket, text, 7, 0, address, 19],
        );
        is_refused("bind", libc::SYS_bind, &[socket, address, 19]);
        is_refused("connect", libc::SYS_connect, &[socket, address, 19]);
    }
    is_refused("listen", libc::SYS_listen, &[socket, 1]);
    is_refused("accept4", libc::SYS_accept4, &[socket]);
}

fn no_descriptor_is_passed_in_or_out(world: &World) {
    for number in [
        libc::SYS_sendmsg,
        libc::SYS_sendmmsg,
        libc::SYS_recvmsg,
        libc::SYS_recvmmsg,
        libc::SYS_pidfd_getfd,
    ] {
        let socket = number_of(world.pair.0.as_raw_fd());
        is_refused("a message", number, &[socket]);
    }
}

fn no_system_v_ipc_is_used_by_its_number(world: &World) {
    let SystemV([memory, messages, semaphores]) = world.ipc;
    let remove = libc::IPC_RMID as u64;
    is_refused("shmat", libc::SYS_shmat, &[memory]);
    is_refused("shmctl", libc::SYS_shmctl, &[memory, remove]);
    is_refused("msgrcv", libc::SYS_msgrcv, &[messages, 0, 0, 0, 0o4000]);
    is_refused("msgsnd", libc::SYS_msgsnd, &[messages]);
    is_refused("msgctl", libc::SYS_msgctl, &[messages, remove]);
    is_refused("semop", libc::SYS_semop, &[semaphores]);
    is_refused("semctl", libc::SYS_semctl, &[semaphores, 0, remove]);
    is_refused("shmget", libc::SYS_shmget, &[1, 4096]);
    is_refused("mq_open", libc::SYS_mq_open, &[at(c"x")]);
}

fn no_other_process_is_slowed_or_moved(world: &World) {
    let parent = world.parent.as_raw_nonzero().get() as u64;
    is_refused("setpriority", libc::SYS_setpriority, &[0, parent, 19]);
    is_refused("ioprio_set", libc::SYS_ioprio_set, &[1, parent, 3 << 13]);
    let processors = [1_u64];
    let mask = processors.as_ptr() as u64;
    is_refused("affinity", libc::SYS_sched_setaffinity, &[parent, 8, mask]);
    let priority = [0_u64];
    let priority = priority.as_ptr() as u64;
    is_refused(
        "scheduler",
        libc::SYS_sched_setscheduler,
        &[parent, 3, priority],
    );
    is_refused("scheduling", libc::SYS_sched_setattr, &[parent]);
    is_refused("its limits", libc::SYS_prlimit64, &[parent, 0, 0, 0]);
    is_refused("a signal", libc::SYS_tgkill, &[parent, parent, 0]);
    is_refused("a signal", libc::SYS_kill, &[parent, 0]);
    is_refused("its clock", libc::SYS_clock_gettime, &[!parent << 3 | 2, 0]);
}

fn no_process_outlives_the_server(_: &World) {
    let vfork = (libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD) as u64;
    is_refused("fork", libc::SYS_clone, &[libc::SIGCHLD as u64]);
    is_refused("vfork", libc::SYS_clone, &[vfork]);
    #[cfg(target_arch = "x86_64")]
    {
        is_refused("fork", libc::SYS_fork, &[]);
        is_refused("vfork", libc::SYS_vfork, &[]);
    }
    assert_eq!(call(libc::SYS_clone3, &[0, 0]), Err(libc::ENOSYS));
    // `setsid` is not tried here, because the kernel refuses it to a session leader
    // anyway: see `walk`.
}

fn no_file_is_watched(world: &World) {
    is_refused("inotify", libc::SYS_inotify_init1, &[]);
    let path = text(&world.note());
    is_refused("a watch", libc::SYS_inotify_add_watch, &[0, at(&path), 1]);
    is_refused("fanotify", libc::SYS_fanotify_init, &[]);
}

fn no_link_or_attribute_is_read_by_path(world: &World) {
    let mut buffer = [0_u8; 64];
    let into = buffer.as_mut_ptr() as u64;
    let (link, file) = (world.path("other/link"), world.path("other/private.md"));
    let (link, file) = (text(&link), text(&file));
    let here = libc::AT_FDCWD as u64;
    is_refused(
        "readlinkat",
        libc::SYS_readlinkat,
        &[here, at(&link), into, 64],
    );
    #[cfg(target_arch = "x86_64")]
    is_refused("readlink", libc::SYS_readlink, &[at(&link), into, 64]);
    let name = at(c"user.x");
    is_refused("getxattr", libc::SYS_getxattr, &[at(&file), name, into, 64]);
    is_refused("listxattr", libc::SYS_listxattr, &[at(&file), into, 64]);
    let access = libc::SYS_faccessat;
    is_refused("faccessat", access, &[here, at(&file), 0]);
}

fn no_file_is_leased_locked_or_renumbered(world: &World) {
    const SET_VERSION: u64 = 0x4008_6604;
    let file = File::open(world.note()).unwrap();
    let file = number_of(file.as_raw_fd());
    let version = [7_u64];
    let version = version.as_ptr() as u64;
    is_refused("a version", libc::SYS_ioctl, &[file, SET_VERSION, version]);
    let lease = [libc::F_SETLEASE as u64, libc::F_RDLCK as u64];
    is_refused("a lease", libc::SYS_fcntl, &[file, lease[0], lease[1]]);
    is_refused("a notice", libc::SYS_fcntl, &[file, 1026, 1]);
    is_refused("a lock", libc::SYS_fcntl, &[file, libc::F_SETLK as u64, 0]);
    is_refused("a lock", libc::SYS_flock, &[file, libc::LOCK_SH as u64]);
}

fn no_namespace_is_made(_: &World) {
    let user = libc::CLONE_NEWUSER as u64;
    is_refused(
        "a namespace",
        libc::SYS_clone,
        &[user | libc::SIGCHLD as u64],
    );
    is_refused("a namespace", libc::SYS_unshare, &[user]);
    is_refused("a namespace", libc::SYS_setns, &[0, user]);
}

fn root_mounts_and_freezes_nothing(world: &World) {
    const OPEN_TREE_ATTR: i64 = 467;
    const FREEZE: u64 = 0xc004_5877;
    let here = libc::AT_FDCWD as u64;
    let root = text(world.root());
    is_refused("a tree", OPEN_TREE_ATTR, &[here, at(&root), 1]);
    is_refused("a tree", libc::SYS_open_tree, &[here, at(&root), 1]);
    // With nothing to set, the call would only read the clock.
    let clock = [0_u64; 32];
    is_refused("the clock", libc::SYS_adjtimex, &[clock.as_ptr() as u64]);
    is_refused("the terminal", libc::SYS_vhangup, &[]);
    // The call is made on a socket, which has no file system to freeze, in case it
    // gets through.
    let socket = number_of(world.pair.0.as_raw_fd());
    is_refused("a file system", libc::SYS_ioctl, &[socket, FREEZE, 0]);
}

fn no_machine_code_is_made(_: &World) {
    let read_execute = (libc::PROT_READ | libc::PROT_EXEC) as u64;
    let anonymous = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as u64;
    let nothing = u64::MAX;
    is_refused(
        "a mapping",
        libc::SYS_mmap,
        &[0, 4096, read_execute, anonymous, nothing, 0],
    );
    is_refused("a protection", libc::SYS_mprotect, &[0, 0, read_execute]);
    is_refused("a memory file", libc::SYS_memfd_create, &[at(c"x"), 0]);
    is_refused("a filter", libc::SYS_seccomp, &[1, 1, 0]);
    is_refused("dumps", libc::SYS_prctl, &[libc::PR_SET_DUMPABLE as u64, 1]);
}

fn no_signal_is_sent_by_a_descriptor(world: &World) {
    const OWN: u64 = 0x8901;
    let socket = number_of(world.pair.0.as_raw_fd());
    let parent = world.parent.as_raw_nonzero().get() as u64;
    is_refused(
        "an owner",
        libc::SYS_fcntl,
        &[socket, libc::F_SETOWN as u64, parent],
    );
    is_refused("a signal", libc::SYS_fcntl, &[socket, 10, 9]);
    let asynchronous = libc::O_ASYNC as u64;
    is_refused(
        "a wish",
        libc::SYS_fcntl,
        &[socket, libc::F_SETFL as u64, asynchronous],
    );
    let group = [parent];
    is_refused(
        "an owner",
        libc::SYS_ioctl,
        &[socket, OWN, group.as_ptr() as u64],
    );
}
