//! Wrong keys, one after another: how long the next refusal is held back.

use crate::limits::Limits;
use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio::time::{Instant, sleep};

/// Counts the unknown keys of a server, all its callers together: it cannot tell
/// them apart.
///
/// Only the answer to an unknown key is held back, after all is decided. It holds
/// no place then, so a caller with a valid key is served as ever. Nor does a valid
/// key end the slowness: whoever has one could guess others in between.
///
/// This slows whoever tries one key after another. It does not slow a client that
/// asks for many at once: each answer is late, but all are on their way together,
/// and to hold them up one behind the other would hold up the valid ones too. How
/// many that can be is bounded where requests come in. What makes guessing
/// hopeless is the length of the keys.
#[derive(Debug)]
pub(crate) struct Guesses {
    limits: Limits,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    unknown: u32,
    last: Option<Instant>,
}

impl Guesses {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            seen: Mutex::default(),
        }
    }

    /// Counts an unknown key, and waits for as long as its answer is held back.
    pub(crate) async fn hold_back(&self) {
        sleep(self.count(Instant::now())).await;
    }

    /// How many unknown keys there were since they were last forgotten.
    #[cfg(test)]
    pub(crate) fn counted(&self) -> u32 {
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .unknown
    }

    fn count(&self, now: Instant) -> Duration {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let forgotten = seen
            .last
            .is_none_or(|last| now.duration_since(last) >= self.limits.guess_memory);
        if forgotten {
            seen.unknown = 0;
        }
        seen.unknown = seen.unknown.saturating_add(1);
        seen.last = Some(now);
        let Some(doublings) = seen.unknown.checked_sub(self.limits.free_guesses + 1) else {
            return Duration::ZERO;
        };
        self.limits
            .first_guess_delay
            .saturating_mul(2_u32.saturating_pow(doublings))
            .min(self.limits.longest_guess_delay)
    }
}

#[cfg(test)]
mod tests {
    use super::{Guesses, Instant};
    use crate::limits::Limits;
    use std::time::Duration;

    /// The delays, in milliseconds, of unknown keys that come these many seconds
    /// after the first.
    fn delays(seconds: &[u64]) -> Vec<u128> {
        let guesses = Guesses::new(Limits::default());
        let start = Instant::now();
        seconds
            .iter()
            .map(|after| guesses.count(start + Duration::from_secs(*after)))
            .map(|delay| delay.as_millis())
            .collect()
    }

    #[test]
    fn the_first_three_are_free_then_each_takes_twice_as_long_up_to_a_second() {
        assert_eq!(
            delays(&[0; 11]),
            [0, 0, 0, 50, 100, 200, 400, 800, 1000, 1000, 1000]
        );
    }

    #[test]
    fn it_takes_a_minute_without_an_unknown_key_to_be_forgotten() {
        assert_eq!(
            delays(&[0, 0, 0, 0, 59, 118, 178]),
            [0, 0, 0, 50, 100, 200, 0]
        );
    }

    #[test]
    fn any_number_of_guesses_is_held_back_for_a_second_and_no_longer() {
        let guesses = Guesses::new(Limits::default());
        let now = Instant::now();
        for _ in 0..10_000 {
            guesses.count(now);
        }
        assert_eq!(guesses.count(now), Duration::from_secs(1));
    }
}
