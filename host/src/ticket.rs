//! One-time tickets: how the guard tells the server who makes a call.
//!
//! The client asks the guard before a call and then sends the call to the
//! server, with the same id. Guard and server are processes of the same user that
//! share only a private folder. A ticket is a file in this folder. Its file name
//! comes from the id; its text names the agent. It is valid for a minute, and can
//! be redeemed once.
//!
//! Only the user can write to that folder, and the user can read the mapped files
//! anyway. So a ticket tells agents apart, not users.

use crate::{
    agent::AgentName,
    hex::hex,
    walk::{Policy, System, WalkError, Walker},
};
use rustix::{
    fs::{AtFlags, Dir, Mode, OFlags},
    io::Errno,
};
use sha2::{Digest, Sha256};
use std::{
    fs::{File, Metadata},
    io::{self, Read, Write},
    os::{fd::OwnedFd, unix::fs::MetadataExt},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// The folder of tickets, in the plugin's data folder.
const FOLDER: &str = "tickets";

/// How long a ticket is valid. Between guard and call, the client only runs other
/// hooks, which takes seconds at most.
pub const LIFE: Duration = Duration::from_secs(60);

/// The most files that one clean-up looks at, so that a folder that someone filled
/// delays no call.
const MAX_SWEPT: usize = 256;

/// The folder of tickets.
#[derive(Debug)]
pub struct Tickets {
    /// The plugin's data folder.
    data: PathBuf,
}

/// Why a ticket could not be written. The message names no path, because a client
/// may show it to a model.
#[derive(Debug, thiserror::Error)]
pub enum TicketError {
    /// The folder of tickets is a symbolic link, is another user's, or is open to
    /// others.
    #[error(
        "the folder `tickets` in the plugin's data folder is not private to its user; remove it"
    )]
    NotPrivate,
    /// Others could change the plugin's data folder, or put another in its place.
    #[error(
        "others can write to the plugin's data folder or to a directory above it; run: chmod go-w on it"
    )]
    NotTrusted,
    /// There is a ticket for this call already.
    #[error("this call was asked about before")]
    Again,
    /// The file system failed.
    #[error("no ticket can be left in the plugin's data folder: {0}")]
    Io(io::ErrorKind),
}

impl From<io::Error> for TicketError {
    fn from(error: io::Error) -> Self {
        Self::Io(error.kind())
    }
}

impl From<Errno> for TicketError {
    fn from(error: Errno) -> Self {
        io::Error::from(error).into()
    }
}

impl Tickets {
    /// The tickets in the plugin's data folder. This opens nothing yet.
    #[must_use]
    pub fn under(data: &Path) -> Self {
        Self {
            data: data.to_owned(),
        }
    }

