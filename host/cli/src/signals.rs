//! The signals that ask a server to end.

use std::io;

/// Listens from now on. The future waits for any of the signals. Call it within a runtime.
#[cfg(unix)]
pub(crate) fn listen() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

#[cfg(windows)]
pub(crate) fn listen() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::windows as signals;
    let mut interrupt = signals::ctrl_c()?;
    let mut stop = signals::ctrl_break()?;
    let mut close = signals::ctrl_close()?;
    let mut logoff = signals::ctrl_logoff()?;
    let mut shutdown = signals::ctrl_shutdown()?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = stop.recv() => {}
            _ = close.recv() => {}
            _ = logoff.recv() => {}
            _ = shutdown.recv() => {}
        }
    })
}
