//! The walk's interface on Linux.
#![expect(clippy::disallowed_methods, reason = "the walk itself")]

use crate::{
    error::{Result, SystemError, WalkError, is_exhaustion},
    group::groups_in,
    system::{FileSystem, Handle, Kind, OPEN, Opened, Stat, System, Writers},
    trust::{DistrustReason, GROUP_WRITE, ROOT},
    walker::Walker,
};
use rustix::{
    fs::{
        Access, AtFlags, OFlags, StatxFlags, accessat, fgetxattr, fstat, fstatfs, readlinkat, statx,
    },
    io::Errno,
};
use std::{
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::{self, ErrorKind, Read as _, Seek as _},
    os::{
        fd::{AsFd, OwnedFd},
        unix::ffi::OsStringExt as _,
    },
    sync::{LazyLock, Mutex, OnceLock, PoisonError},
};

/// `/proc/self/mountinfo`, which [`remember`] opens before the process loses the right to open it.
/// It says what is mounted at the time when it is read. One thread at a time reads it, from its
/// beginning. The inner None means that it could not be opened.
static KEPT_MOUNTS: OnceLock<Option<Mutex<File>>> = OnceLock::new();

/// Reads now what this process cannot read any more when it may open files beneath its roots only:
/// who is in which group, where file systems are mounted, and the overflow user and group. All
/// walks of this process share it, so none can be forgotten.
///
/// # Errors
/// The process has too few descriptors or too little memory for the groups or the mounts. If these
/// cannot be read for another reason, they are unknown later, and what depends on them is not
/// trusted. An overflow user or group that cannot be read is the kernel's usual one.
pub fn remember() -> Result<(), WalkError> {
    LazyLock::force(&OVERFLOW_IDS);
    Walker::new(System).groups()?;
    let mounts = match File::open(MOUNTINFO) {
        Ok(mounts) => Some(Mutex::new(mounts)),
        Err(error) if is_exhaustion(&error) => return Err(SystemError::OutOfResources.into()),
        // Without the list of mounts, no FUSE file system is trusted.
        Err(_) => None,
    };
    // `set` fails if an earlier call has kept the file already. Then that one stays.
    let _ = KEPT_MOUNTS.set(mounts);
    Ok(())
}

/// How a name is held: `O_PATH` gives a descriptor that nobody can read from, of a link too.
const HOLD: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// FUSE_SUPER_MAGIC, in `linux/magic.h` like all of these.
const FUSE: u32 = 0x6573_5546;

/// The list of mounts.
const MOUNTINFO: &str = "/proc/self/mountinfo";

/// The right to write, in an entry of an access list (`linux/posix_acl_xattr.h`).
const WRITE: u16 = 2;

