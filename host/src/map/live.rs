//! The map as it is now: opened at each call, and parsed again if it has changed.

use super::{Location, Map, MapError, trusted};
use crate::{
    limits::MAX_MAP_BYTES,
    walk::{FileSystem, LOOKS, QUIET, Stat, System, Trail, WalkError, Walker},
};
use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};
use zeroize::Zeroizing;

/// The largest map that is read and compared at each call, in bytes. For a larger one,
/// reading costs more than a call may (`./x bench` measures both).
pub(crate) const COMPARED: u64 = 64 << 10;

/// The map of one [`Location`], shared by all calls.
///
/// What [`LiveMap::current`] promises:
///
/// - **It is never stale.** The answer is the map as it was at a moment after the call
///   began: each call opens the file. It reads a map of up to 64 KiB each time and
///   compares it with the parsed one, byte by byte, so it relies on no clock. It reads
///   a larger map again if its number, size, owner, mode or times have changed: the
///   kernel records the time of each write, but not of a store through a mapping of a
///   page that is dirty already. If the map is gone, unreadable or wrong, the answer is
///   an error, and the earlier map is forgotten.
/// - **It is never half.** A map that is replaced by renaming is seen as it was before
///   or after. A map that is written in place is parsed only after nobody has changed
///   it for 20 ms, and is read again if it changed meanwhile. A writer that pauses for
///   longer in the middle of its work has saved half a map: then the file really
///   contains half. A file that does not come to rest within a second is refused.
/// - **It is not parsed twice.** As long as the file's content is the same, calls get
///   the same map, or the same error.
///
/// If the file system counts whole seconds, or its clock is not ours, a map is parsed
/// after two equal readings 20 ms apart. On a network file system, the map is as
/// current as what the server says when a file is opened; NFS asks the server then,
/// unless it is mounted `nocto`.
#[derive(Debug)]
pub struct LiveMap<F = System> {
    location: Location,
    walker: Walker<F>,
    seen: Mutex<Option<Seen>>,
    /// Whether the process may have more threads: not before it is sealed.
    threads: AtomicBool,
    #[cfg(test)]
    parsed: std::sync::atomic::AtomicUsize,
}

/// The result of the last reading of the file.
struct Seen {
    stat: Stat,
    /// None means that it is too large to be compared.
    bytes: Option<Zeroizing<Vec<u8>>>,
    outcome: Result<Arc<Map>, MapError>,
}

/// A map, and the directories on the way to it that are still open.
type Found<H> = (Arc<Map>, Option<Trail<H>>);

impl std::fmt::Debug for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Seen").finish_non_exhaustive()
    }
}

impl LiveMap {
    /// The map at this location. This reads nothing yet.
    #[must_use]
    pub fn new(location: Location) -> Self {
        Self::over(System, location)
    }
}

impl<F: FileSystem> LiveMap<F> {
    /// Like [`LiveMap::new`], in any file system.
    #[must_use]
    pub fn over(files: F, location: Location) -> Self {
        Self {
            location,
            walker: Walker::new(files),
            seen: Mutex::new(None),
            threads: AtomicBool::new(false),
            #[cfg(test)]
            parsed: std::sync::atomic::AtomicUsize::new(0),
        }
    }

    /// Where the map is.
    #[must_use]
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// The map as it is now. This blocks: it reads files, and waits for up to a second
    /// if the map is just being written.
    ///
    /// # Errors
    /// [`MapError`]: why every key is refused until the map is fixed.
    pub fn current(&self) -> Result<Arc<Map>, MapError> {
        Ok(self.current_and_trail()?.0)
    }

    /// Reads the map now, so that the first call finds it as a second one would. That call
    /// asks the file itself whether it has changed. An error is left to it too.
    pub(crate) fn read_ahead(&self) {
        drop(self.current());
    }

    /// From now on, several threads read a large map.
    pub(crate) fn use_threads(&self) {
        self.threads.store(true, Ordering::Relaxed);
    }

