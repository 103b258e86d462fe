//! `keyhole serve`: the process around one MCP session.
//!
//! The order of the start is: load, seal, serve. The sandbox is loaded, and everything else
//! that needs a right which a server gives up is made. Then the second wall is put up, while
//! there is only one thread. Then the first bytes of the client are read.

use crate::{
    aside,
    resources::{make_threads, runtime, streams_are_pipes, widen_output},
    signals::Signals,
};
use cap_std::fs::Dir;
use keyhole_core::{
    BindingName, Caller, FreezeError, FrozenMap, Key, LiveMap, Loader, Map, MapError, Maps as _,
    limits::Limits,
    sandbox::{Sandbox, SandboxError},
};
use keyhole_mcp::{self as mcp, Load, SessionError, Surface};
use keyhole_walk::{SystemError, WalkError, paths::is_exhaustion};
use keyhole_wall::{Rights, Standing, WallError, put_up};
use std::{
    collections::BTreeSet,
    io::{self, Write as _},
    sync::Arc,
    thread,
};
use tokio::{
    runtime::Runtime,
    sync::oneshot,
    time::{Instant, timeout_at},
};

/// Why the server could not start, or why it stopped early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServeError {
    /// The operating system refused a thread, a signal handler or a pipe.
    #[error("cannot start: {0}")]
    Start(io::Error),
    /// It refused because a resource is used up: file descriptors, threads or
    /// memory.
    #[error(
        "cannot start: too few file descriptors, threads or memory ({0}); raise the limits (ulimit -n, -u and -v)"
    )]
    OutOfResources(io::Error),
    /// The sandbox could not be made ready.
    #[error("cannot start: {0}")]
    Sandbox(#[from] SandboxError),
    /// A frozen map has no such binding. The message does not repeat the name: it
    /// may be a key that the user put in the wrong place.
    #[error("cannot start: {NO_BINDING}")]
    NoBinding,
    /// The binding's name, title or description would show a key to every client.
    #[error(
        "cannot start: the binding's name, title or description holds a key, and clients show them; reword it"
    )]
    ShowsAKey,
    /// The map could not be frozen. A sealed process needs a frozen map.
    #[error("cannot start: {0}")]
    Freeze(#[from] FreezeError),
    /// The second wall could not be put up.
    #[error("cannot start: {0}")]
    Wall(WallError),
    /// The session ended with an error.
    #[error("{0}")]
    Session(#[from] SessionError),
}

const NO_BINDING: &str = "the map has no binding of the name given; add [bindings.NAME] to it, or name another with --bind";

const HANGING_KEY: &str =
    "timed-out: the file system of the binding's key_file does not answer; look at it";

impl From<WallError> for ServeError {
    fn from(error: WallError) -> Self {
        match error {
            WallError::OutOfResources(error) => Self::OutOfResources(error),
            error => Self::Wall(error),
        }
    }
}

impl From<WalkError> for ServeError {
    fn from(error: WalkError) -> Self {
        Self::OutOfResources(io::Error::other(error))
    }
}

impl From<io::Error> for ServeError {
    fn from(error: io::Error) -> Self {
        // The system returns `EAGAIN` when it has no thread for us.
        match is_exhaustion(&error) || error.kind() == io::ErrorKind::WouldBlock {
            true => Self::OutOfResources(error),
            false => Self::Start(error),
        }
    }
}

/// What a server offers.
pub(crate) enum Offer {
    /// Any key's file.
    General,
    /// The one context of this name.
    Bound(BindingName),
    /// The file of this key, under this name. The map needs no binding, and the user may fix
    /// it at any time.
    Key(BindingName, Key),
}

/// Serves `callers` until the end of standard input, SIGINT or SIGTERM.
///
/// # Errors
/// [`ServeError`]. An unusable map is not an error here, and neither is a map
/// without the binding: the user may fix the map at any time. Until then the server
/// refuses each call with the code, which a model can pass on. No model reads what a
/// server prints when it ends.
pub(crate) fn serve(map: LiveMap, offer: Offer, callers: Caller) -> Result<(), ServeError> {
    let limits = Limits::default();
    if let Offer::Key(name, key) = &offer
        && name.contains(key.expose())
    {
        return Err(ServeError::ShowsAKey);
    }
    let sandbox = Sandbox::embedded(limits)?;
    let process = Process::start(limits)?;
    let standing = match &callers {
        Caller::Ticket { tickets, .. } => put_up(Rights::Tickets, tickets.held().ok())?,
        Caller::Nobody | Caller::Agent(_) => put_up(Rights::Read, None::<Dir>)?,
    };
    say_what_lacks(standing);
    process.make_threads()?;
    let map = Arc::new(map);
    let surface = match offer {
        Offer::General => {
            let map = Arc::clone(&map);
            // Nothing waits for it: the file system may hang.
            drop(beside(move || {
                #[expect(clippy::disallowed_methods, reason = "only decides what is said")]
                if let Err(error) = map.location().file().metadata()
                    && error.kind() == io::ErrorKind::NotFound
                {
                    say_refused(&no_map(&map));
                }
            }));
            Surface::general()
        }
        Offer::Key(name, key) => Surface::to_key(&name, key),
        Offer::Bound(name) => process
            .runtime
            .block_on(bound_or_waiting(&map, name, limits))?,
    };
    process.run(Loader::new(map, sandbox, limits), callers, surface)
}

/// Does `work` on a thread that then ends. The runtime would make one that stays; calls then
/// change between two threads, and take 25 µs longer.
///
/// # Errors
/// If the system refuses the thread.
fn beside<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<oneshot::Receiver<T>> {
    let (tell, told) = oneshot::channel();
    thread::Builder::new().spawn(move || drop(tell.send(work())))?;
    Ok(told)
}

/// Clients keep what a server prints, so `why` contains neither a binding's name nor the
/// map's path. If nobody reads it, the write fails and nothing is lost.
fn say_refused(why: &str) {
    let _ = writeln!(
        io::stderr(),
        "keyhole: {why}; until then each call is refused"
    );
}

fn no_map(map: &LiveMap) -> String {
    let looked = map.location().in_words();
    format!("map-missing: there is no context map at {looked}; create it")
}

/// Says what the wall lacks, on a system that can have one. If nobody reads standard error,
/// the write fails and nothing is lost.
pub(crate) fn say_what_lacks(standing: Standing) {
    if cfg!(target_os = "linux") && !standing.is_whole() {
        let _ = writeln!(
            io::stderr(),
            "keyhole: the second wall is not whole on this system ({standing}); serving behind what there is"
        );
    }
}

/// The surface of the binding. If there is no such binding yet, it returns a surface
/// that shows nothing of it, and standard error says why.
async fn bound_or_waiting(
    map: &Arc<LiveMap>,
    name: BindingName,
    limits: Limits,
) -> Result<Surface, ServeError> {
    let until = Instant::now() + limits.deadline;
    let (reader, binding) = (Arc::clone(map), name.clone());
    let read = timeout_at(until, beside(move || reader.current())?).await;
    let missing = match read {
        Ok(Ok(Ok(map))) => {
            let shown = beside(move || {
                let key = map
                    .binding(&binding)
                    .and_then(|binding| binding.key(&map).ok());
                bound(&map, &binding, key.as_ref())
            })?;
            match timeout_at(until, shown).await {
                Ok(Ok(Err(ServeError::NoBinding))) => NO_BINDING,
                Ok(Ok(surface)) => return surface,
                Ok(Err(_panicked)) => "internal error",
                Err(_late) => HANGING_KEY,
            }
            .to_owned()
        }
        Ok(Ok(Err(MapError::Missing { .. }))) => no_map(map),
        Ok(Ok(Err(error))) => error.at_start().to_owned(),
        Ok(Err(_panicked)) => "internal error".to_owned(),
        Err(_late) => MapError::hangs(map.location().file()).at_start().to_owned(),
    };
    say_refused(&missing);
    Ok(Surface::waiting(&name))
}

/// The surface of a binding. `key` is what it stands for, if that is known.
fn bound(map: &Map, name: &BindingName, key: Option<&Key>) -> Result<Surface, ServeError> {
    let binding = map.binding(name).ok_or(ServeError::NoBinding)?;
    match binding.shows_a_key(name, key, map) {
        true => Err(ServeError::ShowsAKey),
        false => Ok(Surface::bound(name, binding)),
    }
}

/// Like [`serve`], but the process gives up all rights except reading in the mapped files'
/// directories. It reads the map once and ignores later changes to it.
///
/// # Errors
/// [`ServeError`]. Here an unusable map is an error, because this process would not
/// see a fix.
pub(crate) fn serve_sealed(
    map: LiveMap,
    binding: Option<&BindingName>,
    callers: Caller,
) -> Result<(), ServeError> {
    let limits = Limits::default();
    let map = Arc::new(map);
    if aside::is_here() {
        return Ok(aside::tell(hung_entries(&map, binding, limits).as_bytes())?);
    }
    let sandbox = Sandbox::embedded(limits)?.remember_groups()?;
    let told = aside::ask().and_then(|told| String::from_utf8(told).ok());
    let told = told.unwrap_or_default();
    if told == MAP {
        return Err(FreezeError::Map(MapError::hangs(map.location().file())).into());
    }
    let numbers = told.split(',').filter_map(|number| number.parse().ok());
    let map = FrozenMap::freeze(&map, binding, &mut numbers.collect(), limits)?;
    let surface = match binding {
        None => Surface::general(),
        Some(name) => bound(map.map(), name, map.bound(map.map(), name).ok().as_ref())?,
    };
    let process = Process::start(limits)?;
    put_up(Rights::Sealed, map.directories())?;
    process.make_threads()?;
    process.run(Loader::new(map.into(), sandbox, limits), callers, surface)
}

/// What [`hung_entries`] says if the map itself cannot be had.
const MAP: &str = "map";

/// The numbers of the entries whose file systems do not answer. Then a thread of this
/// process hangs there, which could not be put behind the wall.
fn hung_entries(map: &Arc<LiveMap>, binding: Option<&BindingName>, limits: Limits) -> String {
    let mut hung = BTreeSet::new();
    match FrozenMap::freeze(map, binding, &mut hung, limits) {
        Err(FreezeError::Map(MapError::Unreadable {
            source: SystemError::Hangs,
            ..
        })) => MAP.to_owned(),
        // What else fails here fails in the server as well, which says so.
        _ => hung.iter().map(|number| format!("{number},")).collect(),
    }
}

/// The parts of the process that a session uses. All of them are opened at the
/// start, so that the session later opens nothing but files.
struct Process {
    runtime: Runtime,
    signals: Signals,
    stdin: mcp::StdioReader,
    stdout: mcp::StdioWriter,
    streams_are_pipes: bool,
}

impl Process {
    /// Creates no thread.
    fn start(limits: Limits) -> io::Result<Self> {
        let streams_are_pipes = streams_are_pipes();
        widen_output();
        let runtime = runtime(limits.threads())?;
        let entered = runtime.enter();
        let signals = Signals::listen()?;
        let (stdin, stdout) = mcp::stdio();
        drop(entered);
        Ok(Self {
            runtime,
            signals,
            stdin,
            stdout,
            streams_are_pipes,
        })
    }

    fn make_threads(&self) -> io::Result<()> {
        make_threads(&self.runtime, self.streams_are_pipes)
    }

    fn run(
        mut self,
        loader: impl Load,
        callers: Caller,
        surface: Surface,
    ) -> Result<(), ServeError> {
        let stop = async move { self.signals.any().await };
        let session = mcp::run_session(
            Arc::new(loader),
            callers,
            surface,
            self.stdin,
            self.stdout,
            stop,
        );
        let done = self.runtime.block_on(session);
        // A read that hangs in the kernel must not keep the process alive.
        self.runtime.shutdown_background();
        Ok(done?)
    }
}
