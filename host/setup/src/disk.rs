//! The user's files: read as they are, and replaced in one step. Nothing else writes.

use crate::{EditError, Unfit};
use rustix::{
    fs::{
        Access, FlockOperation, Gid, OFlags, XattrFlags, access, fgetxattr, fgetxattr_query,
        flistxattr, flistxattr_query, flock, fremovexattr, fsetxattr,
    },
    io::Errno,
    process::{Pid, getegid, geteuid, getgroups, getpid, test_kill_process},
};
use std::{
    error::Error,
    fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions},
    io::{self, ErrorKind, Read as _, Write as _},
    os::unix::fs::{
        DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown,
    },
    path::{Path, PathBuf},
};

/// The largest file that is edited, in bytes: 4 MiB.
const MAX_SIZE: u64 = 4 << 20;

/// The attribute in which Linux keeps a file's access list.
pub(crate) const ACCESS_LIST: &str = "system.posix_acl_access";

/// Why a step failed, for the user.
type Why = Box<dyn Error + Send + Sync>;

/// What keeps a second setup of a user from running beside the first.
#[derive(Debug)]
pub enum Lock {
    /// Another setup of this user runs.
    Busy,
    /// No other one runs as long as this file is open. None if the home cannot be opened: then
    /// nothing is locked, but a file that has changed is not replaced all the same.
    Held(Option<File>),
}

/// Takes the lock of the user with this home. If the system gives no locks there, the answer is
/// [`Lock::Held`] all the same.
pub fn lock(home: &Path) -> Lock {
    let Ok(folder) = File::open(home) else {
        return Lock::Held(None);
    };
    match flock(&folder, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => Lock::Busy,
        _ => Lock::Held(Some(folder)),
    }
}

/// A file of the user's as it was read, or a path at which there is none yet.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Found {
    /// The path by which the user names the file.
    pub(crate) named: PathBuf,
    /// The path to which `named` leads, if that is a link. The file there is replaced, not the
    /// link.
    real: PathBuf,
    /// The file's bytes. None if no file is there.
    bytes: Option<Vec<u8>>,
    /// The file's mode. If no file is there, that of a new one.
    mode: u32,
    /// The file's group. None if no file is there.
    group: Option<u32>,
    /// Why the file must not be replaced, or not be made. None if it may be.
    pub(crate) why_not_replaced: Option<&'static str>,
}

impl Found {
    /// Whether a file is there.
    pub(crate) fn is_there(&self) -> bool {
        self.bytes.is_some()
    }

    /// The file's text. Empty if no file is there.
    ///
    /// # Errors
    /// If the file is not UTF-8.
    pub(crate) fn text(&self) -> Result<&str, Unfit> {
        let text = str::from_utf8(self.bytes.as_deref().unwrap_or_default());
        text.map_err(|_| Unfit::file(&self.real, EditError::Syntax("UTF-8")))
    }

    /// Reads the file at this path; or if a link is at this path, the file to which the link leads.
    ///
    /// - If nothing is there, the answer has no bytes, and the mode of a new file, 0600: for the
    ///   user alone.
    /// - A file that must not be replaced is read, too. `why_not_replaced` has the reason: a fault
    ///   of its folder, or else of the file.
    ///
    /// # Errors
    /// If a link leads nowhere, or if what is there cannot be read, is no file, or has more than
    /// 4 MiB.
    pub(crate) fn at(path: &Path) -> Result<Self, Unfit> {
        let mut found = Self {
            named: path.to_owned(),
            real: path.to_owned(),
            mode: 0o600,
            ..Self::default()
        };
        if path.is_symlink() {
            let why = "it is a link, and nothing is where it leads";
            found.real = fs::canonicalize(path).map_err(|_| Unfit::file(path, why))?;
        }
        let folder_fault = why_no_file_below(&found.real);
        if let Err(why) = found.read_real() {
            // A fault of the folder is told instead, since it is the cause.
            return Err(Unfit::file(path, folder_fault.map_or(why, Why::from)));
        }
        found.why_not_replaced = folder_fault.or(found.why_not_replaced);
        Ok(found)
    }

