//! The Model Context Protocol over stdio: one tool, `load_context`.
//!
//! rmcp serves protocol 2026-07-28 (stateless) side by side with the older
//! versions, which begin with `initialize`. `tool` defines the tool, and `surface` what a
//! client may ask of it. `message` parses a line, and lists the methods. `server` answers
//! requests. `refusals` has all errors. `transport` guards the streams, with the help of
//! `line` (bounded input), `pending` (unanswered requests), `json` (writes a document)
//! and `escape`.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make files"))]

mod escape;
mod json;
mod line;
mod message;
mod pending;
mod refusals;
mod server;
mod surface;
#[cfg(test)]
mod tests;
mod tool;
mod transport;

use keyhole_core::Caller;
use rmcp::service::{QuitReason, ServerInitializeError, serve_server};
use server::Server;
use std::{io, sync::Arc};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::mpsc,
};
use transport::StdioTransport;

pub use server::Load;
pub use surface::Surface;

/// The process's own stdin and stdout for [`run_session`].
///
/// On Linux, if both are pipes, no extra thread reads or writes them. A file, a
/// terminal, a socket or `/dev/null` works too, as on other systems. Call it within
/// a tokio runtime that has I/O enabled.
pub use rmcp::transport::io::stdio_pipes as stdio;

/// Why a session ended with an error.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// Reading failed. The client's end of input is not a failure.
    #[error("cannot read requests from standard input")]
    Input(#[source] io::Error),
    /// Writing failed. A client that has gone is not a failure.
    #[error("cannot write answers to standard output")]
    Output(#[source] io::Error),
    /// The protocol machinery stopped. This is our bug, not the user's error.
    #[error("the session stopped by itself; please report it")]
    Stopped,
}

/// Whether an error of a stream only means that the other end was closed. On Windows, a named
/// pipe, which some clients use instead of an anonymous one, reports it in its own way.
#[must_use]
pub fn has_hung_up(error: &io::Error) -> bool {
    /// `ERROR_PIPE_NOT_CONNECTED`
    const NOT_CONNECTED: i32 = 233;
    matches!(
        error.kind(),
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
    ) || cfg!(windows) && error.raw_os_error() == Some(NOT_CONNECTED)
}

/// Serves one session: reads requests from `stdin` and writes answers to `stdout`, one
/// JSON-RPC message per line, and nothing else. `callers` says how the server learns
/// who calls; `surface` says what a client sees and may call.
///
/// When `stdin` ends, the session first answers the requests that it has received,
/// for 5 seconds at most, and then ends. It ends at once if the client has gone or
/// `stop` is ready. Unanswered requests are then left to the runtime. Shut the
/// runtime down without waiting, because a read of standard input cannot be
/// interrupted.
pub async fn run_session<L, R, W>(
    loader: Arc<L>,
    callers: Caller,
    surface: Surface,
    stdin: R,
    stdout: W,
    stop: impl Future<Output = ()>,
) -> Result<(), SessionError>
where
    L: Load,
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let (failed, mut failures) = mpsc::unbounded_channel();
    let transport = StdioTransport::new(stdin, stdout, failed);
    let server = Server {
        loader,
        callers,
        surface,
    };
    let until_closed = async {
        let running = match serve_server(server, transport).await {
            Ok(running) => running,
            // The input ended before the session had begun.
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(_) => return Err(SessionError::Stopped),
        };
        match running.waiting().await {
            Ok(QuitReason::Closed | QuitReason::Cancelled) => Ok(()),
            _ => Err(SessionError::Stopped),
        }
    };
    let ended = tokio::select! {
        biased;
        () = stop => return Ok(()),
        Some(failure) = failures.recv() => Err(failure),
        ended = until_closed => ended,
    };
    // A broken stream ends the session too. Its own error says more, so it comes
    // first.
    let ended = failures.try_recv().map_or(ended, Err);
    ended.or_else(|error| match &error {
        SessionError::Input(stream) | SessionError::Output(stream) if has_hung_up(stream) => Ok(()),
        _ => Err(error),
    })
}
