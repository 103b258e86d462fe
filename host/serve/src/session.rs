//! The process around one MCP session. [`crate::start`] has what happens before.

use crate::{
    resources::{Runtime, STREAM_THREADS, calls_at_once},
    start::{Opened, start},
    streams::{Waiting, tell},
};
use keyhole_core::{
    AgentName, BindingName, Caller, Key, LiveMap, Loader, Map, MapError, Refusal, limits::Limits,
    ticket::Tickets,
};
use keyhole_mcp::{SessionError, Surface, run_session};
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
    task::JoinHandle,
};

/// What to do about a binding that would show a key to every client. Its server does not start.
pub const SHOWS_A_KEY: &str =
    "the binding's name, title or description holds a key, and clients show them; reword it";

const AT_TERMINAL: &str = "waiting for an MCP client on standard input; a client starts this command, and `keyhole setup` says how. Ctrl-C ends it";

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
    /// Whom each call is taken to be from: nobody, the operator's agent, or whom its ticket names.
    /// Makes the folder for tickets, if `makes_folder`. If that fails, the user is told that each
    /// call is refused, and the server starts all the same.
    fn into_caller(self) -> Caller {
        match self {
            Self::Unknown => Caller::Nobody,
            Self::Agent(agent) => Caller::Agent(agent),
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
                Caller::Ticket {
                    tickets: Arc::new(tickets),
                    only,
                    id: None,
                    tell: |why| tell(&format!("caller-not-verified: {why}")),
                }
            }
        }
    }
}

/// Serves one session until the end of standard input, SIGINT or SIGTERM.
///
/// An unusable map is no error here, and neither is a map without the binding: the user may fix
/// it at any time. Until then each call is refused with the code, which a model can pass on.
///
/// # Errors
/// If it cannot start; if clients would see a key in the binding's words; if the whole wall is
/// required, and a part of it does not stand; or if the session fails.
pub fn serve(session: Session) -> Result<(), Box<dyn Error>> {
    if let (Some(name), Some(key)) = (&session.bind, &session.key)
        && name.contains(key.expose())
    {
        return Err(format!("cannot start: {SHOWS_A_KEY}").into());
    }
    let live = Arc::new(session.map);
    let caller = session.callers.into_caller();
    let tickets = match &caller {
        Caller::Ticket { tickets, .. } => Some(&**tickets),
        Caller::Nobody | Caller::Agent(_) => None,
    };
    // Asked now: once the wall stands, the system call for this is refused.
    let is_terminal = io::stdin().is_terminal();
    let started = start(&live, tickets, open_streams)?;
    let runtime = &started.runtime;
    let _entered = runtime.enter();
    let warning = started.warning(&live);
    let is_walled = started.is_walled();
    let Streams { from, to, copied } = started.streams;
    let written = copied.map(|pipes| pipes.copy(runtime));
    if session.require_wall && !is_walled {
        let lacks = warning.as_deref().unwrap_or("this system has none");
        let why = "cannot start: --require-wall asks for the whole wall, and";
        return Err(format!("{why} {lacks}").into());
    }
    if let Some(mut warning) = warning {
        if let Err(error) = &started.map {
            warning += &advice_until_mended(error);
        }
        tell(&warning);
    }
    let surface = match (session.bind, session.key) {
        (None, _) => Surface::general(),
        (Some(name), Some(key)) => Surface::to_key(&name, key),
        (Some(name), None) => surface_of(&name, started.map.ok().as_deref())?,
    };
    let limits = Limits {
        running: calls_at_once(),
        ..Limits::default()
    };
    let loader = Arc::new(Loader::new(live, started.sandbox, limits));
    run_until_signal(runtime, async {
        // Ctrl-C ends it, from here on with 0.
        if is_terminal {
            tell(AT_TERMINAL);
        }
        let ended = run_session(loader, caller, surface, from, to).await;
        if let Some(written) = written {
            let _ = written.await;
        }
        ended
    })
}

/// Runs the session to its end, or until SIGINT or SIGTERM. No signal is caught before that: a
/// start that hangs must end as any program does.
fn run_until_signal(
    runtime: &Runtime,
    session: impl Future<Output = Result<(), SessionError>>,
) -> Result<(), Box<dyn Error>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(runtime.block_on(async {
        tokio::select! {
            biased;
            _ = interrupt.recv() => Ok(()),
            _ = terminate.recv() => Ok(()),
            ended = session => ended,
        }
    })?)
}