    /// Reads the file at `self.real` into this value: its bytes, mode and group, and why it must
    /// not be replaced. If nothing is at that path, this value stays as it is.
    ///
    /// # Errors
    /// If what is there cannot be read, is a link, is no file, or has more than 4 MiB.
    fn read_real(&mut self) -> Result<(), Why> {
        let opened = match open_no_link(&self.real) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            other => other?,
        };
        let metadata = opened.metadata()?;
        if !metadata.is_file() {
            return Err("it is not a file".into());
        }
        if metadata.len() > MAX_SIZE {
            return Err("it is too large".into());
        }
        self.why_not_replaced = why_not_replaced(&self.real, &metadata);
        self.mode = metadata.mode() & 0o7777;
        self.group = Some(metadata.gid());
        let bytes = self.bytes.insert(Vec::new());
        opened.take(MAX_SIZE).read_to_end(bytes)?;
        Ok(())
    }

    /// Puts a file with the text `new` in the place of this one in one step: writes a new file such
    /// as `.a.md.keyhole-setup-4711` beside `a.md`, with the number of this process, and renames
    /// it. If `new` is None, removes this file.
    ///
    /// Before that, removes new files that setups left beside this one when they were killed.
    ///
    /// # Errors
    /// If this file is no longer what was read, or the system refuses a step. Then the new file is
    /// removed.
    pub(crate) fn replace(&self, new: Option<&str>) -> Result<(), Unfit> {
        let name = self.real.file_name().unwrap_or_default().to_string_lossy();
        let prefix = format!(".{name}.keyhole-setup-");
        let new_file = self
            .real
            .with_file_name(format!("{prefix}{}", std::process::id()));
        if let Some(folder) = self.real.parent() {
            remove_leftovers(folder, &prefix);
        }
        let done = self.put(new, &new_file);
        // The change counts already. If `sync_all` fails, the system writes it to the disk later.
        if let Some(Ok(folder)) = self.real.parent().map(File::open) {
            let _ = folder.sync_all();
        }
        done.map_err(|why| {
            let _ = fs::remove_file(&new_file);
            Unfit::file(&self.real, why)
        })
    }

    /// Writes the text `new` to the path `new_file`, and renames that file to the path of this one.
    /// If `new` is None, removes this file.
    ///
    /// # Errors
    /// If this file is no longer what was read, or the system refuses a step.
    fn put(&self, new: Option<&str>, new_file: &Path) -> Result<(), Why> {
        self.require_unchanged()?;
        let Some(text) = new else {
            return Ok(fs::remove_file(&self.real)?);
        };
        self.write_new(new_file, text.as_bytes())?;
        // Writing takes a while, so somebody may have changed the file since the first look.
        self.require_unchanged()?;
        Ok(fs::rename(new_file, &self.real)?)
    }

    /// Fails unless the file is still what was read: its bytes, mode, group, and why it must not be
    /// replaced.
    fn require_unchanged(&self) -> Result<(), Why> {
        if Self::at(&self.named).is_ok_and(|now| now == *self) {
            Ok(())
        } else {
            Err("it has changed since it was shown; run this again".into())
        }
    }

    /// Makes the file `new_file` with the bytes `new`, and the folders above that are missing. A
    /// folder that is made is for the user alone (mode 0700).
    ///
    /// The new file gets `self.mode`: that of the old file, or 0600 if there is none. If there is
    /// an old file, the new one also gets the old one's group and attributes.
    ///
    /// # Errors
    /// If something is at `new_file` already, or the system refuses a step.
    fn write_new(&self, new_file: &Path, new: &[u8]) -> Result<(), Why> {
        let folder = new_file.parent().unwrap_or(new_file);
        let mut folders = DirBuilder::new();
        folders.recursive(true).mode(0o700).create(folder)?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let mut file = options.open(new_file)?;
        // The folder may give new files an access list, by which others could read this one.
        let _ = fremovexattr(&file, ACCESS_LIST);
        file.write_all(new)?;
        if self.is_there() {
            if Some(file.metadata()?.gid()) != self.group {
                fchown(&file, None, self.group)?;
            }
            copy_attributes(&open_no_link(&self.real)?, &file)?;
        }
        file.set_permissions(Permissions::from_mode(self.mode))?;
        Ok(file.sync_all()?)
    }
}

/// Removes what setups left in the folder when they were killed: each file whose name is this
/// prefix with the number of a process behind it, as `.a.md.keyhole-setup-4711`, unless another
/// process has that number now.
fn remove_leftovers(folder: &Path, prefix: &str) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|found| found.is_file())
            && let Some(name) = entry.file_name().to_str()
            && let Some(number) = name.strip_prefix(prefix)
            && is_leftover_number(number)
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Whether this is the number of a process that is gone, or of this process: no other one can have
/// left a file with the number of this process and still need it. False for what is no number.
fn is_leftover_number(number: &str) -> bool {
    if !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return false;
    }
    let Some(pid) = number.parse().ok().and_then(Pid::from_raw) else {
        return false;
    };
    pid == getpid() || test_kill_process(pid) == Err(Errno::SRCH)
}

