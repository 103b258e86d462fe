//! The user's files: read as they are, and replaced in one step. Nothing else writes.
#![expect(
    clippy::disallowed_methods,
    reason = "this is the part that writes, after it has shown what and was told to"
)]

use crate::edit::EditError;
use keyhole_walk::printable::printable;
use rustix::fs::{CWD, OFlags, RenameFlags, fgetxattr, renameat_with};
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
}

/// The file system.
#[derive(Debug, Default)]
pub struct Disk {
    /// In tests: after how many more steps the process ends.
    pub(crate) steps_left: Cell<Option<u32>>,
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

    /// Reads a file, and says whether it may be replaced. A new one is for the user alone.
    pub(crate) fn find(&self, path: &Path) -> Result<Found, FileError> {
        let refuse = |why| Err(FileError::new(path, Why::Refused(why)));
        let system = |error: io::Error| FileError::new(path, error);
        let real = match fs::symlink_metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => path.to_owned(),
            Err(error) => return Err(system(error)),
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
        let options = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
        let opened = OpenOptions::new()
            .read(true)
            .custom_flags(options)
            .open(&real);
        let file = match opened {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok(Found {
                    real,
                    bytes: None,
                    mode: 0o600,
                    group: None,
                });
            }
            opened => opened.map_err(system)?,
        };
        let found = file.metadata().map_err(system)?;
        if let Some(why) = why_not(&file, &found, user) {
            return refuse(why);
        }
        let mut bytes = Vec::new();
        file.take(MAX_SIZE)
            .read_to_end(&mut bytes)
            .map_err(system)?;
        Ok(Found {
            real,
            bytes: Some(bytes),
            mode: found.mode() & 0o7777,
            group: Some(found.gid()),
        })
    }

    /// Puts `new` in the place of what was found, in one step, if that is still there. Makes the
    /// folders that it needs, for the user alone.
    pub(crate) fn replace(&self, found: &Found, new: &[u8]) -> Result<(), FileError> {
        let real = &found.real;
        let beside = beside(real);
        let written = self.write(&beside, found, new);
        let is_put = written.and_then(|()| self.put(&beside, found, new));
        // The new file if it did not get there, or else the old one; nothing of another program.
        let left = fs::read(&beside).ok();
        let is_ours = left.as_deref() == Some(new) || left == found.bytes;
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
        let is_shown = |path: &Path| fs::read(path).ok() == found.bytes;
        if !is_shown(real) {
            return Ok(false);
        }
        self.step()?;
        if found.bytes.is_none() {
            rename(beside, real, RenameFlags::NOREPLACE)?;
        } else if rename(beside, real, RenameFlags::EXCHANGE).is_err() {
            // Not every file system can.
            fs::rename(beside, real)?;
        } else if !is_shown(beside) {
            // What another program wrote at the last moment goes back.
            self.step()?;
            return put_back(beside, real, new).map(|()| false);
        }
        self.step()?;
        // It stands already; that the folder is written to the disk is the system's.
        let folder = real.parent().map(File::open).transpose()?;
        let _ = folder.map(|folder| folder.sync_all());
        Ok(true)
    }

    /// Removes what was found, if it is still there, and then those folders that are empty.
    pub(crate) fn remove(&self, found: &Found, folders: &[PathBuf]) -> Result<(), FileError> {
        let real = &found.real;
        if fs::read(real).ok() != found.bytes {
            return Err(FileError::new(real, CHANGED));
        }
        let removed = self.step().and_then(|()| fs::remove_file(real));
        removed.map_err(|error| FileError::new(real, error))?;
        for folder in folders.iter().rev() {
            // It is not empty, or gone.
            let _ = fs::remove_dir(folder);
        }
        Ok(())
    }

    /// Makes a file readable by its owner only.
    pub(crate) fn close(&self, file: &Path) -> Result<(), FileError> {
        let close = |()| fs::set_permissions(file, Permissions::from_mode(0o600));
        let closed = self.step().and_then(close);
        closed.map_err(|error| FileError::new(file, error))
    }
}

/// The folders that a file needs and that are not there, the highest first.
pub(crate) fn missing_folders(file: &Path) -> Vec<PathBuf> {
    let above = file.ancestors().skip(1);
    let missing = above.take_while(|folder| fs::symlink_metadata(folder).is_err());
    let mut missing: Vec<_> = missing.map(Path::to_owned).collect();
    missing.reverse();
    missing
}

/// Why this file is not replaced.
fn why_not(file: &File, found: &Metadata, user: u32) -> Option<&'static str> {
    let list = "system.posix_acl_access";
    let has_list = || fgetxattr(file, list, &mut [0u8; 0]).is_ok_and(|len| len > 0);
    match found {
        found if !found.is_file() => Some("it is not a file"),
        found if found.uid() != user => Some("it belongs to another user"),
        found if found.nlink() > 1 => Some("it has a second name (a hard link)"),
        found if found.mode() & 0o200 == 0 => Some("it is read-only"),
        found if found.len() > MAX_SIZE => Some("it is too large"),
        _ if cfg!(target_os = "linux") && has_list() => {
            Some("it has an access list, which would be lost")
        }
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
