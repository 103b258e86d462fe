#![allow(clippy::unwrap_used, reason = "tests")]

use super::GuessThrottle;
use crate::{limits::Limits, refusal::Refusal};
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
    assert_eq!(guesses.take().await.err(), Some(Refusal::Busy));
    for expected in 0..16 {
        assert_eq!(waiting.join_next().await.unwrap().unwrap(), expected);
    }
}
