//! Which file systems do not answer.
//!
//! A thread that asks a file system may wait in the kernel for ever: a FUSE program is
//! stopped, a server is gone. Nothing ends that wait, so the thread is lost. If each call
//! for such a file took a thread, no thread would be left for the others. So each operation
//! says what it waits for, and none joins [`MOST`] others that have waited for the same for
//! [`LATE`].

use crate::SystemError;
use std::{
    hash::{DefaultHasher, Hash, Hasher as _},
    sync::PoisonError,
    time::Duration,
};
use sync::{Condvar, Instant, Mutex, MutexGuard};

/// What threads wait with; in one test, what tries their orders.
mod sync {
    #[cfg(all(test, shuttle))]
    pub(super) use super::tests::orders::{Condvar, Instant, Mutex, MutexGuard};
    #[cfg(not(all(test, shuttle)))]
    pub(super) use std::{
        sync::{Condvar, Mutex, MutexGuard},
        time::Instant,
    };
}

/// How long an operation takes at most, if its file system answers.
const LATE: Duration = Duration::from_millis(300);

/// How many threads may wait for one file system. A slow one can still serve as many calls
/// at once as the host runs.
const MOST: usize = 4;

/// The threads of this process that are in the kernel.
static WAITS: Waits = Waits::new();

struct Waits {
    /// What each of them waits for, and since when.
    all: Mutex<Vec<(Obstacle, Instant)>>,
    /// One of them goes on.
    answered: Condvar,
}

/// What may keep a thread waiting: a file system, or one object or name of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Obstacle(u64);

impl Obstacle {
    pub(crate) fn of(what: impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        what.hash(&mut hasher);
        Self(hasher.finish())
    }

    /// Asks the system, unless others hang there. As long as nobody can tell whether they
    /// do, it waits: so never more than [`MOST`] threads are lost.
    pub(crate) fn ask<T, E>(self, ask: impl FnOnce() -> Result<T, E>) -> Result<T, SystemError>
    where
        SystemError: From<E>,
    {
        WAITS.ask(self, ask)
    }
}

impl Waits {
    const fn new() -> Self {
        Self {
            all: Mutex::new(Vec::new()),
            answered: Condvar::new(),
        }
    }

    fn all(&self) -> MutexGuard<'_, Vec<(Obstacle, Instant)>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask<T, E>(
        &self,
        what: Obstacle,
        ask: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, SystemError>
    where
        SystemError: From<E>,
    {
        let mut waiting = self.all();
        let this = loop {
            let others = waiting.iter().filter(|(other, _)| *other == what);
            let now = Instant::now();
            if others.clone().count() < MOST {
                break (what, now);
            }
            let latest = others.map(|(_, since)| now - *since).min();
            match LATE.checked_sub(latest.unwrap_or(LATE)) {
                None | Some(Duration::ZERO) => return Err(SystemError::Hangs),
                Some(left) => {
                    let waited = self.answered.wait_timeout(waiting, left);
                    waiting = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        };
        waiting.push(this);
        drop(waiting);
        let answer = ask();
        let mut waiting = self.all();
        if let Some(at) = waiting.iter().position(|other| *other == this) {
            waiting.swap_remove(at);
        }
        self.answered.notify_all();
        Ok(answer?)
    }
}

#[cfg(test)]
mod tests;
