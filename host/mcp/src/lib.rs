//! The Model Context Protocol over stdio: one tool, `load_context`.
//!
//! rmcp serves protocol 2026-07-28 (stateless) side by side with the older versions, which begin
//! with `initialize`. `tool` defines the tool, `message` parses a line, `server` answers requests,
//! `transport` guards the streams, and `pending` has the requests.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make files"))]

mod message;
mod pending;
mod server;
#[cfg(test)]
mod tests;
mod tool;
mod transport;

use keyhole_core::{Caller, Load};
use pending::PendingRequests;
use rmcp::service::serve_server;
use server::Server;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use transport::StdioTransport;

pub use tool::Surface;

/// The protocol machinery stopped. This is our bug, not the user's error.
#[derive(Debug, thiserror::Error)]
#[error("the session stopped by itself; please report it")]
pub struct SessionError;

/// Serves one session: reads requests from `stdin` and writes answers to `stdout`, one JSON-RPC
/// message per line, and nothing else.
///
/// When `stdin` ends, this first answers what it has received, however long the client takes to
/// read, and then returns `Ok`. This future can be dropped at any time. Then shut the runtime down
/// without waiting, because a read of standard input cannot be interrupted.
///
/// `callers` says who makes the calls, as the operator started the server; `surface`, what clients
/// see, and which arguments a call may have.
///
/// # Errors
/// If the task that serves the session panics. If the session does not begin, because the client
/// goes before, that is no error.
pub async fn run_session(
    loader: Arc<impl Load>,
    callers: Caller,
    surface: Surface,
    stdin: impl AsyncRead + Unpin + Send + 'static,
    stdout: impl AsyncWrite + Unpin + Send + 'static,
) -> Result<(), SessionError> {
    let pending = PendingRequests::default();
    let transport = StdioTransport::new(stdin, stdout, pending.clone());
    let server = Server {
        loader,
        callers,
        surface,
        pending,
    };
    let Ok(running) = serve_server(server, transport).await else {
        // The client has gone before the session had begun.
        return Ok(());
    };
    let ended = running.waiting().await;
    ended.map(drop).map_err(|_| SessionError)
}
