//! The user's files: read as they are, and replaced in one step. Nothing else writes.
#![expect(
    clippy::disallowed_methods,
    reason = "this is the part that writes, after it has shown what and was told to"
)]

use crate::edit::EditError;
use keyhole_walk::printable::printable;
use rustix::fs::{CWD, OFlags, RenameFlags, fgetxattr_query, fremovexattr, renameat_with};
use std::{
    cell::Cell,
    ffi::OsString,
    fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions},
    io::{self, ErrorKind, Read as _, Write as _},
    os::unix::fs::{
        DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
    },
    path::{Path, PathBuf},
};

/// The largest file that is edited, in bytes.
const MAX_SIZE: u64 = 4 << 20;

/// The attribute in which Linux keeps a file's access list.
pub(crate) const ACCESS_LIST: &str = "system.posix_acl_access";

/// Why a file is not read, edited or written. The text names its path.
#[derive(Debug, thiserror::Error)]
#[error("{}: {why}", printable(.file))]
pub struct FileError {
    file: PathBuf,
    #[source]
    why: Why,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Why {
    /// Something keeps setup from changing it.
    #[error("{0}")]
    Refused(&'static str),
    #[error("{0}")]
    System(#[from] io::Error),
    #[error("{0}")]
    Edit(#[from] EditError),
}

impl FileError {
    pub(crate) fn new(file: &Path, why: impl Into<Why>) -> Self {
        let (file, why) = (file.to_owned(), why.into());
        Self { file, why }
    }

    /// Whether it is about another file than this map, in which only the user can do it.
    pub fn is_by_hand(&self, map: &Path) -> bool {
        use EditError::{Differs, NotSafe};
        let is_odd = matches!(self.why, Why::Refused(_) | Why::Edit(Differs(_) | NotSafe));
        is_odd && self.file != map
    }
}

const CHANGED: Why = Why::Refused("it has changed since it was shown");

/// A file as it was found.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// Where it really is: a link is not replaced, but what it leads to.
    pub(crate) real: PathBuf,
    /// Its bytes; none if nothing is there.
    pub(crate) bytes: Option<Vec<u8>>,
    mode: u32,
    group: Option<u32>,
}

impl Found {
    /// Its text; an empty one if nothing is there.
    pub(crate) fn text(&self) -> Result<String, FileError> {
        let text = String::from_utf8(self.bytes.clone().unwrap_or_default());
        text.map_err(|_| FileError::new(&self.real, EditError::NotText))
    }

    /// Whether it is what stands there now.
    fn is_at(&self, path: &Path) -> bool {
        look(path).is_ok_and(|now| {
            let has_group = self.group.is_none_or(|group| now.group == Some(group));
            has_group && now.mode == self.mode && now.bytes == self.bytes
        })
    }
}

/// The file system.
#[derive(Debug, Default)]
pub struct Disk {
    /// In tests: after how many more steps the process ends.
    pub(crate) steps_left: Cell<Option<u32>>,
    /// In tests: a file system that knows no other way to rename than the oldest.
    pub(crate) is_plain: bool,
}

impl Disk {
    /// Before each system call that changes something.
    fn step(&self) -> io::Result<()> {
        match self.steps_left.get() {
            Some(0) => Err(io::Error::other("killed")),
            left => {
                self.steps_left.set(left.map(|left| left - 1));
                Ok(())
            }
        }
    }

    /// Reads a file, and says whether it may be replaced.
    pub(crate) fn find(&self, path: &Path) -> Result<Found, FileError> {
        let refuse = |why| Err(FileError::new(path, Why::Refused(why)));
        let real = match fs::symlink_metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => path.to_owned(),
            Err(error) => return Err(FileError::new(path, error)),
            Ok(found) if found.is_symlink() => match fs::canonicalize(path) {
                Ok(real) => real,
                Err(_) => return refuse("it is a link, and nothing is where it leads"),
            },
            Ok(_) => path.to_owned(),
        };
        let user = rustix::process::geteuid().as_raw();
        let folder = real
            .ancestors()
            .skip(1)
            .find_map(|folder| fs::metadata(folder).ok());
        if !folder.is_some_and(|folder| folder.is_dir() && folder.uid() == user) {
            return refuse("its folder is not yours");
        }
        look(&real).map_err(|why| FileError::new(path, why))
    }

    /// Puts `new` in the place of what was found, in one step, if that is still there. Makes the
    /// folders that it needs, for the user alone.
    pub(crate) fn replace(&self, found: &Found, new: &[u8]) -> Result<(), FileError> {
        let real = &found.real;
        let beside = beside(real);
        let written = self.write(&beside, found, new);
        let is_put = written.and_then(|()| self.put(&beside, found, new));
        // Of the new file what a disk took, if it did not get there, or else the old one; nothing of
        // another program.
        let left = fs::read(&beside).ok();
        let is_part = left.as_ref().is_some_and(|left| new.starts_with(left));
        let is_ours = is_part || left == found.bytes;
        if is_ours && self.step().is_ok() {
            let _ = fs::remove_file(&beside);
        }
        match is_put.map_err(|error| FileError::new(real, error))? {
            true => Ok(()),
            false => Err(FileError::new(real, CHANGED)),
        }
    }

    fn write(&self, beside: &Path, found: &Found, new: &[u8]) -> io::Result<()> {
        self.step()?;
        if let Some(folder) = beside.parent() {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder)?;
        }
        self.step()?;
        // What a killed run has left.
        match fs::remove_file(beside) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        self.step()?;
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(beside)?;
        // Of the folder. The new mode would put it into force.
        if has_list(&file) {
            self.step()?;
            fremovexattr(&file, ACCESS_LIST)?;
        }
        self.step()?;
        file.write_all(new)?;
        if found
            .group
            .is_some_and(|group| file.metadata().is_ok_and(|new| new.gid() != group))
        {
            self.step()?;
            std::os::unix::fs::fchown(&file, None, found.group)?;
        }
        self.step()?;
        file.set_permissions(Permissions::from_mode(found.mode))?;
        self.step()?;
        file.sync_all()
    }

    /// Whether the new file took the place.
    fn put(&self, beside: &Path, found: &Found, new: &[u8]) -> io::Result<bool> {
        let real = &found.real;
        if !found.is_at(real) {
            return Ok(false);
        }
        self.step()?;
        // Not every file system can do both. The second name of a new file goes at last.
        if found.bytes.is_none() {
            let renamed = self.rename(beside, real, RenameFlags::NOREPLACE);
            renamed.or_else(|_| fs::hard_link(beside, real))?;
        } else if self.rename(beside, real, RenameFlags::EXCHANGE).is_err() {
            fs::rename(beside, real)?;
        } else if !found.is_at(beside) {
            // What another program wrote at the last moment goes back.
            self.step()?;
            return put_back(beside, real, new).map(|()| false);
        }
        self.step()?;
        // It stands already; that the folder is written to the disk is the system's.
        let folder = real.parent().map(File::open);
        let _ = folder.map(|folder| folder.and_then(|folder| folder.sync_all()));
        Ok(true)
    }

    /// Fails where a file system cannot rename like this.
    fn rename(&self, one: &Path, other: &Path, how: RenameFlags) -> io::Result<()> {
        match self.is_plain {
            true => Err(ErrorKind::InvalidInput.into()),
            false => rename(one, other, how),
        }
    }

    /// Removes what was found, if it is still there, and then those folders that are empty.
    pub(crate) fn remove(&self, found: &Found, folders: &[PathBuf]) -> Result<(), FileError> {
        let real = &found.real;
        if !found.is_at(real) {
            return Err(FileError::new(real, CHANGED));
        }
        let removed = self.step().and_then(|()| fs::remove_file(real));
        removed.map_err(|error| FileError::new(real, error))?;
        // What a killed run has left.
        let _ = fs::remove_file(beside(real));
        for folder in folders.iter().rev() {
            // It is not empty, or gone.
            let _ = fs::remove_dir(folder);
        }
        Ok(())
    }

    /// Closes a file to all but its owner, if it is still the one of this device and number.
    pub(crate) fn close(&self, path: &Path, number: (u64, u64)) -> Result<(), FileError> {
        let close = || {
            self.step()?;
            let file = open(path)?;
            let found = file.metadata()?;
            if (found.dev(), found.ino()) != number {
                return Err(CHANGED);
            }
            Ok(file.set_permissions(Permissions::from_mode(found.mode() & 0o700))?)
        };
        close().map_err(|why| FileError::new(path, why))
    }
}

/// Opens what is there itself, and waits for nobody.
fn open(path: &Path) -> io::Result<File> {
    let options = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
    OpenOptions::new()
        .read(true)
        .custom_flags(options)
        .open(path)
}

/// What is at a place where no link is, if it may be replaced. A new file is for the user alone.
fn look(real: &Path) -> Result<Found, Why> {
    let nothing = Found {
        real: real.to_owned(),
        bytes: None,
        mode: 0o600,
        group: None,
    };
    let file = match open(real) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(nothing),
        opened => opened?,
    };
    let found = file.metadata()?;
    if let Some(why) = why_not(&file, &found) {
        return Err(Why::Refused(why));
    }
    let mut bytes = Vec::new();
    file.take(MAX_SIZE).read_to_end(&mut bytes)?;
    Ok(Found {
        bytes: Some(bytes),
        mode: found.mode() & 0o7777,
        group: Some(found.gid()),
        ..nothing
    })
}

