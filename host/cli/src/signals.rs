//! The signals that ask a server to end.

use std::io;
use tokio::signal::unix::{SignalKind, signal};

/// Listens from now on. The future waits for any of the signals. Call it within a runtime.
pub(crate) fn listen() -> io::Result<impl Future<Output = ()>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}
