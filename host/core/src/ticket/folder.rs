//! The folder of tickets, which is the user's alone. Of several that remove a ticket, one succeeds.
#![expect(clippy::disallowed_methods, reason = "the folder that the user names")]

use super::{TICKETS_FOLDER, TicketError};
use keyhole_walk::SystemError;
use rustix::{
    fs::{AtFlags, Mode, OFlags},
    io::Errno,
};
use std::{
    fs::{File, Metadata},
    os::unix::fs::MetadataExt,
};

/// Opens the folder of tickets in the data folder, and creates it if it is missing. Fails as
/// [`open`] does.
pub(super) fn open_or_make(data: &File) -> Result<File, TicketError> {
    match rustix::fs::mkdirat(data, TICKETS_FOLDER, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => open(data),
        Err(error) => Err(SystemError::from(error).into()),
    }
}

/// Opens the folder of tickets in the data folder. [`TicketError::NotPrivate`] if it is a link or
/// no folder, is another user's, or gives others any right; else why it cannot be opened.
pub(super) fn open(data: &File) -> Result<File, TicketError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = match rustix::fs::openat(data, TICKETS_FOLDER, flags, Mode::empty()) {
        Ok(folder) => File::from(folder),
        Err(Errno::LOOP | Errno::NOTDIR) => return Err(TicketError::NotPrivate),
        Err(error) => return Err(SystemError::from(error).into()),
    };
    if is_private(&folder.metadata()?) {
        Ok(folder)
    } else {
        Err(TicketError::NotPrivate)
    }
}

/// Makes a new file in the open folder, which only the user may read and write.
/// [`TicketError::Again`] if there is one of this name; else why it cannot be made.
pub(super) fn make(folder: &File, name: &str) -> Result<File, TicketError> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR;
    match rustix::fs::openat(folder, name, flags, mode) {
        Ok(file) => Ok(File::from(file)),
        Err(Errno::EXIST) => Err(TicketError::Again),
        Err(error) => Err(SystemError::from(error).into()),
    }
}

/// Removes a file of the open folder. If that fails, the file stays until it is swept.
pub(super) fn remove(folder: &File, name: &str) {
    let _ = rustix::fs::unlinkat(folder, name, AtFlags::empty());
}

/// Opens a ticket or receipt to read it, and removes it. [`SystemError::Missing`] if there is none,
/// or none any more: of several that take the same file, only one gets it.
pub(super) fn take(folder: &File, name: &str) -> Result<File, SystemError> {
    // Without NONBLOCK, opening a FIFO would wait for a writer.
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let ticket = rustix::fs::openat(folder, name, flags, Mode::empty())?;
    // Several may have opened the file, but only one can remove it.
    rustix::fs::unlinkat(folder, name, AtFlags::empty())?;
    Ok(ticket.into())
}

/// Whether a file or folder is owned by the user of this process, and nobody else has any right.
pub(super) fn is_private(metadata: &Metadata) -> bool {
    let user = rustix::process::geteuid().as_raw();
    is_private_to(user, metadata.uid(), metadata.mode())
}

/// The same for any `user`, from what the file reports: its owner and its mode.
pub(super) fn is_private_to(user: u32, owner: u32, mode: u32) -> bool {
    owner == user && mode & 0o077 == 0
}
