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
    seen: Mutex<Option<Arc<Seen>>>,
}

struct Seen {
    bytes: Vec<u8>,
    stat: Stat,
    outcome: Result<Arc<Map>, MapError>,
}

impl LiveMap {
    /// The map at this location. This reads nothing yet.
    pub fn new(location: Location) -> Self {
        Self::over(System, location)
    }
}

impl<F: FileSystem + Clone> LiveMap<F> {
    /// The same in any file system.
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

    fn current_in(&self, walker: &Walker<F>) -> Result<Arc<Map>, MapError> {
        // The lock is not held meanwhile: a reading may hang, and the map may then be elsewhere.
        let known = self.seen().clone();
        let read = self.read(walker, known.as_deref().map(|seen| &seen.stat));
        // A map that is not found again is forgotten.
        let (bytes, stat) = read.inspect_err(|_| *self.seen() = None)?;
        let outcome = match known {
            Some(seen) if seen.bytes == bytes => seen.outcome.clone(),
            _ => self.parse(&bytes).map(Arc::new),
        };
        let seen = Seen {
            bytes,
            stat,
            outcome: outcome.clone(),
        };
        *self.seen() = Some(seen.into());
        outcome
    }

    /// A thread that panicked with the lock left a complete value behind.
    fn seen(&self) -> MutexGuard<'_, Option<Arc<Seen>>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the file holds. `known` is what it reported when it was last read.
    fn read(&self, walker: &Walker<F>, known: Option<&Stat>) -> Result<(Vec<u8>, Stat), MapError> {
        let path = || self.location.file.to_owned();
        let read = || {
            let file = walker.walk(&self.location.file, Policy::File)?;
            let bytes = walker.read_at_rest(&file, MAX_MAP_BYTES, known)?;
            Ok((bytes, file.stat))
        };
        let (bytes, stat) = read().map_err(|error| match error {
            WalkError::Untrusted(distrust) => MapError::Untrusted(distrust),
            WalkError::System(SystemError::Missing) => MapError::Missing(path()),
            WalkError::System(error) => MapError::Unreadable(path(), error),
        })?;
        let bytes = bytes.ok_or_else(|| MapError::TooLarge(path(), stat.size))?;
        Ok((bytes, stat))
    }

    /// The map as it would be with these bytes.
    pub fn parse(&self, bytes: &[u8]) -> Result<Map, MapError> {
        let parsed = Map::parse(bytes, &self.location);
        parsed.map_err(|mistake| MapError::Parse(self.location.file.to_owned(), mistake))
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
