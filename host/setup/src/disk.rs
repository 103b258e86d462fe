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

/// The largest file that is edited, in bytes.
const MAX_SIZE: u64 = 4 << 20;

/// The attribute in which Linux keeps a file's access list.
pub(crate) const ACCESS_LIST: &str = "system.posix_acl_access";

type Why = Box<dyn Error + Send + Sync>;

/// What keeps a second setup of a user from running beside the first.
#[derive(Debug)]
pub enum Lock {
    /// Another setup of this user runs.
    Busy,
    /// No other one runs as long as this file is open. None if the home has no locks: what is
    /// written is compared all the same.
    Held(Option<File>),
}

/// Takes the lock of the user with this home.
pub fn lock(home: &Path) -> Lock {
    let Ok(folder) = File::open(home) else {
        return Lock::Held(None);
    };
    match flock(&folder, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => Lock::Busy,
        _ => Lock::Held(Some(folder)),
    }
}

/// What is at a place of the user's, as it was read.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Found {
    /// Where the user has it.
    pub(crate) named: PathBuf,
    /// Where it really is: a link is not replaced, but what it leads to.
    real: PathBuf,
    /// Its bytes; none if nothing is there.
    bytes: Option<Vec<u8>>,
    /// Its mode; that of a new file if nothing is there.
    mode: u32,
    /// Its group. None if nothing is there.
    group: Option<u32>,
    /// Why it must not be replaced. None if it may be.
    pub(crate) why_not_replaced: Option<&'static str>,
}

impl Found {
    /// Whether a file is there.
    pub(crate) fn is_there(&self) -> bool {
        self.bytes.is_some()
    }

    /// Its text; an empty one if nothing is there.
    pub(crate) fn text(&self) -> Result<&str, Unfit> {
        let text = str::from_utf8(self.bytes.as_deref().unwrap_or_default());
        text.map_err(|_| Unfit::file(&self.real, EditError::Syntax("UTF-8")))
    }

    /// The file at this path as it is now, or if a link is at this path, the file where it leads.
    /// If nothing is there, it has no bytes, and the mode of a new file: for the user alone. A file
    /// that must not be replaced is read, too: `why_not_replaced` says why, because of the file or
    /// of its folder.
    ///
    /// # Errors
    /// If the link leads nowhere, or if what is there cannot be read, is no file, or is too large.
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
            // If the folder has a fault as well, the error says that instead: it is the cause.
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
        let found = opened.metadata()?;
        if !found.is_file() {
            return Err("it is not a file".into());
        }
        if found.len() > MAX_SIZE {
            return Err("it is too large".into());
        }
        self.why_not_replaced = why_not_replaced(&self.real, &found);
        self.mode = found.mode() & 0o7777;
        self.group = Some(found.gid());
        let bytes = self.bytes.insert(Vec::new());
        opened.take(MAX_SIZE).read_to_end(bytes)?;
        Ok(())
    }

    /// Puts a file with the text `new` in the place of this one in one step: a new file is written
    /// beside this one, and renamed. If `new` is None, takes this one away. Before that, removes
    /// the new files that killed setups have left beside it.
    ///
    /// # Errors
    /// If the file is no longer what was found, or the system refuses a step. Then the new file is
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
        // What was changed counts already. If this fails, the system writes the folder to disk
        // later.
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
    /// If this file is no longer what was found, or the system refuses a step.
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

    /// Fails unless what is there now is what was found.
    fn require_unchanged(&self) -> Result<(), Why> {
        if Self::at(&self.named).is_ok_and(|now| now == *self) {
            Ok(())
        } else {
            Err("it has changed since it was shown; run this again".into())
        }
    }

    /// Writes the file `new_file` with the bytes `new`. Makes the folders above it that are
    /// missing, for the user alone. If there is an old file (`is_there`), the new one gets its
    /// group, its attributes and its mode; else it is for the user alone, too.
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

/// Removes what setups that were killed have left in the folder: files whose name is this prefix,
/// and the number of a process that is gone. Nobody else has this process's own number.
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

/// Whether this is a process's number, and no other process has it.
fn is_leftover_number(number: &str) -> bool {
    if !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return false;
    }
    let Some(pid) = number.parse().ok().and_then(Pid::from_raw) else {
        return false;
    };
    pid == getpid() || test_kill_process(pid) == Err(Errno::SRCH)
}

const FOLDER_IS_MISSING: &str = "its folder is not there, and you may not make it: have it made, or correct the variable that names it";

/// Why no file can be made at this path. None if one can: the lowest thing above it that exists is
/// a folder, and the user's, and writable.
///
/// If that is a folder, but not the path's own one, the reason is always that the path's own folder
/// is missing.
fn why_no_file_below(file: &Path) -> Option<&'static str> {
    for folder in file.ancestors().skip(1) {
        if let Ok(found) = fs::metadata(folder) {
            // None: a file can be made there, and folders for it.
            let why = why_no_file_in(folder, &found)?;
            let own_is_missing = file.parent() != Some(folder) && found.is_dir();
            return Some(if own_is_missing {
                FOLDER_IS_MISSING
            } else {
                why
            });
        }
    }
    Some("it has no folder")
}

/// Why no file can be made in what is there, which should be a folder. None if one can.
fn why_no_file_in(folder: &Path, found: &Metadata) -> Option<&'static str> {
    if !found.is_dir() {
        Some("a folder above it is a file")
    } else if found.uid() != geteuid().as_raw() {
        Some("its folder is not yours")
    } else if access(folder, Access::WRITE_OK).is_err() {
        Some("its folder is read-only")
    } else {
        None
    }
}

/// Opens what is there itself, and waits for nobody.
fn open_no_link(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// Why a new file must not take the place of the file `real`. None if it may.
fn why_not_replaced(real: &Path, found: &Metadata) -> Option<&'static str> {
    if found.uid() != geteuid().as_raw() {
        Some("it belongs to another user")
    } else if found.nlink() > 1 {
        Some("it has a second name (a hard link)")
    } else if found.mode() & 0o200 == 0 {
        Some("it is read-only")
    } else if !may_give_to(Gid::from_raw(found.gid())) {
        Some("its group is one that you are not in, so a new file could not have it")
    } else if is_mount(real) {
        Some(
            "it is a mount of its own, as containers make it, so it cannot be replaced; edit it where it comes from",
        )
    } else {
        None
    }
}

/// Whether the user may give a file to this group.
fn may_give_to(group: Gid) -> bool {
    let is_in = getegid() == group || getgroups().is_ok_and(|groups| groups.contains(&group));
    is_in || geteuid().is_root()
}

/// Whether the file is on another mount than its folder.
#[cfg(target_os = "linux")]
fn is_mount(file: &Path) -> bool {
    let Some(Ok(folder)) = file.parent().map(fs::canonicalize) else {
        return false;
    };
    mount_of(&folder) != mount_of(file)
}

/// The number of the mount that it is on. None if the kernel does not say.
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

/// Gives the file `new` each attribute of the file `old`, such as an access list, but for those
/// that are the system's own: `security.…` and `com.apple.…`. Copies nothing if the file system has
/// no attributes.
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
