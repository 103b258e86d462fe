//! The signals that ask a server to end.

use std::io;
#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};
#[cfg(windows)]
use tokio::signal::windows as signals;

/// The signals that ask a server to end.
#[cfg(unix)]
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

#[cfg(unix)]
impl Signals {
    /// Listens from now on. Call it within a runtime.
    ///
    /// # Errors
    /// Those of the operating system.
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for any of them.
    pub(crate) async fn any(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// The signals that ask a server to end.
#[cfg(windows)]
pub(crate) struct Signals {
    interrupt: signals::CtrlC,
    stop: signals::CtrlBreak,
    close: signals::CtrlClose,
    logoff: signals::CtrlLogoff,
    shutdown: signals::CtrlShutdown,
}

#[cfg(windows)]
impl Signals {
    /// Listens from now on. Call it within a runtime.
    ///
    /// # Errors
    /// Those of the operating system.
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signals::ctrl_c()?,
            stop: signals::ctrl_break()?,
            close: signals::ctrl_close()?,
            logoff: signals::ctrl_logoff()?,
            shutdown: signals::ctrl_shutdown()?,
        })
    }

    /// Waits for any of them.
    pub(crate) async fn any(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.stop.recv() => {}
            _ = self.close.recv() => {}
            _ = self.logoff.recv() => {}
            _ = self.shutdown.recv() => {}
        }
    }
}
