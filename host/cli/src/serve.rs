//! `keyhole serve`: the process around one MCP session. `start` has what happens before the first
//! byte of the client is read.

use crate::{
    arguments::Serve,
    resources::{STREAM_THREADS, widen_output},
    start::{Behind, lacks, start},
    streams::{OnThread, say},
};
use keyhole_core::{BindingName, Caller, Loader, Map, limits::Limits};
use keyhole_mcp::{Surface, run_session};
use std::{
    error::Error,
    io::{self, IsTerminal as _},
    sync::Arc,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    signal::unix::{SignalKind, signal},
};

/// Why a server does not start whose binding would show a key to every client.
const SHOWS_A_KEY: &str = "cannot start: the binding's name, title or description holds a key, and clients show them; reword it";

/// Serves one session until the end of standard input, SIGINT or SIGTERM.
///
/// An unusable map is no error here, and neither is a map without the binding: the user may fix
/// the map at any time. Until then the server refuses each call with the code, which a model can
/// pass on. No model reads what a server prints when it ends.
pub(crate) fn serve(arguments: Serve) -> Result<(), Box<dyn Error>> {
    let callers = arguments.callers()?;
    let live = Arc::new(arguments.map.live_or_nowhere()?);
    let key = arguments.key()?;
    if let (Some(name), Some(key)) = (&arguments.bind, &key)
        && name.contains(key.expose())
    {
        return Err(SHOWS_A_KEY.into());
    }
    let tickets = match &callers {
        Caller::Ticket { tickets, .. } => Some(&**tickets),
        Caller::Nobody | Caller::Agent(_) => None,
    };
    // The wall allows no question about a terminal.
    let is_typed = io::stdin().is_terminal();
    let (started, (stdin, stdout)) = start(&live, Behind::Process(tickets), || {
        widen_output();
        let (stdin, stdout, threads): (Reader, Writer, _) = match pipes() {
            Some((stdin, stdout)) => (stdin, stdout, 1),
            None => {
                let [stdin, stdout] = <[OnThread; 2]>::default();
                (Box::new(stdin), Box::new(stdout), 1 + STREAM_THREADS)
            }
        };
        Ok(((stdin, stdout), threads))
    })?;
    let (map, status) = (started.map, started.status);
    // Not before: a start that hangs must end as any program does.
    let entered = started.runtime.enter();
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    drop(entered);
    let stop = async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    };
    match lacks(status, &live, &map) {
        lacks if arguments.require_wall && !(status.is_whole() && status.roots) => {
            let lacks = lacks.as_deref().unwrap_or("this system has none");
            let why = "cannot start: --require-wall asks for the whole wall, and";
            return Err(format!("{why} {lacks}").into());
        }
        Some(lacks) if map.is_err() => {
            let then = if cfg!(target_os = "linux") {
                " After that, restart this server, which may read whatever its user may until then."
            } else {
                ""
            };
            say(&format!("{lacks} Until then each call is refused.{then}"));
        }
        Some(lacks) => say(&lacks),
        None => {}
    }
    let surface = match (arguments.bind, key) {
        (None, _) => Surface::general(),
        (Some(name), Some(key)) => Surface::to_key(&name, key),
        (Some(name), None) => bound(&name, map.ok().as_deref())?,
    };
    if is_typed {
        say(
            "waiting for an MCP client on standard input; a client starts this command, and `keyhole setup` says how. Ctrl-C ends it",
        );
    }
    let loader = Arc::new(Loader::new(live, started.sandbox, Limits::default()));
    let session = run_session(loader, callers, surface, stdin, stdout, stop);
    Ok(started.runtime.block_on(session)?)
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

/// The surface of the binding. If the map cannot be used, or has no such binding yet, it shows
/// nothing of it.
fn bound(name: &BindingName, map: Option<&Map>) -> Result<Surface, &'static str> {
    let Some(map) = map else {
        return Ok(Surface::bound(name, None));
    };
    let binding = map.binding(name);
    match binding {
        None => say(
            "the map has no binding of the name given; add [bindings.NAME] to it, or name another with --bind; until then each call is refused",
        ),
        Some(binding) if binding.shows_a_key(name, map) => return Err(SHOWS_A_KEY),
        Some(_) => {}
    }
    Ok(Surface::bound(name, binding))
}
