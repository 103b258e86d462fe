//! The map as it is now: read at each call, and parsed again if it has changed.

use super::{Entry, Location, Map, MapError, Maps, locate};
use crate::{grant::Granted, limits::MAX_MAP_BYTES, refusal::Refusal};
use keyhole_walk::{FileSystem, Policy, Stat, System, SystemError, WalkError, Walker};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

/// The map of one [`Location`], shared by all calls.
///
/// - **It is never stale.** Each call reads the file, and compares it with the parsed one, byte by
///   byte. If the map is gone, unreadable or wrong, the earlier one is forgotten. NFS asks
///   its server when a file is opened, unless it is mounted `nocto`.
/// - **It is never half**, as far as a file that is saved in place can be read whole: see
///   [`Walker::read_at_rest`].
pub struct LiveMap<F = System> {
    /// Where the map is.
    pub location: Location,
    walker: Walker<F>,
    /// What the last call found. None if it found no map, and before the first call.
    seen: Mutex<Option<Arc<Seen>>>,
}

/// A map's file as a call read it.
struct Seen {
    /// All of its text.
    bytes: Vec<u8>,
    /// What it reported when the call opened it.
    stat: Stat,
    /// What its text means.
    outcome: Result<Arc<Map>, MapError>,
}

impl LiveMap {
    /// The map at this location. This reads nothing yet.
    pub fn new(location: Location) -> Self {
        Self::over(System, location)
    }
}

impl<F: FileSystem + Clone> LiveMap<F> {
    /// The map at this location in any file system. This reads nothing yet.
    pub fn over(files: F, location: Location) -> Self {
        Self {
            location,
            walker: Walker::new(files),
            seen: Mutex::default(),
        }
    }

    /// The map as it is now. This blocks, for up to a second if the map is just being written.
    pub fn current(&self) -> Result<Arc<Map>, MapError> {
        self.current_in(&self.walker)
    }

    /// The map as it is now, read with this walker, which may have a deadline. What is found is
    /// kept for the next call, also if the text is no valid map; if the file cannot be read,
    /// nothing is.
    fn current_in(&self, walker: &Walker<F>) -> Result<Arc<Map>, MapError> {
        // The lock is not held while the file is read: that may hang, and other calls go on.
        let known = self.seen().clone();
        let read = self.read(walker, known);
        // The earlier map is forgotten if the file cannot be read now.
        let seen = read.inspect_err(|_| *self.seen() = None)?;
        *self.seen() = Some(Arc::clone(&seen));
        seen.outcome.clone()
    }

    /// What the last call found, locked. A thread that panicked while it held the lock left a
    /// complete value, so that is no error.
    fn seen(&self) -> MutexGuard<'_, Option<Arc<Seen>>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the file holds now. `known` is what the last call found:
    ///
    /// - If the file has not changed since, `known` itself is returned.
    /// - If the file was written again with the same text, the map or its mistake is that of
    ///   `known`.
    /// - Else the text is parsed. The `outcome` is the map, or the mistake in the text.
    ///
    /// # Errors
    /// Why the file cannot be read (`unread`); [`MapError::TooLarge`] above one MiB
    /// ([`MAX_MAP_BYTES`]).
    fn read(&self, walker: &Walker<F>, known: Option<Arc<Seen>>) -> Result<Arc<Seen>, MapError> {
        let walked = walker.walk(&self.location.file, Policy::File);
        let file = walked.map_err(|error| self.unread(error))?;
        if let Some(known) = &known {
            // This compares what the file reports and holds, without a copy of the file: many calls
            // at once share one text.
            let is_still = walker.is_still(&file, &known.stat, &known.bytes);
            if is_still.map_err(|error| self.unread(error))? {
                return Ok(Arc::clone(known));
            }
        }
        // A file that is still as the last call found it need not settle again.
        let known_stat = known.as_ref().map(|known| &known.stat);
        let read = walker.read_at_rest(&file, MAX_MAP_BYTES, known_stat);
        // None if the file is larger than `MAX_MAP_BYTES`.
        let Some(bytes) = read.map_err(|error| self.unread(error))? else {
            let path = self.location.file.clone();
            return Err(MapError::TooLarge(path, file.stat.size));
        };
        let outcome = match known {
            Some(known) if known.bytes == bytes => known.outcome.clone(),
            _ => self.parse(&bytes).map(Arc::new),
        };
        Ok(Arc::new(Seen {
            bytes,
            stat: file.stat,
            outcome,
        }))
    }

    /// Why the map cannot be read, if its walk or a read ended with this error: others can change
    /// the map, the map is missing, or the system says why.
    fn unread(&self, error: WalkError) -> MapError {
        let path = self.location.file.clone();
        match error {
            WalkError::Untrusted(distrust) => MapError::Untrusted(distrust),
            WalkError::System(SystemError::Missing) => MapError::Missing(path),
            WalkError::System(error) => MapError::Unreadable(path, error),
        }
    }

    /// The map as it would be with these bytes as its text.
    pub fn parse(&self, bytes: &[u8]) -> Result<Map, MapError> {
        Map::parse(bytes, &self.location).map_err(|mistake| {
            let path = self.location.file.clone();
            MapError::Parse(path, mistake)
        })
    }
}

impl<F: FileSystem<Handle: Send> + Clone + Send + Sync + 'static> Maps for LiveMap<F> {
    type Directory = F::Handle;

    fn map_now(&self, deadline: Instant) -> Result<Arc<Map>, Refusal> {
        let map = self.current_in(&self.walker.clone().until(deadline));
        map.map_err(|error| error.code())
    }

    fn resolve(&self, map: &Map, entry: &Entry, deadline: Instant) -> Granted<F::Handle> {
        locate(&self.walker.clone().until(deadline), map, entry)
    }
}

#[cfg(test)]
mod tests;
