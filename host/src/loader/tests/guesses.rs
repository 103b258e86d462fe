//! Keys that could be guessed wait if too many were wrong, and no others wait for them.

use super::{World, burst, key, limits};
use crate::{code::Code, limits::Limits};
use std::time::Duration;
use tokio::time::sleep;

/// Limits under which no permit for a guess comes back during a test.
fn guessing() -> Limits {
    Limits {
        guess_every: Duration::from_secs(3600),
        ..limits()
    }
}

#[tokio::test]
async fn wrong_short_keys_are_looked_up_no_faster_by_one_who_does_not_wait_for_answers() {
    let world = World::new(guessing(), "");
    let free = guessing().free_guesses as usize;
    let looked_up = || world.files.state.lock().unwrap().unknown;
    // As many rounds as this machine needs, and then some more.
    let mut more = 10;
    for round in 0.. {
        let mut calls = burst(&world, (0..50).map(|guess| format!("k-{round}-{guess}")));
        sleep(Duration::from_millis(5)).await;
        calls.shutdown().await;
        more -= usize::from(looked_up() >= free);
        if more == 0 {
            break;
        }
    }
    world.is_at_rest().await;
    assert_eq!(looked_up(), free);
}

#[tokio::test]
async fn a_long_key_never_waits_for_those_who_guess_short_ones_and_a_short_one_does() {
    let world = World::new(guessing(), "");
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
        assert_eq!(world.load(&key("honest")).await, Ok("honest.md".into()));
    }
    // A wrong long key does not wait either.
    assert_eq!(world.load(&key("wrong")).await, Err(Code::UnknownKey));
    assert_eq!(world.load("k").await, Err(Code::Busy));
    drop(calls);
}

#[tokio::test]
async fn short_keys_that_are_right_wait_for_nothing_however_many_there_are() {
    let lines: String = (0..60)
        .map(|number| format!("k{number} = 'honest.md'\n"))
        .collect();
    let world = World::new(guessing(), &lines);
    for _ in 0..5 {
        let calls = burst(&world, (0..60).map(|number| format!("k{number}")));
        for answer in calls.join_all().await {
            assert_eq!(answer, Ok("honest.md".into()));
        }
    }
    world.is_at_rest().await;
}
