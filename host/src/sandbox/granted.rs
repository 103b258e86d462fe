//! The one file of a call: opened without waiting, checked, and read at rest.
//!
//! This module does not depend on a sandbox: the guest's native twin (`guest/native`)
//! includes it, so that both open, wait and read in the same way.

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

    /// Waits, or fails if the call would have to wait too long.
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

/// What an open file reports, as far as we use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) size: u64,
    /// Seconds and nanoseconds since 1970.
    pub(crate) modified: (i64, i64),
    pub(crate) changed: ChangeTime,
}

impl Look {
    /// Only a regular file is looked at again, or read.
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
    /// The look at which it was found at rest, until a caller asks for it.
    first: Option<Look>,
    /// Reads end before this offset.
    end: u64,
    /// Whether its times change with every change of the file.
    is_reliable: bool,
}

impl GrantedFile {
    /// Opens `name` for reading, and waits until it is at rest. The error is `ENXIO` if
    /// what was opened is not a regular file. It is `EWOULDBLOCK` if the file does not
    /// come to rest, or if another process holds it by a lease.
    ///
    /// It does not wait for a file of more than `max_bytes`. Reads go no further than
    /// one byte past `max_bytes`, or past the file's size at rest.
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

    /// What the file reports. The first time, this is the look at which it was found at
    /// rest, so that any change since then makes the next look differ.
    ///
    /// If its times do not change with every change, this takes a while, so that the
    /// reads before and after it cannot both fall into one change.
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

    /// Whether the file's times change with every change of the file.
    pub(crate) fn is_reliable(&self) -> bool {
        self.is_reliable
    }

    /// Up to `length` bytes from `offset`; no bytes only at the end. It allocates no
    /// more than can be read.
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

/// Accepts one path component, for cap-std to look up in the one directory. cap-std
/// would not leave that directory, but it would enter those in it.
fn check(name: &str) -> io::Result<&str> {
    if matches!(name, "" | "." | "..") || name.contains(['/', '\0']) || system::is_odd(name) {
        return Err(system::a_way_out());
    }
    Ok(name)
}

/// Waits until the file is at rest. Returns what it then reports, and whether its times
/// would show a change.
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
        // A write that began before the first look has ended by the second. A write
        // that began between the two shows in the second. A later write has not set the
        // times yet, so it shows in the next look.
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
