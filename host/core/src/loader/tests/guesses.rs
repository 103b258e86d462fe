//! Keys that could be guessed wait if too many were wrong, and no others wait for them.

use super::{World, burst, key, limits};
use crate::{code::Code, limits::Limits};
use std::time::Duration;

/// Limits under which no permit for a guess comes back during a test.
fn guessing() -> Limits {
    Limits {
        guess_every: Duration::from_secs(3600),
        deadline: Duration::from_secs(60),
        ..limits()
    }
}

#[tokio::test]
async fn a_long_key_never_waits_for_those_who_guess_short_ones_and_a_short_one_does() {
    let world = World::new(guessing());
    let limits = guessing();
    let mut calls = burst(&world, (0..1000).map(|guess| format!("k-{guess}")));
    // Until there are only those that wait for a guess, and no place for another. Before,
    // the queue of all calls may be full.
    let mut wrong = 0;
    while calls.len() > limits.waiting_guesses {
        match calls.join_next().await.unwrap().unwrap() {
            Err(Code::UnknownKey) => wrong += 1,
            answer => assert_eq!(answer, Err(Code::Busy)),
        }
    }
    assert_eq!(wrong, limits.free_guesses);
    for _ in 0..100 {
        assert_eq!(world.load(&key("honest.md")).await, Ok("honest.md".into()));
    }
    // A wrong long key does not wait either.
    assert_eq!(world.load(&key("wrong")).await, Err(Code::UnknownKey));
    assert_eq!(world.load("k").await, Err(Code::Busy));
    drop(calls);
}