    /// Opens the folder, and creates it if it is missing. It is for a server that
    /// will have only the right to delete in it.
    ///
    /// # Errors
    /// [`TicketError`].
    pub(crate) fn held(&self) -> Result<File, TicketError> {
        let data = self.data()?;
        match rustix::fs::mkdirat(&data, FOLDER, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        open_in(&data)
    }

    /// Writes a ticket: `agent` makes the call with this `id`. It first cleans up
    /// old tickets.
    ///
    /// # Errors
    /// [`TicketError`]. Then there is no new ticket.
    pub fn leave(&self, id: &str, agent: &AgentName) -> Result<(), TicketError> {
        let folder = self.held()?;
        let now = SystemTime::now();
        sweep(&folder, now);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let name = name(id);
        let ticket = match rustix::fs::openat(
            &folder,
            &name,
            flags | OFlags::CLOEXEC,
            Mode::RUSR | Mode::WUSR,
        ) {
            Ok(file) => File::from(file),
            Err(Errno::EXIST) => return Err(TicketError::Again),
            Err(error) => return Err(error.into()),
        };
        // The newline says that the name is complete. We set the time from our own
        // clock, because a network file system gives files the time of another
        // clock.
        write_line(&ticket, agent)
            .and_then(|()| ticket.set_modified(now))
            .map_err(|error| {
                let _ = rustix::fs::unlinkat(&folder, &name, AtFlags::empty());
                error.into()
            })
    }

    /// The agent that makes the call with this `id`, if there is a valid ticket for
    /// it. Valid or not, the ticket is used up: if several callers ask, one gets
    /// it.
    #[must_use]
    pub fn redeem(&self, id: &str) -> Option<AgentName> {
        let folder = open_in(&self.data().ok()?).ok()?;
        let name = name(id);
        // Without NONBLOCK, opening a FIFO would wait for a writer.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = rustix::fs::openat(&folder, &name, flags | OFlags::CLOEXEC, Mode::empty());
        let ticket = File::from(file.ok()?);
        // If several try to remove it, only one succeeds.
        rustix::fs::unlinkat(&folder, &name, AtFlags::empty()).ok()?;

        let metadata = ticket.metadata().ok()?;
        let age = SystemTime::now().duration_since(metadata.modified().ok()?);
        if !metadata.is_file() || !is_private(&metadata) || age.ok()? > LIFE {
            return None;
        }
        let mut text = String::new();
        ticket
            .take(AgentName::MAX_BYTES as u64 + 2)
            .read_to_string(&mut text)
            .ok()?;
        text.strip_suffix('\n')
            .and_then(|agent| agent.try_into().ok())
    }

    /// The plugin's data folder, if nobody else could have put it there or written
    /// in it. Then its content stays where it is.
    fn data(&self) -> Result<OwnedFd, TicketError> {
        match Walker::new(System).walk(&self.data, Policy::TRUSTED_DIRECTORY) {
            Ok(data) => Ok(data.handle),
            Err(WalkError::Untrusted(_)) => Err(TicketError::NotTrusted),
            Err(WalkError::Missing) => Err(TicketError::Io(io::ErrorKind::NotFound)),
            Err(WalkError::Denied) => Err(TicketError::Io(io::ErrorKind::PermissionDenied)),
            Err(_) => Err(TicketError::Io(io::ErrorKind::Other)),
        }
    }
}

/// Opens the folder of tickets in the data folder, if it is this user's own.
fn open_in(data: &OwnedFd) -> Result<File, TicketError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = match rustix::fs::openat(data, FOLDER, flags, Mode::empty()) {
        Ok(folder) => File::from(folder),
        Err(Errno::LOOP | Errno::NOTDIR) => return Err(TicketError::NotPrivate),
        Err(error) => return Err(error.into()),
    };
    match is_private(&folder.metadata()?) {
        true => Ok(folder),
        false => Err(TicketError::NotPrivate),
    }
}

/// The file name for an id. It is a hash, because an id comes from outside and this
/// is part of a path. Its length and alphabet are the same for every id.
fn name(id: &str) -> String {
    hex(&Sha256::digest(id))
}

fn is_private(metadata: &Metadata) -> bool {
    let user = rustix::process::geteuid().as_raw();
    is_private_to(user, metadata.uid(), metadata.mode())
}

/// Whether `owner` is `user` and nobody else has any permission.
fn is_private_to(user: u32, owner: u32, mode: u32) -> bool {
    owner == user && mode & 0o077 == 0
}

fn write_line(mut file: &File, text: &str) -> io::Result<()> {
    file.write_all(format!("{text}\n").as_bytes())
}

/// Removes tickets that nobody can redeem any more. If a removal fails, the next
/// clean-up tries again.
fn sweep(folder: &File, now: SystemTime) {
    let Ok(entries) = Dir::read_from(folder) else {
        return;
    };
    for entry in entries.flatten().take(MAX_SWEPT) {
        let name = entry.file_name();
        let is_old = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
            .ok()
            .and_then(|stat| u64::try_from(stat.st_mtime).ok())
            .map(|seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
            .and_then(|modified| now.duration_since(modified).ok())
            .is_some_and(|age| age > 2 * LIFE);
        if is_old && name.count_bytes() == 64 {
            let _ = rustix::fs::unlinkat(folder, name, AtFlags::empty());
        }
    }
}

#[cfg(test)]
mod tests;
