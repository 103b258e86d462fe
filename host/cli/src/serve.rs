//! `keyhole serve`: the process around one MCP session. `start` has what happens before the first
//! byte of the client is read.

use crate::{
    arguments::Serve,
    resources::{STREAM_THREADS, widen_output},
    say, signals,
    start::{Behind, StartError, Started, lacks, start},
    streams::OnThread,
};
use keyhole_core::{BindingName, Caller, Loader, Map, limits::Limits};
use keyhole_mcp::{SessionError, Surface, run_session};
use std::{
    io::{self, IsTerminal as _},
    sync::Arc,
};
use tokio::io::{AsyncRead, AsyncWrite};

/// Why the server could not start, or why it stopped early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServeError {
    /// An argument, or what it needs of the environment, cannot be used.
    #[error("{0}")]
    Arguments(String),
    #[error("{0}")]
    Start(#[from] StartError),
    /// The binding's name, title or description would show a key to every client.
    #[error(
        "cannot start: the binding's name, title or description holds a key, and clients show them; reword it"
    )]
    ShowsAKey,
    /// The user wants the whole wall or nothing, and something is missing.
    #[error("cannot start: --require-wall asks for the whole wall, and {0}")]
    WallMissing(String),
    /// The session ended with an error.
    #[error("{0}")]
    Session(#[from] SessionError),
}

/// Serves one session until the end of standard input, SIGINT or SIGTERM.
///
/// # Errors
/// [`ServeError`]. An unusable map is not an error here, and neither is a map
/// without the binding: the user may fix the map at any time. Until then the server
/// refuses each call with the code, which a model can pass on. No model reads what a
/// server prints when it ends.
pub(crate) fn serve(arguments: Serve) -> Result<(), ServeError> {
    let callers = arguments.callers().map_err(ServeError::Arguments)?;
    let live = arguments.map.live_or_nowhere();
    let live = Arc::new(live.map_err(ServeError::Arguments)?);
    let key = arguments.key().map_err(ServeError::Arguments)?;
    if let (Some(name), Some(key)) = (&arguments.bind, &key)
        && name.contains(key.expose())
    {
        return Err(ServeError::ShowsAKey);
    }
    let tickets = match &callers {
        Caller::Ticket { tickets, .. } => Some(&**tickets),
        Caller::Nobody | Caller::Agent(_) => None,
    };
    let (started, (stdin, stdout, stop)) = start(&live, Behind::Process(tickets), || {
        widen_output();
        let stop = signals::listen()?;
        // From here on, Ctrl-C is an end as any other.
        if io::stdin().is_terminal() {
            say(
                "waiting for an MCP client on standard input; a client starts this command, and `keyhole setup` says how. Ctrl-C ends it",
            );
        }
        let pipes = pipes();
        let threads = if pipes.is_some() {
            1
        } else {
            1 + STREAM_THREADS
        };
        let (stdin, stdout) = pipes.unwrap_or_else(other_streams);
        Ok(((stdin, stdout, stop), threads))
    })?;
    let Started {
        map,
        status,
        sandbox,
        runtime,
    } = started;
    match lacks(status, &live, &map) {
        lacks if arguments.require_wall && !(status.is_whole() && status.roots) => {
            let lacks = lacks.unwrap_or_else(|| "this system has none".to_owned());
            return Err(ServeError::WallMissing(lacks));
        }
        Some(lacks) if map.is_err() => say(&until_then(&lacks)),
        Some(lacks) => say(&lacks),
        None => {}
    }
    let surface = match (arguments.bind, key) {
        (None, _) => Surface::general(),
        (Some(name), Some(key)) => Surface::to_key(&name, key),
        (Some(name), None) => bound(&name, map.ok().as_deref())?,
    };
    let loader = Arc::new(Loader::new(live, sandbox, Limits::default()));
    Ok(runtime.block_on(run_session(loader, callers, surface, stdin, stdout, stop))?)
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

/// The streams of the session, whatever they are.
fn other_streams() -> (Reader, Writer) {
    let [from, to] = <[OnThread; 2]>::default();
    (Box::new(from), Box::new(to))
}

/// What a server says that starts without a usable map.
fn until_then(why: &str) -> String {
    let restart = if cfg!(target_os = "linux") {
        ". After that, restart this server, which may read whatever its user may until then"
    } else {
        ""
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
