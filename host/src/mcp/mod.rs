//! The Model Context Protocol over stdio: one tool, `load_context`.
//!
//! Protocol 2026-07-28 (stateless) and the versions before it that begin with
//! `initialize` are served side by side, by rmcp. `tool` says what the tool is,
//! `bound` what it is where a server is one context, `surface` what else there is
//! in either case; `server` answers requests, `transport` guards the streams, with
//! the help of `line` (bounded input), `message` (what a line is) and `flight`
//! (what is unanswered).

mod bound;
mod flight;
mod line;
mod message;
mod server;
mod surface;
#[cfg(test)]
mod tests;
mod tool;
mod transport;

use crate::{Callers, Loader, loader::Maps, os::has_hung_up, sandbox::Guest};
use rmcp::service::{QuitReason, ServerInitializeError, serve_server};
use server::{Load, Server};
use std::{io, sync::Arc};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::mpsc,
};
use transport::Edge;

pub use bound::Bound;
pub use surface::Surface;

/// The process's own stdin and stdout for [`serve`].
///
/// Between pipes, on Linux, they are read and written without a thread between;
/// a file, a terminal, a socket or `/dev/null` works too, as it does elsewhere.
/// To be called within a tokio runtime with I/O enabled.
pub use rmcp::transport::io::stdio_pipes as stdio;

/// Why a session did not end in order.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Reading failed. The client's end of input is not a failure.
    #[error("cannot read requests from standard input")]
    Input(#[source] io::Error),
    /// Writing failed. A client that has gone is not a failure.
    #[error("cannot write answers to standard output")]
    Output(#[source] io::Error),
    /// The protocol's own machinery stopped. Ours to mend, not the user's.
    #[error("the session stopped by itself; please report it")]
    Stopped,
}

impl ServeError {
    /// Whether this only says that the client has gone.
    fn is_hang_up(&self) -> bool {
        match self {
            Self::Input(error) | Self::Output(error) => has_hung_up(error),
            Self::Stopped => false,
        }
    }
}

/// Serves one session: requests from `stdin`, answers to `stdout`, one JSON-RPC
/// message a line, and nothing else. Who calls is learnt as `callers` says; what a
/// client is shown and may ask is `surface`.
///
/// The session ends when `stdin` ends, after what was received is answered (for
/// 5 seconds at most); or at once when the client has gone or `stop` is ready.
/// What is unanswered then is left to the runtime: shut it down without waiting,
/// since a read of standard input cannot be interrupted.
///
/// # Errors
/// [`ServeError`].
pub async fn serve<G, M, R, W>(
    loader: Arc<Loader<G, M>>,
    callers: Callers,
    surface: Surface,
    stdin: R,
    stdout: W,
    stop: impl Future<Output = ()>,
) -> Result<(), ServeError>
where
    M: Maps,
    G: Guest<M::Directory>,
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    run(loader, callers, surface, stdin, stdout, stop).await
}

async fn run<L, R, W>(
    loader: Arc<L>,
    callers: Callers,
    surface: Surface,
    stdin: R,
    stdout: W,
    stop: impl Future<Output = ()>,
) -> Result<(), ServeError>
where
    L: Load,
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let (failed, mut failures) = mpsc::unbounded_channel();
    let edge = Edge::new(stdin, stdout, failed, surface.methods());
    let ended = tokio::select! {
        biased;
        () = stop => return Ok(()),
        Some(failure) = failures.recv() => Err(failure),
        ended = session(Server::new(loader, callers, surface), edge) => ended,
    };
    // A stream that breaks ends the session too: its failure says more.
    let ended = failures.try_recv().map_or(ended, Err);
    ended.or_else(|error| match error.is_hang_up() {
        true => Ok(()),
        false => Err(error),
    })
}

async fn session<L, R, W>(server: Server<L>, edge: Edge<R, W>) -> Result<(), ServeError>
where
    L: Load,
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    match serve_server(server, edge).await {
        Ok(running) => match running.waiting().await {
            Ok(QuitReason::Closed | QuitReason::Cancelled) => Ok(()),
            _ => Err(ServeError::Stopped),
        },
        // The input ended before a session had begun.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(_) => Err(ServeError::Stopped),
    }
}
