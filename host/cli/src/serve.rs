//! `keyhole serve`: the process around one MCP session.
//!
//! The order of the start is: load, restrict, serve. The sandbox is loaded, and everything else
//! that needs a right which a server gives up is made. Then the process restricts itself, while
//! it has only one thread. Then the first bytes of the client are read.

use crate::{
    resources::{make_threads, runtime, widen_output},
    restrict::{has_roots, restrict},
    say, signals,
    streams::OnThread,
};
use keyhole_core::{
    BindingName, Caller, Key, LiveMap, Loader, Map, MapError,
    limits::Limits,
    sandbox::{Sandbox, SandboxError},
};
use keyhole_mcp::{SessionError, Surface, run_session, stdio};
use keyhole_walk::{WalkError, paths::is_exhaustion};
use keyhole_wall::{WallError, WallStatus};
use std::{
    io::{self, IsTerminal as _},
    sync::Arc,
};
use tokio::io::{AsyncRead, AsyncWrite};

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
    /// The binding's name, title or description would show a key to every client.
    #[error(
        "cannot start: the binding's name, title or description holds a key, and clients show them; reword it"
    )]
    ShowsAKey,
    /// The process could not be restricted as far as the system can.
    #[error("cannot start: {0}")]
    Restrict(#[from] WallError),
    /// The user wants the whole wall or nothing, and something is missing.
    #[error("cannot start: --require-wall asks for the whole wall, and {0}")]
    WallMissing(String),
    /// The session ended with an error.
    #[error("{0}")]
    Session(#[from] SessionError),
}

/// A process that is restricted walks before it; only too few resources can end that.
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

/// The map, or why it cannot be used.
pub(crate) type Outcome = Result<Arc<Map>, MapError>;

/// Serves `callers` until the end of standard input, SIGINT or SIGTERM: with `bind`, the one
/// context of this name; with `key` as well, under that name the file of this key, for which the
/// map needs no binding. With `require_wall`, only behind the whole wall.
///
/// # Errors
/// [`ServeError`]. An unusable map is not an error here, and neither is a map
/// without the binding: the user may fix the map at any time. Until then the server
/// refuses each call with the code, which a model can pass on. No model reads what a
/// server prints when it ends.
pub(crate) fn serve(
    map: LiveMap,
    bind: Option<BindingName>,
    key: Option<Key>,
    callers: Caller,
    require_wall: bool,
) -> Result<(), ServeError> {
    let limits = Limits::default();
    if let (Some(name), Some(key)) = (&bind, &key)
        && name.contains(key.expose())
    {
        return Err(ServeError::ShowsAKey);
    }
    let sandbox = Sandbox::embedded(limits)?;
    // All that a session uses is opened now: later it opens nothing but files. No thread is
    // made yet.
    widen_output();
    let runtime = runtime(limits.running)?;
    let entered = runtime.enter();
    let stop = signals::listen()?;
    // From here on, Ctrl-C is an end as any other.
    if io::stdin().is_terminal() {
        say(
            "waiting for an MCP client on standard input; a client starts this command, and `keyhole setup` says how. Ctrl-C ends it",
        );
    }
    let pipes = pipes();
    let streams_are_pipes = pipes.is_some();
    let (stdin, stdout) = pipes.unwrap_or_else(other_streams);
    drop(entered);
    let live = Arc::new(map);
    let tickets = match &callers {
        Caller::Ticket { tickets, .. } => Some(&**tickets),
        Caller::Nobody | Caller::Agent(_) => None,
    };
    let (status, map) = restrict(&live, tickets)?;
    let lacks = lacks(status, &live, &map);
    if require_wall && !(status.is_whole() && status.roots) {
        let lacks = lacks.unwrap_or_else(|| "this system has none".to_owned());
        return Err(ServeError::WallMissing(lacks));
    }
    match lacks {
        Some(lacks) if map.is_err() => say(&until_then(&lacks)),
        Some(lacks) => say(&lacks),
        None => {}
    }
    make_threads(&runtime, streams_are_pipes)?;
    let surface = match (bind, key) {
        (None, _) => Surface::general(),
        (Some(name), Some(key)) => Surface::to_key(&name, key),
        (Some(name), None) => bound(&name, map.ok().as_deref())?,
    };
    let loader = Arc::new(Loader::new(live, sandbox, limits));
    let done = runtime.block_on(run_session(loader, callers, surface, stdin, stdout, stop));
    // A read that hangs in the kernel must not keep the process alive.
    runtime.shutdown_background();
    Ok(done?)
}

type Reader = Box<dyn AsyncRead + Send + Unpin>;
type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// The streams of the session if both are pipes. They are opened again, so that no thread is needed
/// for them, and the client's own are left as they are.
#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "this process's own streams")]
fn pipes() -> Option<(Reader, Writer)> {
    let options = tokio::net::unix::pipe::OpenOptions::new();
    let from = options.open_receiver("/proc/self/fd/0").ok()?;
    let to = options.open_sender("/proc/self/fd/1").ok()?;
    Some((Box::new(from), Box::new(to)))
}

#[cfg(not(target_os = "linux"))]
fn pipes() -> Option<(Reader, Writer)> {
    None
}

/// The streams of the session, whatever they are. On Windows, none says "not now", and a console
/// takes whole characters only.
fn other_streams() -> (Reader, Writer) {
    if cfg!(windows) {
        let (from, to) = stdio();
        return (Box::new(from), Box::new(to));
    }
    let [from, to] = <[OnThread; 2]>::default();
    (Box::new(from), Box::new(to))
}

/// What of the wall does not stand, and what to do; or why the map cannot be used, which is
/// why. Clients keep what a server prints, so it contains neither a binding's name nor the
/// map's path.
pub(crate) fn lacks(status: WallStatus, live: &LiveMap, map: &Outcome) -> Option<String> {
    let text = match map {
        Err(MapError::Missing { .. }) => {
            let looked = live.location().in_words();
            return Some(format!(
                "map-missing: there is no context map at {looked}; create it"
            ));
        }
        Err(error) => error.at_start(),
        Ok(_) if cfg!(not(target_os = "linux")) => return None,
        Ok(_) if !status.is_whole() => {
            return Some(format!(
                "the wall is not whole on this system ({status}); serving anyway"
            ));
        }
        Ok(_) if status.roots => return None,
        Ok(_) if has_roots(map) => {
            "the kernel does not confine this server to the map's roots: a folder in them does not answer, or the client's own sandbox allows no more rules; restart it when that has changed"
        }
        Ok(_) => {
            "the map has no roots, so this server may read whatever its user may; add roots, and restart it"
        }
    };
    Some(text.to_owned())
}

/// What a server says that starts without a usable map.
fn until_then(why: &str) -> String {
    let restart = match cfg!(target_os = "linux") {
        true => {
            ". After that, restart this server, which may read whatever its user may until then"
        }
        false => "",
    };
    format!("{why}; until then each call is refused{restart}")
}

/// The surface of the binding. If the map cannot be used, or has no such binding yet, it shows
/// nothing of it.
fn bound(name: &BindingName, map: Option<&Map>) -> Result<Surface, ServeError> {
    let Some(map) = map else {
        return Ok(Surface::bound(name, None));
    };
    let binding = map.binding(name);
    match binding {
        None => say(
            "the map has no binding of the name given; add [bindings.NAME] to it, or name another with --bind; until then each call is refused",
        ),
        Some(binding) if binding.shows_a_key(name, map) => return Err(ServeError::ShowsAKey),
        Some(_) => {}
    }
    Ok(Surface::bound(name, binding))
}
