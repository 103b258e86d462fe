//! The system calls that a sealed process is refused, with `EPERM`.
//!
//! A list of what is forbidden is never complete, so nothing rests on this one
//! alone: that files cannot be opened and TCP cannot be spoken is Landlock's
//! doing. Here are the ways around it, and what it does not look at. A list of
//! what is allowed would say more, but it would have to follow every version of
//! the C library, the runtime and the kernel, and break where it does not.

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, sock_filter,
};
use std::{collections::BTreeMap, env::consts::ARCH};

/// Starting a program. Landlock judges files, and a program can be in memory.
const PROGRAMS: [i64; 2] = [libc::SYS_execve, libc::SYS_execveat];

/// Sockets of every kind; of TCP alone Landlock refuses to connect and to bind.
/// Pairs of sockets, which lead nowhere, are used by the runtime.
const SOCKETS: [i64; 1] = [libc::SYS_socket];

/// Other processes: their memory, their descriptors, their life.
const PROCESSES: [i64; 11] = [
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
];

/// What is changed of a file without opening it for writing: mode, owner, times,
/// extended attributes.
const ATTRIBUTES: [i64; 15] = [
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    SETXATTRAT,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    REMOVEXATTRAT,
    FILE_SETATTR,
];

/// What would outlive the process, or reach one of another user.
const LASTING: [i64; 4] = [
    libc::SYS_shmget,
    libc::SYS_msgget,
    libc::SYS_semget,
    libc::SYS_mq_open,
];

/// What changes a file, whatever its descriptor was opened for: its flags and
/// version (chattr(1)), its integrity and its encryption. From `linux/fs.h`,
/// `fsverity.h` and `fscrypt.h`.
const FILE_IOCTLS: [u32; 6] = [
    0x4008_6602, // FS_IOC_SETFLAGS
    0x4004_6602, // FS_IOC32_SETFLAGS
    0x401c_5820, // FS_IOC_FSSETXATTR
    0x4008_7602, // FS_IOC_SETVERSION
    0x4080_6685, // FS_IOC_ENABLE_VERITY
    0x800c_6613, // FS_IOC_SET_ENCRYPTION_POLICY
];

/// What chooses a process that a descriptor signals, and by which signal: by
/// `ioctl` and by `fcntl`. From `asm-generic/sockios.h` and `fcntl.h`.
const OWNER_IOCTLS: [u32; 2] = [0x8901, 0x8902];
const OWNER_FCNTLS: [u32; 3] = [8, 10, 15];

/// The older forms of [`ATTRIBUTES`], which newer machines never had.
#[cfg(target_arch = "x86_64")]
const OLD_ATTRIBUTES: [i64; 6] = [
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(not(target_arch = "x86_64"))]
const OLD_ATTRIBUTES: [i64; 0] = [];

/// Another view of the file system, or of the machine; for whoever is root.
const VIEWS: [i64; 15] = [
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_mount_setattr,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_open_by_handle_at,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_quotactl,
];

/// Large parts of the kernel that nothing here needs. The first of them makes
/// system calls that no filter sees.
const KERNEL: [i64; 20] = [
    libc::SYS_io_uring_setup,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_syslog,
];

// Too new for the `libc` crate. Since 2019 a call has one number on all machines.
const FCHMODAT2: i64 = 452;
const SETXATTRAT: i64 = 463;
const REMOVEXATTRAT: i64 = 466;
const FILE_SETATTR: i64 = 469;

/// Where the numbers of calls begin that a 64-bit program makes in the x32
/// manner. They are calls of their own, by which the list above could be passed,
/// and the kernel gives the same architecture for both.
const X32: u32 = 0x4000_0000;

const REFUSED: u32 = libc::EPERM as u32;

/// The filter. A call made in the manner of another architecture, as with
/// `int 0x80`, ends the process.
pub(super) fn filter() -> Result<BpfProgram, BackendError> {
    let mut filter = no_x32();
    filter.extend(listed()?);
    Ok(filter)
}

/// Refuses x32 calls and goes on with all others.
fn no_x32() -> BpfProgram {
    let instruction = |code, jump_if_not, k| sock_filter {
        code,
        jt: 0,
        jf: jump_if_not,
        k,
    };
    vec![
        // Load the number, which comes first in `seccomp_data`.
        instruction((libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16, 0, 0),
        // Unless it is as high, pass over the next.
        instruction((libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16, 1, X32),
        instruction(
            (libc::BPF_RET | libc::BPF_K) as u16,
            0,
            libc::SECCOMP_RET_ERRNO | REFUSED,
        ),
    ]
}

/// Refuses the calls of the lists.
fn listed() -> Result<BpfProgram, BackendError> {
    let always = [
        &PROGRAMS[..],
        &SOCKETS,
        &PROCESSES,
        &ATTRIBUTES,
        &OLD_ATTRIBUTES,
        &LASTING,
        &VIEWS,
        &KERNEL,
    ];
    let mut rules: BTreeMap<_, _> = always
        .into_iter()
        .flatten()
        .map(|call| (*call, Vec::new()))
        .collect();
    // Typing into the terminal that standard error may be.
    let typing = [libc::TIOCSTI as u32, libc::TIOCLINUX as u32];
    let ioctls = [&typing[..], &FILE_IOCTLS, &OWNER_IOCTLS].concat();
    rules.insert(libc::SYS_ioctl, any_of(&ioctls)?);
    rules.insert(libc::SYS_fcntl, any_of(&OWNER_FCNTLS)?);
    // Limits, of this process only.
    let others = vec![argument(0, SeccompCmpOp::Ne, 0)?];
    rules.insert(libc::SYS_prlimit64, others);
    // `abort` signals its own process, and no other may be signalled.
    let own = u64::from(std::process::id());
    rules.insert(libc::SYS_tgkill, vec![argument(0, SeccompCmpOp::Ne, own)?]);
    SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(REFUSED),
        ARCH.try_into()?,
    )?
    .try_into()
}

/// That the second argument, a command, is one of these.
fn any_of(commands: &[u32]) -> Result<Vec<SeccompRule>, BackendError> {
    commands
        .iter()
        .map(|command| argument(1, SeccompCmpOp::Eq, u64::from(*command)))
        .collect()
}

/// That an argument, of which the kernel looks at 32 bits, compares so.
fn argument(index: u8, compared: SeccompCmpOp, with: u64) -> Result<SeccompRule, BackendError> {
    SeccompCondition::new(index, SeccompCmpArgLen::Dword, compared, with)
        .and_then(|condition| SeccompRule::new(vec![condition]))
}
