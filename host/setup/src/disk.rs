//! The user's files: read as they are, and replaced in one step. Nothing else writes.

use crate::{EditError, Unfit};
use rustix::{
    fs::{
        Access, FlockOperation, Gid, OFlags, XattrFlags, access, fgetxattr, fgetxattr_query,
        flistxattr, flistxattr_query, flock, fremovexattr, fsetxattr,
    },
    io::Errno,
    process::{getegid, geteuid, getgroups},
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

/// Keeps a second setup of this user from running beside this one: true if another one runs. A
/// home that has no locks gives none, and what is written is compared all the same.
pub fn lock(home: &Path) -> (bool, Option<File>) {
    let home = File::open(home).ok();
    let lock = |home| flock(home, FlockOperation::NonBlockingLockExclusive);
    let is_busy = home.as_ref().map(lock) == Some(Err(Errno::WOULDBLOCK));
    (is_busy, home)
}

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Found {
    /// Where the user has it.
    pub(crate) named: PathBuf,
    /// Where it really is: a link is not replaced, but what it leads to.
    real: PathBuf,
    /// Its bytes; none if nothing is there.
    bytes: Option<Vec<u8>>,
    /// Its mode and group; those of a new file otherwise.
    mode: u32,
    group: Option<u32>,
    /// Why it is not replaced.
    pub(crate) why_not: Option<&'static str>,
}

impl Found {
    pub(crate) fn is_there(&self) -> bool {
        self.bytes.is_some()
    }

    /// Its text; an empty one if nothing is there.
    pub(crate) fn text(&self) -> Result<&str, Unfit> {
        let text = str::from_utf8(self.bytes.as_deref().unwrap_or_default());
        text.map_err(|_| Unfit::file(&self.real, EditError::Syntax("UTF-8")))
    }

    /// Reads a file. Nothing may be there: a new file is for the user alone.
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
        let shut = why_no_folder(&found.real);
        let looked = found.look();
        looked.map_err(|why| Unfit::file(path, shut.map_or(why, Why::from)))?;
        found.why_not = shut.or(found.why_not);
        Ok(found)
    }

    /// What is at a place where no link is.
    fn look(&mut self) -> Result<(), Why> {
        let file = match open(&self.real) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            opened => opened?,
        };
        let found = file.metadata()?;
        if !found.is_file() {
            return Err("it is not a file".into());
        }
        if found.len() > MAX_SIZE {
            return Err("it is too large".into());
        }
        self.why_not = why_not(&self.real, &found);
        self.mode = found.mode() & 0o7777;
        self.group = Some(found.gid());
        let mut file = file.take(MAX_SIZE);
        file.read_to_end(self.bytes.insert(Vec::new()))?;
        Ok(())
    }

    /// Puts `new` in its place in one step, or takes it away, if it is still what was found. Makes
    /// the folders that it needs, for the user alone.
    pub(crate) fn replace(&self, new: Option<&str>) -> Result<(), Unfit> {
        let name = self.real.file_name().unwrap_or_default().to_string_lossy();
        let beside = format!(".{name}.keyhole-{}", std::process::id());
        let beside = self.real.with_file_name(beside);
        let is_same = || {
            let is_same = Self::at(&self.named).is_ok_and(|now| now == *self);
            let why = "it has changed since it was shown; run this again";
            is_same.then_some(()).ok_or_else(|| Why::from(why))
        };
        let write = |new: &str| self.write(&beside, new.as_bytes());
        let written = is_same().and_then(|()| new.map_or(Ok(()), write));
        let done = written.and_then(|()| {
            is_same()?;
            let remove = || fs::remove_file(&self.real);
            Ok(new.map_or_else(remove, |_| fs::rename(&beside, &self.real))?)
        });
        // It stands already; when the folder is written to the disk is the system's choice.
        let folder = self.real.parent().map(File::open);
        let _ = folder.map(|folder| folder.and_then(|folder| folder.sync_all()));
        done.map_err(|why| {
            let _ = fs::remove_file(&beside);
            Unfit::file(&self.real, why)
        })
    }

    fn write(&self, beside: &Path, new: &[u8]) -> Result<(), Why> {
        let folder = beside.parent().unwrap_or(beside);
        let mut folders = DirBuilder::new();
        folders.recursive(true).mode(0o700).create(folder)?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let mut file = options.open(beside)?;
        // Of the folder. The new mode would put it into force.
        let _ = fremovexattr(&file, ACCESS_LIST);
        file.write_all(new)?;
        if self.is_there() {
            if Some(file.metadata()?.gid()) != self.group {
                fchown(&file, None, self.group)?;
            }
            copy_attributes(&open(&self.real)?, &file)?;
        }
        file.set_permissions(Permissions::from_mode(self.mode))?;
        Ok(file.sync_all()?)
    }
}

fn why_no_folder(file: &Path) -> Option<&'static str> {
    let mut above = file.ancestors().skip(1);
    let there = above.find_map(|at| Some((at, fs::metadata(at).ok()?)));
    Some(match there {
        None => "it has no folder",
        Some((_, found)) if !found.is_dir() => "a folder above it is a file",
        Some((_, found)) if found.uid() != geteuid().as_raw() => "its folder is not yours",
        Some((folder, _)) if access(folder, Access::WRITE_OK).is_err() => "its folder is read-only",
        Some(_) => return None,
    })
}

/// Opens what is there itself, and waits for nobody.
fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

fn why_not(real: &Path, found: &Metadata) -> Option<&'static str> {
    let group = Gid::from_raw(found.gid());
    let is_in = || {
        let groups = getgroups().unwrap_or_default();
        geteuid().is_root() || group == getegid() || groups.contains(&group)
    };
    Some(match found {
        _ if found.uid() != geteuid().as_raw() => "it belongs to another user",
        _ if found.nlink() > 1 => "it has a second name (a hard link)",
        _ if found.mode() & 0o200 == 0 => "it is read-only",
        _ if !is_in() => "its group is one that you are not in, so a new file could not have it",
        _ if is_mount(real) => {
            "it is a mount of its own, as containers make it, so it cannot be replaced; edit it where it comes from"
        }
        _ => return None,
    })
}

#[cfg(target_os = "linux")]
fn is_mount(file: &Path) -> bool {
    use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
    let mount = |path: &Path| {
        let found = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::MNT_ID);
        found.ok().map(|found| found.stx_mnt_id)
    };
    let folder = file.parent();
    folder.is_some_and(|folder| mount(folder) != mount(file))
}

#[cfg(not(target_os = "linux"))]
fn is_mount(_: &Path) -> bool {
    false
}

/// Gives a new file what the old one has beside its text and mode, such as an access list.
fn copy_attributes(old: &File, new: &File) -> io::Result<()> {
    let size = match flistxattr_query(old) {
        // The file system has none.
        Err(Errno::NOTSUP | Errno::NOSYS) => return Ok(()),
        size => size?,
    };
    let mut names = vec![0; size];
    let length = flistxattr(old, &mut names[..])?;
    for name in names[..length].split(|byte| *byte == 0) {
        // Those are the system's own.
        if name.is_empty() || name.starts_with(b"security.") || name.starts_with(b"com.apple.") {
            continue;
        }
        let mut value = vec![0; fgetxattr_query(old, name)?];
        let length = fgetxattr(old, name, &mut value[..])?;
        fsetxattr(new, name, &value[..length], XattrFlags::empty())?;
    }
    Ok(())
}