/// What the user reads behind the reason why the map cannot be used: that each call is refused,
/// unless the reason says it already; and on Linux, that the server must be started again, since
/// the wall was made without the map's roots.
fn advice_until_mended(error: &MapError) -> String {
    let mut told = String::new();
    // The words of that code say it already.
    if error.code() != Refusal::MapInvalid {
        told += " Until then each call is refused.";
    }
    if cfg!(target_os = "linux") {
        told +=
            " After that, restart this server, which may read whatever its user may until then.";
    }
    told
}

/// The session's streams.
struct Streams {
    /// What the client sends.
    from: Receiver,
    /// What the client gets.
    to: Sender,
    /// The other ends of these two, if they are pipes of our own.
    copied: Option<Copied>,
}

/// The ends of two pipes of our own, for standard streams that are not both pipes: a terminal,
/// files, sockets.
struct Copied {
    /// Standard input is copied into this end.
    input: PipeWriter,
    /// Standard output gets what comes out of this end.
    output: PipeReader,
}

impl Copied {
    /// Copies in two threads. The one that is returned ends when all output is written.
    fn copy(self, runtime: &Runtime) -> JoinHandle<io::Result<u64>> {
        let mut input = self.input;
        runtime.spawn_blocking(move || io::copy(&mut Waiting(io::stdin()), &mut input));
        let mut output = BufReader::with_capacity(PIPE_BYTES, self.output);
        runtime.spawn_blocking(move || io::copy(&mut output, &mut Waiting(io::stdout())))
    }
}

/// The session's streams, and how many threads the session needs: the standard streams if both are
/// pipes, and one thread, for the first call; else two new pipes, and two threads more, which copy
/// between these and the standard streams.
///
/// # Errors
/// If the system makes no pipe.
fn open_streams() -> io::Result<Opened<Streams>> {
    if let Some(streams) = standard_pipes() {
        return Ok(Opened {
            streams,
            threads: 1,
        });
    }
    let (from, input) = io::pipe()?;
    let (output, to) = io::pipe()?;
    Ok(Opened {
        streams: Streams {
            from: Receiver::from_owned_fd(from.into())?,
            to: Sender::from_owned_fd(to.into())?,
            copied: Some(Copied { input, output }),
        },
        threads: 1 + STREAM_THREADS,
    })
}

/// The size of a pipe to the client: a document of 1 MiB then needs a few turns instead of sixteen.
/// With more, beyond what all pipes of a user may hold (64 MiB by default), new pipes of any
/// program would be tiny.
const PIPE_BYTES: usize = 256 << 10;

/// The standard streams, opened again by `/proc`, so that no thread is needed for them, and the
/// client's own are left as they are. None if one of them is no pipe, or on a system without
/// `/proc`. On Linux, the pipe to the client becomes larger.
#[expect(clippy::disallowed_methods, reason = "this process's own streams")]
fn standard_pipes() -> Option<Streams> {
    let options = OpenOptions::new();
    let from = options.open_receiver("/proc/self/fd/0").ok()?;
    let to = options.open_sender("/proc/self/fd/1").ok()?;
    #[cfg(target_os = "linux")]
    if fcntl_getpipe_size(&to).is_ok_and(|bytes| bytes < PIPE_BYTES) {
        // If this fails, the pipe stays as it is.
        let _ = fcntl_setpipe_size(&to, PIPE_BYTES);
    }
    Some(Streams {
        from,
        to,
        copied: None,
    })
}

const UNBOUND: &str = "the map has no binding of the name given; add [bindings.NAME] to it, or name another with --bind; until then each call is refused";

/// What clients see of the binding. If the map cannot be used (None), or has no such binding yet,
/// they see its name, but no title and no description.
///
/// # Errors
/// If the name, the title or the description holds a key of the map.
fn surface_of(name: &BindingName, map: Option<&Map>) -> Result<Surface, String> {
    let Some(map) = map else {
        return Ok(Surface::bound(name, None));
    };
    let Some(binding) = map.binding(name) else {
        tell(UNBOUND);
        return Ok(Surface::bound(name, None));
    };
    if binding.shows_a_key(name, map) {
        return Err(format!("cannot start: {SHOWS_A_KEY}"));
    }
    Ok(Surface::bound(name, Some(binding)))
}
