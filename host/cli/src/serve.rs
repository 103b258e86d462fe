//! `keyhole serve`: the process around one MCP session. `start` has what happens before.

use crate::{
    arguments::Serve,
    resources::{STREAM_THREADS, calls_at_once},
    start::{lacks, start},
    streams::{Waiting, tell},
};
use keyhole_core::{
    BindingName, Caller, LiveMap, Loader, Location, Map, MapError, Refusal, limits::Limits,
};
use keyhole_mcp::{Surface, run_session};
#[cfg(target_os = "linux")]
use rustix::pipe::{fcntl_getpipe_size, fcntl_setpipe_size};
use std::{
    error::Error,
    io::{self, BufReader, IsTerminal as _, PipeReader, PipeWriter},
    sync::Arc,
};
use tokio::{
    net::unix::pipe::{OpenOptions, Receiver, Sender},
    signal::unix::{SignalKind, signal},
};

/// What to do about a binding that would show a key to every client. Its server does not start.
pub(crate) const SHOWS_A_KEY: &str =
    "the binding's name, title or description holds a key, and clients show them; reword it";

const IS_TYPED: &str = "waiting for an MCP client on standard input; a client starts this command, and `keyhole setup` says how. Ctrl-C ends it";

/// Serves one session until the end of standard input, SIGINT or SIGTERM.
///
/// An unusable map is no error here, and neither is a map without the binding: the user may fix
/// it at any time. Until then each call is refused with the code, which a model can pass on.
pub(crate) fn serve(arguments: Serve) -> Result<(), Box<dyn Error>> {
    let callers = arguments.callers()?;
    let live = Arc::new(match arguments.map.live() {
        // Nothing says where the map is. Clients show nothing of a server that does not start, so
        // it starts, and each call is refused.
        Err(_) if arguments.map.file.is_none() => LiveMap::new(Location::nowhere()),
        live => live?,
    });
    let key = arguments.key()?;
    if let (Some(name), Some(key)) = (&arguments.bind, &key)
        && name.contains(key.expose())
    {
        return Err(format!("cannot start: {SHOWS_A_KEY}").into());
    }
    let tickets = match &callers {
        Caller::Ticket { tickets, .. } => Some(&**tickets),
        Caller::Nobody | Caller::Agent(_) => None,
    };
    // The wall allows no question about a terminal.
    let is_typed = io::stdin().is_terminal();
    let ((map, status, sandbox, runtime), (from, to, copied)) = start(&live, tickets, streams)?;
    let _entered = runtime.enter();
    let written = copied.map(|(mut input, output)| {
        runtime.spawn_blocking(move || io::copy(&mut Waiting(io::stdin()), &mut input));
        let mut output = BufReader::with_capacity(PIPE_BYTES, output);
        runtime.spawn_blocking(move || io::copy(&mut output, &mut Waiting(io::stdout())))
    });
    let lacks = lacks(status, &live, &map);
    if arguments.require_wall && !(status.is_whole() && status.roots) {
        let lacks = lacks.as_deref().unwrap_or("this system has none");
        let why = "cannot start: --require-wall asks for the whole wall, and";
        return Err(format!("{why} {lacks}").into());
    }
    if let Some(mut lacks) = lacks {
        // The words of that code say it.
        let is_said = |error: &MapError| error.code() == Refusal::MapInvalid;
        if map.as_ref().is_err_and(|error| !is_said(error)) {
            lacks += " Until then each call is refused.";
        }
        if map.is_err() && cfg!(target_os = "linux") {
            lacks += " After that, restart this server, which may read whatever its user may until then.";
        }
        tell(&lacks);
    }
    let surface = match (arguments.bind, key) {
        (None, _) => Surface::general(),
        (Some(name), Some(key)) => Surface::to_key(&name, key),
        (Some(name), None) => bound(&name, map.ok().as_deref())?,
    };
    if is_typed {
        tell(IS_TYPED);
    }
    // Not before: a start that hangs must end as any program does.
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let limits = Limits {
        running: calls_at_once(),
        ..Limits::default()
    };
    let loader = Arc::new(Loader::new(live, sandbox, limits));
    let session = async {
        let ended = run_session(loader, callers, surface, from, to).await;
        if let Some(written) = written {
            let _ = written.await;
        }
        ended
    };
    Ok(runtime.block_on(async {
        tokio::select! {
            biased;
            _ = interrupt.recv() => Ok(()),
            _ = terminate.recv() => Ok(()),
            ended = session => ended,
        }
    })?)
}

type Streams = (Receiver, Sender, Option<(PipeWriter, PipeReader)>);

/// The session's streams, and how many threads are needed. If the standard streams are not pipes,
/// threads copy input to the end that comes next, and output from the last one.
fn streams() -> io::Result<(Streams, usize)> {
    if let Some((from, to)) = pipes() {
        return Ok(((from, to, None), 1));
    }
    let ((from, input), (output, to)) = (io::pipe()?, io::pipe()?);
    let from = Receiver::from_owned_fd(from.into())?;
    let to = Sender::from_owned_fd(to.into())?;
    Ok(((from, to, Some((input, output))), 1 + STREAM_THREADS))
}

const PIPE_BYTES: usize = 256 << 10;

/// The streams of the session if both are pipes, on Linux. They are opened again, so that no thread
/// is needed for them, and the client's own are left as they are. The one to the client becomes
/// larger: a document of 1 MiB then needs a few turns instead of sixteen. With more, beyond what
/// all pipes of a user may hold (64 MiB by default), new pipes of any program would be tiny.
#[expect(clippy::disallowed_methods, reason = "this process's own streams")]
fn pipes() -> Option<(Receiver, Sender)> {
    let options = OpenOptions::new();
    let from = options.open_receiver("/proc/self/fd/0").ok()?;
    let to = options.open_sender("/proc/self/fd/1").ok()?;
    #[cfg(target_os = "linux")]
    if fcntl_getpipe_size(&to).is_ok_and(|bytes| bytes < PIPE_BYTES) {
        // If this fails, the pipe stays as it is.
        let _ = fcntl_setpipe_size(&to, PIPE_BYTES);
    }
    Some((from, to))
}

const UNBOUND: &str = "the map has no binding of the name given; add [bindings.NAME] to it, or name another with --bind; until then each call is refused";

/// The surface of the binding. If the map cannot be used, or has no such binding yet, it shows
/// nothing of it.
fn bound(name: &BindingName, map: Option<&Map>) -> Result<Surface, String> {
    let binding = map.and_then(|map| Some((map, map.binding(name)?)));
    if binding.is_some_and(|(map, binding)| binding.shows_a_key(name, map)) {
        return Err(format!("cannot start: {SHOWS_A_KEY}"));
    }
    if map.is_some() && binding.is_none() {
        tell(UNBOUND);
    }
    Ok(Surface::bound(name, binding.map(|(_, binding)| binding)))
}
