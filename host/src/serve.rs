//! `keyhole serve`: the process around one MCP session.

use crate::{
    Callers, Code, Grant, Loader,
    limits::Limits,
    map::{FreezeError, FrozenMap, LiveMap, Map, MapError},
    mcp::{self, Bound, Surface},
    resources::{is_exhaustion, runtime},
    sandbox::{Guest, Sandbox, SandboxError},
    seal::{Seal, SealError},
};
use std::{
    future::pending,
    io,
    sync::{Arc, OnceLock},
    thread,
    time::Instant,
};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::oneshot,
};

/// Why serving could not start, or broke off.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The operating system refused a thread, a signal handler or a pipe.
    #[error("cannot start: {0}")]
    Start(io::Error),
    /// It did so because there are too few of something.
    #[error(
        "cannot start: too few file descriptors, threads or memory ({0}); raise the limits (ulimit -n, -u and -v)"
    )]
    OutOfResources(io::Error),
    /// The sandbox could not be made ready.
    #[error("cannot start: {0}")]
    Sandbox(#[from] SandboxError),
    /// There is no usable map, and it has to say what a bound server is. Clients
    /// keep what a server says here, so it does not tell where the map is.
    #[error("cannot start: {}", .0.at_start())]
    Map(#[from] MapError),
    /// The map has no such binding. The name is not repeated: it may be a key that
    /// was put in the wrong place.
    #[error(
        "cannot start: the map has no binding of the name given; add [bindings.NAME] to it, or name another with --bind"
    )]
    NoBinding,
    /// The binding's name, title or description would show a key to every client.
    #[error(
        "cannot start: the binding's name, title or description holds a key, and clients show them; reword it"
    )]
    ShowsAKey,
    /// The map could not be frozen, as a sealed process needs it.
    #[error("cannot start: {0}")]
    Freeze(#[from] FreezeError),
    /// The process could not be sealed.
    #[error("cannot start: {0}")]
    Seal(#[from] SealError),
    /// The session broke off.
    #[error("{0}")]
    Session(#[from] mcp::ServeError),
}

impl From<io::Error> for ServeError {
    fn from(error: io::Error) -> Self {
        // `EAGAIN` is what there is instead of a thread.
        match is_exhaustion(&error) || error.kind() == io::ErrorKind::WouldBlock {
            true => Self::OutOfResources(error),
            false => Self::Start(error),
        }
    }
}

/// Serves `callers` until the end of standard input, SIGINT or SIGTERM; with
/// `binding`, the one context of this name and no key.
///
/// # Errors
/// [`ServeError`]. An unusable map is not one: the map may be mended at any
/// time, and until then each call is told so. With `binding` it is one, and so is
/// a map without that binding: it says what the server shows of itself.
pub fn serve(
    map: LiveMap,
    binding: Option<&str>,
    callers: Callers,
    limits: Limits,
) -> Result<(), ServeError> {
    let surface = match binding {
        None => Surface::General,
        Some(name) => bound(&*map.current()?, name)?,
    };
    let (sandbox, failed) = Soon::start(limits)?;
    let loader = Loader::new(Arc::new(map), sandbox, limits);
    run(loader, callers, surface, failed)
}

/// The sandbox, made ready on a thread of its own while the client and the server
/// still introduce themselves. A call that comes earlier waits for it.
struct Soon(Arc<OnceLock<Sandbox>>);

impl Soon {
    /// What is given with it is ready when there will be no sandbox, and says why.
    fn start(limits: Limits) -> io::Result<(Self, impl Future<Output = ServeError>)> {
        let ready = Arc::new(OnceLock::new());
        let (failed, failure) = oneshot::channel();
        thread::Builder::new().name("sandbox".to_owned()).spawn({
            let ready = Arc::clone(&ready);
            move || match Sandbox::embedded(limits) {
                Ok(sandbox) => drop(ready.set(sandbox)),
                // Nobody listens any more if the session has ended.
                Err(error) => drop(failed.send(error)),
            }
        })?;
        let soon = Self(Arc::clone(&ready));
        let failed = async move {
            match failure.await {
                Ok(error) => error.into(),
                Err(_) if ready.get().is_some() => pending().await,
                // The thread panicked.
                Err(_) => io::Error::other("the sandbox could not be loaded").into(),
            }
        };
        Ok((soon, failed))
    }
}

impl Guest for Soon {
    fn call(&self, key: &str, grant: Option<Grant>, deadline: Instant) -> Result<String, Code> {
        self.0.wait().call(key, grant, deadline)
    }

    fn interrupt(&self) {
        if let Some(sandbox) = self.0.get() {
            sandbox.interrupt();
        }
    }
}

/// As [`serve`], in a process that first gives up its own rights to everything
/// but reading in the mapped files' directories: see [`crate::seal`].
///
/// The map is read once; what becomes of it later is not followed. The process
/// must have no other thread.
///
/// # Errors
/// [`ServeError`]. An unusable map is one here, since it could not be mended.
pub fn serve_sealed(
    map: &LiveMap,
    binding: Option<&str>,
    callers: Callers,
    limits: Limits,
) -> Result<(), ServeError> {
    // First, so that a system that cannot do it says this before all else.
    let seal = Seal::new()?;
    let (map, surface) = match binding {
        None => (FrozenMap::freeze(map, limits)?, Surface::General),
        Some(name) => {
            let map = FrozenMap::freeze_bound(map, name, limits)?;
            let surface = bound(map.map(), name)?;
            (map, surface)
        }
    };
    let sandbox = Sandbox::embedded(limits)?;
    seal.apply(map.directories())?;
    session(Loader::new(map, sandbox, limits), callers, surface)
}

fn bound(map: &Map, name: &str) -> Result<Surface, ServeError> {
    let binding = map.binding(name).ok_or(ServeError::NoBinding)?;
    match binding.shows_a_key(name, binding.key(map).ok().as_ref(), map) {
        true => Err(ServeError::ShowsAKey),
        false => Ok(Surface::Bound(Bound::new(name, binding))),
    }
}

/// One session on this process's standard input and output, whatever the guest
/// runs in. Public for the benches; [`serve`] and [`serve_sealed`] are for use.
///
/// # Errors
/// [`ServeError`].
#[doc(hidden)]
pub fn session<G: Guest>(
    loader: Loader<G>,
    callers: Callers,
    surface: Surface,
) -> Result<(), ServeError> {
    run(loader, callers, surface, pending())
}

fn run<G: Guest>(
    loader: Loader<G>,
    callers: Callers,
    surface: Surface,
    failed: impl Future<Output = ServeError>,
) -> Result<(), ServeError> {
    let loader = Arc::new(loader);
    loader.start()?;
    let runtime = runtime()?;
    let done = runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let stop = async move {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        };
        let (stdin, stdout) = mcp::stdio();
        tokio::select! {
            done = mcp::serve(loader, callers, surface, stdin, stdout, stop) => Ok(done?),
            error = failed => Err(error),
        }
    });
    // A read that hangs in the kernel must not keep the process.
    runtime.shutdown_background();
    done
}
