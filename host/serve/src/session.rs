//! The process around one MCP session. [`crate::start`] has what happens before.

use crate::{
    resources::{Runtime, STREAM_THREADS, calls_at_once},
    start::{Opened, Started, start},
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

/// Why the server of a binding does not start that would show a key to every client, and what to
/// do.
pub const SHOWS_A_KEY: &str =
    "the binding's name, title or description holds a key, and clients show them; reword it";

const AT_TERMINAL: &str = "waiting for an MCP client on standard input; a client starts this command, and `keyhole setup` says how. Ctrl-C ends it";

/// What one server is started for.
pub struct Session {
    /// The map.
    pub map: LiveMap,
    /// How the server learns who calls.
    pub callers: Callers,
    /// The binding that the server serves. None: its tool takes a key.
    pub bind: Option<BindingName>,
    /// The key of the file that the binding stands for. None: the map says which file.
    pub key: Option<Key>,
    /// Whether the server starts only behind a whole wall (`--require-wall`).
    pub require_wall: bool,
}

/// How a server learns who calls.
#[derive(Debug)]
pub enum Callers {
    /// Nothing says who calls.
    Unknown,
    /// The operator says that each caller is this agent.
    Agent(AgentName),
    /// A ticket, which the guard left for the call, says who calls.
    Tickets {
        /// The folder of tickets.
        tickets: Tickets,
        /// The one agent that a ticket may name. None: any agent.
        only: Option<AgentName>,
        /// Whether the server makes the folder of tickets.
        makes_folder: bool,
    },
}

impl Callers {
    /// Who makes each call: nobody that is known, the operator's agent, or the agent that the
    /// call's ticket names. If `makes_folder`, also makes the folder for tickets. If that fails,
    /// the user is told that each call is refused, and the server starts all the same.
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
                    // Each call brings its id.
                    id: None,
                    tell: |why| tell(&format!("caller-not-verified: {why}")),
                }
            }
        }
    }
}

/// Serves one session until the end of standard input, SIGINT or SIGTERM.
///
/// An unusable map is no error here, and neither is a map without the binding: the user may fix the
/// map at any time. Until then, each call is refused with a code, which a model can pass on.
///
/// # Errors
/// If the process cannot start; if clients would see a key in the binding's name, title or
/// description; if `--require-wall` is given, and a part of the wall does not stand; or if the
/// session fails.
pub fn serve(session: Session) -> Result<(), Box<dyn Error>> {
    // A key was given to the server. Else the map has the file, and `surface_of` looks below for a
    // key in the binding's texts.
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
    judge_start(&started, &live, session.require_wall)?;
    let runtime = &started.runtime;
    let _entered = runtime.enter();
    let Streams { from, to, copied } = started.streams;
    let output_written = copied.map(|pipes| pipes.copy(runtime));
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
        // From here on, Ctrl-C ends the server with exit code 0.
        if is_terminal {
            tell(AT_TERMINAL);
        }
        let ended = run_session(loader, caller, surface, from, to).await;
        if let Some(output_written) = output_written {
            let _ = output_written.await;
        }
        ended
    })
}

/// Tells the user what is wrong with the wall or the map, if anything is. The server then starts
/// all the same.
///
/// # Errors
/// If the whole wall is required (`require_wall`), and does not stand. On a system without a wall,
/// that is always so.
fn judge_start(
    started: &Started<Streams>,
    live: &LiveMap,
    require_wall: bool,
) -> Result<(), String> {
    let warning = started.warning(live);
    if require_wall && !started.is_walled() {
        let lacks = warning.as_deref().unwrap_or("this system has none");
        let why = "cannot start: --require-wall asks for the whole wall, and";
        return Err(format!("{why} {lacks}"));
    }
    if let Some(mut warning) = warning {
        if let Err(error) = &started.map {
            warning += &advice_until_mended(error);
        }
        tell(&warning);
    }
    Ok(())
}

/// Runs the session to its end. SIGINT or SIGTERM end the session earlier, and are no error. Before
/// this call, they end the process as they end any program, so also a start that hangs.
///
/// # Errors
/// If the session fails, or the system lets this process catch no signals.
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

/// What the user reads behind the reason why the map cannot be used: that each call is refused
/// until the map is mended; and on Linux, that the server must then be started again, since the
/// wall was made without the map's roots.
fn advice_until_mended(error: &MapError) -> String {
    let mut advice = String::new();
    // The words of `map-invalid` already say that each call is refused.
    if error.code() != Refusal::MapInvalid {
        advice += " Until then each call is refused.";
    }
    if cfg!(target_os = "linux") {
        advice +=
            " After that, restart this server, which may read whatever its user may until then.";
    }
    advice
}

/// The session's streams.
struct Streams {
    /// The pipe from which the client's messages are read.
    from: Receiver,
    /// The pipe into which answers are written.
    to: Sender,
    /// The other ends of these pipes, if both are our own. None: they are the standard streams.
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
    /// Copies between these ends and the standard streams, in two threads. Returns the thread for
    /// the output, which ends when all output is written.
    fn copy(self, runtime: &Runtime) -> JoinHandle<io::Result<u64>> {
        let mut input = self.input;
        runtime.spawn_blocking(move || io::copy(&mut Waiting(io::stdin()), &mut input));
        let mut output = BufReader::with_capacity(PIPE_BYTES, self.output);
        runtime.spawn_blocking(move || io::copy(&mut output, &mut Waiting(io::stdout())))
    }
}

/// The session's streams, and how many threads the session needs. If both standard streams are
/// pipes, these are the streams, and one thread is needed, for the first call. Else the streams are
/// two new pipes, and three threads are needed: two copy between the new pipes and the standard
/// streams ([`Copied::copy`]).
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

/// The size of a pipe to the client, 256 KiB: a document of 1 MiB then needs a few turns instead of
/// sixteen. Larger pipes could use up what all pipes of a user may hold (64 MiB by default), and
/// then the system makes tiny pipes for all programs.
const PIPE_BYTES: usize = 256 << 10;

/// The standard streams, if both are pipes. They are opened again by `/proc`: then they can be read
/// and written without a thread that waits, and the client's own flags stay. On Linux, a smaller
/// pipe to the client gets 256 KiB ([`PIPE_BYTES`]). None if one of the two is no pipe, or on a
/// system without `/proc`.
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

/// What clients see of the binding: its name, title and description. If the map cannot be used
/// (None) or has no such binding, clients see none of these, not even the name: a user may have put
/// a key there. If the map has no such binding, the user is told ([`UNBOUND`]).
///
/// # Errors
/// If the name, the title or the description holds a key of the map: clients would show the key.
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
