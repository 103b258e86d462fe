//! Guessable keys: how many wrong ones the server looks up.

use crate::{code::Code, limits::Limits};
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
    /// [`Code::Busy`] if too many wait.
    pub(crate) async fn take(&self) -> Result<Guess, Code> {
        let _waits = self.waiting.try_acquire().map_err(|_| Code::Busy)?;
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        Ok(self.guess(permit.map_err(|_| Code::Internal)?))
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
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::GuessThrottle;
    use crate::{code::Code, limits::Limits};
    use std::{sync::Arc, time::Duration};
    use tokio::{
        task::{JoinSet, yield_now},
        time::{Instant, advance, timeout},
    };

    const SECOND: Duration = Duration::from_secs(1);

    fn guesses() -> Arc<GuessThrottle> {
        Arc::new(GuessThrottle::new(Limits::default()))
    }

    #[tokio::test(start_paused = true)]
    async fn sixteen_wrong_keys_are_looked_up_at_once_then_one_a_second() {
        let guesses = guesses();
        let start = Instant::now();
        let mut seconds = Vec::new();
        for _ in 0..20 {
            guesses.take().await.unwrap().was_wrong();
            seconds.push(start.elapsed().as_secs());
        }
        assert_eq!(seconds[..16], [0; 16]);
        assert_eq!(seconds[16..], [1, 2, 3, 4]);
        // They come back one by one.
        tokio::time::sleep(4 * SECOND).await;
        let start = Instant::now();
        for expected in [0, 0, 0, 0, 1, 2] {
            guesses.take().await.unwrap().was_wrong();
            assert_eq!(start.elapsed().as_secs(), expected);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_lookup_counts_from_when_it_was_wrong() {
        let guesses = guesses();
        guesses.take().await.unwrap().was_wrong();
        let mut slow = Vec::new();
        for _ in 0..15 {
            slow.push(guesses.take().await.unwrap());
        }
        advance(10 * SECOND).await;
        for guess in slow {
            guess.was_wrong();
        }
        // Only the first has come back.
        let _first = guesses.take().await.unwrap();
        let second = timeout(SECOND / 2, guesses.take()).await;
        assert!(second.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_guesser_that_does_not_wait_for_answers_gets_no_more_of_them() {
        let guesses = guesses();
        let mut looked_up = 0;
        let start = Instant::now();
        while start.elapsed() < 10 * SECOND {
            match timeout(Duration::from_millis(60), guesses.take()).await {
                Ok(guess) => {
                    guess.unwrap().was_wrong();
                    looked_up += 1;
                }
                Err(_cancelled) => {}
            }
        }
        assert!(looked_up <= 16 + 10, "{looked_up}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_right_key_uses_nothing_up_and_lets_the_next_one_in() {
        let guesses = guesses();
        // However long nobody asks, there are never more than 16 permits.
        advance(10 * SECOND).await;
        for _ in 0..1000 {
            drop(guesses.take().await.unwrap());
        }
        let mut held = Vec::new();
        for _ in 0..16 {
            held.push(guesses.take().await.unwrap());
        }
        let next = tokio::spawn({
            let guesses = Arc::clone(&guesses);
            async move { guesses.take().await.map(drop) }
        });
        // The task sleeps until then. If it did not, the paused clock would not
        // advance.
        tokio::time::sleep(10 * SECOND).await;
        assert!(!next.is_finished());
        let start = Instant::now();
        held.pop();
        next.await.unwrap().unwrap();
        assert!(start.elapsed().is_zero());
    }

    #[tokio::test(start_paused = true)]
    async fn few_wait_and_those_in_the_order_of_their_coming() {
        let guesses = guesses();
        for _ in 0..16 {
            guesses.take().await.unwrap().was_wrong();
        }
        let mut waiting = JoinSet::new();
        for number in 0..16 {
            let guesses = Arc::clone(&guesses);
            waiting.spawn(async move {
                guesses.take().await.unwrap().was_wrong();
                number
            });
            yield_now().await;
        }
        assert_eq!(guesses.take().await.err(), Some(Code::Busy));
        for expected in 0..16 {
            assert_eq!(waiting.join_next().await.unwrap().unwrap(), expected);
        }
    }
}
