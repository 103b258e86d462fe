//! What the walk asks of the operating system: the one small interface.

use crate::{
    error::Result,
    members::GroupFiles,
    trust::{DistrustReason, GROUP_WRITE},
};
use rustix::{
    fs::{AtFlags, CWD, FileType, Mode, OFlags, fstat, openat, statat},
    io::{Errno, pread, retry_on_intr},
};
use std::{
    ffi::{OsStr, OsString},
    fs::File,
    os::fd::OwnedFd,
    sync::OnceLock,
    time::{Duration, SystemTime},
};

/// A file system, as one process sees it.
///
/// A *handle* is a descriptor: it always stands for the same object, whatever happens
/// to the object's names. No method follows a link, and none waits for another process
/// to open the other end of a FIFO. [`System`] is real, and the tests have a model.
pub trait FileSystem {
    /// An open object.
    type Handle;

    /// Opens `/`, not for reading.
    fn root(&self) -> Result<Opened<Self::Handle>>;

    /// Opens whatever has the single name `name` in this directory, but not for reading: the user
    /// need not be allowed to read it. If `name` is a link, opens the link itself.
    fn hold(&self, directory: &Self::Handle, name: &OsStr) -> Result<Opened<Self::Handle>>;

    /// What `name` in this directory is, as far as one look tells: a later look may
    /// find something else.
    fn kind(&self, directory: &Self::Handle, name: &OsStr) -> Result<Kind>;

    /// Opens `name` in this directory for reading. Fails with
    /// [`IsLink`](crate::SystemError::IsLink) if `name` is a link.
    fn open(&self, directory: &Self::Handle, name: &OsStr) -> Result<Opened<Self::Handle>>;

    /// What a handle reports now.
    fn stat(&self, handle: &Self::Handle) -> Result<Stat>;

    /// The target of the open link, which is in `directory` as `name`.
    fn read_link(
        &self,
        link: &Self::Handle,
        directory: &Self::Handle,
        name: &OsStr,
    ) -> Result<OsString>;

    /// Why nothing in the mount of this handle is trusted, whatever is reported of owners and
    /// modes there. None if root or the user made the mount, and its file system keeps owners and
    /// modes.
    fn mount(&self, handle: &Self::Handle, stat: &Stat) -> Result<Option<DistrustReason>>;

    /// The groups that may write, by the mode's bits for the group or by an access control list; or
    /// as the inner error, why the object is not trusted: see [`Writers`]. The mode's bits for all
    /// others are not looked at. The outer error is
    /// [`OutOfResources`](crate::SystemError::OutOfResources) only.
    fn writing_groups(&self, handle: &Self::Handle, stat: &Stat) -> Result<Writers>;

    /// Reads into `bytes`, from `offset`, and returns how many bytes were read. 0 means the end of
    /// the file.
    fn read(&self, file: &Self::Handle, bytes: &mut [u8], offset: u64) -> Result<usize>;

    /// The number of the user whose rights the process has. None if that is the overflow user, as
    /// whom the system shows every owner that it cannot name.
    fn user(&self) -> Option<u32>;

    /// Whether `owner` is the overflow user, as whom the system shows every owner that it cannot
    /// name, because this process is in a user namespace. False on a system without user
    /// namespaces.
    fn is_nameless(&self, _owner: u32) -> bool {
        false
    }

    /// Whether `group` is one group, and not the overflow group, as which the system shows every
    /// group that it cannot name.
    fn is_known(&self, _group: u32) -> bool {
        true
    }

    /// Who is in which group, once a walk needed to know. All walks of a process share it.
    fn groups(&self) -> &OnceLock<GroupFiles> {
        static GROUPS: OnceLock<GroupFiles> = OnceLock::new();
        &GROUPS
    }

    /// The clock by which the kernel stamps files.
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    /// Lets time pass.
    fn pause(&self, time: Duration) {
        std::thread::sleep(time);
    }
}

/// A handle that was just opened, and what it reports.
pub type Opened<H = Handle> = (H, Stat);

/// The groups that may write to an object; none if the list is empty. The error is why the object
/// is not trusted: a user may write by an access control list, or nobody can tell.
pub type Writers = Result<Vec<u32>, DistrustReason>;

