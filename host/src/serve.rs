//! `keyhole serve`: the process around one MCP session.

use crate::{
    caller::Callers,
    limits::Limits,
    loader::Loader,
    map::{BindingName, FreezeError, FrozenMap, Key, LiveMap, Map},
    mcp::{self, Bound, Surface},
    os::{Held, Signals, leave_no_core},
    os_error::is_exhaustion,
    resources::{make_threads, runtime, streams_are_pipes, widen_output},
    sandbox::{Executor, Sandbox, SandboxError, lazy::LazySandbox},
    seal::{HalfSeal, Loading, Reach, Seal, SealError},
};
use rmcp::transport::io::{StdioReader, StdioWriter};
use std::{
    future::pending,
    hint::black_box,
    io::{self, Write as _},
    sync::{
        Arc,
        mpsc::{Receiver, channel},
    },
};
use tokio::runtime::Runtime;
use wasmtime::Engine;

/// Why the server could not start, or why it stopped early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
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
    /// The process could not be sealed.
    #[error("cannot start: {0}")]
    Seal(SealError),
    /// The session ended with an error.
    #[error("{0}")]
    Session(#[from] mcp::SessionError),
}

const NO_BINDING: &str = "the map has no binding of the name given; add [bindings.NAME] to it, or name another with --bind";

