//! The one file of a call: opened without waiting, judged, and at rest.
//!
//! The kernel records the time of a change when the change begins. So two equal looks do not
//! show a write that had begun before the first. Nothing is read before the file has
//! *settled*: nobody has changed it in the last [`RECENT`], or two looks are equal that are
//! [`BETWEEN_LOOKS`]. After that, each change shows: what was read is right if the look before the
//! reading and the look after it are equal.
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

/// A file that has not changed for this long has settled. No write of a served file takes longer.
pub const RECENT: Duration = Duration::from_secs(10);

/// The time between two looks at a file that was changed lately. A program that saves in
/// place takes a few milliseconds, also if it has to wait for a processor.
pub const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// The time between two looks if the time of the change has no fraction of a second: the file
/// system may keep every other second only, as FAT does.
const BETWEEN_LOOKS_IF_WHOLE_SECONDS: Duration = Duration::from_millis(2100);

/// How long a file may take to settle. No further look comes after this: somebody keeps writing.
const TIME_TO_SETTLE: Duration = Duration::from_secs(1);

/// How often the host reads a file if somebody writes to it each time: four times, as the guest
/// does.
const MAX_READINGS: usize = 4;

/// How many bytes of a file are compared at once with what is known of it.
const PIECE_BYTES: usize = 64 << 10;

impl Stat {
    /// Whether nobody has changed the file in the last ten seconds, [`RECENT`]. A time in the
    /// future tells nothing: the clock was set back, or belongs to another machine. So it counts as
    /// recent.
    fn is_long_unchanged(&self, now: SystemTime) -> bool {
        let (seconds, nanoseconds) = self.changed;
        // Both times are counted from 1970. A time before that is long ago.
        let changed = Duration::new(
            seconds.try_into().unwrap_or(0),
            nanoseconds.try_into().unwrap_or(0),
        );
        let present = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        match present.checked_sub(changed) {
            Some(age) => age > RECENT,
            None => false,
        }
    }
}

impl<F: FileSystem> Walker<F> {
    /// What an open file reports once it has settled: nobody has changed it in the last ten seconds
    /// ([`RECENT`]), or two looks at it are equal, a tenth of a second apart ([`BETWEEN_LOOKS`]). If
    /// its file system keeps whole seconds only, the two looks are two seconds apart
    /// ([`BETWEEN_LOOKS_IF_WHOLE_SECONDS`]). `first` is what it reported just now.
    ///
    /// # Errors
    /// [`SystemError::Busy`] if the file still changes after a second ([`TIME_TO_SETTLE`]), or if
    /// the call ends before the next look; [`SystemError::Late`] if the call's time is over.
    fn settle(&self, file: &F::Handle, first: Stat) -> Result<Stat, SystemError> {
        let mut last = first;
        let mut waited = Duration::ZERO;
        while !last.is_long_unchanged(self.files.now()) {
            self.in_time()?;
            // A time without a fraction may be of a file system that keeps whole seconds.
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

    /// Whether a file that was walked to is as it was when it was last read at rest: it reports
    /// `known`, before and after it is compared, and holds exactly `bytes`. There is no copy of
    /// the file meanwhile: many calls compare a map at the same time.
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
            let expected = bytes.get(same..end);
            if expected.is_none() || expected != piece.get(..got) {
                return Ok(false);
            }
            same = end;
        }
        let after = self.files.stat(&file.handle)?;
        Ok(same == bytes.len() && after == *known)
    }

    /// All of a file that was walked to, read while nobody changed it. None if it has more than
    /// `most` bytes.
    ///
    /// Before each reading, this waits until the file settles. `known` is what the file reported
    /// when this function last read it: if it still reports that, it has settled.
    ///
    /// # Errors
    /// [`SystemError::Busy`] if the file does not settle, or changes during each of four readings.
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
    /// What `name` in an open directory is, as far as one look tells. It opens nothing, and
    /// follows no link.
    pub fn kind(walker: &Walker<F>, directory: &F::Handle, name: &str) -> Result<Kind, WalkError> {
        let kind = walker.files.kind(directory, plain_name(name)?)?;
        Ok(kind)
    }

    /// Opens the file `name` in an open directory for reading. Judges the directory and the file,
    /// as the walk does: the directory may have been open for a while. Then waits until the file
    /// settles, which means that nobody changes it any more. Of the file, the call may later read
    /// one byte more than `most` bytes.
    ///
    /// # Errors
    /// [`SystemError::Missing`] if `name` is not a single name; [`SystemError::NotAFile`] if it is
    /// no regular file; [`Distrust`](crate::Distrust), with an empty path, if the file or its
    /// directory is not trusted; [`SystemError::Busy`] if the file does not settle within a second,
    /// or if the call ends too soon for another look.
    pub fn open(
        walker: &Walker<F>,
        directory: &F::Handle,
        name: &str,
        most: u64,
    ) -> Result<Self, WalkError> {
        walker.in_time()?;
        let single_name = plain_name(name)?;
        let directory_stat = walker.files.stat(directory)?;
        // None: the walk that led here has judged the mount of the directory.
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

    /// What the file reports. The first time, this is what it reported when it had settled:
    /// a change after that must show.
    pub fn look(&mut self, walker: &Walker<F>) -> Result<Stat, WalkError> {
        let stat = match self.settled.take() {
            Some(settled) => settled,
            None => walker.files.stat(&self.handle)?,
        };
        self.readable_end = stat.size.min(self.max_bytes).saturating_add(1);
        Ok(stat)
    }

    /// Up to `length` bytes from `offset`; no bytes only at the end, or before the first
    /// [`look`](Self::look). It allocates no more than can be read.
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

/// A name as a [`FileSystem`] takes it. [`SystemError::Missing`] for a text that is not one plain
/// name: it is empty, `.` or `..`, or has a slash or a NUL.
fn plain_name(name: &str) -> Result<&OsStr, SystemError> {
    let leads_elsewhere = matches!(name, "" | "." | "..");
    if leads_elsewhere || name.contains(['/', '\0']) {
        return Err(SystemError::Missing);
    }
    Ok(OsStr::new(name))
}

#[cfg(test)]
mod tests;
