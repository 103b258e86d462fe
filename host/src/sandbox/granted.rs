//! The one file of a call: opened without waiting, judged, and read at rest.
//!
//! Nothing here knows a sandbox: the guest's native twin (`guest/native`)
//! includes this file, so that both open, wait and read in the same way.

use crate::settle::{ChangeTime, QUIET, QUIET_EMPTY, Rest};
use cap_std::fs::{Dir, File, FileType};
use std::{
    io,
    thread::sleep,
    time::{Duration, Instant, SystemTime},
};

#[cfg(unix)]
#[path = "granted_unix.rs"]
mod system;
#[cfg(windows)]
#[path = "granted_windows.rs"]
mod system;

/// How long one call waits for a file that is being written, at most. Saving in
/// place takes a few milliseconds.
const PATIENCE: Duration = Duration::from_secs(1);

/// How much longer a call may wait.
#[derive(Debug)]
pub(crate) struct Patience {
    left: Duration,
    deadline: Instant,
}

impl Patience {
    /// For a call that must be answered by `deadline`.
    pub(crate) fn new(deadline: Instant) -> Self {
        Self {
            left: PATIENCE,
            deadline,
        }
    }

    /// Waits, or says that the call would have to wait for too long.
    fn wait(&mut self, wanted: Duration) -> io::Result<()> {
        let until_deadline = self.deadline.saturating_duration_since(Instant::now());
        self.left = self
            .left
            .checked_sub(wanted)
            .filter(|_| wanted < until_deadline)
            .ok_or_else(system::unsettled)?;
        sleep(wanted);
        Ok(())
    }
}

/// What an open file says of itself, as far as it is of use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) size: u64,
    /// Seconds and nanoseconds since 1970.
    pub(crate) modified: (i64, i64),
    pub(crate) changed: ChangeTime,
}

impl Look {
    /// Nothing but a regular file is ever looked at twice, or read.
    fn at(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(system::not_a_file());
        }
        system::look(file, &metadata)
    }
}

/// What `name` is, without opening it or following a link.
pub(crate) fn kind(directory: &Dir, name: &str) -> io::Result<FileType> {
    Ok(directory.symlink_metadata(check(name)?)?.file_type())
}

/// The open file.
#[derive(Debug)]
pub(crate) struct GrantedFile {
    file: File,
    /// What it said of itself when it was found at rest, until that is asked for.
    first: Option<Look>,
    /// Nothing from here on is read.
    end: u64,
    /// Whether its times tell of every change.
    is_reliable: bool,
}

impl GrantedFile {
    /// Opens `name` for reading, and lets it come to rest. What is not a regular
    /// file by then is an error (`ENXIO`), and so is a file that does not come to
    /// rest, or is held by a lease of another process (`EWOULDBLOCK`).
    ///
    /// A file of more than `max_bytes` is not waited for. No file is read further
    /// than one byte past `max_bytes`, or past its size at rest.
    pub(crate) fn open(
        directory: &Dir,
        name: &str,
        max_bytes: u64,
        patience: &mut Patience,
    ) -> io::Result<Self> {
        let file = system::open(directory, check(name)?, patience)?;
        let (look, is_reliable) = settle(&file, max_bytes, patience, SystemTime::now)?;
        Ok(Self {
            file,
            first: Some(look),
            end: look.size.min(max_bytes).saturating_add(1),
            is_reliable,
        })
    }

    /// What the file says of itself. The first time that is what it said when it
    /// was found at rest: whatever has happened since makes a difference to the
    /// next.
    ///
    /// Where its times do not tell of every change, this takes a while, so that
    /// what is read before and after cannot be two parts of one change.
    pub(crate) fn look(&mut self, patience: &mut Patience) -> io::Result<Look> {
        if let Some(first) = self.first.take() {
            return Ok(first);
        }
        if !self.is_reliable {
            patience.wait(QUIET)?;
            system::let_writers_finish(&self.file);
        }
        Look::at(&self.file)
    }

    /// Whether the file's times tell of every change.
    pub(crate) fn is_reliable(&self) -> bool {
        self.is_reliable
    }

    /// Up to `length` bytes from `offset`; none only at the end. No more is
    /// allocated than can be read.
    pub(crate) fn read(&self, length: u64, offset: u64) -> io::Result<Vec<u8>> {
        let length = length.min(self.end.saturating_sub(offset));
        let length =
            usize::try_from(length).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        let mut bytes = Vec::with_capacity(length);
        if length == 0 {
            return Ok(bytes);
        }
        while let Err(error) = system::read_at(&self.file, &mut bytes, offset) {
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
        // There may have been room for more than was asked for.
        bytes.truncate(length);
        Ok(bytes)
    }
}

/// One path component, which cap-std is to look up in the one directory. It would
/// find no way out of that in any case, but one into what lies beneath.
fn check(name: &str) -> io::Result<&str> {
    if matches!(name, "" | "." | "..") || name.contains(['/', '\0']) || system::is_odd(name) {
        return Err(system::a_way_out());
    }
    Ok(name)
}

/// Waits until the file is at rest. Gives what it says of itself then, and whether
/// its times would tell of a change.
fn settle(
    file: &File,
    max_bytes: u64,
    patience: &mut Patience,
    now: fn() -> SystemTime,
) -> io::Result<(Look, bool)> {
    let mut look = Look::at(file)?;
    loop {
        if look.size > max_bytes {
            return Ok((look, true));
        }
        let quiet = match look.size {
            0 => QUIET_EMPTY,
            _ => QUIET,
        };
        let rest = look.changed.rest(quiet, now());
        match rest {
            Rest::Still => return Ok((look, true)),
            Rest::Quiet => {}
            Rest::In(left) => {
                patience.wait(left)?;
                look = Look::at(file)?;
                continue;
            }
            Rest::Unknown => patience.wait(QUIET)?,
        }
        // A write that began before the first look has ended by the second; one
        // that began between the two shows in it; and any other has yet to set the
        // times, so that it shows in the next.
        system::let_writers_finish(file);
        let again = Look::at(file)?;
        if again == look {
            return Ok((look, rest == Rest::Quiet));
        }
        look = again;
        patience.wait(QUIET)?;
    }
}

#[cfg(test)]
#[path = "granted_tests.rs"]
mod tests;
