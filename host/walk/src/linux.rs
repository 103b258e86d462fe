//! The walk's interface on Linux.
#![expect(clippy::disallowed_methods, reason = "the walk itself")]

use crate::{
    Walker,
    error::{Result, SystemError, WalkError, is_exhaustion},
    group::groups_in,
    system::{FileSystem, Handle, Kind, OPEN, Stat, System, Writers},
    trust::{DistrustReason, GROUP_WRITE},
};
use rustix::{
    fs::{Access, AtFlags, CWD, Mode, OFlags, StatxFlags},
    io::{Errno, retry_on_intr},
};
use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{Read as _, Seek as _},
    os::{fd::AsFd, unix::ffi::OsStringExt as _},
    sync::{LazyLock, Mutex, OnceLock, PoisonError},
};

/// What was opened before the process lost the right to open it: `/proc/self/mountinfo`, which says
/// what is mounted at the time when it is read. One thread at a time reads it, from its beginning.
static KEPT: OnceLock<Option<Mutex<File>>> = OnceLock::new();

/// Reads now what this process cannot read any more when it may open files beneath its roots
/// only: who is in which group, where file systems are mounted, and whose files may be
/// anybody's. All walks of this process share it, so none can be forgotten. This fails only if
/// the process has too few descriptors or too little memory.
pub fn remember() -> Result<(), WalkError> {
    LazyLock::force(&IDS);
    Walker::new(System).groups()?;
    let mounts = match File::open(MOUNTS) {
        Ok(mounts) => Some(Mutex::new(mounts)),
        Err(error) if is_exhaustion(&error) => return Err(SystemError::OutOfResources.into()),
        // Then no FUSE file system is trusted.
        Err(_) => None,
    };
    // It was opened before, with the same result.
    let _ = KEPT.set(mounts);
    Ok(())
}

const HOLD: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// FUSE_SUPER_MAGIC, in `linux/magic.h` like all of these.
const FUSE: u32 = 0x6573_5546;

const MOUNTS: &str = "/proc/self/mountinfo";

/// File systems whose content the kernel makes up.
const KERNEL: [u32; 26] = [
    0x0000_9fa0, // procfs
    0x6265_6572, // sysfs
    0x6462_6720, // debugfs
    0x7472_6163, // tracefs
    0x0027_e0eb, // cgroup
    0x6367_7270, // cgroup2
    0x7363_6673, // securityfs
    0xf97c_ff8c, // selinuxfs
    0x4341_5d53, // smackfs
    0x5a3c_69f0, // apparmorfs
    0xcafe_4a11, // bpf
    0x6265_6570, // configfs
    0xde5e_81e4, // efivarfs
    0x6165_676c, // pstore
    0x4249_4e4d, // binfmt_misc
    0x0000_1cd1, // devpts
    0x1980_0202, // mqueue
    0x6e73_6673, // nsfs
    0x5049_4446, // pidfs
    0x0904_1934, // anon_inode
    0x534f_434b, // sockfs
    0x5049_5045, // pipefs
    0x6573_5543, // fusectl
    0x6759_6969, // rpc_pipefs
    0x6e66_7364, // nfsd
    0x0765_5821, // resctrl
];

/// The user of this process, and what the kernel shows in a user namespace for every user and
/// for every group that has no number there: the overflow user and group. Nothing that seems to
/// be theirs is trusted.
struct Ids {
    user: u32,
    any_user: u32,
    any_group: u32,
    /// Whether a user has the same number here as outside, in every user namespace above.
    are_outside: bool,
}

/// No command changes its user. The files are read before the wall, behind which nobody can.
static IDS: LazyLock<Ids> = LazyLock::new(|| {
    let [any_user, any_group] = ["uid", "gid"].map(|what| {
        let set = std::fs::read_to_string(format!("/proc/sys/kernel/overflow{what}"));
        let set = set.ok().and_then(|set| set.trim().parse().ok());
        set.unwrap_or(65_534)
    });
    Ids {
        user: rustix::process::geteuid().as_raw(),
        any_user,
        any_group,
        // Without user namespaces, the kernel has no such file.
        are_outside: match std::fs::read_to_string("/proc/self/uid_map") {
            Ok(map) => map.split_whitespace().eq(["0", "0", "4294967295"]),
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        },
    }
});

