//! The process around one MCP session. [`crate::start`] has what happens before.

use crate::{
    resources::{STREAM_THREADS, calls_at_once},
    start::{lacks, start},
    streams::{Waiting, tell},
};
use keyhole_core::{
    AgentName, BindingName, Caller, Key, LiveMap, Loader, Map, MapError, Refusal, limits::Limits,
    ticket::Tickets,
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
pub const SHOWS_A_KEY: &str =
    "the binding's name, title or description holds a key, and clients show them; reword it";

const IS_TYPED: &str = "waiting for an MCP client on standard input; a client starts this command, and `keyhole setup` says how. Ctrl-C ends it";

/// What one server is started for.
pub struct Session {
    /// The map.
    pub map: LiveMap,
    /// How the server learns who calls.
    pub callers: Callers,
    /// The binding that it serves. None: its tool takes a key.
    pub bind: Option<BindingName>,
    /// The key of the file that the binding stands for. None: the map says which file.
    pub key: Option<Key>,
    /// Whether it starts only behind a whole wall.
    pub require_wall: bool,
}

/// How a server learns who calls.
#[derive(Debug)]
pub enum Callers {
    /// Nothing says it.
    Unknown,
    /// The operator says that each caller is this agent.
    Agent(AgentName),
    /// A ticket says it, which the guard left for the call.
    Tickets {
        /// Where they are.
        tickets: Tickets,
        /// The one agent that they may name. None: any.
        only: Option<AgentName>,
        /// Whether the server makes their folder.
        makes_folder: bool,
    },
}

impl Callers {
    /// Makes the folder for tickets, if this is its server's task. The user is told if it cannot
    /// be made: then each call is refused, and the server starts all the same.
    fn ready(self) -> Caller {
        let (tickets, only) = match self {
            Self::Unknown => return Caller::Nobody,
            Self::Agent(agent) => return Caller::Agent(agent),
            Self::Tickets {
                tickets,
                only,
                makes_folder,
            } => {
                if makes_folder && let Err(why) = tickets.make() {
                    tell(&format!(
                        "{why}; as long as that is so, each call is refused"
                    ));
                }
                (Arc::new(tickets), only)
            }
        };
        Caller::Ticket {
            tickets,
            only,
            id: None,
            tell: |why| tell(&format!("caller-not-verified: {why}")),
        }
    }
}

/// Serves one session until the end of standard input, SIGINT or SIGTERM.
///
/// An unusable map is no error here, and neither is a map without the binding: the user may fix
/// it at any time. Until then each call is refused with the code, which a model can pass on.
///
/// # Errors
/// If it cannot start, or the session fails.
pub fn serve(session: Session) -> Result<(), Box<dyn Error>> {
    let Session { map, bind, key, .. } = session;
    if let (Some(name), Some(key)) = (&bind, &key)
        && name.contains(key.expose())
    {
        return Err(format!("cannot start: {SHOWS_A_KEY}").into());
    }
    let live = Arc::new(map);
    let callers = session.callers.ready();
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
    if session.require_wall && !(status.is_whole() && status.roots) {
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
    let surface = match (bind, key) {
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
