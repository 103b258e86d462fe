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

use crate::resources::{OF_A_CALL, Runtime, make_threads, room, runtime};
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

/// Why a process that serves files could not start: what a caller learns, and the words.
#[derive(Debug, thiserror::Error)]
#[error("cannot start: {1}")]
pub struct StartError(pub Refusal, String);

impl StartError {
    fn new(code: Refusal, why: &dyn Display) -> Self {
        if code != Refusal::OutOfResources {
            return Self(code, why.to_string());
        }
        let few = "too few file descriptors, threads or memory";
        let raise = "raise the limits (ulimit -n, -s, -u; -d and -v to 512 MiB or more), and let memory be executable (MemoryDenyWriteExecute, execmem)";
        Self(code, format!("{few} ({why}); {raise}"))
    }
}

/// A process that is restricted walks before it.
impl From<WalkError> for StartError {
    fn from(error: WalkError) -> Self {
        Self::new(error.clone().into(), &error)
    }
}

impl From<io::Error> for StartError {
    fn from(error: io::Error) -> Self {
        // The system returns `EAGAIN` when it has no thread for us.
        let is_short = matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::OutOfMemory);
        let is_short = is_short || is_exhaustion(&error);
        let code = is_short.then_some(Refusal::OutOfResources);
        Self::new(code.unwrap_or(Refusal::Internal), &error)
    }
}

impl From<SandboxError> for StartError {
    fn from(error: SandboxError) -> Self {
        Self::new(error.code(), &error)
    }
}

/// The map as it was read, or why it cannot be used.
pub type Outcome = Result<Arc<Map>, MapError>;
type Reach = Result<Option<Vec<File>>, StartError>;

/// First the map as it was at the start, or why it cannot be used.
pub type Started = (Outcome, WallStatus, Sandbox, Runtime);

/// The sandbox, if there is room for a call in it.
pub fn sandbox() -> Result<Sandbox, StartError> {
    room(OF_A_CALL)?;
    Ok(Sandbox::embedded(Limits::default())?)
}

/// Loads, and restricts the process, which may take these tickets. `open` opens what the caller
/// needs besides, and says how many threads there must be from the start. An unusable map is no
/// error.
pub fn start<S>(
    live: &LiveMap,
    tickets: Option<&Tickets>,
    open: impl FnOnce() -> io::Result<(S, usize)>,
) -> Result<(Started, S), StartError> {
    let sandbox = sandbox()?;
    let runtime = runtime(|| {})?;
    let (opened, threads) = runtime.block_on(async { open() })?;
    // If there is none, each call is refused, and says so.
    let data = tickets.and_then(|tickets| tickets.data_folder().ok());
    let rights = tickets.map_or(Rights::Read, |_| Rights::Tickets);
    let own = data.as_ref().map(File::try_clone).transpose()?;
    // Landlock: no right but to read; this closure; Landlock: the roots; the system calls.
    let (status, read) = restrict_process(rights, data, || {
        let map = live.current();
        match directories(live, &map, own) {
            Ok(reach) => (reach, Ok(map)),
            Err(error) => (None, Err(error)),
        }
    })?;
    let map = read?;
    make_threads(&runtime, threads)?;
    Ok(((map, status, sandbox, runtime), opened))
}

/// The same for `check`, which reads other files, too: it restricts only the threads that load.
pub fn start_loading(live: &LiveMap) -> Result<Started, StartError> {
    let sandbox = sandbox()?;
    let reach = Arc::new(OnceLock::<Option<Vec<File>>>::new());
    let of_threads = Arc::clone(&reach);
    let (tell, told) = channel();
    let runtime = runtime(move || {
        if let Some(Some(directories)) = of_threads.get() {
            let _ = tell.send(read_beneath(directories).unwrap_or(false));
        }
    })?;
    let map = live.current();
    let _ = reach.set(directories(live, &map, None)?);
    let mut status = WallStatus::here();
    make_threads(&runtime, 1)?;
    // Once the first thread does this, it has restricted itself.
    let _ = runtime.block_on(runtime.spawn_blocking(|| {}));
    status.roots = told.try_recv() == Ok(true);
    Ok((map, status, sandbox, runtime))
}

/// The directories beneath which a process must be able to read, to serve this map: `own`, and
/// the map's. None if the map has no roots, or cannot be used. It also remembers what can be read
/// only before the wall.
#[cfg(target_os = "linux")]
fn directories(live: &LiveMap, map: &Outcome, own: Option<File>) -> Reach {
    let map = match map {
        Ok(map) if !map.roots().is_empty() => map,
        Err(error) if error.code() == Refusal::OutOfResources => {
            return Err(WalkError::from(SystemError::OutOfResources).into());
        }
        _ => return Ok(None),
    };
    remember()?;
    let mut found = Vec::from_iter(own);
    let maps = directories_of(&live.location.file);
    for place in maps.into_iter().chain(map.roots()) {
        // Nobody can read by such a handle. An automount is not triggered.
        match Walker::new(System).walk(&place, Policy::Directory) {
            Err(error @ WalkError::System(SystemError::OutOfResources)) => return Err(error.into()),
            // One that is not there, or that others could choose, needs a restart later.
            walked => found.extend(walked.map(|walked| File::from(walked.handle))),
        }
    }
    Ok(Some(found))
}

/// Where there is no wall, nothing need be open before it.
#[cfg(not(target_os = "linux"))]
fn directories(_: &LiveMap, _: &Outcome, _: Option<File>) -> Reach {
    Ok(None)
}

/// What of the wall does not stand, or why the map cannot be used, and what to do. Clients keep
/// what a server prints, so it contains neither a binding's name nor the map's path.
pub fn lacks(status: WallStatus, live: &LiveMap, map: &Outcome) -> Option<String> {
    Some(match map {
        Err(MapError::Missing(_)) if live.location == Location::nowhere() => {
            format!("map-missing: {}.", LocationError::NoHome)
        }
        Err(MapError::Missing(_)) => {
            let looked = live.location.in_words();
            format!("map-missing: there is no context map at {looked}; create it.")
        }
        Err(error) => error.code().says().to_owned(),
        Ok(_) if cfg!(not(target_os = "linux")) => return None,
        Ok(_) if !status.is_whole() => format!("the wall is not whole on this system ({status})"),
        Ok(_) if status.roots => return None,
        Ok(map) if map.roots().is_empty() => NO_ROOTS.to_owned(),
        Ok(_) => UNCONFINED.to_owned(),
    })
}

const NO_ROOTS: &str = "the map has no roots, so this server may read whatever its user may; add roots, and restart it";
const UNCONFINED: &str = "the kernel does not confine this server to the map's roots: the client's own sandbox may allow no more rules; restart it when that has changed";
