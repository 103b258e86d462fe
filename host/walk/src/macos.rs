//! The walk's interface on macOS.
//!
//! macOS has no `O_PATH`: no descriptor that only identifies something. The closest is a descriptor
//! for events, which does not prevent a volume from being ejected; and a link itself can be opened.
//! Unlike on Linux, this needs the right to read. A directory that may only be searched is opened
//! for searching, if the system supports it (`O_SEARCH`); otherwise the walk ends there with
//! [`SystemError::Denied`].
//!
//! What is special about paths on macOS, and how the walk treats it:
//!
//! - `/tmp`, `/var` and `/etc` are root's links in `/`, to `private/…`: the walk follows and judges
//!   them like any other. A firmlink (`/Users`) is no link for a walk, and `..` goes back to the
//!   directory that was passed, not to the firmlink's other side.
//! - `/.vol/…`, `/.nofollow/…` and `/.resolve/…` have a meaning only at the start of the path that
//!   a call gets. Each call here gets one name, so they are ordinary names. So is `..namedfork`,
//!   which leads from a file to its resource fork: the walk never enters a file.
//! - Most disks treat `A.MD` and `a.md` as one name, and composed and decomposed letters too.
//!   Nothing is identified by its name: a root, and whether something lies in a directory, are
//!   decided by device and inode. The name that has to end in `.md` is the one in the map, or in
//!   the link's target; on the disk it can be `A.MD`.
//! - If macOS lets nobody read `~/Documents` or the like (docs/map.md), that is `EPERM`.
//!
//! None of this runs on the machines that we build on. We read the kernel's published
//! source (xnu 11417: `vn_open_auth`, `vn_authorize_open_existing`, `lookup`,
//! `linkat_internal`, `vnode_breaklease`), and the workflow on GitHub runs the tests.
#![expect(clippy::disallowed_methods, reason = "the walk itself")]

use crate::{
    error::{Result, SystemError},
    system::{FileSystem, Handle, Kind, OPEN, Opened, Stat, System, Writers},
    trust::{DistrustReason, ROOT},
};
use exacl::{AclEntry, AclOption, Perm};
use rustix::{
    fs::{AtFlags, CWD, OFlags, fstat, fstatfs, getpath, readlinkat, statat},
    io::Errno,
};
use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStringExt as _,
    path::PathBuf,
};

/// `O_EVTONLY` of `sys/fcntl.h`, which rustix does not name.
const EVENTS_ONLY: OFlags = OFlags::from_bits_retain(0x8000);

/// `O_SEARCH` of `sys/fcntl.h`, without its `O_DIRECTORY`. A system that does not know
/// it treats it as the right to read.
const SEARCH: OFlags = OFlags::from_bits_retain(0x4000_0000);

/// The flags with which `hold` opens a name. Without NONBLOCK, opening a FIFO would wait for a
/// writer, and a file under a lease (of Apple's own programs) for its holder. SYMLINK opens a link
/// itself instead of following it; with NOFOLLOW as well, the kernel would refuse the link.
/// `O_NOFOLLOW_ANY` would add nothing, because each name is one component, and the kernel refuses
/// `O_NOFOLLOW_ANY` together with NOFOLLOW.
const HOLD: OFlags = EVENTS_ONLY
    .union(OFlags::SYMLINK)
    .union(OPEN.difference(OFlags::NOFOLLOW));

/// The flags with which `hold` opens a directory that the user may search, and not read.
const HOLD_TO_SEARCH: OFlags = SEARCH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// File systems whose content the kernel makes up. `autofs` is not among them: it holds
/// only the directories on which root has homes mounted.
const KERNEL_FILE_SYSTEMS: [&[u8]; 2] = [b"devfs", b"fdesc"];

/// `MNT_IGNORE_OWNERSHIP` of `sys/mount.h`, which rustix does not name.
const IGNORES_OWNERS: u32 = 0x0020_0000;

impl FileSystem for System {
    type Handle = Handle;

    fn root(&self) -> Result<Opened> {
        Handle::root(HOLD)
    }

    /// Opens `name` for events, and if the user may not read it, as a directory to search. If the
    /// user may do neither, the error is [`SystemError::Denied`].
    fn hold(&self, directory: &Handle, name: &OsStr) -> Result<Opened> {
        let held = match directory.open(name, HOLD) {
            // If this fails with another error (no directory, or gone by now), the first
            // error is still the answer.
            Err(denied @ Errno::ACCESS) => directory.open(name, HOLD_TO_SEARCH).map_err(|_| denied),
            held => held,
        };
        Handle::of(held?)
    }

    fn kind(&self, directory: &Handle, name: &OsStr) -> Result<Kind> {
        directory.kind(name)
    }

    fn open(&self, directory: &Handle, name: &OsStr) -> Result<Opened> {
        Handle::of(directory.open(name, OPEN)?)
    }

    fn stat(&self, handle: &Handle) -> Result<Stat> {
        Ok(Stat::of(&fstat(&handle.0)?))
    }

