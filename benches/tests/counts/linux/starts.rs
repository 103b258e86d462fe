//! A start from outside, to the first answer: system calls, threads, reads and page faults.

use super::{
    server::{Client, Files, Kind, Note, Running},
    trace::{Counts, follow},
};
use crate::{
    limits::{
        KEYS,
        server::{
            MAP_CALLS, MAP_FAULTS, MAP_PEAK, START, START_DIRECTORY, START_OVER_TWIN, START_READS,
            START_THREADS,
        },
    },
    skipped,
};
use std::{path::Path, thread, time::Duration};

/// A session with one call, from the program's start to its end. It is the middle one of
/// several: how much memory a thread asks for depends on what others do at that moment.
fn session(test: &str, kind: Kind, map: &Path) -> Option<Counts> {
    let one = |_| {
        follow(test, &kind.serve(map), |to, from| {
            let mut client = Client::new(to, from);
            // Each session reads its map ahead, however many processors there are.
            thread::sleep(Duration::from_millis(20));
            client.calls(1, Note::Small);
            // What is done behind an answer then counts in each session.
            thread::sleep(Duration::from_millis(20));
        })
    };
    let mut sessions: Vec<Counts> = (0..7).map(one).collect::<Option<_>>()?;
    sessions.sort_by_key(Counts::steady);
    println!(
        "{:?}",
        sessions
            .iter()
            .map(|it| (it.steady(), it.futex(), it.threads))
            .collect::<Vec<_>>()
    );
    sessions.into_iter().nth(3)
}

#[test]
fn a_start_makes_few_system_calls() {
    const NAME: &str = "a_start_makes_few_system_calls";
    let files = Files::new();
    let of = |kind| session(NAME, kind, &files.map());
    let (Some(start), Some(twin)) = (of(Kind::Keyhole), of(Kind::Twin)) else {
        return;
    };
    println!("{} {}", start.steady(), twin.steady());
    // Both are loaded, and read a map and a file.
    assert!(twin.steady() > 100, "{twin:?}");
    let most = START + START_DIRECTORY * u64::from(files.depth());
    assert!(start.steady() <= most, "{start:?} {most}");
    let limit = twin.steady() + START_OVER_TWIN;
    assert!(start.steady() <= limit, "{start:?} {twin:?}");
    assert!(start.threads <= START_THREADS, "{start:?}");
}

/// How often a server has read when it has answered its first call, compared with how
/// often it had when it had answered the second: it then loads nothing any more.
#[test]
fn a_start_reads_requests_a_map_and_a_document_and_little_else() {
    const NAME: &str = "a_start_reads_requests_a_map_and_a_document_and_little_else";
    let files = Files::new();
    let mut server = Running::start(Kind::Keyhole, &files.map());
    server.client().calls(1, Note::Small);
    let Ok(first) = server.reads() else {
        skipped(NAME, "only root sees how often a server has read");
        return;
    };
    server.client().calls(1, Note::Small);
    let second = server.reads().unwrap() - first;
    assert!(first <= second + START_READS, "{first} {second}");
}

#[test]
fn a_map_of_100_000_keys_takes_little_memory_of_a_start() {
    let files = Files::new();
    let [few, many] = [0, KEYS].map(|keys| {
        let map = files.map_of(keys);
        // A map that was written just now may be read twice.
        let starts = (0..5).map(|_| {
            let mut server = Running::start(Kind::Keyhole, &map);
            server.client().calls(1, Note::Small);
            (server.page_faults(), server.peak())
        });
        starts.min().unwrap()
    });
    println!("{few:?} {many:?}");
    // So the large map was read.
    assert!(many.1 > few.1 + (4 << 10), "{few:?} {many:?}");
    assert!(many.0 <= few.0 + MAP_FAULTS, "{few:?} {many:?}");
    assert!(many.1 <= few.1 + MAP_PEAK, "{few:?} {many:?}");
}

#[test]
fn a_map_of_100_000_keys_takes_few_system_calls_of_a_start() {
    const NAME: &str = "a_map_of_100_000_keys_takes_few_system_calls_of_a_start";
    let files = Files::new();
    let of = |keys| session(NAME, Kind::Keyhole, &files.map_of(keys));
    let (Some(few), Some(many)) = (of(0), of(KEYS)) else {
        return;
    };
    println!("{} {}", few.steady(), many.steady());
    assert!(
        many.steady() <= few.steady() + MAP_CALLS,
        "{few:?} {many:?}"
    );
}
