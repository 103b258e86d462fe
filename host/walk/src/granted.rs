//! The one file of a call: opened without waiting, judged, and read at rest.
//!
//! *At rest* means: a look before and a look after the reading are equal. The kernel
//! records the time of a change when the change begins, so for a file that was changed in
//! the last [`RECENT`] seconds two equal looks prove little: then it is read twice, with
//! [`APART`] in between, and both readings must be equal too.
//!
//! This holds against a program that saves a file in place, and pauses no longer than
//! [`APART`] before it is done. It does not hold against a single write that takes longer
//! than both, or a store through a memory mapping. Only a file that is saved by renaming is
//! safe whatever the writer does.
//!
//! For the map and a key file, the host itself reads so ([`Walker::read_at_rest`]). For a
//! mapped file the guest does, by what [`GrantedFile`] tells it. The model plays this file
//! as it is.

use crate::{
    Kind, Mount, SystemError, WalkError, Walker, plain_name,
    system::{FileSystem, Stat, Time},
    trust::{Distrust, Why},
};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A file that was not changed for this long is at rest: no write of a served file takes as
/// long, and no file system has such coarse times.
pub const RECENT: Duration = Duration::from_secs(10);

/// The time between the two readings of a file that was changed lately. A program that
/// saves in place takes a few milliseconds, also if it has to wait for a processor.
pub const APART: Duration = Duration::from_millis(100);

/// How often the host looks for a map at rest: a second in total.
const LOOKS: usize = 10;

impl Stat {
    /// Whether nobody has changed the file lately. A time in the future tells nothing: the
    /// clock was set back, or belongs to another machine.
    fn is_settled(&self, now: SystemTime) -> bool {
        let (seconds, nanoseconds) = self.changed;
        // A time before 1970 is long ago.
        let changed = Duration::new(
            u64::try_from(seconds).unwrap_or(0),
            u32::try_from(nanoseconds).unwrap_or(0),
        );
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        now.checked_sub(changed).is_some_and(|age| age > RECENT)
    }
}

impl<F: FileSystem> Walker<F> {
    /// All of an open file that the walk has judged, at rest. None means that it has more
    /// than `most` bytes. `known` is what it held before: if that is still all that it
    /// holds, nobody need ask when it was changed.
    ///
    /// # Errors
    /// [`SystemError::Busy`] if it does not come to rest; otherwise as the file system
    /// says.
    pub fn read_at_rest(
        &self,
        file: &F::Handle,
        most: u64,
        known: Option<&[u8]>,
    ) -> Result<Option<Vec<u8>>, WalkError> {
        let mut before = self.files.stat(file)?;
        let mut last: Option<Vec<u8>> = None;
        for _ in 0..LOOKS {
            let is_settled = before.is_settled(self.files.now());
            let Some(bytes) = self.read(file, before.size, most)? else {
                return Ok(None);
            };
            let after = self.files.stat(file)?;
            let is_proven = is_settled || Some(&*bytes) == known || last.as_ref() == Some(&bytes);
            if after == before && is_proven {
                return Ok(Some(bytes));
            }
            last = (after == before).then_some(bytes);
            before = after;
            self.files.pause(APART);
        }
        Err(SystemError::Busy.into())
    }
}

/// What the open file of a call tells of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Its size in bytes.
    pub size: u64,
    /// When it was last written to.
    pub modified: Time,
    /// When anything of it was last changed. None if it was changed lately: then equal times
    /// prove nothing.
    pub changed: Option<Time>,
}

/// The open file of a call.
#[derive(Debug)]
pub struct GrantedFile<H> {
    handle: H,
    /// The first look, until the guest asks for it.
    first: Option<Stat>,
    /// Whether the last look showed that nobody had changed it lately.
    is_settled: bool,
    /// The largest size that may be read.
    most: u64,
    /// Reads end before this offset.
    end: u64,
}

impl<H> GrantedFile<H> {
    /// What `name` in an open directory is, as far as one look tells. It opens nothing, and
    /// follows no link.
    ///
    /// # Errors
    /// [`SystemError::Missing`] if it is no plain name, and otherwise as the file system says.
    pub fn kind<F: FileSystem<Handle = H>>(
        walker: &Walker<F>,
        directory: &H,
        name: &str,
    ) -> Result<Kind, SystemError> {
        let name = plain_name(name).ok_or(SystemError::Missing)?;
        walker.files.kind(directory, name)
    }

    /// Opens `name` in an open directory for reading, and judges both, as the walk does:
    /// the directory may have been open for a while. Reads go no further than one byte past
    /// `most` bytes, or past the size that the file has now.
    ///
    /// # Errors
    /// [`SystemError::NotAFile`] if what was opened is not a regular file; [`Distrust`],
    /// with an empty path, if others could have changed it.
    pub fn open<F: FileSystem<Handle = H>>(
        walker: &Walker<F>,
        directory: &H,
        name: &str,
        most: u64,
    ) -> Result<Self, WalkError> {
        walker.in_time()?;
        let name = plain_name(name).ok_or(SystemError::Missing)?;
        let trusted = |why: Option<Why>| match why {
            None => Ok(()),
            Some(why) => Err(WalkError::from(Distrust {
                path: std::path::PathBuf::new(),
                why,
            })),
        };
        let around = walker.files.stat(directory)?;
        // The walk that led here has judged the mount of the directory.
        trusted(walker.distrust(directory, &around, Mount::Ordinary, false, true)?)?;
        let (handle, stat) = walker.files.open(directory, name)?;
        if stat.kind != Kind::File {
            return Err(SystemError::NotAFile.into());
        }
        let mount = walker.mount_of(&handle, &stat, &around, Mount::Ordinary)?;
        trusted(walker.distrust(&handle, &stat, mount, around.is_shared(), true)?)?;
        Ok(Self {
            handle,
            first: Some(stat),
            // The first look says.
            is_settled: true,
            most,
            end: 0,
        })
    }

    /// What the file reports. The first time, this is what it reported when it was opened. If
    /// it was changed lately, the next look comes [`APART`] after whatever was done before: so
    /// the guest reads twice.
    ///
    /// # Errors
    /// [`SystemError::Busy`] if there is no time for that until `deadline`; otherwise as the
    /// file system says.
    pub fn look<F: FileSystem<Handle = H>>(
        &mut self,
        walker: &Walker<F>,
        deadline: Instant,
    ) -> Result<Look, SystemError> {
        let stat = match self.first.take() {
            Some(first) => first,
            None => {
                if !self.is_settled {
                    if deadline.saturating_duration_since(Instant::now()) < APART {
                        return Err(SystemError::Busy);
                    }
                    walker.files.pause(APART);
                }
                walker.files.stat(&self.handle)?
            }
        };
        self.is_settled = stat.is_settled(walker.files.now());
        self.end = stat.size.min(self.most).saturating_add(1);
        Ok(Look {
            size: stat.size,
            modified: stat.modified,
            changed: self.is_settled.then_some(stat.changed),
        })
    }

    /// Up to `length` bytes from `offset`; no bytes only at the end. It allocates no more
    /// than can be read.
    pub fn read<F: FileSystem<Handle = H>>(
        &self,
        walker: &Walker<F>,
        length: u64,
        offset: u64,
    ) -> Result<Vec<u8>, SystemError> {
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