/// How [`System`] opens what it reads. Without NONBLOCK, opening a FIFO would wait for a writer,
/// and a file under a lease for its holder.
pub(crate) const OPEN: OFlags = OFlags::NOFOLLOW
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// The real file system. `linux.rs` and `macos.rs` implement it, by the methods of [`Handle`] where
/// both systems do the same.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

/// An open object of the real file system.
#[derive(Debug)]
pub struct Handle(pub(crate) OwnedFd);

#[expect(clippy::disallowed_methods, reason = "the walk itself")]
impl Handle {
    /// Opens `/` with the flags `hold`, with which the system's `hold` opens a directory.
    pub(crate) fn root(hold: OFlags) -> Result<Opened> {
        let flags = hold | OFlags::DIRECTORY;
        Self::of(openat(CWD, "/", flags, Mode::empty())?)
    }

    /// Opens `name` in this directory with these flags.
    pub(crate) fn open(&self, name: &OsStr, flags: OFlags) -> Result<OwnedFd, Errno> {
        retry_on_intr(|| openat(&self.0, name, flags, Mode::empty()))
    }

    /// An object that was just opened, and what it reports.
    pub(crate) fn of(fd: OwnedFd) -> Result<Opened> {
        let stat = Stat::of(&fstat(&fd)?);
        Ok((Self(fd), stat))
    }

    /// What `name` in this directory is. The system is asked by the name, and nothing is opened: so
    /// the user need not be allowed to read the object, and a device notices nothing.
    pub(crate) fn kind(&self, name: &OsStr) -> Result<Kind> {
        let found = statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(Stat::of(&found).kind)
    }

    /// Reads this file into `bytes`, from `offset`, and returns how many bytes were read. 0 means
    /// the end of the file.
    pub(crate) fn read(&self, bytes: &mut [u8], offset: u64) -> Result<usize> {
        let got = retry_on_intr(|| pread(&self.0, &mut *bytes, offset))?;
        Ok(got)
    }
}

impl From<Handle> for File {
    fn from(handle: Handle) -> Self {
        handle.0.into()
    }
}

/// Which kind of object something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A FIFO, socket or device.
    Other,
}

/// A time of the file system: seconds since 1970, and nanoseconds.
pub type Time = (i64, i64);

/// What a handle reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// What it is.
    pub kind: Kind,
    /// Permissions, with the set-id and sticky bits: the lower 12 bits.
    pub mode: u32,
    /// The owner.
    pub owner: u32,
    /// The group.
    pub group: u32,
    /// The number of its names (hard links).
    pub names: u64,
    /// The device of its file system.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
    /// Its size in bytes.
    pub size: u64,
    /// The time of the last write. Programs can set it.
    pub modified: Time,
    /// The time of the last change of any kind. Only the kernel sets it.
    pub changed: Time,
}

impl Stat {
    /// What a handle reports, made from the system's own structure. A FIFO, a socket and a device
    /// are [`Kind::Other`]. Of the mode, the 12 bits for permissions, set-id and sticky are kept. A
    /// negative size counts as the largest number, so that no limit lets such a file pass.
    #[allow(clippy::unnecessary_cast, reason = "other systems have other types")]
    pub(crate) fn of(stat: &rustix::fs::Stat) -> Self {
        Self {
            kind: match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => Kind::File,
                FileType::Directory => Kind::Directory,
                FileType::Symlink => Kind::Link,
                _ => Kind::Other,
            },
            mode: stat.st_mode as u32 & 0o7777,
            owner: stat.st_uid,
            group: stat.st_gid,
            names: stat.st_nlink as u64,
            device: stat.st_dev as u64,
            inode: stat.st_ino,
            size: stat.st_size.try_into().unwrap_or(u64::MAX),
            modified: (stat.st_mtime, stat.st_mtime_nsec as i64),
            changed: (stat.st_ctime, stat.st_ctime_nsec as i64),
        }
    }

    /// The groups that the mode lets write: the object's own group, as for `0o664`, or no group, as
    /// for `0o644`.
    pub fn writing_group(&self) -> Vec<u32> {
        if self.mode & GROUP_WRITE == 0 {
            return Vec::new();
        }
        vec![self.group]
    }

    /// The device and the inode, which identify the object as long as it is open.
    pub const fn id(&self) -> (u64, u64) {
        (self.device, self.inode)
    }
}