impl FileSystem for System {
    type Handle = Handle;

    fn root(&self) -> Result<(Handle, Stat)> {
        let flags = HOLD | OFlags::DIRECTORY;
        Handle::of(rustix::fs::openat(CWD, "/", flags, Mode::empty())?)
    }

    fn hold(&self, directory: &Handle, name: &OsStr) -> Result<(Handle, Stat)> {
        Handle::of(directory.open(name, HOLD)?)
    }

    /// One system call instead of two, and no descriptor.
    fn kind(&self, directory: &Handle, name: &OsStr) -> Result<Kind> {
        let found = rustix::fs::statat(&directory.0, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(Stat::of(&found).kind)
    }

    /// Reading does not change the access time if the user owns the file: only they may
    /// ask for that.
    fn open(&self, directory: &Handle, name: &OsStr) -> Result<(Handle, Stat)> {
        let opened = match directory.open(name, OPEN | OFlags::NOATIME) {
            Err(Errno::PERM) => directory.open(name, OPEN),
            opened => opened,
        };
        // If the file's permissions let this user read it, and the kernel refuses to open it, this
        // process has restricted itself: Landlock judges what is opened, and not this question.
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::EACCESS;
        let may_read = || rustix::fs::accessat(&directory.0, name, Access::READ_OK, flags).is_ok();
        match opened {
            Err(Errno::ACCESS) if KEPT.get().is_some() && may_read() => Err(SystemError::Confined),
            opened => Handle::of(opened?),
        }
    }

    /// Asks a file system of the network anew: what it keeps may be older than another machine's
    /// write. On a local one, that is one system call more.
    fn stat(&self, handle: &Handle) -> Result<Stat> {
        let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_FORCE_SYNC;
        // The next call meets the same error, if there is one.
        let _ = rustix::fs::statx(&handle.0, "", flags, StatxFlags::BASIC_STATS);
        Ok(Stat::of(&rustix::fs::fstat(&handle.0)?))
    }

    /// Reads by the descriptor: it does not matter what now has this name.
    fn read_link(&self, link: &Handle, _: &Handle, _: &OsStr) -> Result<OsString> {
        let target = rustix::fs::readlinkat(&link.0, "", Vec::new())?;
        Ok(OsString::from_vec(target.into_bytes()))
    }

    fn mount(&self, handle: &Handle, stat: &Stat) -> Result<Option<DistrustReason>> {
        // Only 32 bits of it are the number; the kernel's type for it varies.
        let kind = rustix::fs::fstatfs(&handle.0).map(|found| found.f_type as u32);
        Ok(match kind.map_err(SystemError::from) {
            Ok(kind) if KERNEL.contains(&kind) => Some(DistrustReason::KernelFileSystem),
            Ok(FUSE) => fuse(stat.device, self.user().filter(|_| IDS.are_outside)),
            Ok(_) => None,
            Err(error @ SystemError::OutOfResources) => return Err(error),
            // It does not even say what it is.
            Err(_) => Some(DistrustReason::ForeignMount),
        })
    }

    /// An ACL gives nobody more rights than the group bits of the mode, which here
    /// stand for all entries of the ACL. In a sticky directory such rights do no harm.
    fn writing_groups(&self, handle: &Handle, stat: &Stat) -> Result<Writers> {
        if stat.mode & GROUP_WRITE == 0 || stat.is_sticky_directory() {
            return Ok(Ok(Vec::new()));
        }
        let asked = match stat.kind {
            // A descriptor with `O_PATH` cannot be asked. `.` is the same directory.
            Kind::Directory => {
                let opened = handle.open(OsStr::new("."), OPEN | OFlags::DIRECTORY);
                opened.and_then(|opened| acl(opened, stat, self.user()))
            }
            _ => acl(&handle.0, stat, self.user()),
        };
        match asked.map_err(SystemError::from) {
            Err(error @ SystemError::OutOfResources) => Err(error),
            asked => Ok(asked.ok().flatten().ok_or(DistrustReason::WritableByOthers)),
        }
    }

    fn read(&self, file: &Handle, bytes: &mut [u8], offset: u64) -> Result<usize> {
        let read = || rustix::io::pread(&file.0, &mut *bytes, offset);
        Ok(retry_on_intr(read)?)
    }

    fn user(&self) -> Option<u32> {
        (IDS.user != IDS.any_user).then_some(IDS.user)
    }

    fn is_nameless(&self, owner: u32) -> bool {
        owner == IDS.any_user && !IDS.are_outside
    }

    fn is_known(&self, group: u32) -> bool {
        group != IDS.any_group
    }
}

/// The groups that may write, by the ACL or else by the mode. None if an ACL lets somebody else
/// write but `user` and root.
fn acl(file: impl AsFd, stat: &Stat, user: Option<u32>) -> Result<Option<Vec<u32>>, Errno> {
    let mut list = [0; 4096];
    match rustix::fs::fgetxattr(file, "system.posix_acl_access", &mut list[..]) {
        Ok(size) if size > 0 => Ok(groups_in(&list[..size], 2, stat.group, user)),
        Ok(_) | Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(Some(stat.writing_group())),
        // Nobody needs so long a list.
        Err(Errno::RANGE) => Ok(None),
        Err(error) => Err(error),
    }
}

fn mounts() -> std::io::Result<Vec<u8>> {
    let Some(kept) = KEPT.get() else {
        return std::fs::read(MOUNTS);
    };
    let file = kept.as_ref().ok_or(std::io::ErrorKind::NotFound)?;
    // A thread that panicked with the lock left the file as it was.
    let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn fuse(device: u64, user: Option<u32>) -> Option<DistrustReason> {
    // Without the list, nothing is known of any mount.
    let mounts = mounts().unwrap_or_default();
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    fuse_in(&mounts, &format!("{major}:{minor}"), user)
}

/// The same, from the bytes of a mountinfo: see proc_pid_mountinfo(5). Only the lines of
/// this device count. Others may hold any bytes: any user may name a directory so.
///
/// Whoever mounted it controls everything that it reports. The mount's options say who it
/// was; virtiofs has no such option, because only root can mount it. With `allow_other` and
/// without `default_permissions`, the kernel asks no mode: see `fuse(4)`.
///
/// The option has the number that a user has where it was mounted. `user` is None if our own
/// numbers may be others' there.
fn fuse_in(mounts: &[u8], device: &str, user: Option<u32>) -> Option<DistrustReason> {
    let foreign = Some(DistrustReason::ForeignMount);
    let of_this = mounts
        .split(|byte| *byte == b'\n')
        .filter(|line| line.split(|byte| *byte == b' ').nth(2) == Some(device.as_bytes()))
        .map(|line| {
            // Before the separator stands no other one: a blank in a name is escaped.
            let line = String::from_utf8_lossy(line);
            let after = line.split_once(" - ").map(|(_, after)| after);
            let Some(options) = after.and_then(|after| after.split(' ').nth(2)) else {
                return foreign;
            };
            let has = |option| options.split(',').any(|o| o == option);
            let mounter = options.split(',').find_map(|o| o.strip_prefix("user_id="));
            match mounter.map(str::parse) {
                Some(id) if user.is_none_or(|user| id != Ok(user) && id != Ok(0)) => foreign,
                Some(_) if has("allow_other") && !has("default_permissions") => {
                    Some(DistrustReason::Unchecked)
                }
                _ => None,
            }
        });
    // One may be mounted in several places.
    of_this.reduce(Option::or).unwrap_or(foreign)
}

#[cfg(test)]
mod tests;
