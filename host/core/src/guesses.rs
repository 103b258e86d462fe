//! Guessable keys: how many wrong ones the server looks up.

use crate::{limits::Limits, refusal::Refusal};
use std::{sync::Arc, time::Duration};
use tokio::{
    runtime::Handle,
    sync::{Mutex, OwnedSemaphorePermit, Semaphore},
    time::sleep,
};

/// A guessable key (see [`crate::Key::is_guessable`]) needs a permit from here before the
/// server looks it up. A wrong key uses the permit up, whether or not anybody still wants
/// the answer, and one comes back in each interval. A right key returns it at once.
///
/// All callers of a server share the permits, because it cannot tell them apart. Before the
/// lookup, nobody knows whether a key is right: so a right short key waits behind wrong
/// ones. A key that cannot be guessed needs no permit.
#[derive(Debug)]
pub(crate) struct GuessThrottle {
    permits: Arc<Semaphore>,
    waiting: Semaphore,
    every: Duration,
    /// Permits that were used up come back one after another.
    turn: Arc<Mutex<()>>,
}

/// The permit to look up one guessable key.
#[derive(Debug)]
pub(crate) struct Guess {
    permit: OwnedSemaphorePermit,
    every: Duration,
    turn: Arc<Mutex<()>>,
    runtime: Handle,
}

impl GuessThrottle {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(limits.free_guesses)),
            waiting: Semaphore::new(limits.waiting_guesses),
            every: limits.guess_every,
            turn: Arc::default(),
        }
    }

    /// A permit, if one is free and nobody waits for it.
    pub(crate) fn try_take(&self) -> Option<Guess> {
        let permit = Arc::clone(&self.permits).try_acquire_owned();
        permit.ok().map(|permit| self.guess(permit))
    }

    /// Waits for a permit, first come, first served. The future can be dropped:
    /// then nothing was looked up, and no permit is used up.
    ///
    /// # Errors
    /// [`Refusal::Busy`] if too many wait.
    pub(crate) async fn take(&self) -> Result<Guess, Refusal> {
        let _waits = self.waiting.try_acquire().map_err(|_| Refusal::Busy)?;
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        Ok(self.guess(permit.map_err(|_| Refusal::Internal)?))
    }

    fn guess(&self, permit: OwnedSemaphorePermit) -> Guess {
        Guess {
            permit,
            every: self.every,
            turn: Arc::clone(&self.turn),
            runtime: Handle::current(),
        }
    }
}

impl Guess {
    /// Says that the key was looked up and was wrong: the permit comes back later. Time
    /// that passed before does not count.
    pub(crate) fn was_wrong(self) {
        let runtime = self.runtime.clone();
        runtime.spawn(async move {
            let _turn = self.turn.lock().await;
            sleep(self.every).await;
            drop(self.permit);
        });
    }
}

#[cfg(test)]
mod tests;