/// File systems whose content the kernel makes up.
const KERNEL_FILE_SYSTEMS: [u32; 26] = [
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
struct OverflowIds {
    own_user: u32,
    overflow_user: u32,
    overflow_group: u32,
    /// Whether each user has the same number in this process's user namespace as in the first one.
    has_numbers_of_first_namespace: bool,
}

/// No command changes its user. The files are read before the wall, behind which nobody can.
static OVERFLOW_IDS: LazyLock<OverflowIds> = LazyLock::new(|| OverflowIds {
    own_user: rustix::process::geteuid().as_raw(),
    overflow_user: overflow_id("/proc/sys/kernel/overflowuid"),
    overflow_group: overflow_id("/proc/sys/kernel/overflowgid"),
    has_numbers_of_first_namespace: has_numbers_of_first_namespace(),
});

/// The number in this file of the kernel; its default, 65534, if it cannot be read.
fn overflow_id(file: &str) -> u32 {
    let set = fs::read_to_string(file).unwrap_or_default();
    set.trim().parse().unwrap_or(65_534)
}

/// Whether this process's user namespace maps every number to itself: see user_namespaces(7).
fn has_numbers_of_first_namespace() -> bool {
    match fs::read_to_string("/proc/self/uid_map") {
        Ok(map) => map.split_whitespace().eq(["0", "0", "4294967295"]),
        // A kernel without user namespaces has no such file.
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}

impl FileSystem for System {
    type Handle = Handle;

    fn root(&self) -> Result<Opened> {
        Handle::root(HOLD)
    }

    fn hold(&self, directory: &Handle, name: &OsStr) -> Result<Opened> {
        Handle::of(directory.open(name, HOLD)?)
    }

    fn kind(&self, directory: &Handle, name: &OsStr) -> Result<Kind> {
        directory.kind(name)
    }

    fn open(&self, directory: &Handle, name: &OsStr) -> Result<Opened> {
        let opened = open_without_atime(directory, name);
        if matches!(opened, Err(Errno::ACCESS)) && is_confined(directory, name) {
            return Err(SystemError::Confined);
        }
        Handle::of(opened?)
    }

    /// Asks a file system of the network anew: what it keeps may be older than another machine's
    /// write. On a local one, that is one system call more.
    fn stat(&self, handle: &Handle) -> Result<Stat> {
        let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_FORCE_SYNC;
        // If this fails, so does `fstat`, which returns the error.
        let _ = statx(&handle.0, "", flags, StatxFlags::BASIC_STATS);
        Ok(Stat::of(&fstat(&handle.0)?))
    }

    /// Reads by the descriptor: it does not matter what now has this name.
    fn read_link(&self, link: &Handle, _: &Handle, _: &OsStr) -> Result<OsString> {
        let target = readlinkat(&link.0, "", Vec::new())?;
        Ok(OsString::from_vec(target.into_bytes()))
    }

    /// Why the mount is not trusted: it is one of the kernel's file systems, it does not say what
    /// it is, or it is a FUSE mount that another user made or that does not check modes. None for
    /// any other FUSE mount, and for each file system of another kind.
    fn mount(&self, handle: &Handle, stat: &Stat) -> Result<Option<DistrustReason>> {
        let kind = match fstatfs(&handle.0).map_err(SystemError::from) {
            // Only 32 bits of it are the number; the kernel's type for it varies.
            Ok(found) => found.f_type as u32,
            Err(error @ SystemError::OutOfResources) => return Err(error),
            // The file system does not even say what it is.
            Err(_) => return Ok(Some(DistrustReason::ForeignMount)),
        };
        if KERNEL_FILE_SYSTEMS.contains(&kind) {
            return Ok(Some(DistrustReason::KernelFileSystem));
        }
        if kind != FUSE {
            return Ok(None);
        }
        // The list of mounts has the number that each user has in the first user namespace. If our
        // user's number may differ there, it is not compared.
        let global_user = if OVERFLOW_IDS.has_numbers_of_first_namespace {
            self.user()
        } else {
            None
        };
        Ok(distrust_of_fuse(stat.device, global_user))
    }

    /// The groups that may write to the object, also the user's own; or as the inner error, why the
    /// object is not trusted: another user may write by its access list, or the list cannot be
    /// read.
    ///
    /// No group may write if the mode's bits for the group lack that right: they are the most that
    /// an access list gives a group or another user. In a sticky directory, such rights do no harm,
    /// so no group is returned.
    fn writing_groups(&self, handle: &Handle, stat: &Stat) -> Result<Writers> {
        if stat.mode & GROUP_WRITE == 0 || stat.is_sticky_directory() {
            return Ok(Ok(Vec::new()));
        }
        let asked = match stat.kind {
            // A descriptor with `O_PATH` cannot be asked. `.` is the same directory.
            Kind::Directory => {
                let opened = handle.open(OsStr::new("."), OPEN | OFlags::DIRECTORY);
                opened.and_then(|opened| groups_that_write(opened, stat, self.user()))
            }
            _ => groups_that_write(&handle.0, stat, self.user()),
        };
        match asked.map_err(SystemError::from) {
            Ok(Some(groups)) => Ok(Ok(groups)),
            Err(error @ SystemError::OutOfResources) => Err(error),
            // The list names another user, or nobody can tell what it says.
            Ok(None) | Err(_) => Ok(Err(DistrustReason::WritableByOthers)),
        }
    }

    fn read(&self, file: &Handle, bytes: &mut [u8], offset: u64) -> Result<usize> {
        file.read(bytes, offset)
    }

    fn user(&self) -> Option<u32> {
        if OVERFLOW_IDS.own_user == OVERFLOW_IDS.overflow_user {
            return None;
        }
        Some(OVERFLOW_IDS.own_user)
    }

    fn is_nameless(&self, owner: u32) -> bool {
        owner == OVERFLOW_IDS.overflow_user && !OVERFLOW_IDS.has_numbers_of_first_namespace
    }

    fn is_known(&self, group: u32) -> bool {
        group != OVERFLOW_IDS.overflow_group
    }
}

/// Opens a file so that reading does not change its access time, if the user owns it. For
/// another's file, the kernel refuses that (`EPERM`), and reading may change the time.
fn open_without_atime(directory: &Handle, name: &OsStr) -> Result<OwnedFd, Errno> {
    match directory.open(name, OPEN | OFlags::NOATIME) {
        Err(Errno::PERM) => directory.open(name, OPEN),
        opened => opened,
    }
}

/// Whether the kernel refused to open this file because the process has restricted itself, and not
/// because of the file's permissions: they let the user read it. Landlock, behind which the process
/// is, judges what is opened, and not this question.
fn is_confined(directory: &Handle, name: &OsStr) -> bool {
    // A process calls `remember` before it restricts itself.
    if KEPT_MOUNTS.get().is_none() {
        return false;
    }
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::EACCESS;
    accessat(&directory.0, name, Access::READ_OK, flags).is_ok()
}

/// The groups that may write to an open object: by its access list, or without a list by the mode.
/// None if the list names a user, other than `user` and root, who may write; if the list is not
/// understood; or if it has more than 4,096 bytes.
///
/// # Errors
/// What the system reports if the list cannot be read.
fn groups_that_write(
    file: impl AsFd,
    stat: &Stat,
    user: Option<u32>,
) -> Result<Option<Vec<u32>>, Errno> {
    let mut list = [0; 4096];
    let size = match fgetxattr(file, "system.posix_acl_access", &mut list[..]) {
        Ok(size) => size,
        // The object has no list, or its file system keeps none.
        Err(Errno::NODATA | Errno::OPNOTSUPP) => 0,
        // The list is longer. Nobody needs one so long.
        Err(Errno::RANGE) => return Ok(None),
        Err(error) => return Err(error),
    };
    if size == 0 {
        return Ok(Some(stat.writing_group()));
    }
    Ok(groups_in(&list[..size], WRITE, stat.group, user))
}

/// The bytes of [`MOUNTINFO`] as they are now. Before [`remember`], this opens the file. After it,
/// this reads the open file that [`KEPT_MOUNTS`] holds, and fails if that could not be opened.
fn mounts() -> io::Result<Vec<u8>> {
    let Some(kept) = KEPT_MOUNTS.get() else {
        return fs::read(MOUNTINFO);
    };
    let Some(lock) = kept else {
        return Err(ErrorKind::NotFound.into());
    };
    // A thread that panicked with the lock left the file as it was.
    let mut file = lock.lock().unwrap_or_else(PoisonError::into_inner);
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Why nothing in the FUSE file system with this device number is trusted. None if it can be.
/// `user` is as for [`distrust_of_mount`].
fn distrust_of_fuse(device: u64, user: Option<u32>) -> Option<DistrustReason> {
    // Without the list, nothing is known of any mount.
    let mounts = mounts().unwrap_or_default();
    let major = rustix::fs::major(device);
    let minor = rustix::fs::minor(device);
    distrust_by_mounts(&mounts, &format!("{major}:{minor}"), user)
}

/// Why nothing in the FUSE file system `device` is trusted, from the bytes of a mountinfo (see
/// proc_pid_mountinfo(5)): the first reason that one of its lines gives, or that it has no line.
/// None if it is trusted. `user` is as for [`distrust_of_mount`].
///
/// `device` is the third field of a line, as `0:50`. A line of another device is passed by: it may
/// hold any bytes, since any user may name a directory so.
fn distrust_by_mounts(mounts: &[u8], device: &str, user: Option<u32>) -> Option<DistrustReason> {
    let mut is_listed = false;
    for line in mounts.split(|byte| *byte == b'\n') {
        let mut fields = line.split(|byte| *byte == b' ');
        if fields.nth(2) != Some(device.as_bytes()) {
            continue;
        }
        // A file system that is mounted in several places has a line for each, and each counts.
        let why = distrust_of_mount(line, user);
        if why.is_some() {
            return why;
        }
        is_listed = true;
    }
    if is_listed {
        return None;
    }
    Some(DistrustReason::ForeignMount)
}

/// Why nothing in the FUSE file system of this line is trusted. None if it can be: with `user`
/// 1000, the options `rw,user_id=1000` are fine, and `rw,user_id=1001` are not.
///
/// Whoever mounted the file system controls everything that it reports. The option `user_id` says
/// who that was, by the user's number in the first user namespace. Without it, root mounted the
/// file system: virtiofs has no such option. With `allow_other` and without `default_permissions`,
/// other users may use it, and the kernel asks no mode: see `fuse(4)`. A line without options is
/// not trusted.
///
/// `user` is the number of the user who runs this. It is None if another user may have this number
/// in the first user namespace: then each `user_id` is refused, also root's.
fn distrust_of_mount(line: &[u8], user: Option<u32>) -> Option<DistrustReason> {
    let text = String::from_utf8_lossy(line);
    // The first ` - ` is the separator, because a blank in a name is escaped. Behind it stand the
    // kind of the file system, its source, and its options.
    let Some((_, file_system)) = text.split_once(" - ") else {
        return Some(DistrustReason::ForeignMount);
    };
    let Some(listed) = file_system.split(' ').nth(2) else {
        return Some(DistrustReason::ForeignMount);
    };
    let options = listed.split(',').collect::<Vec<_>>();
    let mounter = options
        .iter()
        .find_map(|option| option.strip_prefix("user_id="));
    let Some(mounter_id) = mounter else {
        // Root mounted it.
        return None;
    };
    if !is_own_or_root(mounter_id, user) {
        return Some(DistrustReason::ForeignMount);
    }
    if options.contains(&"allow_other") && !options.contains(&"default_permissions") {
        return Some(DistrustReason::Unchecked);
    }
    None
}

/// Whether `id` is the number of `user` or of root. False for every number if `user` is None.
fn is_own_or_root(id: &str, user: Option<u32>) -> bool {
    match (id.parse::<u32>(), user) {
        (Ok(number), Some(user)) => number == user || number == ROOT,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
