//! A call from outside: system calls, sleeps and memory of the server, once it is warm.

use super::{
    server::{Client, Files, Kind, Note, Running},
    trace::{Counts, follow},
};
use crate::limits::server::{
    CALL, CALL_FAULTS, CALL_FUTEX, CALL_OVER_TWIN, CALL_SLEEPS, DIRECTORY, FLOOD_FUTEX,
    FLOOD_OVER_ONE, LARGE_OVER_SMALL, LARGE_PEAK,
};
use std::{path::Path, thread, time::Duration};

/// So many calls that how a session begins and ends does not show.
const MANY: u32 = 96;

/// How many system calls one call makes, on average.
#[derive(Debug)]
struct Each {
    steady: f64,
    futex: f64,
}

/// Some calls, `width` of them in flight. There are two sessions, and only what the longer
/// one has more is counted.
fn each(test: &str, kind: Kind, map: &Path, note: Note, width: u32) -> Option<Each> {
    let session = |calls| {
        follow(test, &kind.serve(map), |to, from| {
            let mut client = Client::new(to, from);
            client.calls(5, note);
            (0..calls / width).for_each(|_| client.flood(width, note));
        })
    };
    let (few, many) = (session(0)?, session(MANY)?);
    let more =
        |count: fn(&Counts) -> u64| (count(&many) as f64 - count(&few) as f64) / f64::from(MANY);
    Some(Each {
        steady: more(Counts::steady),
        futex: more(Counts::futex),
    })
}

#[test]
fn a_warm_call_makes_few_system_calls() {
    const NAME: &str = "a_warm_call_makes_few_system_calls";
    let files = Files::new();
    let of = |kind| each(NAME, kind, &files.map(), Note::Small, 1);
    let (Some(call), Some(twin)) = (of(Kind::Keyhole), of(Kind::Twin)) else {
        return;
    };
    println!("{call:?} {twin:?}");
    // It opens the file, at least.
    assert!(twin.steady > 3.0 * f64::from(files.depth()), "{twin:?}");
    let limit = CALL + DIRECTORY * f64::from(files.depth());
    assert!(call.steady <= limit, "{call:?} {limit}");
    assert!(
        call.steady <= twin.steady + CALL_OVER_TWIN,
        "{call:?} {twin:?}"
    );
    assert!(call.futex <= CALL_FUTEX, "{call:?}");
}

#[test]
fn a_call_walks_the_way_to_map_and_file_once() {
    const NAME: &str = "a_call_walks_the_way_to_map_and_file_once";
    let files = Files::new();
    let of = |map: &Path, note| each(NAME, Kind::Keyhole, map, note, 1);
    let near = of(&files.map(), Note::Small);
    let far = of(&files.deep_map(), Note::Far);
    let (Some(near), Some(far)) = (near, far) else {
        return;
    };
    let more = (far.steady - near.steady) / f64::from(Files::DEEPER);
    println!("{near:?} {far:?} {more}");
    assert!(more > 0.9, "{near:?} {far:?}");
    assert!(more <= DIRECTORY + 0.5, "{near:?} {far:?}");
}

#[test]
fn a_large_document_takes_a_read_for_each_part_and_a_write_for_each_piece() {
    const NAME: &str = "a_large_document_takes_a_read_for_each_part_and_a_write_for_each_piece";
    let files = Files::new();
    let of = |note| each(NAME, Kind::Keyhole, &files.map(), note, 1);
    let (Some(small), Some(large)) = (of(Note::Small), of(Note::Large)) else {
        return;
    };
    println!("{small:?} {large:?}");
    assert!(
        large.steady <= small.steady + LARGE_OVER_SMALL,
        "{small:?} {large:?}"
    );
}

#[test]
fn a_call_among_others_makes_no_more_system_calls_than_one_alone() {
    const NAME: &str = "a_call_among_others_makes_no_more_system_calls_than_one_alone";
    let files = Files::new();
    let of = |width| each(NAME, Kind::Keyhole, &files.map(), Note::Small, width);
    let (Some(alone), Some(among)) = (of(1), of(32)) else {
        return;
    };
    println!("{alone:?} {among:?}");
    assert!(
        among.steady <= alone.steady + FLOOD_OVER_ONE,
        "{alone:?} {among:?}"
    );
    assert!(among.futex <= FLOOD_FUTEX, "{among:?}");
}

/// The protocol's thread waits for a request, and for an answer; the call's for a call.
#[test]
fn a_call_puts_few_threads_to_sleep() {
    let files = Files::new();
    let mut server = Running::start(Kind::Keyhole, &files.map());
    server.client().calls(20, Note::Small);
    let each = usual(&mut server, Running::sleeps, |client| {
        client.calls(1, Note::Small);
        // Otherwise the next one comes before they sleep.
        thread::sleep(Duration::from_millis(1));
    });
    assert!((1.0..=CALL_SLEEPS).contains(&each), "{each}");
}

/// All slots and buffers are used again.
#[test]
fn a_warm_call_takes_no_new_memory() {
    let files = Files::new();
    let mut server = Running::start(Kind::Keyhole, &files.map());
    server.client().calls(50, Note::Small);
    let each = usual(&mut server, Running::page_faults, |client| {
        client.calls(1, Note::Small);
    });
    assert!(each <= CALL_FAULTS, "{each}");
}

/// How much of something the server has for each call, in the middle one of some rounds.
fn usual(
    server: &mut Running,
    count: fn(&Running) -> u64,
    mut call: impl FnMut(&mut Client),
) -> f64 {
    const CALLS: u32 = 20;
    let mut rounds = [(); 11].map(|()| {
        let began = count(server);
        (0..CALLS).for_each(|_| call(server.client()));
        count(server) - began
    });
    rounds.sort_unstable();
    println!("{rounds:?}");
    rounds[5] as f64 / f64::from(CALLS)
}

#[test]
fn four_large_documents_at_once_take_little_more_memory_than_they_have_bytes() {
    let files = Files::new();
    let mut server = Running::start(Kind::Keyhole, &files.map());
    server.client().calls(20, Note::Small);
    let began = server.peak();
    (0..4).for_each(|_| server.client().flood(4, Note::Large));
    let more = server.peak() - began;
    println!("{more}");
    assert!(more > 1 << 10, "{more}");
    assert!(more <= LARGE_PEAK, "{more}");
}
