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

/// The open file `/proc/self/mountinfo`. [`remember`] opens this file before the process loses the
/// right to open it. The file says what is mounted at the time when it is read, and one thread at a
/// time reads it from its beginning.
///
/// Nothing is set before [`remember`] is called. After that, `Some(file)`, or None if the file
/// could not be opened.
static KEPT_MOUNTS: OnceLock<Option<Mutex<File>>> = OnceLock::new();

/// Reads or opens now what this process cannot open any more when it may open files beneath its
/// roots only: who is in which group, the list of mounts, and the numbers of the overflow user and
/// group. All walks of this process share these.
///
/// If the groups or the mounts cannot be read, they stay unknown, and what depends on them is not
/// trusted later: for example, nothing in a FUSE file system. An overflow user or group that cannot
/// be read counts as 65534, the kernel's default.
///
/// # Errors
/// The process has too few descriptors or too little memory for the groups or the mounts; or the
/// file system of `/etc` does not answer.
pub fn remember() -> Result<(), WalkError> {
    LazyLock::force(&OVERFLOW_IDS);
    Walker::new(System).groups()?;
    let mounts = match File::open(MOUNTINFO) {
        Ok(mounts) => Some(Mutex::new(mounts)),
        Err(error) if is_exhaustion(&error) => return Err(SystemError::OutOfResources.into()),
        // Without the list of mounts, no FUSE file system is trusted.
        Err(_) => None,
    };
    // `set` fails if an earlier call of `remember` has set a file already. That file stays.
    let _ = KEPT_MOUNTS.set(mounts);
    Ok(())
}

/// The flags with which `hold` opens a name. `O_PATH` gives a descriptor that nobody can read from,
/// and with `O_NOFOLLOW` that of a link itself.
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

/// The user of this process, and the overflow user and group. In a user namespace, the kernel shows
/// the overflow user in place of every user who has no number there, and the overflow group in
/// place of every such group. So nothing that seems to be theirs is trusted.
struct OverflowIds {
    own_user: u32,
    overflow_user: u32,
    overflow_group: u32,
    /// Whether each user has the same number in this process's user namespace as in the first one,
    /// which is the system's own.
    has_numbers_of_first_namespace: bool,
}

/// Read once, when they are first needed, or by [`remember`]: behind the wall, these files cannot
/// be opened. No command of Keyhole changes its user.
static OVERFLOW_IDS: LazyLock<OverflowIds> = LazyLock::new(|| OverflowIds {
    own_user: rustix::process::geteuid().as_raw(),
    overflow_user: overflow_id("/proc/sys/kernel/overflowuid"),
    overflow_group: overflow_id("/proc/sys/kernel/overflowgid"),
    has_numbers_of_first_namespace: has_numbers_of_first_namespace(),
});

/// The number in this file of the kernel. 65534, the kernel's default, if the file cannot be read
/// or has no number.
fn overflow_id(file: &str) -> u32 {
    let set = fs::read_to_string(file).unwrap_or_default();
    set.trim().parse().unwrap_or(65_534)
}

