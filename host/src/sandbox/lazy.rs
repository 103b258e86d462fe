//! The sandbox, which loads on another thread while the client and the server still
//! initialize the session.

use crate::{
    code::Code,
    grant::Grant,
    sandbox::{Executor, Sandbox},
};
use std::{
    future::pending,
    io,
    sync::{Arc, OnceLock},
    time::Instant,
};
use tokio::sync::oneshot;

/// A sandbox that may still be loading. A call that comes earlier waits for it.
pub(crate) struct LazySandbox<G = Sandbox>(Arc<OnceLock<G>>);

impl<G: Executor> LazySandbox<G> {
    /// A guest that is loaded when somebody runs the second value: `load`. The future
    /// resolves only if that fails, with the error.
    pub(crate) fn new<E: From<io::Error> + Send + 'static>(
        load: impl FnOnce() -> Result<G, E> + Send + 'static,
    ) -> (
        Self,
        impl FnOnce() + Send + 'static,
        impl Future<Output = E>,
    ) {
        let ready = Arc::new(OnceLock::new());
        let (failed, failure) = oneshot::channel();
        let run = {
            let ready = Arc::clone(&ready);
            move || match load() {
                Ok(guest) => drop(ready.set(guest)),
                // Nobody listens any more if the session has ended.
                Err(error) => drop(failed.send(error)),
            }
        };
        let lazy = Self(Arc::clone(&ready));
        let failed = async move {
            match failure.await {
                Ok(error) => error,
                Err(_) if ready.get().is_some() => pending().await,
                // It panicked.
                Err(_) => io::Error::other("the sandbox could not be loaded").into(),
            }
        };
        (lazy, run, failed)
    }
}

impl<G: Executor> Executor for LazySandbox<G> {
    fn call(&self, key: &str, grant: Option<Grant>, deadline: Instant) -> Result<String, Code> {
        self.0.wait().call(key, grant, deadline)
    }

    fn interrupt(&self) {
        if let Some(guest) = self.0.get() {
            guest.interrupt();
        }
    }

    /// This comes after a call, so the sandbox is loaded.
    fn tidy(&self) {
        self.0.wait().tidy();
    }
}
