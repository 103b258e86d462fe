//! The sandbox, which loads on another thread while the client and the server still
//! initialize the session.

use crate::{
    code::Code,
    grant::Grant,
    sandbox::{Executor, Sandbox},
};
use std::{
    any::Any,
    io,
    sync::{Arc, OnceLock},
    time::Instant,
};
use tokio::sync::oneshot;

/// A sandbox that may still be loading. A call that comes earlier waits for it.
pub(crate) struct LazySandbox<G = Sandbox>(Arc<OnceLock<Loaded<G>>>);

struct Loaded<G> {
    guest: G,
    /// The sender of a failure. Dropping it would wake the protocol's thread, which waits
    /// for one, in the middle of a start and for nothing.
    _failed: Kept,
}

type Kept = Box<dyn Any + Send + Sync>;

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
                Ok(guest) => {
                    let _failed: Kept = Box::new(failed);
                    drop(ready.set(Loaded { guest, _failed }));
                }
                // Nobody listens any more if the session has ended.
                Err(error) => drop(failed.send(error)),
            }
        };
        let lazy = Self(Arc::clone(&ready));
        let failed = async move {
            let told = failure.await;
            // Until here, this kept the sender of a loaded guest alive.
            drop(ready);
            // It panicked.
            told.unwrap_or_else(|_| io::Error::other("the sandbox could not be loaded").into())
        };
        (lazy, run, failed)
    }

    /// The guest, if it is loaded.
    fn loaded(&self) -> Option<&G> {
        self.0.get().map(|loaded| &loaded.guest)
    }
}

impl<G: Executor> Executor for LazySandbox<G> {
    fn call(&self, key: &str, grant: Option<Grant>, deadline: Instant) -> Result<String, Code> {
        self.0.wait().guest.call(key, grant, deadline)
    }

    fn interrupt(&self) {
        if let Some(guest) = self.loaded() {
            guest.interrupt();
        }
    }

    /// A call may end before it needs the sandbox, so this may come first. It waits for
    /// nothing: other calls wait for its thread.
    fn tidy(&self) {
        if let Some(guest) = self.loaded() {
            guest.tidy();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::LazySandbox;
    use crate::{code::Code, grant::Grant, sandbox::Executor};
    use std::{
        io,
        pin::pin,
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        task::{Context, Poll, Wake, Waker},
        time::Instant,
    };

    struct Nothing;

    impl Executor for Nothing {
        fn call(&self, _: &str, _: Option<Grant>, _: Instant) -> Result<String, Code> {
            Err(Code::UnknownKey)
        }

        fn interrupt(&self) {}
    }

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// What `failed` says, and how often it was woken, when `load` has run.
    fn told(
        load: impl FnOnce() -> io::Result<Nothing> + Send + 'static,
    ) -> (Option<String>, usize) {
        let (lazy, run, failed) = LazySandbox::new(load);
        let woken = Arc::<Woken>::default();
        let waker = Waker::from(Arc::clone(&woken));
        let mut context = Context::from_waker(&waker);
        let mut failed = pin!(failed);
        assert!(failed.as_mut().poll(&mut context).is_pending());
        let ended = std::thread::spawn(run).join();
        let told = match failed.as_mut().poll(&mut context) {
            Poll::Ready(error) => Some(error.to_string()),
            Poll::Pending => None,
        };
        if ended.is_ok() && told.is_none() {
            assert_eq!(lazy.call("k", None, Instant::now()), Err(Code::UnknownKey));
        }
        (told, woken.0.load(Ordering::Relaxed))
    }

    #[test]
    fn a_sandbox_that_is_loaded_wakes_nobody() {
        assert_eq!(told(|| Ok(Nothing)), (None, 0));
    }

    #[test]
    fn one_that_could_not_be_loaded_says_why() {
        let (said, woken) = told(|| Err(io::Error::other("broken")));
        assert_eq!((said.as_deref(), woken), (Some("broken"), 1));
        let (said, woken) = told(|| std::panic::resume_unwind(Box::new(())));
        let expected = Some("the sandbox could not be loaded");
        assert_eq!((said.as_deref(), woken), (expected, 1));
    }
}