/// Whether this process's user namespace maps every number to itself, so that `/proc/self/uid_map`
/// has the numbers `0 0 4294967295`: see user_namespaces(7). True if the kernel has no user
/// namespaces. False for any other map, or if the file cannot be read.
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

    /// If the kernel denies the file because of this process's own wall, the error is
    /// [`SystemError::Confined`]. If it denies the file by its permissions, the error is
    /// [`SystemError::Denied`].
    fn open(&self, directory: &Handle, name: &OsStr) -> Result<Opened> {
        let opened = open_without_atime(directory, name);
        if matches!(opened, Err(Errno::ACCESS)) && is_confined(directory, name) {
            return Err(SystemError::Confined);
        }
        Handle::of(opened?)
    }

    /// Asks the server of a network file system anew, because what this machine remembers of the
    /// file may be older than another machine's write. On a local file system, that is one system
    /// call more.
    fn stat(&self, handle: &Handle) -> Result<Stat> {
        let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_FORCE_SYNC;
        // Only for its effect: `fstat` then reports what the server said. If this fails, so does
        // `fstat`, which returns the error.
        let _ = statx(&handle.0, "", flags, StatxFlags::BASIC_STATS);
        Ok(Stat::of(&fstat(&handle.0)?))
    }

    /// Reads the link by its descriptor, so neither the directory nor the name is needed.
    fn read_link(&self, link: &Handle, _: &Handle, _: &OsStr) -> Result<OsString> {
        let target = readlinkat(&link.0, "", Vec::new())?;
        Ok(OsString::from_vec(target.into_bytes()))
    }

    /// Why the mount is not trusted. `KernelFileSystem` for procfs, sysfs and the like.
    /// `ForeignMount` if the file system does not even say what it is, or if it is FUSE and another
    /// user mounted it, or may have. `Unchecked` for FUSE that lets other users in and does not
    /// check modes. None for any other FUSE mount, and for all other file systems, such as ext4 and
    /// NFS.
    ///
    /// # Errors
    /// [`SystemError::OutOfResources`] only.
    fn mount(&self, handle: &Handle, stat: &Stat) -> Result<Option<DistrustReason>> {
        let kind = match fstatfs(&handle.0).map_err(SystemError::from) {
            // 32 bits of `f_type` are the number; the kernel's type for it varies.
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
        // The list of mounts has each user's number in the first user namespace. If our user may
        // have another number there, this passes None: then no `user_id` counts as our user's or
        // root's, and only a mount without a `user_id` is trusted.
        let global_user = if OVERFLOW_IDS.has_numbers_of_first_namespace {
            self.user()
        } else {
            None
        };
        Ok(distrust_of_fuse(stat.device, global_user))
    }

    /// The groups that may write to the object, the user's own among them. The inner error is
    /// `WritableByOthers`, if another user may write by the access list, or if the list cannot be
    /// read or understood. The outer error is [`SystemError::OutOfResources`] only.
    ///
    /// No group is returned if the mode's bits for the group lack the right to write, as `0o644`:
    /// with an access list, these bits are its mask, the most that the list gives a group or
    /// another user. Nor is a group returned for a sticky directory, in which these rights do no
    /// harm.
    fn writing_groups(&self, handle: &Handle, stat: &Stat) -> Result<Writers> {
        if stat.mode & GROUP_WRITE == 0 || stat.is_sticky_directory() {
            return Ok(Ok(Vec::new()));
        }
        let asked = match stat.kind {
            // A descriptor with `O_PATH` cannot be asked for its access list. So the directory is
            // opened for reading, by its name `.` in itself.
            Kind::Directory => {
                let opened = handle.open(OsStr::new("."), OPEN | OFlags::DIRECTORY);
                opened.and_then(|opened| groups_that_write(opened, stat, self.user()))
            }
            _ => groups_that_write(&handle.0, stat, self.user()),
        };
        match asked.map_err(SystemError::from) {
            Ok(Some(groups)) => Ok(Ok(groups)),
            Err(error @ SystemError::OutOfResources) => Err(error),
            // The list lets another user write, is not understood, or cannot be read.
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

/// Opens a file for reading. If the user owns the file, reading does not change its access time.
/// For another user's file, the kernel refuses to open it so (`EPERM`): then it is opened as usual,
/// and reading may change that time.
fn open_without_atime(directory: &Handle, name: &OsStr) -> Result<OwnedFd, Errno> {
    match directory.open(name, OPEN | OFlags::NOATIME) {
        Err(Errno::PERM) => directory.open(name, OPEN),
        opened => opened,
    }
}

/// Whether the kernel refused to open this file because this process has restricted itself. True if
/// the process has called [`remember`], and the file's permissions let the user read it: Landlock,
/// which restricts the process, judges each `open`, and not `faccessat`, which is asked here. False
/// if the permissions do not let the user read it.
fn is_confined(directory: &Handle, name: &OsStr) -> bool {
    // A process that has not called `remember` has not restricted itself.
    if KEPT_MOUNTS.get().is_none() {
        return false;
    }
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::EACCESS;
    accessat(&directory.0, name, Access::READ_OK, flags).is_ok()
}

/// The groups that may write to an open object: by its access list, or if there is no list, by the
/// mode. None if the list lets a user write by name who is neither `user` nor root; if the list is
/// not understood; or if it has more than 4,096 bytes.
///
/// `user` is the user who runs this. If `user` is None, only root may be in the list by name.
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

/// The list of mounts as it is now: the bytes of `/proc/self/mountinfo`. If [`remember`] was
/// called, they are read from the file that it opened ([`KEPT_MOUNTS`]). Otherwise, the file is
/// opened.
///
/// # Errors
/// The file cannot be read, or [`remember`] could not open it.
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

/// Why nothing in the FUSE file system with this device number is trusted: see
/// [`distrust_by_mounts`]. None if the file system is trusted. `global_user` is the number of the
/// user who runs this, in the first user namespace. None if that number is unknown: then every
/// mount with a `user_id` is refused, also the user's own and root's.
fn distrust_of_fuse(device: u64, global_user: Option<u32>) -> Option<DistrustReason> {
    // A list that cannot be read counts as an empty one, so no mount is found in it.
    let mounts = mounts().unwrap_or_default();
    let major = rustix::fs::major(device);
    let minor = rustix::fs::minor(device);
    distrust_by_mounts(&mounts, &format!("{major}:{minor}"), global_user)
}

/// Why nothing in the FUSE file system `device`, such as `0:50`, is trusted. `mounts` is the list
/// of mounts: see proc_pid_mountinfo(5). The device is the third field of each line, as in
/// `40 31 0:50 / /jane rw - fuse.sshfs jane@h:/ rw,user_id=1000`.
///
/// The answer is the first reason that a line of this device gives ([`distrust_of_mount`]), and
/// `ForeignMount` if no line has this device. None if the device has a line, and no line of it
/// gives a reason. Lines of other devices are passed by. They may hold any bytes, because users
/// choose the names of directories. `global_user` is as for [`distrust_of_fuse`].
fn distrust_by_mounts(
    mounts: &[u8],
    device: &str,
    global_user: Option<u32>,
) -> Option<DistrustReason> {
    let mut is_listed = false;
    for line in mounts.split(|byte| *byte == b'\n') {
        let mut fields = line.split(|byte| *byte == b' ');
        if fields.nth(2) != Some(device.as_bytes()) {
            continue;
        }
        // A file system that is mounted in several places has a line for each, and each counts.
        let why = distrust_of_mount(line, global_user);
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

/// Why nothing in the FUSE file system of this line of the list of mounts is trusted. With
/// `global_user` 1000, by the options at the end of the line:
///
/// - `rw,user_id=1000` and `rw,user_id=0`: None, it is trusted. The user or root mounted the file
///   system. Whoever did controls everything that is reported there.
/// - `rw`: None. Without a `user_id`, root mounted the file system, as for virtiofs.
/// - `rw,user_id=1001` and `rw,user_id=x`: `ForeignMount`. So is a line without options.
/// - `rw,user_id=1000,allow_other`: `Unchecked`. Other users may use the file system, and the
///   kernel looks at no mode, unless `default_permissions` is there too: see `fuse(4)`.
///
/// A `user_id` is a number in the first user namespace, and so is `global_user`, the user who runs
/// this. If `global_user` is None, a line with any `user_id` is `ForeignMount`, also with root's.
fn distrust_of_mount(line: &[u8], global_user: Option<u32>) -> Option<DistrustReason> {
    let text = String::from_utf8_lossy(line);
    // The first ` - ` is the separator, because a blank in a name is escaped. Behind the separator
    // stand the kind of the file system, its source, and its options.
    let Some((_, file_system)) = text.split_once(" - ") else {
        return Some(DistrustReason::ForeignMount);
    };
    let Some(option_list) = file_system.split(' ').nth(2) else {
        return Some(DistrustReason::ForeignMount);
    };
    let options = option_list.split(',').collect::<Vec<_>>();
    let mounter = options
        .iter()
        .find_map(|option| option.strip_prefix("user_id="));
    let Some(mounter_id) = mounter else {
        // Root mounted it.
        return None;
    };
    if !is_own_or_root(mounter_id, global_user) {
        return Some(DistrustReason::ForeignMount);
    }
    if options.contains(&"allow_other") && !options.contains(&"default_permissions") {
        return Some(DistrustReason::Unchecked);
    }
    None
}

/// Whether `id` is the number of the user or of root: `1000` and `0`, if `global_user` is 1000.
/// False for what is no number, and for every number if `global_user` is None, also for `0`.
fn is_own_or_root(id: &str, global_user: Option<u32>) -> bool {
    match (id.parse::<u32>(), global_user) {
        (Ok(number), Some(own)) => number == own || number == ROOT,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
