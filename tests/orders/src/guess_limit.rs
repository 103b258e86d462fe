//! `guesses.rs`: there are never more wrong look-ups than allowed, even if callers give
//! up. A right one costs nothing. Nobody waits for ever.

use crate::{
    host::{guesses::GuessThrottle, limits::Limits},
    run::{Scenario, met},
    shim::{
        Plain, choose,
        clock::{Instant, Pace, sleep},
        tokio::{sync::permits_out, time::timeout},
    },
};
use shuttle::future::{block_on, spawn};
use std::{sync::Arc, time::Duration};

const EVERY: Duration = Duration::from_secs(1);
const FREE: u32 = 2;

fn limits() -> Limits {
    Limits {
        free_guesses: FREE,
        guess_every: EVERY,
        waiting_guesses: 8,
        ..Limits::default()
    }
}

/// The times of the wrong look-ups, and the number of look-ups that have not ended and
/// may be wrong as well.
#[derive(Default)]
struct Looked {
    wrong: Vec<Instant>,
    under_way: usize,
}

impl Looked {
    /// Whether each period has at most the free look-ups, and one more for each of
    /// its seconds.
    fn is_within(&self) -> bool {
        assert!(
            self.under_way <= FREE as usize,
            "{} at once",
            self.under_way
        );
        self.wrong.iter().enumerate().all(|(before, first)| {
            let since = &self.wrong[before..];
            since.iter().enumerate().all(|(count, last)| {
                let time = last.duration_since(*first).as_secs() as usize;
                count < FREE as usize + time
            })
        })
    }
}

/// Four callers guess: some wait, some do not, some give up; some are right.
fn guessing() {
    let guesses = GuessThrottle::new(limits());
    let looked = Arc::new(Plain::new(Looked::default()));
    let guessers: Vec<_> = (0..4)
        .map(|_| {
            let (guesses, looked) = (Arc::clone(&guesses), Arc::clone(&looked));
            spawn(async move {
                for _ in 0..2 {
                    let way = choose(3);
                    let guess = match way {
                        0 => guesses.try_take(),
                        1 => timeout(EVERY / 3, guesses.take())
                            .await
                            .ok()
                            .map(Result::unwrap),
                        _ => Some(guesses.take().await.unwrap()),
                    };
                    let Some(guess) = guess else {
                        met(["none at once", "gave up"][way]);
                        continue;
                    };
                    looked.lock().under_way += 1;
                    if choose(2) == 0 {
                        sleep(EVERY / 3).await;
                    }
                    let is_wrong = choose(3) > 0;
                    met(if is_wrong { "wrong" } else { "right" });
                    let mut looked = looked.lock();
                    looked.under_way -= 1;
                    if is_wrong {
                        looked.wrong.push(Instant::now());
                    }
                    assert!(looked.is_within(), "{:?}", looked.wrong);
                    drop(looked);
                    match is_wrong {
                        true => guess.was_wrong(),
                        false => drop(guess),
                    }
                }
            })
        })
        .collect();
    for guesser in guessers {
        block_on(guesser).unwrap();
    }
    assert_eq!(permits_out(), 0);
    // All permits come back: a caller can take all free ones again.
    block_on(async {
        let mut all = Vec::new();
        for _ in 0..FREE {
            all.push(guesses.take().await.unwrap());
        }
    });
}

/// Time does not pass, and nobody is wrong, so the host may look up all.
fn right() {
    let guesses = GuessThrottle::new(limits());
    let callers: Vec<_> = (0..4)
        .map(|_| {
            let guesses = Arc::clone(&guesses);
            spawn(async move {
                let guess = match guesses.try_take() {
                    Some(guess) => guess,
                    None => guesses.take().await.unwrap(),
                };
                crate::shim::others_first();
                drop(guess);
            })
        })
        .collect();
    for caller in callers {
        block_on(caller).unwrap();
    }
    assert_eq!(permits_out(), 0);
}

/// Small enough to try every order: two right keys, with one look-up at a time.
fn two_right() {
    let guesses = GuessThrottle::new(Limits {
        free_guesses: 1,
        ..limits()
    });
    let other = {
        let guesses = Arc::clone(&guesses);
        spawn(async move { drop(guesses.take().await.unwrap()) })
    };
    drop(block_on(guesses.take()).unwrap());
    block_on(other).unwrap();
    assert_eq!(permits_out(), 0);
    drop(guesses.try_take().unwrap());
}

pub const GUESSING: Scenario = Scenario {
    name: "no more wrong guesses than the limit whoever gives up",
    pace: Pace::Any,
    play: guessing,
    meets: &["wrong", "right", "none at once", "gave up"],
};

const RIGHT: Scenario = Scenario {
    name: "right keys cost nothing and wait for no clock",
    pace: Pace::Frozen,
    play: right,
    meets: &[],
};

const TWO_RIGHT: Scenario = Scenario {
    name: "two right keys in every order",
    pace: Pace::Frozen,
    play: two_right,
    meets: &[],
};

#[test]
fn two_right_keys_in_every_order() {
    TWO_RIGHT.holds_in_all(None);
}

#[test]
fn no_more_wrong_guesses_than_the_limit_whoever_gives_up() {
    GUESSING.holds();
}

#[test]
fn right_keys_cost_nothing_and_wait_for_no_clock() {
    RIGHT.holds();
}

#[test]
fn broken_guesses_are_found() {
    GUESSING.finds("a guess is counted after the lock was released");
    GUESSING.finds("a wrong guess costs nothing");
    RIGHT.finds("a guess that came back wakes nobody");
    RIGHT.finds("a guess never comes back");
}
