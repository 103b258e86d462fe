//! The map as it is now: read again when it changed, and only then.

use super::{
    Location, Map, MapError,
    stamp::{QUIET, Stamp},
    trust::{Access, Way},
};
use crate::{limits::MAX_MAP_BYTES, resources::is_exhaustion};
use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
};
use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant, SystemTime},
};

/// How long a call waits for a map that is being written, at most. An editor
/// needs a few milliseconds.
const PATIENCE: Duration = Duration::from_secs(1);

/// The map of one [`Location`], shared by all calls.
///
/// What [`LiveMap::current`] promises:
///
/// - **It is never stale.** The answer is the map as it was at a moment after the
///   call began: each call opens the file and asks for its state. A map that is
///   gone, unreadable or wrong is an error; what was there before is forgotten.
/// - **It is never half.** A map that is replaced by renaming is seen before or
///   after. One that is written in place is read only when it was left alone for
///   20 ms, and read again if it changed meanwhile. A writer that pauses for longer
///   amid its work has saved half a map: then half is what the file says. A file
///   that does not come to rest within a second is refused.
/// - **It is not read twice.** As long as the file's state stays the same, the
///   same map, or the same error, is handed out again.
///
/// It rests on the file system noting the time of each change. All local ones
/// do. One that keeps whole seconds has its maps read again on each call until
/// the second is over, and cannot promise the second point: save by renaming
/// there. A network file system does as far as opening a file asks the server,
/// as NFS does unless it is mounted `nocto`.
#[derive(Debug)]
pub struct LiveMap {
    location: Location,
    seen: Mutex<Option<Seen>>,
    #[cfg(test)]
    parsed: std::sync::atomic::AtomicUsize,
}

/// What came of the file's last state.
#[derive(Debug)]
struct Seen {
    stamp: Stamp,
    /// The way to the file, links followed. A change of that does not change the
    /// file.
    way: Way,
    outcome: Result<Arc<Map>, MapError>,
}

impl LiveMap {
    /// The map at this place. Nothing is read yet.
    #[must_use]
    pub fn new(location: Location) -> Self {
        Self {
            location,
            seen: Mutex::new(None),
            #[cfg(test)]
            parsed: std::sync::atomic::AtomicUsize::new(0),
        }
    }

    /// Where the map is.
    #[must_use]
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// The map as it is now. It blocks: it reads files, and waits for up to a
    /// second where the map is just being written.
    ///
    /// # Errors
    /// [`MapError`]: why every key is refused until the map is mended.
    pub fn current(&self) -> Result<Arc<Map>, MapError> {
        // The lock is held throughout, so that one reading serves all calls.
        // Whoever panicked while holding it left a whole value behind.
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let (_, stamp) = self.look().inspect_err(|_| *seen = None)?
            && let Some(outcome) = known(seen.as_ref(), stamp, self.location.file())
        {
            return outcome;
        }
        *seen = None;
        let began = Instant::now();
        let mut before = None;
        while began.elapsed() < PATIENCE {
            let (file, stamp) = self.look()?;
            // Two looks that agree will do where the clock is no help.
            if !stamp.is_quiet(SystemTime::now()) && before != Some(stamp) {
                before = Some(stamp);
                std::thread::sleep(QUIET);
                continue;
            }
            let Some(way) = self.way(&stamp)? else {
                continue;
            };
            let bytes = self.read(&file, &way);
            if self.stamp_of(&file)? != stamp {
                continue;
            }
            let outcome = bytes.and_then(|bytes| self.parse(&bytes)).map(Arc::new);
            // What kept it from being read may pass without a change of the file.
            let is_lasting = !matches!(
                outcome,
                Err(MapError::Unreadable { .. } | MapError::OutOfResources { .. })
            );
            *seen = (is_lasting && stamp.is_telling(SystemTime::now())).then(|| Seen {
                stamp,
                way,
                outcome: outcome.clone(),
            });
            return outcome;
        }
        Err(MapError::Unsettled { path: self.path() })
    }

    /// Opens the map, a regular file, and takes its stamp.
    fn look(&self) -> Result<(File, Stamp), MapError> {
        // Without NONBLOCK, opening a FIFO would wait for a writer.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = match rustix::fs::open(self.location.file(), flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT | Errno::NOTDIR) => {
                return Err(MapError::Missing { path: self.path() });
            }
            // What opening a socket or a device without a driver says.
            Err(Errno::NXIO | Errno::NODEV | Errno::OPNOTSUPP) => {
                return Err(MapError::NotAFile { path: self.path() });
            }
            Err(error) => return Err(self.unreadable(&error.into())),
        };
        let stamp = self.stamp_of(&file)?;
        Ok((file, stamp))
    }

    /// The way to the file. None where the map was replaced meanwhile.
    fn way(&self, stamp: &Stamp) -> Result<Option<Way>, MapError> {
        let look = || -> io::Result<_> {
            let way = Way::to(self.location.file())?;
            let there = fs::metadata(self.location.file())?;
            Ok(stamp.is_of(&there).then_some(way))
        };
        match look() {
            Ok(found) => Ok(found),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.unreadable(&error)),
        }
    }

    /// The file's bytes, if it is one that may be believed.
    fn read(&self, file: &File, way: &Way) -> Result<Vec<u8>, MapError> {
        let metadata = file.metadata().map_err(|error| self.unreadable(&error))?;
        let user = rustix::process::geteuid().as_raw();
        Access::of(&metadata).check_file(self.location.file(), user)?;
        way.check(user)?;
        let mut bytes = Vec::new();
        if metadata.len() <= MAX_MAP_BYTES {
            file.take(MAX_MAP_BYTES + 1)
                .read_to_end(&mut bytes)
                .map_err(|error| self.unreadable(&error))?;
        }
        if metadata.len().max(bytes.len() as u64) > MAX_MAP_BYTES {
            return Err(MapError::TooLarge { path: self.path() });
        }
        Ok(bytes)
    }

    fn parse(&self, bytes: &[u8]) -> Result<Map, MapError> {
        #[cfg(test)]
        self.parsed
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Map::parse(bytes, &self.location).map_err(|source| MapError::Parse {
            path: self.path(),
            source,
        })
    }

    fn stamp_of(&self, file: &File) -> Result<Stamp, MapError> {
        match file.metadata() {
            Ok(metadata) if metadata.is_file() => Ok(Stamp::of(&metadata)),
            Ok(_) => Err(MapError::NotAFile { path: self.path() }),
            Err(error) => Err(self.unreadable(&error)),
        }
    }

    fn unreadable(&self, error: &io::Error) -> MapError {
        if is_exhaustion(error) {
            return MapError::OutOfResources { path: self.path() };
        }
        MapError::Unreadable {
            path: self.path(),
            kind: error.kind(),
        }
    }

    fn path(&self) -> PathBuf {
        self.location.file().to_owned()
    }
}

/// What came of this very state of the file, if that was seen already.
fn known(seen: Option<&Seen>, stamp: Stamp, file: &Path) -> Option<Result<Arc<Map>, MapError>> {
    let seen = seen.filter(|seen| seen.stamp == stamp)?;
    (Way::to(file).ok()? == seen.way).then(|| seen.outcome.clone())
}

#[cfg(test)]
#[path = "live_tests.rs"]
mod tests;
