//! Attacks that need more than one attack and one call after it.

use super::ground::{GRANTED, Ground, SOON, call, guest};
use keyhole_core::{Executor as _, Refusal, limits::Limits, sandbox::Sandbox};
use keyhole_tests::{PATIENCE, World};
use std::{
    sync::{Arc, mpsc},
    thread,
    time::{Duration, Instant},
};
use tokio::{join, time::timeout};

const KEYS: [(&str, u64); 2] = [("endless_loop", 1024), ("honest", 1024)];

#[test]
fn an_honest_call_is_served_while_a_guest_computes_for_ever() {
    let ground = Ground::new(KEYS);
    let loader = ground.attacked(Limits::default());
    let (attack, honest) = ground.run(async {
        let attack = async { (call(&loader, "endless_loop").await, Instant::now()) };
        let honest = async { (call(&loader, "honest").await, Instant::now()) };
        join!(attack, honest)
    });
    assert_eq!(attack.0, Err(Refusal::TimedOut));
    assert!(honest.0.unwrap().starts_with(GRANTED));
    assert!(honest.1 < attack.1, "it waited for the attack to end");
}

#[test]
fn a_guest_whose_caller_went_away_is_stopped() {
    let ground = Ground::new(KEYS);
    let one_at_a_time = Limits {
        deadline: SOON,
        running: 1,
        ..Limits::default()
    };
    let loader = ground.attacked(one_at_a_time);
    ground.run(async {
        let given_up = timeout(SOON / 10, call(&loader, "endless_loop")).await;
        assert!(given_up.is_err(), "it was still computing");
    });
    ground.is_served(&loader, "honest");
}

/// As many calls as there may be threads, each in a slot of its own.
#[test]
fn all_guests_that_there_can_be_are_stopped_at_their_deadline_and_not_before() {
    let limits = Limits::default();
    let sandbox = Arc::new(guest(&Sandbox::engine().unwrap(), limits));
    let deadline = Instant::now() + SOON / 2;
    let (stopped, all) = mpsc::channel();
    for _ in 0..limits.running {
        let (sandbox, stopped) = (Arc::clone(&sandbox), stopped.clone());
        thread::spawn(move || {
            let got = sandbox.run("endless_loop", None, deadline);
            stopped.send((got, Instant::now())).unwrap();
        });
    }
    let mut running = limits.running;
    while running > 0 {
        assert!(deadline.elapsed() < PATIENCE, "{running} are not stopped");
        sandbox.interrupt();
        if let Ok((got, at)) = all.recv_timeout(Duration::from_millis(10)) {
            assert_eq!(got, Err(Refusal::TimedOut));
            assert!(at >= deadline);
            running -= 1;
        }
    }
}

/// A server says that it needs no more. In glibc, each thread would reserve 64 MB besides; what is
/// released is built with another allocator. JSON has six bytes for such a character.
#[test]
fn eight_calls_at_once_for_the_largest_file_are_served_in_512_mib_of_address_space() {
    let text = "\u{1}".repeat(8 << 20);
    let world = World::new()
        .file("1.md", &text)
        .map("[keys]\nk-1 = { path = '~/1.md', max_bytes = 8388608 }\n")
        .env("MALLOC_ARENA_MAX", "1")
        .after("ulimit -v 524288");
    let mut client = world.client();
    let calls: Vec<_> = (0..8).map(|_| client.call("k-1")).collect();
    for call in calls {
        if !client.answer(call).is_or_late(&text) {
            client.load_at_last("k-1").is(&text);
        }
    }
    client.end();
}
