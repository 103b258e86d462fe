//! A whole server from one seed: it keeps its promises, and the test would see if it did
//! not.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests"
)]

use keyhole_simulate::{Broken, play};
use std::{
    ops::Range,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

/// Plays these seeds on all cores, and collects what `judge` says about them.
fn each<T: Send>(seeds: Range<u64>, judge: impl Fn(u64) -> Option<T> + Sync) -> Vec<T> {
    let next = AtomicU64::new(seeds.start);
    let found = Mutex::new(Vec::new());
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        return;
                    }
                    found.lock().unwrap().extend(judge(seed));
                }
            });
        }
    });
    found.into_inner().unwrap()
}

#[test]
fn in_no_run_is_a_promise_broken() {
    let given = AtomicU64::new(0);
    let failed = each(0..800, |seed| {
        let played = play(seed, None, false);
        given.fetch_add(played.given as u64, Ordering::Relaxed);
        played.trouble.map(|what| (seed, what))
    });
    if let Some((seed, what)) = failed.first() {
        let story = play(*seed, None, true).story.join("\n");
        panic!("{story}\nseed {seed}: {what}\nto see it again: ./x simulate --replay {seed}");
    }
    // A run in which the host serves nothing could not fail.
    assert!(given.into_inner() > 800);
}

#[test]
fn the_same_seed_is_the_same_run() {
    let differ = each(0..150, |seed| {
        let (first, again) = (play(seed, None, false), play(seed, None, true));
        (first.trace != again.trace).then_some(seed)
    });
    assert_eq!(differ, Vec::<u64>::new());
}

/// `./x simulate --mistakes` says in how many seeds each is found.
#[test]
fn each_mistake_is_found() {
    for broken in Broken::ALL {
        let known = AtomicBool::new(false);
        let found = each(0..1000, |seed| {
            let skip = known.load(Ordering::Relaxed);
            let trouble = (!skip).then(|| play(seed, Some(broken), false).trouble)??;
            known.store(true, Ordering::Relaxed);
            Some((seed, trouble))
        });
        println!("{broken:?}: {:?}", found.first());
        assert!(!found.is_empty(), "{broken:?}");
    }
}
