//! The walk's interface on macOS.
//!
//! It has no descriptor that only holds a place. What comes closest is one for
//! events, which keeps no volume from being ejected; and a link can be opened itself.
//! Unlike on Linux, that takes the right to read: of a directory on the way, search
//! permission alone will not do, and the walk ends with [`Fault::Denied`].
//!
//! Nothing here runs on the machines that we build on: what the kernel does is read
//! in its published source (xnu), and the workflow on GitHub runs the tests.

use super::{Fault, FileSystem, Kind, Mount, Stat};
use exacl::{AclOption, Perm};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, SeekFrom};
use std::{
    ffi::{OsStr, OsString},
    os::{fd::OwnedFd, unix::ffi::OsStringExt as _},
    path::PathBuf,
    time::{Duration, SystemTime},
};

/// The real file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

/// `O_EVTONLY` of `sys/fcntl.h`, which rustix does not name.
const EVENTS_ONLY: OFlags = OFlags::from_bits_retain(0x8000);

/// Without NONBLOCK, opening a FIFO would wait for a writer. SYMLINK opens a link
/// itself instead of following it. `O_NOFOLLOW_ANY` would add nothing: each name is
/// one component.
const HOLD: OFlags = EVENTS_ONLY
    .union(OFlags::SYMLINK)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

const OPEN: OFlags = OFlags::NOFOLLOW
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// File systems whose content the kernel makes up. `autofs` is not among them: it
/// holds nothing but the directories on which root has homes mounted.
const KERNEL: [&[u8]; 2] = [b"devfs", b"fdesc"];

/// `MNT_IGNORE_OWNERSHIP` of `sys/mount.h`, which rustix does not name.
const NO_OWNERS: u32 = 0x0020_0000;

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

    /// By its name, so that it need not be readable, and no device is opened.
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

    /// By its name, since reading a link that is open is not in every version of
    /// macOS. A link is only followed if nobody else can put another into its place:
    /// the directory was judged. That it is the one that is held is asked all the
    /// same.
    fn read_link(
        &self,
        link: &OwnedFd,
        directory: &OwnedFd,
        name: &OsStr,
    ) -> Result<OsString, Fault> {
        let target = rustix::fs::readlinkat(directory, name, Vec::new())?;
        let there = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if Stat::of(&there) != self.stat(link)? {
            return Err(Fault::Busy);
        }
        Ok(OsString::from_vec(target.into_bytes()))
    }

    /// Where a volume's ownership is ignored, as Finder sets it for most that are
    /// plugged in, the kernel tells everybody that all is his own, and lets him write
    /// to it as its owner.
    fn mount(&self, handle: &OwnedFd, _: &Stat) -> Result<Mount, Fault> {
        let found = rustix::fs::fstatfs(handle)?;
        let kind: Vec<u8> = found
            .f_fstypename
            .iter()
            .take_while(|byte| **byte != 0)
            .map(|byte| byte.cast_unsigned())
            .collect();
        Ok(match found.f_owner {
            _ if KERNEL.contains(&kind.as_slice()) => Mount::Kernel,
            _ if found.f_flags & NO_OWNERS != 0 => Mount::WithoutOwners,
            owner if owner == 0 || owner == self.user() => Mount::Ordinary,
            _ => Mount::AnothersOwn,
        })
    }

    /// Any leave to change counts, whoever has it: an ACL that names the user alone is
    /// not worth telling apart. The ACL is read by the path that the descriptor has
    /// now. Nobody else could have changed that path: the directories above were judged
    /// before.
    fn has_hidden_writers(&self, handle: &OwnedFd, _: &Stat) -> Result<bool, Fault> {
        let path = match rustix::fs::getpath(handle) {
            Ok(path) => PathBuf::from(OsString::from_vec(path.into_bytes())),
            Err(error) => {
                return match Fault::from(error) {
                    Fault::OutOfResources => Err(Fault::OutOfResources),
                    _ => Ok(true),
                };
            }
        };
        let Ok(entries) = exacl::getfacl(&path, AclOption::SYMLINK_ACL) else {
            return Ok(true);
        };
        let change = Perm::WRITE
            | Perm::DELETE
            | Perm::APPEND
            | Perm::DELETE_CHILD
            | Perm::WRITEATTR
            | Perm::WRITEEXTATTR
            | Perm::WRITESECURITY
            | Perm::CHOWN;
        Ok(entries
            .iter()
            .any(|entry| entry.allow && entry.perms.intersects(change)))
    }

    fn read(&self, file: &OwnedFd, bytes: &mut [u8], offset: u64) -> Result<usize, Fault> {
        Ok(rustix::io::retry_on_intr(|| {
            rustix::io::pread(file, &mut *bytes, offset)
        })?)
    }

    /// As on Linux, as far as the file system takes a lock for it. Of APFS that is not
    /// known: there, what the times tell has to do.
    fn settle(&self, file: &OwnedFd) {
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

impl Stat {
    fn of(stat: &rustix::fs::Stat) -> Self {
        let mode = u32::from(stat.st_mode);
        Self {
            kind: match rustix::fs::FileType::from_raw_mode(stat.st_mode) {
                rustix::fs::FileType::RegularFile => Kind::File,
                rustix::fs::FileType::Directory => Kind::Directory,
                rustix::fs::FileType::Symlink => Kind::Link,
                _ => Kind::Other,
            },
            mode: mode & 0o7777,
            owner: stat.st_uid,
            group: stat.st_gid,
            names: u64::from(stat.st_nlink),
            device: u64::from(stat.st_dev.cast_unsigned()),
            inode: stat.st_ino,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            modified: (stat.st_mtime, stat.st_mtime_nsec),
            changed: (stat.st_ctime, stat.st_ctime_nsec),
        }
    }
}
