//! The start of each process that serves files: load, restrict, and only then serve.
//!
//! 1. **Load.** The sandbox, the runtime and the streams are made, and whatever else needs a
//!    right that goes. No client's byte is read.
//! 2. **Restrict.** The process gives up its rights while it has one thread. The map is read in
//!    the middle of it, because its roots say how far the wall goes. `check` restricts only the
//!    threads that load files.
//! 3. **Serve.** The caller says what does not stand, and reads what somebody else wrote.
//!
//! A map or a root on a file system that hangs delays the start until it answers.

use crate::resources::{CALL_BYTES, Runtime, make_threads, require_memory, runtime};
use keyhole_core::{
    LiveMap, Location, LocationError, Map, MapError, Refusal,
    limits::Limits,
    sandbox::{Sandbox, SandboxError},
    ticket::Tickets,
};
#[cfg(target_os = "linux")]
use keyhole_walk::{Policy, System, SystemError, Walker, directories_of, remember};
use keyhole_walk::{WalkError, is_exhaustion};
use keyhole_wall::{Rights, WallStatus, read_beneath, restrict_process};
use std::{
    fmt::Display,
    fs::File,
    io::{self, ErrorKind},
    sync::{Arc, OnceLock, mpsc::channel},
};

/// Why a process that serves files could not start.
#[derive(Debug, thiserror::Error)]
#[error("cannot start: {why}")]
pub struct StartError {
    /// The code, which is all that a caller learns.
    pub code: Refusal,
    /// The reason and what to do, for the user.
    why: String,
}

impl StartError {
    /// The error with this code, in words for the user. If resources are lacking, the words say how
    /// to raise the limits.
    fn new(code: Refusal, error: &dyn Display) -> Self {
        let mut why = error.to_string();
        if code == Refusal::OutOfResources {
            let few = "too few file descriptors, threads or memory";
            let raise = "raise the limits (ulimit -n, -s, -u; -d and -v to 512 MiB or more), and let memory be executable (MemoryDenyWriteExecute, execmem)";
            why = format!("{few} ({error}); {raise}");
        }
        Self { code, why }
    }
}

/// Before a process is restricted, it walks to the directories that it must be able to read.
impl From<WalkError> for StartError {
    fn from(error: WalkError) -> Self {
        Self::new(error.clone().into(), &error)
    }
}

impl From<io::Error> for StartError {
    fn from(error: io::Error) -> Self {
        // The system returns `EAGAIN` when it has no thread for us.
        let has_too_few = matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::OutOfMemory)
            || is_exhaustion(&error);
        let code = if has_too_few {
            Refusal::OutOfResources
        } else {
            Refusal::Internal
        };
        Self::new(code, &error)
    }
}

impl From<SandboxError> for StartError {
    fn from(error: SandboxError) -> Self {
        Self::new(error.code(), &error)
    }
}

/// A process that is ready to load files.
pub struct Started<S = ()> {
    /// The map as it was at the start, or why it cannot be used.
    pub map: Result<Arc<Map>, MapError>,
    /// The parts of the wall that stand.
    pub wall: WallStatus,
    /// What runs the guest for each call.
    pub sandbox: Sandbox,
    /// What runs the calls, with the threads that the first call needs.
    pub runtime: Runtime,
    /// The streams that the caller of `start` has opened.
    pub streams: S,
}

/// What the caller of [`start`] opens before the process is restricted.
pub(crate) struct Opened<S> {
    pub(crate) streams: S,
    /// How many threads the first call and the streams need together.
    pub(crate) threads: usize,
}

/// The directories beneath which a process may read, once it is restricted. None: everywhere.
type Readable = Option<Vec<File>>;

/// The sandbox.
///
/// # Errors
/// If it cannot be made, or the limits leave no memory for a call in it.
pub fn sandbox() -> Result<Sandbox, StartError> {
    require_memory(CALL_BYTES)?;
    Ok(Sandbox::embedded(Limits::default())?)
}

/// Makes the sandbox and the runtime, opens the caller's streams by `open`, reads the map, and
/// restricts the process. After that, the process may read only beneath [`readable_directories`],
/// and may delete files only in the folder of `tickets`, if they are given. A map that cannot be
/// used is no error: [`Started::map`] says why.
///
/// # Errors
/// If there are too few descriptors or threads, or too little memory; if a stream cannot be opened;
/// or if the process cannot be restricted.
pub(crate) fn start<S>(
    live: &LiveMap,
    tickets: Option<&Tickets>,
    open: impl FnOnce() -> io::Result<Opened<S>>,
) -> Result<Started<S>, StartError> {
    let sandbox = sandbox()?;
    // Its threads need nothing done when they begin.
    let runtime = runtime(|| {})?;
    // tokio opens streams only inside a runtime.
    let Opened { streams, threads } = runtime.block_on(async { open() })?;
    let rights = match tickets {
        Some(_) => Rights::Tickets,
        None => Rights::Read,
    };
    // Without that folder, the server starts, and each call is refused with the reason.
    let tickets_folder = tickets.and_then(|tickets| tickets.data_folder().ok());
    let tickets_to_read = tickets_folder.as_ref().map(File::try_clone).transpose()?;
    // Four steps: Landlock takes every right but to read; this closure reads the map, and returns
    // the directories that must stay readable, with the map; Landlock leaves only these; a filter
    // forbids system calls.
    let (wall, map_or_error) = restrict_process(rights, tickets_folder, || {
        let map = live.current();
        match readable_directories(live, &map, tickets_to_read) {
            Ok(readable) => (readable, Ok(map)),
            // Too few descriptors or too little memory: the process does not start.
            Err(error) => (None, Err(error)),
        }
    })?;
    let map = map_or_error?;
    make_threads(&runtime, threads)?;
    Ok(Started {
        map,
        wall,
        sandbox,
        runtime,
        streams,
    })
}