    /// The same as [`Self::current`], with the way to it: what is resolved for the same
    /// call need not be walked from `/` again.
    ///
    /// # Errors
    /// [`MapError`], as before.
    pub fn current_and_trail(&self) -> Result<Found<F::Handle>, MapError> {
        // The lock is held all the time, so that one reading serves all calls.
        let mut seen = self.walker.files().lock(&self.seen);
        // A map that is not found again is forgotten, whatever happens next.
        let mut known = seen.take();
        let mut before = None;
        for _ in 0..=LOOKS {
            let (file, opened, trail) = self.open()?;
            if let Some(same) = known.take_if(|seen| seen.bytes.is_none() && seen.stat == opened) {
                let map = seen.insert(same).outcome.clone()?;
                return Ok((map, trail));
            }
            let files = self.walker.files();
            // When the file was settled, any write that began before this look had
            // ended. A later write shows in a later look, if the last change was long
            // enough ago by now.
            let now = files.now();
            files.settle(&file);
            let stat = files.stat(&file).map_err(|fault| self.error(fault))?;
            let bytes = self.read(&file, &stat)?;
            let after = files.stat(&file).map_err(|fault| self.error(fault))?;
            // Two equal readings are enough if the clock does not help.
            let at_rest = (opened, after) == (stat, stat)
                && (stat.is_settled(now) && stat.is_reliable(now)
                    || before.as_ref() == Some(&(stat, bytes.clone())));
            if !at_rest {
                before = Some((stat, bytes));
                files.pause(QUIET);
                continue;
            }
            let is_compared = stat.size <= COMPARED;
            let compared = is_compared.then(|| bytes.clone());
            let outcome = match known {
                Some(seen) if is_compared && seen.bytes == compared => seen.outcome,
                _ => self.parse(bytes).map(Arc::new),
            };
            if is_compared || stat.is_reliable(files.now()) {
                *seen = Some(Seen {
                    stat,
                    bytes: compared,
                    outcome: outcome.clone(),
                });
            }
            return outcome.map(|map| (map, trail));
        }
        Err(MapError::Unsettled { path: self.path() })
    }

    /// Opens the map, if nobody else could have written it.
    fn open(&self) -> Result<trusted::Opened<F::Handle>, MapError> {
        trusted::open(&self.walker, self.location.file()).map_err(|error| self.error(error))
    }

    fn read(&self, file: &F::Handle, stat: &Stat) -> Result<Zeroizing<Vec<u8>>, MapError> {
        trusted::read(&self.walker, file, stat, MAX_MAP_BYTES)
            .map_err(|error| self.error(error))?
            .ok_or_else(|| MapError::TooLarge { path: self.path() })
    }

    fn parse(&self, bytes: Zeroizing<Vec<u8>>) -> Result<Map, MapError> {
        #[cfg(test)]
        self.parsed
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Map::parse_kept(bytes, &self.location, self.threads.load(Ordering::Relaxed)).map_err(
            |source| MapError::Parse {
                path: self.path(),
                source,
            },
        )
    }

    fn error(&self, error: impl Into<WalkError>) -> MapError {
        let path = self.path();
        match error.into() {
            WalkError::Missing => MapError::Missing { path },
            WalkError::NotAFile => MapError::NotAFile { path },
            WalkError::Untrusted(distrust) => MapError::Untrusted(distrust),
            WalkError::Unsteady => MapError::Unsettled { path },
            WalkError::OutOfResources => MapError::OutOfResources { path },
            WalkError::Denied => MapError::Unreadable {
                path,
                kind: std::io::ErrorKind::PermissionDenied,
            },
            WalkError::Failed(kind) => MapError::Unreadable { path, kind },
        }
    }

    fn path(&self) -> PathBuf {
        self.location.file().to_owned()
    }
}

#[cfg(test)]
mod tests;
