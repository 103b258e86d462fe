//! The walk's interface on Linux.

use super::system::{Fault, FileSystem, Kind, Mount, Stat};
use rustix::{
    fs::{AtFlags, CWD, Mode, OFlags, SeekFrom},
    io::Errno,
};
use std::{
    ffi::{OsStr, OsString},
    fs,
    os::{
        fd::{AsFd, OwnedFd},
        unix::ffi::OsStringExt as _,
    },
    time::{Duration, SystemTime},
};

/// The real file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

const HOLD: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Without NONBLOCK, opening a FIFO would wait for a writer, and a file under a
/// lease for its holder.
const OPEN: OFlags = OFlags::NOFOLLOW
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// FUSE_SUPER_MAGIC, in `linux/magic.h` like all of these.
const FUSE: u32 = 0x6573_5546;

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

/// The attribute that holds an ACL.
const ACL: &str = "system.posix_acl_access";

impl FileSystem for System {
    type Handle = OwnedFd;

    fn root(&self) -> Result<OwnedFd, Fault> {
        Ok(rustix::fs::openat(
            CWD,
            "/",
            HOLD | OFlags::DIRECTORY,
            Mode::empty(),
        )?)
    }

    fn hold(&self, directory: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Fault> {
        let held =
            rustix::io::retry_on_intr(|| rustix::fs::openat(directory, name, HOLD, Mode::empty()));
        Ok(held?)
    }

    /// One system call instead of three.
    fn kind(&self, directory: &OwnedFd, name: &OsStr) -> Result<Kind, Fault> {
        let found = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(Stat::of(&found).kind)
    }

    fn open(&self, directory: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Fault> {
        let opened = rustix::io::retry_on_intr(|| {
            rustix::fs::openat(directory, name, OPEN | OFlags::RDONLY, Mode::empty())
        });
        Ok(opened?)
    }

    fn stat(&self, handle: &OwnedFd) -> Result<Stat, Fault> {
        Ok(Stat::of(&rustix::fs::fstat(handle)?))
    }

    /// Reads by the descriptor: it does not matter what now has this name.
    fn read_link(&self, link: &OwnedFd, _: &OwnedFd, _: &OsStr) -> Result<OsString, Fault> {
        let target = rustix::fs::readlinkat(link, "", Vec::new())?;
        Ok(OsString::from_vec(target.into_bytes()))
    }

    fn mount(&self, handle: &OwnedFd, stat: &Stat) -> Result<Mount, Fault> {
        let kind = match rustix::fs::fstatfs(handle) {
            // Only 32 bits of it are the number; the kernel's type for it varies.
            Ok(found) => found.f_type as u32,
            Err(error) => {
                return match Fault::from(error) {
                    Fault::OutOfResources => Err(Fault::OutOfResources),
                    // A file system that does not even say its type is not trusted.
                    _ => Ok(Mount::AnothersOwn),
                };
            }
        };
        Ok(match kind {
            _ if KERNEL.contains(&kind) => Mount::Kernel,
            FUSE if !is_own(stat.device, self.user()) => Mount::AnothersOwn,
            _ => Mount::Ordinary,
        })
    }

    /// An ACL gives nobody more rights than the group bits of the mode, which here
    /// stand for all entries of the ACL. In a sticky directory such rights do no harm.
    fn has_hidden_writers(&self, handle: &OwnedFd, stat: &Stat) -> Result<bool, Fault> {
        if stat.mode & 0o020 == 0 || stat.mode & 0o1000 != 0 {
            return Ok(false);
        }
        let asked = match stat.kind {
            // A descriptor with `O_PATH` cannot be asked. `.` is the same directory.
            Kind::Directory => {
                let flags = OPEN | OFlags::RDONLY | OFlags::DIRECTORY;
                match rustix::fs::openat(handle, ".", flags, Mode::empty()) {
                    Ok(directory) => acl(&directory),
                    Err(error) => Err(error),
                }
            }
            _ => acl(handle),
        };
        match asked {
            Ok(size) => Ok(size > 0),
            Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(false),
            Err(error) => match Fault::from(error) {
                Fault::OutOfResources => Err(Fault::OutOfResources),
                _ => Ok(true),
            },
        }
    }

    fn read(&self, file: &OwnedFd, bytes: &mut [u8], offset: u64) -> Result<usize, Fault> {
        Ok(rustix::io::retry_on_intr(|| {
            rustix::io::pread(file, &mut *bytes, offset)
        })?)
    }

    /// A search for data takes the file's lock on most local file systems (ext4, btrfs,
    /// tmpfs), so it waits for a write in progress.
    fn settle(&self, file: &OwnedFd) {
        // An empty file has no data, and some file systems do not support the call.
        let _ = rustix::fs::seek(file, SeekFrom::Data(0));
    }

    fn user(&self) -> u32 {
        rustix::process::geteuid().as_raw()
    }

    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn pause(&self, time: Duration) {
        std::thread::sleep(time);
    }
}

/// The size of a file's ACL.
fn acl(file: impl AsFd) -> Result<usize, Errno> {
    rustix::fs::fgetxattr_query(file, ACL)
}

/// Whether the user or root mounted this FUSE file system. Whoever mounted it controls
/// everything that it reports. The mount's options say who it was; virtiofs has no such
/// option, because only root can mount it.
fn is_own(device: u64, user: u32) -> bool {
    let Ok(mounts) = fs::read_to_string("/proc/self/mountinfo") else {
        return false;
    };
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    says_own(&mounts, &format!("{major}:{minor}"), user)
}

/// The same, from the text of a mountinfo. See proc_pid_mountinfo(5).
fn says_own(mounts: &str, device: &str, user: u32) -> bool {
    let mut found = mounts
        .lines()
        .filter(|line| line.split(' ').nth(2) == Some(device))
        .filter_map(|line| line.split_once(" - "))
        .map(|(_, after)| {
            let options = after.split(' ').nth(2).unwrap_or_default();
            let mounter = options.split(',').find_map(|o| o.strip_prefix("user_id="));
            mounter.is_none_or(|id| id.parse() == Ok(user) || id.parse() == Ok(0))
        })
        .peekable();
    found.peek().is_some() && found.all(|own| own)
}

impl Stat {
    fn of(stat: &rustix::fs::Stat) -> Self {
        let mode = stat.st_mode;
        Self {
            kind: match rustix::fs::FileType::from_raw_mode(mode) {
                rustix::fs::FileType::RegularFile => Kind::File,
                rustix::fs::FileType::Directory => Kind::Directory,
                rustix::fs::FileType::Symlink => Kind::Link,
                _ => Kind::Other,
            },
            mode: mode & 0o7777,
            owner: stat.st_uid,
            group: stat.st_gid,
            #[allow(
                clippy::useless_conversion,
                reason = "the width of this field differs by architecture"
            )]
            names: u64::from(stat.st_nlink),
            device: stat.st_dev,
            inode: stat.st_ino,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            modified: (stat.st_mtime, stat.st_mtime_nsec as i64),
            changed: (stat.st_ctime, stat.st_ctime_nsec as i64),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::{is_own, says_own};
    use std::{fs, os::unix::fs::MetadataExt as _};

    #[test]
    fn a_mount_is_looked_up_by_its_device() {
        assert!(is_own(fs::metadata("/proc/self").unwrap().dev(), 1000));
        assert!(!is_own(u64::MAX, 0));
    }

    #[test]
    fn a_fuse_mount_is_whose_every_line_says_so() {
        let mounts = "31 1 8:1 / / rw - ext4 /dev/sda1 rw,user_id=1001\n\
            40 31 0:50 / /jane rw,nosuid - fuse.sshfs jane@h:/ rw,user_id=1000,group_id=1000\n\
            41 31 0:51 / /root rw shared:7 - fuse.x x rw,user_id=0,group_id=0\n\
            42 31 0:52 / /vm rw - virtiofs vm rw\n\
            43 31 0:53 / /a rw - fuse.x x rw,user_id=1000\n\
            44 31 0:53 / /b rw - fuse.x x rw,user_id=1001\n\
            45 31 0:54 / /odd rw - fuse.x x rw,user_id=jane\n\
            46 31 0:55 / /short\n";
        for (device, user, own) in [
            ("0:50", 1000, true),
            ("0:50", 1001, false),
            ("0:50", 0, false),
            // Root's mounts are trusted for every user, and a mount without the option
            // is root's.
            ("0:51", 1000, true),
            ("0:52", 1000, true),
            // A device that has a mount of the user's and one of another's is not the
            // user's.
            ("0:53", 1000, false),
            ("0:53", 1001, false),
            // A line that cannot be understood, or that is missing, proves nothing.
            ("0:54", 1000, false),
            ("0:55", 1000, false),
            ("0:5", 1000, false),
        ] {
            assert_eq!(says_own(mounts, device, user), own, "{device} {user}");
        }
    }
}
