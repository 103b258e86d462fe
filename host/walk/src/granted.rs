//! The one file of a call: opened without waiting, judged, and at rest.
//!
//! A *look* is a `stat` of the open file. The kernel records the time of a change when the change
//! begins. So two equal looks do not show a write that had begun before the first look. Nothing is
//! read before the file has *settled*: nobody has changed it in the last ten seconds ([`RECENT`]),
//! or two looks a tenth of a second apart ([`BETWEEN_LOOKS`]) are equal. After that, each change
//! shows: what was read is right if the look before the reading and the look after it are equal.
//!
//! This holds against a program that saves a file in place and begins a write at least every
//! [`BETWEEN_LOOKS`] until it is done. It does not hold against a single write that takes longer,
//! or a store through a memory mapping. Only a file that is saved by renaming is safe whatever the
//! writer does.
//!
//! The host itself reads the map ([`Walker::read_at_rest`]). The guest reads a mapped file,
//! which settles when it is opened ([`GrantedFile::open`]). The model plays this file as it is.

use crate::{
    error::{SystemError, WalkError},
    system::{FileSystem, Kind, Stat, System},
    walker::{Policy, Walker},
    way::Walked,
};
use std::{
    ffi::OsStr,
    path::PathBuf,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// Ten seconds. A file that nobody has changed for longer than this has settled: no write of a
/// served file takes so long.
pub const RECENT: Duration = Duration::from_secs(10);

/// A tenth of a second: the time between two looks at a file that was changed lately. A program
/// that saves in place takes a few milliseconds, also if it has to wait for a processor.
pub const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// 2.1 seconds: the time between two looks if the time of the change has no fraction of a second.
/// Then the file system may keep every other second only, as FAT does.
const BETWEEN_LOOKS_IF_WHOLE_SECONDS: Duration = Duration::from_millis(2100);

/// One second: how long a file may take to settle. If it still changes after this, somebody keeps
/// writing, and no further look comes.
const TIME_TO_SETTLE: Duration = Duration::from_secs(1);

/// How often the host reads a file if somebody writes to it each time: four times, as the guest
/// does.
const MAX_READINGS: usize = 4;

/// How many bytes of a file are compared at once with the bytes that were read before: 64 KiB.
const PIECE_BYTES: usize = 64 << 10;

impl Stat {
    /// Whether the last change of the file was more than ten seconds ([`RECENT`]) before `now`.
    /// False for a change in the future: the clock was set back, or the time is that of another
    /// machine, so it tells nothing.
    fn is_long_unchanged(&self, now: SystemTime) -> bool {
        let (seconds, nanoseconds) = self.changed;
        // Both times are counted from 1970. A change before 1970 counts as one at its beginning.
        let changed = Duration::new(
            seconds.try_into().unwrap_or(0),
            nanoseconds.try_into().unwrap_or(0),
        );
        let present = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        match present.checked_sub(changed) {
            Some(age) => age > RECENT,
            // The change is in the future.
            None => false,
        }
    }
}

impl<F: FileSystem> Walker<F> {
    /// Waits until an open file has settled, and returns what it reports then. `first` is what the
    /// file reported just now.
    ///
    /// If the last change was more than ten seconds ago ([`RECENT`]), that is at once. Otherwise,
    /// it is when two looks at the file are equal, a tenth of a second apart ([`BETWEEN_LOOKS`]),
    /// or 2.1 seconds if the time of the change has no fraction of a second
    /// ([`BETWEEN_LOOKS_IF_WHOLE_SECONDS`]).
    ///
    /// # Errors
    /// [`SystemError::Busy`] if the file still changes after a second ([`TIME_TO_SETTLE`]), or if
    /// the call ends before the next look; [`SystemError::Late`] if the call's time is over; or
    /// what the system reports.
    fn settle(&self, file: &F::Handle, first: Stat) -> Result<Stat, SystemError> {
        let mut last = first;
        let mut waited = Duration::ZERO;
        while !last.is_long_unchanged(self.files.now()) {
            self.in_time()?;
            // A time without a fraction may come from a file system that keeps whole seconds.
            let (_, nanoseconds) = last.changed;
            let apart = if nanoseconds == 0 {
                BETWEEN_LOOKS_IF_WHOLE_SECONDS
            } else {
                BETWEEN_LOOKS
            };
            let next_look = Instant::now() + apart;
            let ends_before = self.deadline.is_some_and(|end| end < next_look);
            if waited >= TIME_TO_SETTLE || ends_before {
                return Err(SystemError::Busy);
            }
            self.files.pause(apart);
            waited += apart;
            let look = self.files.stat(file)?;
            if look == last {
                return Ok(look);
            }
            last = look;
        }
        Ok(last)
    }

    /// Whether a file that was walked to still reports `known`, and has exactly these `bytes`: what
    /// it reported and had when it was last read at rest. False if the file reports anything else,
    /// before or after the comparison; or if it has other bytes, fewer or more.
    ///
    /// Only 64 KiB are in memory at a time, because many calls compare a map at the same time.
    ///
    /// # Errors
    /// [`SystemError::Late`] if the call's time is over, or what the system reports.
    pub fn is_still(
        &self,
        file: &Walked<F::Handle>,
        known: &Stat,
        bytes: &[u8],
    ) -> Result<bool, WalkError> {
        if file.stat != *known {
            return Ok(false);
        }
        // One byte more than the file should have, for the read that finds its end.
        let mut piece = vec![0; PIECE_BYTES.min(bytes.len() + 1)];
        // How many bytes of the file are as expected so far.
        let mut same = 0;
        loop {
            self.in_time()?;
            let got = self.files.read(&file.handle, &mut piece, same as u64)?;
            if got == 0 {
                break;
            }
            let end = same + got;
            // None if the file has more bytes than expected.
            let expected = bytes.get(same..end);
            if expected.is_none() || expected != piece.get(..got) {
                return Ok(false);
            }
            same = end;
        }
        let after = self.files.stat(&file.handle)?;
        Ok(same == bytes.len() && after == *known)
    }

    /// All bytes of a file that was walked to, read while nobody changed it. None if it has more
    /// than `most` bytes.
    ///
    /// Before each reading, this waits until the file settles. There is no wait if the file reports
    /// `known`: what it reported when this function last read it. `known` is None if it was not
    /// read before.
    ///
    /// # Errors
    /// [`SystemError::Busy`] if the file does not settle, or changes during each of four readings;
    /// [`SystemError::Late`] if the call's time is over; or what the system reports.
    pub fn read_at_rest(
        &self,
        file: &Walked<F::Handle>,
        most: u64,
        known: Option<&Stat>,
    ) -> Result<Option<Vec<u8>>, WalkError> {
        let mut look = file.stat;
        for _ in 0..MAX_READINGS {
            if known != Some(&look) {
                look = self.settle(&file.handle, look)?;
            }
            let bytes = self.read(&file.handle, look.size, most)?;
            let after = self.files.stat(&file.handle)?;
            if after == look {
                return Ok(bytes);
            }
            // The file changed while it was read.
            look = after;
        }
        Err(SystemError::Busy.into())
    }
}

/// The open file of a call.
#[derive(Debug)]
pub struct GrantedFile<F: FileSystem = System> {
    handle: F::Handle,
    /// What the file reported when it had settled. None once the guest has asked for it.
    settled: Option<Stat>,
    /// The size of the largest file that the guest may have, in bytes.
    max_bytes: u64,
    /// Reads end before this offset. It is 0 until the guest has looked at the file.
    readable_end: u64,
}

impl<F: FileSystem> GrantedFile<F> {
    /// What `name` in an open directory is, as far as one look tells. Nothing is opened, and no
    /// link is followed.
    ///
    /// # Errors
    /// [`SystemError::Missing`] if `name` is not a single name, as `a/b.md`, or if nothing has this
    /// name; or what else the system reports.
    pub fn kind(walker: &Walker<F>, directory: &F::Handle, name: &str) -> Result<Kind, WalkError> {
        let kind = walker.files.kind(directory, plain_name(name)?)?;
        Ok(kind)
    }

    /// Opens the file `name`, such as `a.md`, in an open directory for reading. Judges the
    /// directory and the file, as the walk does: the directory may have been open for a while. Then
    /// waits until the file settles, which means that nobody changes it any more. Of the file, at
    /// most the first `most` bytes and one byte more can be read.
    ///
    /// # Errors
    /// - [`SystemError::Late`] if the call's time is over.
    /// - [`SystemError::Missing`] if `name` is not a single name, as `../a.md`, or is not there.
    /// - [`Distrust`](crate::Distrust), with an empty path, if the file or its directory is not
    ///   trusted.
    /// - [`SystemError::IsLink`] if `name` is a link; [`SystemError::NotAFile`] if it is a
    ///   directory, a device or the like.
    /// - [`SystemError::Busy`] if the file does not settle within a second, or if the call ends too
    ///   soon for another look.
    /// - Any other [`SystemError`] as the system reports it.
    pub fn open(
        walker: &Walker<F>,
        directory: &F::Handle,
        name: &str,
        most: u64,
    ) -> Result<Self, WalkError> {
        walker.in_time()?;
        let single_name = plain_name(name)?;
        let directory_stat = walker.files.stat(directory)?;
        // `around` is None: the walk that led to the directory has judged its mount.
        walker.check(directory, &directory_stat, None, Policy::Name, PathBuf::new)?;
        let (handle, stat) = walker.files.open(directory, single_name)?;
        if stat.kind != Kind::File {
            return Err(SystemError::NotAFile.into());
        }
        walker.check(
            &handle,
            &stat,
            Some(&directory_stat),
            Policy::Name,
            PathBuf::new,
        )?;
        Ok(Self {
            settled: Some(walker.settle(&handle, stat)?),
            handle,
            max_bytes: most,
            readable_end: 0,
        })
    }

    /// What the file reports now. The first call returns what the file reported when it had
    /// settled, so that the caller notices a change since then. Each call sets how far
    /// [`read`](Self::read) may go: to the file's size or the largest size that the guest may have,
    /// whichever is less, and one byte more.
    pub fn look(&mut self, walker: &Walker<F>) -> Result<Stat, WalkError> {
        let stat = match self.settled.take() {
            Some(settled) => settled,
            None => walker.files.stat(&self.handle)?,
        };
        self.readable_end = stat.size.min(self.max_bytes).saturating_add(1);
        Ok(stat)
    }

    /// Up to `length` bytes from `offset`. No bytes only at the end of the file, behind the offset
    /// that [`look`](Self::look) has set, before the first `look`, or if `length` is 0. However
    /// large `length` is, no more memory is taken than can be read.
    pub fn read(&self, walker: &Walker<F>, length: u64, offset: u64) -> Result<Vec<u8>, WalkError> {
        let allowed = length.min(self.readable_end.saturating_sub(offset));
        let size = usize::try_from(allowed).map_err(|_| SystemError::OutOfResources)?;
        let mut bytes = vec![0; size];
        if size > 0 {
            let got = walker.files.read(&self.handle, &mut bytes, offset)?;
            bytes.truncate(got);
        }
        Ok(bytes)
    }
}

/// A single name, such as `a.md`, as a [`FileSystem`] takes it. [`SystemError::Missing`] for any
/// other text: it is empty, `.` or `..`, or has a slash or a NUL, as `../a.md`.
fn plain_name(name: &str) -> Result<&OsStr, SystemError> {
    let leads_elsewhere = matches!(name, "" | "." | "..");
    if leads_elsewhere || name.contains(['/', '\0']) {
        return Err(SystemError::Missing);
    }
    Ok(OsStr::new(name))
}

#[cfg(test)]
mod tests;
