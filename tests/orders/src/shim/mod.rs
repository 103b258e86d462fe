//! What the host's files use instead of the system: the same names, on shuttle's
//! scheduler and on a clock of ours.
//!
//! Locks and threads are shuttle's. Parts of tokio that need no runtime (semaphores,
//! channels, `Notify`) are tokio's own, so tokio's rules hold, above all for who comes
//! next. Before each of their steps, the scheduler may let others go first.
//! `shuttle-tokio` has models of its own instead, and its time does not pass.

pub mod clock;
pub mod rustix;
pub mod std;
pub mod tokio;

/// Here the scheduler may let another thread or task go first.
pub fn others_first() {
    let in_a_run = shuttle::current::try_get_current_task().is_some();
    if in_a_run && !::std::thread::panicking() {
        shuttle::thread::sleep(::std::time::Duration::ZERO);
    }
}

/// A number below `below`, which the scheduler chooses. A replay chooses it again.
pub fn choose(below: usize) -> usize {
    use shuttle::rand::Rng as _;
    shuttle::rand::thread_rng().gen_range(0..below)
}

/// A lock that the scheduler does not see, for data of the tests. Nobody holds it where
/// others may go first.
#[derive(Debug, Default)]
pub struct Plain<T>(::std::sync::Mutex<T>);

impl<T> Plain<T> {
    pub fn new(value: T) -> Self {
        Self(::std::sync::Mutex::new(value))
    }

    pub fn lock(&self) -> ::std::sync::MutexGuard<'_, T> {
        self.0
            .lock()
            .unwrap_or_else(::std::sync::PoisonError::into_inner)
    }
}
