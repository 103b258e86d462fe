//! `keyhole serve`: the process around one MCP session.

use crate::{
    Callers, Loader,
    limits::Limits,
    map::LiveMap,
    mcp,
    sandbox::{Sandbox, SandboxError},
};
use std::{io, sync::Arc};
use tokio::{
    runtime::{Builder, Runtime},
    signal::unix::{SignalKind, signal},
};

/// Why serving could not start, or broke off.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The operating system refused a thread, a signal handler or a pipe.
    #[error("cannot start: {0}")]
    Start(#[from] io::Error),
    /// The sandbox could not be made ready.
    #[error("cannot start: {0}")]
    Sandbox(#[from] SandboxError),
    /// The session broke off.
    #[error("{0}")]
    Session(#[from] mcp::ServeError),
}

/// Serves `callers` until the end of standard input, SIGINT or SIGTERM.
///
/// # Errors
/// [`ServeError`]. An unusable map is not one: the map may be mended at any
/// time, and until then each call is told so.
pub fn serve(map: LiveMap, callers: Callers, limits: Limits) -> Result<(), ServeError> {
    let loader = Arc::new(Loader::new(
        Arc::new(map),
        Sandbox::embedded(limits)?,
        limits,
    ));
    let runtime = runtime(limits)?;
    let done = runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let stop = async move {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        };
        let (stdin, stdout) = mcp::stdio();
        mcp::serve(loader, callers, stdin, stdout, stop)
            .await
            .map_err(ServeError::from)
    });
    // A read that hangs in the kernel must not keep the process.
    runtime.shutdown_background();
    done
}

/// One thread for the protocol, and one for each call that runs or is stuck.
pub(crate) fn runtime(limits: Limits) -> io::Result<Runtime> {
    Builder::new_current_thread()
        .enable_all()
        // The two more are for standard input and output that are not pipes.
        .max_blocking_threads(limits.running + limits.left_behind + 2)
        .build()
}