/// The folders that a file needs and that are not there, the highest first.
pub(crate) fn missing_folders(file: &Path) -> Vec<PathBuf> {
    let above = file.ancestors().skip(1);
    let missing = above.take_while(|folder| fs::symlink_metadata(folder).is_err());
    let mut missing: Vec<_> = missing.map(Path::to_owned).collect();
    missing.reverse();
    missing
}

fn has_list(file: &File) -> bool {
    cfg!(target_os = "linux") && fgetxattr_query(file, ACCESS_LIST).is_ok_and(|len| len > 0)
}

/// Why this file is not replaced.
fn why_not(file: &File, found: &Metadata) -> Option<&'static str> {
    let user = rustix::process::geteuid().as_raw();
    match found {
        found if !found.is_file() => Some("it is not a file"),
        found if found.uid() != user => Some("it belongs to another user"),
        found if found.nlink() > 1 => Some("it has a second name (a hard link)"),
        found if found.mode() & 0o200 == 0 => Some("it is read-only"),
        found if found.len() > MAX_SIZE => Some("it is too large"),
        _ if has_list(file) => Some("it has an access list, which would be lost"),
        _ => None,
    }
}

fn beside(real: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(real.file_name().unwrap_or_default());
    name.push(".keyhole-new");
    real.with_file_name(name)
}

/// Puts what is beside, which another program wrote, in the place of `ours`. If it has written
/// again meanwhile, that goes there instead.
pub(crate) fn put_back(beside: &Path, real: &Path, ours: &[u8]) -> io::Result<()> {
    let mut there = ours.to_vec();
    loop {
        let last = fs::read(beside)?;
        rename(beside, real, RenameFlags::EXCHANGE)?;
        if fs::read(beside)? == there {
            return fs::remove_file(beside);
        }
        there = last;
    }
}

/// Renames in one step, so that nothing that another program wrote is lost.
fn rename(one: &Path, other: &Path, how: RenameFlags) -> io::Result<()> {
    Ok(renameat_with(CWD, one, CWD, other, how)?)
}
