//! The one file of a call: opened without waiting, judged, and at rest.
//!
//! The kernel records the time of a change when the change begins. So two equal looks do not
//! show a write that had begun before the first. Nothing is read before the file has
//! *settled*: nobody has changed it in the last [`RECENT`], or two looks are equal that are
//! [`APART`]. After that, each change shows: what was read is right if the look before the
//! reading and the look after it are equal.
//!
//! This holds against a program that saves a file in place and begins a write at least every
//! [`APART`] until it is done. It does not hold against a single write that takes longer, or a
//! store through a memory mapping. Only a file that is saved by renaming is safe whatever the
//! writer does.
//!
//! The host itself reads the map ([`Walker::read_at_rest`]). The guest reads a mapped file,
//! which settles when it is opened ([`GrantedFile::open`]). The model plays this file as it is.

use crate::{
    Kind, Policy, SystemError, WalkError, Walked, Walker, plain_name,
    system::{FileSystem, Stat, System},
};
use std::{
    path::PathBuf,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// A file that has not changed for this long has settled. No write of a served file takes longer.
pub const RECENT: Duration = Duration::from_secs(10);

/// The time between two looks at a file that was changed lately. A program that saves in
/// place takes a few milliseconds, also if it has to wait for a processor.
pub const APART: Duration = Duration::from_millis(100);

/// The same if the time of the change has no fraction: the file system may keep every other
/// second only.
const APART_IN_SECONDS: Duration = Duration::from_millis(2100);

/// No further look comes after this: somebody keeps writing.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often the host reads a file if somebody writes to it each time; as often as the guest.
const READINGS: usize = 4;

impl Stat {
    /// Whether nobody has changed the file lately. A time in the future tells nothing: the
    /// clock was set back, or belongs to another machine.
    fn is_old(&self, now: SystemTime) -> bool {
        // A time before 1970 is long ago.
        let seconds = self.changed.0.try_into().unwrap_or(0);
        let changed = Duration::new(seconds, self.changed.1.try_into().unwrap_or(0));
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        now.checked_sub(changed).is_some_and(|age| age > RECENT)
    }
}

impl<F: FileSystem> Walker<F> {
    /// What an open file reports once it has settled. `look` is what it reported just now.
    fn settle(&self, file: &F::Handle, mut look: Stat) -> Result<Stat, SystemError> {
        let mut waited = Duration::ZERO;
        while !look.is_old(self.files.now()) {
            self.in_time()?;
            let apart = match look.changed.1 {
                0 => APART_IN_SECONDS,
                _ => APART,
            };
            let ends_before = |until| until < Instant::now() + apart;
            if waited >= PATIENCE || self.until.is_some_and(ends_before) {
                return Err(SystemError::Busy);
            }
            self.files.pause(apart);
            waited += apart;
            let last = std::mem::replace(&mut look, self.files.stat(file)?);
            if look == last {
                break;
            }
        }
        Ok(look)
    }

    /// All of a file that was walked to, at rest. None means that it has more than `most`
    /// bytes. `known` is what it reported when it was last walked to and read so: if it still
    /// reports that, it has settled. [`SystemError::Busy`] means that it does not settle.
    pub fn read_at_rest(
        &self,
        file: &Walked<F::Handle>,
        most: u64,
        known: Option<&Stat>,
    ) -> Result<Option<Vec<u8>>, WalkError> {
        let mut look = file.stat;
        for _ in 0..READINGS {
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
    /// What it reported when it had settled, until the guest asks for it.
    first: Option<Stat>,
    /// The largest size that may be read.
    most: u64,
    /// Reads end before this offset.
    end: u64,
}

impl<F: FileSystem> GrantedFile<F> {
    /// What `name` in an open directory is, as far as one look tells. It opens nothing, and
    /// follows no link.
    pub fn kind(walker: &Walker<F>, directory: &F::Handle, name: &str) -> Result<Kind, WalkError> {
        let name = plain_name(name).ok_or(SystemError::Missing)?;
        Ok(walker.files.kind(directory, name)?)
    }

    /// Opens `name` in an open directory for reading, and judges both, as the walk does:
    /// the directory may have been open for a while. Then the file settles. Reads go no
    /// further than one byte past `most` bytes, or past the size at the last look.
    ///
    /// # Errors
    /// [`Distrust`](crate::Distrust) has an empty path. [`SystemError::Busy`] means that the file does not settle
    /// within a second, or that the call ends too soon for another look.
    pub fn open(
        walker: &Walker<F>,
        directory: &F::Handle,
        name: &str,
        most: u64,
    ) -> Result<Self, WalkError> {
        walker.in_time()?;
        let name = plain_name(name).ok_or(SystemError::Missing)?;
        let around = walker.files.stat(directory)?;
        // The walk that led here has judged the mount of the directory.
        walker.check(directory, &around, None, Policy::Name, PathBuf::new)?;
        let (handle, stat) = walker.files.open(directory, name)?;
        if stat.kind != Kind::File {
            return Err(SystemError::NotAFile.into());
        }
        walker.check(&handle, &stat, Some(&around), Policy::Name, PathBuf::new)?;
        Ok(Self {
            first: Some(walker.settle(&handle, stat)?),
            handle,
            most,
            end: 0,
        })
    }

    /// What the file reports. The first time, this is what it reported when it had settled:
    /// a change after that must show.
    pub fn look(&mut self, walker: &Walker<F>) -> Result<Stat, WalkError> {
        let first = self.first.take();
        let stat = first.map_or_else(|| walker.files.stat(&self.handle), Ok)?;
        self.end = stat.size.min(self.most).saturating_add(1);
        Ok(stat)
    }

    /// Up to `length` bytes from `offset`; no bytes only at the end. It allocates no more
    /// than can be read.
    pub fn read(&self, walker: &Walker<F>, length: u64, offset: u64) -> Result<Vec<u8>, WalkError> {
        let length = length.min(self.end.saturating_sub(offset));
        let length = usize::try_from(length).map_err(|_| SystemError::OutOfResources)?;
        let mut bytes = vec![0; length];
        if length > 0 {
            let got = walker.files.read(&self.handle, &mut bytes, offset)?;
            bytes.truncate(got);
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests;
