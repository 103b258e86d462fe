//! Guessable keys: how many wrong ones the server looks up.

use crate::{code::Code, limits::Limits};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    select,
    sync::{Notify, Semaphore},
    time::{Instant, sleep_until},
};

/// Counts the wrong keys of all callers of a server together, because the server
/// cannot tell callers apart.
///
/// A guessable key (see [`crate::Key::is_guessable`]) needs a permit from here
/// before the server looks it up. A wrong key uses the permit up, whether or not
/// anybody still wants the answer. A right key returns it. So no client learns
/// faster by not waiting for its answers.
///
/// Before the lookup, the server does not know whether a key is right. So a short
/// key waits behind wrong short keys, even if it is right. A key that cannot be
/// guessed needs no permit and never waits here: slowing such keys down would
/// protect nothing.
#[derive(Debug)]
pub(crate) struct GuessThrottle {
    free: u32,
    every: Duration,
    bucket: Mutex<Bucket>,
    /// The call that holds this permit is next.
    turn: Semaphore,
    waiting: Semaphore,
    most_waiting: usize,
    given_back: Notify,
}

#[derive(Debug)]
struct Bucket {
    /// The permits that were used up and have not come back.
    used: u32,
    /// The permits of keys that are being looked up.
    out: u32,
    /// When the last permit came back, or the first was used up.
    since: Instant,
}

impl Bucket {
    /// Takes back the permits whose time has come.
    fn refill(&mut self, now: Instant, every: Duration) {
        while self.used > 0 && now.duration_since(self.since) >= every {
            self.used -= 1;
            self.since += every;
        }
    }
}

/// The permit to look up one guessable key.
#[derive(Debug)]
pub(crate) struct Guess {
    of: Arc<GuessThrottle>,
    wrong: bool,
}

impl GuessThrottle {
    pub(crate) fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self {
            free: limits.free_guesses,
            every: limits.guess_every,
            bucket: Mutex::new(Bucket {
                used: 0,
                out: 0,
                since: Instant::now(),
            }),
            turn: Semaphore::new(1),
            waiting: Semaphore::new(limits.waiting_guesses),
            most_waiting: limits.waiting_guesses,
            given_back: Notify::new(),
        })
    }

    /// A permit, if one is free now and nobody waits for one. It never blocks.
    pub(crate) fn try_take(self: &Arc<Self>) -> Option<Guess> {
        let nobody_waits = self.waiting.available_permits() == self.most_waiting;
        nobody_waits.then(|| self.leave().ok()).flatten()
    }

    /// Waits for a permit, first come, first served. The future can be dropped:
    /// then nothing was looked up, and no permit is used up.
    ///
    /// # Errors
    /// [`Code::Busy`] if too many wait.
    pub(crate) async fn take(self: &Arc<Self>) -> Result<Guess, Code> {
        let _waits = self.waiting.try_acquire().map_err(|_| Code::Busy)?;
        let _turn = self.turn.acquire().await.map_err(|_| Code::Internal)?;
        loop {
            match self.leave() {
                Ok(guess) => return Ok(guess),
                Err(next) => select! {
                    () = sleep_until(next) => {}
                    () = self.given_back.notified() => {}
                },
            }
        }
    }

    /// A permit, or the time at which to ask again.
    fn leave(self: &Arc<Self>) -> Result<Guess, Instant> {
        let now = Instant::now();
        let mut bucket = self.lock();
        bucket.refill(now, self.every);
        if bucket.used + bucket.out >= self.free {
            return Err(match bucket.used {
                0 => now + self.every,
                _ => bucket.since + self.every,
            });
        }
        bucket.out += 1;
        Ok(Guess {
            of: Arc::clone(self),
            wrong: false,
        })
    }

    /// Whether no key is being looked up and none waits.
    pub(crate) fn is_idle(&self) -> bool {
        let waits = self.waiting.available_permits() < self.most_waiting;
        !waits && self.turn.available_permits() == 1 && self.lock().out == 0
    }

    /// Ignores poisoning: nothing panics while the lock is held.
    fn lock(&self) -> MutexGuard<'_, Bucket> {
        self.bucket.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Guess {
    /// Marks the key as looked up and wrong: the permit is not returned.
    pub(crate) fn was_wrong(mut self) {
        self.wrong = true;
    }
}

impl Drop for Guess {
    fn drop(&mut self) {
        let mut bucket = self.of.lock();
        bucket.out -= 1;
        if self.wrong {
            // Time that has passed before a key was wrong must not count for this key.
            let now = Instant::now();
            bucket.refill(now, self.of.every);
            if bucket.used == 0 {
                bucket.since = now;
            }
            bucket.used += 1;
        } else {
            self.of.given_back.notify_one();
        }
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
        GuessThrottle::new(Limits::default())
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
        advance(4 * SECOND).await;
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
        let first = guesses.try_take();
        assert!(first.is_some());
        assert!(guesses.try_take().is_none());
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