    /// Reads the link by its `name` in `directory`, because not every version of macOS can read an
    /// open link. Nobody else should be able to replace the link, since the walk has judged the
    /// directory. Still, [`SystemError::Busy`] if the name now has another object than the open
    /// `link`, or if the link has changed.
    fn read_link(&self, link: &Handle, directory: &Handle, name: &OsStr) -> Result<OsString> {
        let target = readlinkat(&directory.0, name, Vec::new())?;
        let there = statat(&directory.0, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if Stat::of(&there) != self.stat(link)? {
            return Err(SystemError::Busy);
        }
        Ok(OsString::from_vec(target.into_bytes()))
    }

    /// Why the mount is not trusted: `KernelFileSystem` for `devfs` and `fdesc`; `NoOwners` if the
    /// volume's ownership is ignored; `ForeignMount` if neither root nor the user mounted it. None
    /// if root or the user mounted it, and it keeps owners.
    ///
    /// Finder sets most volumes that are plugged in so that their ownership is ignored. Then the
    /// kernel tells every user that they own everything there, and lets them write as the owner.
    fn mount(&self, handle: &Handle, _: &Stat) -> Result<Option<DistrustReason>> {
        let found = fstatfs(&handle.0)?;
        // The name of the file system ends at the first NUL.
        let name = found.f_fstypename.map(i8::cast_unsigned);
        let kind = name.split(|byte| *byte == 0).next().unwrap_or_default();
        if KERNEL_FILE_SYSTEMS.contains(&kind) {
            return Ok(Some(DistrustReason::KernelFileSystem));
        }
        if found.f_flags & IGNORES_OWNERS != 0 {
            return Ok(Some(DistrustReason::NoOwners));
        }
        if found.f_owner == ROOT || Some(found.f_owner) == self.user() {
            return Ok(None);
        }
        Ok(Some(DistrustReason::ForeignMount))
    }

    /// The object's group, if the mode lets the group write; otherwise no group. The inner error is
    /// `SecondName` for a file with a second name (hard link), and `AccessList` if the object's
    /// access list (ACL) lets somebody change the object, or if the list cannot be read for
    /// certain.
    ///
    /// Each entry of the ACL that allows a change counts, whoever is named in it. It is not worth
    /// the effort to recognize an ACL that names only the user, or an entry that only new files in
    /// a directory inherit. A home's own ACL only denies. `exacl` asks the directory service for
    /// the name in each entry, also in one that denies, and has no call that does not.
    ///
    /// The ACL is read by the path that the descriptor has now (`F_GETPATH`): the call that reads
    /// an ACL by the descriptor has no safe form in Rust, and `/dev/fd` shows no ACL. Nobody else
    /// could have changed that path, because the walk has judged the directories above it. But if a
    /// file has two names, the kernel returns the name that was looked up last, and anybody can
    /// give a second name to a file that they can reach. So a file with a second name is refused,
    /// whatever its ACL says. And the object at the path must be the one that is open.
    fn writing_groups(&self, handle: &Handle, stat: &Stat) -> Result<Writers> {
        if stat.kind != Kind::Directory && stat.names != 1 {
            return Ok(Err(DistrustReason::SecondName));
        }
        // For an object whose access list cannot be read, or may be that of another object.
        let not_told = Ok(Err(DistrustReason::AccessList));
        let path = match getpath(&handle.0).map_err(SystemError::from) {
            Ok(path) => PathBuf::from(OsString::from_vec(path.into_bytes())),
            Err(error @ SystemError::OutOfResources) => return Err(error),
            Err(_) => return not_told,
        };
        let entries = exacl::getfacl(&path, AclOption::SYMLINK_ACL);
        // Checks that the path led to the object that is open, and that a file still has
        // one name only. Otherwise the ACL could be that of another user's object, which
        // was at the path for a moment.
        let there = statat(CWD, &path, AtFlags::SYMLINK_NOFOLLOW);
        let (Ok(entries), Ok(there)) = (entries, there) else {
            return not_told;
        };
        let is_alone = stat.kind == Kind::Directory || self.stat(handle)?.names == 1;
        if Stat::of(&there).id() != stat.id() || !is_alone {
            return not_told;
        }
        if entries.iter().any(allows_change) {
            return Ok(Err(DistrustReason::AccessList));
        }
        Ok(Ok(stat.writing_group()))
    }

    fn read(&self, file: &Handle, bytes: &mut [u8], offset: u64) -> Result<usize> {
        file.read(bytes, offset)
    }

    fn user(&self) -> Option<u32> {
        Some(rustix::process::geteuid().as_raw())
    }
}

/// Whether an entry of an access list lets somebody change the object, remove or move its name, or
/// change who may do so. False for an entry that denies, and for one that only allows to read.
fn allows_change(entry: &AclEntry) -> bool {
    let change = Perm::WRITE
        | Perm::DELETE
        | Perm::APPEND
        | Perm::DELETE_CHILD
        | Perm::WRITEATTR
        | Perm::WRITEEXTATTR
        | Perm::WRITESECURITY
        | Perm::CHOWN;
    entry.allow && entry.perms.intersects(change)
}