/// Makes the sandbox and the runtime, and reads the map, for `check`. Only the threads that load
/// files are restricted, each when it begins: they may read only beneath the map's roots, and where
/// the map's file may lie. The other threads may read everywhere. [`Started::wall`] says whether
/// the first thread could restrict itself.
///
/// # Errors
/// If there are too few descriptors or threads, or too little memory.
pub fn start_loading(live: &LiveMap) -> Result<Started, StartError> {
    let sandbox = sandbox()?;
    let readable = Arc::new(OnceLock::<Readable>::new());
    let readable_by_threads = Arc::clone(&readable);
    let (tell, restricted) = channel();
    // Each new thread begins with this. No thread begins before the directories are known.
    let runtime = runtime(move || {
        if let Some(Some(directories)) = readable_by_threads.get() {
            let _ = tell.send(read_beneath(directories).unwrap_or(false));
        }
    })?;
    let map = live.current();
    let _ = readable.set(readable_directories(live, &map, None)?);
    let mut wall = WallStatus::here();
    make_threads(&runtime, 1)?;
    // When the first thread runs this job, it has restricted itself, or could not.
    let _ = runtime.block_on(runtime.spawn_blocking(|| {}));
    wall.roots = restricted.try_recv() == Ok(true);
    Ok(Started {
        map,
        wall,
        sandbox,
        runtime,
        streams: (),
    })
}

/// The directories beneath which a process must be able to read, to serve this map: the folder of
/// `tickets`, if it is given; those in which the map's file may lie (see [`directories_of`]); and
/// the map's roots. `Ok(None)` if the map has no roots, or cannot be used: then the process may
/// read everywhere. A directory that is missing, or that others could choose, is left out: when
/// that is repaired, the server has to be started again.
///
/// This function also calls [`remember`], since the lists of groups and mounts cannot be read once
/// the process is restricted.
///
/// # Errors
/// If the process has too few descriptors or too little memory.
#[cfg(target_os = "linux")]
fn readable_directories(
    live: &LiveMap,
    map: &Result<Arc<Map>, MapError>,
    tickets: Option<File>,
) -> Result<Readable, StartError> {
    let roots = match map {
        Ok(map) => map.roots(),
        Err(error) if error.code() == Refusal::OutOfResources => {
            return Err(WalkError::from(SystemError::OutOfResources).into());
        }
        Err(_) => Vec::new(),
    };
    if roots.is_empty() {
        return Ok(None);
    }
    remember()?;
    let mut places = directories_of(&live.location.file);
    places.extend(roots);
    let mut readable = Vec::from_iter(tickets);
    for place in places {
        // The handle is opened with O_PATH: nobody can read by it, and it triggers no automount.
        match Walker::new(System).walk(&place, Policy::Directory) {
            Ok(walked) => readable.push(File::from(walked.handle)),
            Err(error @ WalkError::System(SystemError::OutOfResources)) => return Err(error.into()),
            // The directory is missing, or others could choose it.
            Err(_) => {}
        }
    }
    Ok(Some(readable))
}

/// On a system without a wall, the process may read everywhere.
#[cfg(not(target_os = "linux"))]
fn readable_directories(
    _: &LiveMap,
    _: &Result<Arc<Map>, MapError>,
    _: Option<File>,
) -> Result<Readable, StartError> {
    Ok(None)
}

impl<S> Started<S> {
    /// Whether the whole wall stands, as `--require-wall` asks: Landlock, the filter of system
    /// calls, and that the process can read only beneath the map's roots.
    pub(crate) fn is_walled(&self) -> bool {
        self.wall.is_whole() && self.wall.roots
    }

    /// Words for the user about the first of these faults:
    ///
    /// - The map cannot be used.
    /// - The wall lacks Landlock or the filter of system calls.
    /// - The process can read elsewhere than beneath the map's roots: the map has none, or the
    ///   kernel does not hold the process there.
    ///
    /// None if all is well. Systems other than Linux have no wall: only the map counts there.
    ///
    /// `live` is the map that was started with. Clients keep what a server prints, so the text has
    /// neither a binding's name nor the map's path.
    pub(crate) fn warning(&self, live: &LiveMap) -> Option<String> {
        let map = match &self.map {
            Ok(map) => map,
            Err(error) => return Some(why_unusable(error, &live.location)),
        };
        if cfg!(not(target_os = "linux")) {
            None
        } else if !self.wall.is_whole() {
            let parts = self.wall;
            Some(format!("the wall is not whole on this system ({parts})"))
        } else if self.wall.roots {
            None
        } else if map.roots().is_empty() {
            Some(NO_ROOTS.to_owned())
        } else {
            Some(UNCONFINED.to_owned())
        }
    }
}

/// Why the map at this place cannot be used, and what to do: what the error's code says. But for a
/// missing map, the words name the place where the map was looked for; or, if there was no such
/// place ([`Location::nowhere`]), they say that the home is not known.
fn why_unusable(error: &MapError, location: &Location) -> String {
    match error {
        MapError::Missing(_) if *location == Location::nowhere() => {
            format!("map-missing: {}.", LocationError::NoHome)
        }
        MapError::Missing(_) => {
            let place = location.in_words();
            format!("map-missing: there is no context map at {place}; create it.")
        }
        other => other.code().says().to_owned(),
    }
}

const NO_ROOTS: &str = "the map has no roots, so this server may read whatever its user may; add roots, and restart it";
const UNCONFINED: &str = "the kernel does not confine this server to the map's roots: the client's own sandbox may allow no more rules; restart it when that has changed";