impl From<SealError> for ServeError {
    fn from(error: SealError) -> Self {
        match error {
            SealError::OutOfResources(error) => Self::OutOfResources(error),
            error => Self::Seal(error),
        }
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

/// Serves `callers` until the end of standard input, SIGINT or SIGTERM. With
/// `binding`, it serves the one context of this name, and callers need no key.
///
/// Before it reads anything from the client, the process gives up all rights except
/// reading: see [`crate::seal`]. If the system cannot do all of this, standard error
/// says so. The process must have no other thread.
///
/// # Errors
/// [`ServeError`]. An unusable map is not an error here, and neither is a map
/// without that binding: the user may fix the map at any time. Until then the server
/// refuses each call with the code, which a model can pass on. No model reads what a
/// server prints when it ends.
pub fn serve(
    map: LiveMap,
    binding: Option<&BindingName>,
    callers: Callers,
    limits: Limits,
) -> Result<(), ServeError> {
    leave_no_core()?;
    let surface = match binding {
        None => Surface::General,
        Some(name) => bound_or_waiting(&map, name)?,
    };
    serve_surface(map, surface, callers, limits)
}

/// The surface of the binding. If there is no such binding yet, it returns a surface
/// that shows nothing of it, and standard error says why.
fn bound_or_waiting(map: &LiveMap, name: &BindingName) -> Result<Surface, ServeError> {
    let missing = match map.current() {
        Ok(map) => match bound(&map, name) {
            Err(ServeError::NoBinding) => NO_BINDING,
            surface => return surface,
        },
        Err(error) => error.at_start(),
    };
    // If nobody reads standard error, the write fails and nothing is lost. Clients
    // keep what a server prints here, so the message contains neither the binding's
    // name nor the map's path.
    let _ = writeln!(
        io::stderr(),
        "keyhole: {missing}; until then each call is refused"
    );
    Ok(Surface::Bound(Bound::waiting(name)))
}

/// Like [`serve`], but each call gets the file that `key` has in the map at that
/// moment. The map needs no binding, and the user may fix it at any time. Clients
/// show `name`.
///
/// # Errors
/// [`ServeError`].
pub fn serve_key(
    map: LiveMap,
    name: &BindingName,
    key: Key,
    callers: Callers,
    limits: Limits,
) -> Result<(), ServeError> {
    leave_no_core()?;
    if name.contains(key.expose()) {
        return Err(ServeError::ShowsAKey);
    }
    serve_surface(
        map,
        Surface::Bound(Bound::to_key(name, key)),
        callers,
        limits,
    )
}

fn serve_surface(
    map: LiveMap,
    surface: Surface,
    callers: Callers,
    limits: Limits,
) -> Result<(), ServeError> {
    grow_heap();
    let engine = Sandbox::engine_alone()?;
    let half = begin_wall(&callers)?;
    // The sandbox is loaded while the rest is prepared. This takes longest.
    let (wall, stands) = channel();
    let (sandbox, run, failed) = LazySandbox::new(move || load(&engine, limits, &stands));
    let loader = Loader::new(Arc::new(map), sandbox, limits);
    loader.start_with(run)?;
    let process = Process::start()?;
    let loading = finish_wall(half)?;
    // The thread waits for it, or has told why it will never need it.
    let _ = wall.send(loading);
    process.run(loader, callers, surface, failed)
}

/// Gets the memory that a start takes from the system, at once and before there is a second
/// thread. The static program's allocator has one lock for all threads, and would hold it
/// while it asks for 64 KiB after 64 KiB; the other thread then goes to sleep.
fn grow_heap() {
    const HEAP: usize = 512 << 10;
    if cfg!(target_env = "musl") {
        drop(black_box(Vec::<u8>::with_capacity(HEAP)));
    }
}

/// Gives up all rights over files except reading and, if callers need tickets, deleting
/// tickets.
fn begin_wall(callers: &Callers) -> Result<HalfSeal, SealError> {
    match callers {
        Callers::Ticketed { tickets, .. } => {
            Seal::new(Reach::Tickets)?.apply_to_files(tickets.held().ok())
        }
        Callers::Unknown | Callers::Stated(_) => {
            Seal::new(Reach::Reading)?.apply_to_files(None::<Held>)
        }
    }
}

/// Gives up all other rights that the process will not need, in all threads.
fn finish_wall(half: HalfSeal) -> Result<Loading, SealError> {
    let (standing, loading) = half.apply_to_all()?;
    if cfg!(target_os = "linux") && !standing.is_whole() {
        // If nobody reads standard error, the write fails and nothing is lost.
        let _ = writeln!(
            io::stderr(),
            "keyhole: the second wall is not whole on this system ({standing}); serving behind what there is"
        );
    }
    Ok(loading)
}

/// Loads the sandbox, then gives up the last rights, when the wall stands. No call runs
/// before that.
fn load(
    engine: &Engine,
    limits: Limits,
    stands: &Receiver<Loading>,
) -> Result<Sandbox, ServeError> {
    let sandbox = Sandbox::embedded_in(engine, limits)?;
    // Without a wall, the process is about to end.
    let loading = stands
        .recv()
        .map_err(|_| io::Error::other("no second wall"))?;
    loading.done()?;
    Ok(sandbox)
}

/// Like [`serve`], but the process first gives up all rights except reading in the
/// mapped files' directories: see [`crate::seal`].
///
/// It reads the map once and ignores later changes to it. The process must have no
/// other thread.
///
/// # Errors
/// [`ServeError`]. Here an unusable map is an error, because this process would not
/// see a fix.
pub fn serve_sealed(
    map: &LiveMap,
    binding: Option<&BindingName>,
    callers: Callers,
    limits: Limits,
) -> Result<(), ServeError> {
    leave_no_core()?;
    // This comes first, so that a system that cannot seal says so before anything
    // else.
    let seal = Seal::new(Reach::Sealed)?;
    let (map, surface) = match binding {
        None => (FrozenMap::freeze(map, limits)?, Surface::General),
        Some(name) => {
            let map = FrozenMap::freeze_bound(map, name, limits)?;
            let surface = bound(map.map(), name)?;
            (map, surface)
        }
    };
    let sandbox = Sandbox::embedded(limits)?;
    let process = Process::start()?;
    let (_, loading) = seal.apply(map.directories())?;
    loading.done()?;
    let loader = Loader::new(map, sandbox, limits);
    loader.start()?;
    process.run(loader, callers, surface, pending())
}

fn bound(map: &Map, name: &BindingName) -> Result<Surface, ServeError> {
    let binding = map.binding(name).ok_or(ServeError::NoBinding)?;
    match binding.shows_a_key(name, binding.key(map).ok().as_ref(), map) {
        true => Err(ServeError::ShowsAKey),
        false => Ok(Surface::Bound(Bound::new(name, binding))),
    }
}

/// Serves one client on this process's standard input and output, with any executor
/// of the guest. It is public for the benches; other code uses [`serve`] and
/// [`serve_sealed`].
///
/// # Errors
/// [`ServeError`].
#[doc(hidden)]
pub fn serve_loader<G: Executor>(
    loader: Loader<G>,
    callers: Callers,
    surface: Surface,
) -> Result<(), ServeError> {
    let process = Process::start()?;
    loader.start()?;
    process.run(loader, callers, surface, pending())
}

/// The parts of the process that a session uses. All of them are opened at the
/// start, so that the session later opens nothing but files.
struct Process {
    runtime: Runtime,
    signals: Signals,
    stdin: StdioReader,
    stdout: StdioWriter,
    streams_are_pipes: bool,
}

impl Process {
    fn start() -> io::Result<Self> {
        let streams_are_pipes = streams_are_pipes();
        widen_output();
        let runtime = runtime()?;
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

    fn run<G: Executor>(
        mut self,
        loader: Loader<G>,
        callers: Callers,
        surface: Surface,
        failed: impl Future<Output = ServeError>,
    ) -> Result<(), ServeError> {
        let stop = async move { self.signals.any().await };
        if !self.streams_are_pipes {
            make_threads(&self.runtime)?;
        }
        let loader = Arc::new(loader);
        let done = self.runtime.block_on(async {
            tokio::select! {
                done = mcp::run_session(loader, callers, surface, self.stdin, self.stdout, stop) => Ok(done?),
                error = failed => Err(error),
            }
        });
        // A read that hangs in the kernel must not keep the process alive.
        self.runtime.shutdown_background();
        done
    }
}
