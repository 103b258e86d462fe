//! Guests that are still at work when their time is over.

use super::ground::component;
use cap_std::{ambient_authority, fs::Dir};
use keyhole::{
    Code, Grant,
    limits::{Limits, MAX_MAX_BYTES},
    sandbox::Sandbox,
};
use keyhole_tests::PATIENCE;
use std::{
    fs,
    sync::{Arc, mpsc},
    thread::{self, sleep},
    time::{Duration, Instant},
};

include!(concat!(env!("OUT_DIR"), "/guest.rs"));

/// As many calls as there may be threads, each in a slot of its own.
#[test]
fn all_guests_that_there_can_be_are_stopped_at_their_deadline_and_not_before() {
    let limits = Limits::default();
    let sandbox = Arc::new(Sandbox::new(&component(IMAGE).unwrap(), limits).unwrap());
    let guests = limits.running + limits.abandoned;
    let deadline = Instant::now() + Duration::from_millis(500);
    let (stopped, all) = mpsc::channel();
    for _ in 0..guests {
        let (sandbox, stopped) = (Arc::clone(&sandbox), stopped.clone());
        thread::spawn(move || {
            let got = sandbox.call("endless_loop", None, deadline);
            stopped.send((got, Instant::now())).unwrap();
        });
    }
    let mut running = guests;
    while running > 0 {
        assert!(deadline.elapsed() < PATIENCE, "{running} are not stopped");
        sandbox.interrupt();
        if let Ok((got, at)) = all.recv_timeout(Duration::from_millis(10)) {
            assert_eq!(got, Err(Code::TimedOut));
            assert!(at >= deadline);
            running -= 1;
        }
    }
}

/// The guest may have waited for the file until then, so its refusal may only mean that
/// time ran out.
#[test]
fn a_refusal_that_comes_past_the_deadline_says_that_it_is_late() {
    let home = tempfile::tempdir().unwrap();
    let mut text = vec![b'a'; usize::try_from(MAX_MAX_BYTES).unwrap()];
    *text.last_mut().unwrap() = 0xff;
    fs::write(home.path().join("a.md"), text).unwrap();
    // The file comes to rest in the meantime, so that the call does not wait for it.
    sleep(Duration::from_millis(100));
    let sandbox = Sandbox::embedded(Limits::default()).unwrap();
    let refused_by = |deadline| {
        let grant = Grant {
            directory: Dir::open_ambient_dir(home.path(), ambient_authority()).unwrap(),
            name: "a.md".to_owned(),
            max_bytes: MAX_MAX_BYTES,
        };
        sandbox.call("k-any", Some(grant), deadline)
    };
    assert_eq!(refused_by(Instant::now() + PATIENCE), Err(Code::NotUtf8));
    // Less time than reading it and looking at each byte takes.
    let soon = Duration::from_micros(500);
    assert_eq!(refused_by(Instant::now() + soon), Err(Code::TimedOut));
}