/// Why no file can be made in a folder that is missing, and that the user cannot make.
const FOLDER_IS_MISSING: &str = "its folder is not there, and you may not make it: have it made, or correct the variable that names it";

/// Why no file can be made at this path. Of all that is above the path, the lowest that exists
/// decides; for `/a/b/c.md`, if `/a/b` is missing, `/a`:
///
/// - None, if this is a folder of the user's, and writable. The missing folders can be made in it.
/// - [`FOLDER_IS_MISSING`], if this is another folder than the path's own: `/a`, and not `/a/b`.
/// - What `why_no_file_in` says, if this is the path's own folder, or is no folder.
fn why_no_file_below(file: &Path) -> Option<&'static str> {
    for folder in file.ancestors().skip(1) {
        if let Ok(metadata) = fs::metadata(folder) {
            // The `?` returns None: a file can be made there, and folders for it.
            let why = why_no_file_in(folder, &metadata)?;
            let own_is_missing = file.parent() != Some(folder) && metadata.is_dir();
            return Some(if own_is_missing {
                FOLDER_IS_MISSING
            } else {
                why
            });
        }
    }
    Some("it has no folder")
}

/// Why no file can be made in `folder`, which has this metadata. None if one can.
fn why_no_file_in(folder: &Path, metadata: &Metadata) -> Option<&'static str> {
    if !metadata.is_dir() {
        Some("a folder above it is a file")
    } else if metadata.uid() != geteuid().as_raw() {
        Some("its folder is not yours")
    } else if access(folder, Access::WRITE_OK).is_err() {
        Some("its folder is read-only")
    } else {
        None
    }
}

/// Opens the file at this path to read. Fails if a link is there. Does not wait if a pipe is there.
fn open_no_link(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// Why a new file must not take the place of the file `real`, which has this metadata. None if a
/// new file may. The reasons, in this order: the owner is another user; the file has a second name;
/// its mode is read-only; the user is not in its group; it is a mount of its own.
fn why_not_replaced(real: &Path, metadata: &Metadata) -> Option<&'static str> {
    if metadata.uid() != geteuid().as_raw() {
        Some("it belongs to another user")
    } else if metadata.nlink() > 1 {
        Some("it has a second name (a hard link)")
    } else if metadata.mode() & 0o200 == 0 {
        Some("it is read-only")
    } else if !may_give_to(Gid::from_raw(metadata.gid())) {
        Some("its group is one that you are not in, so a new file could not have it")
    } else if is_mount(real) {
        Some(
            "it is a mount of its own, as containers make it, so it cannot be replaced; edit it where it comes from",
        )
    } else {
        None
    }
}

/// Whether the user may give a file to this group: the user is in the group, or is root.
fn may_give_to(group: Gid) -> bool {
    let is_in = getegid() == group || getgroups().is_ok_and(|groups| groups.contains(&group));
    is_in || geteuid().is_root()
}

/// Whether the file is on another mount than its folder, as containers mount single files. False if
/// the folder cannot be found.
#[cfg(target_os = "linux")]
fn is_mount(file: &Path) -> bool {
    let Some(Ok(folder)) = file.parent().map(fs::canonicalize) else {
        return false;
    };
    mount_of(&folder) != mount_of(file)
}

/// The number of the mount that the path is on. None if the kernel does not say.
#[cfg(target_os = "linux")]
fn mount_of(path: &Path) -> Option<u64> {
    use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
    let found = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::MNT_ID);
    Some(found.ok()?.stx_mnt_id)
}

#[cfg(not(target_os = "linux"))]
fn is_mount(_: &Path) -> bool {
    false
}

/// Gives the file `new` each extended attribute of the file `old`, such as an access list. Leaves
/// out the system's own: `security.…` and `com.apple.…`. If the file system has no attributes,
/// there is nothing to copy.
///
/// # Errors
/// If an attribute cannot be read, or not be written to `new`.
fn copy_attributes(old: &File, new: &File) -> io::Result<()> {
    let size = match flistxattr_query(old) {
        // The file system has no attributes.
        Err(Errno::NOTSUP | Errno::NOSYS) => return Ok(()),
        size => size?,
    };
    let mut names = vec![0; size];
    let length = flistxattr(old, &mut names[..])?;
    for name in names[..length].split(|byte| *byte == 0) {
        if name.is_empty() || name.starts_with(b"security.") || name.starts_with(b"com.apple.") {
            continue;
        }
        let mut value = vec![0; fgetxattr_query(old, name)?];
        let length = fgetxattr(old, name, &mut value[..])?;
        fsetxattr(new, name, &value[..length], XattrFlags::empty())?;
    }
    Ok(())
}
