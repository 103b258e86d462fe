use super::{KEY, settle, world};
use keyhole_tests::{MARKER, Protocol, Session, World};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

/// A short session's requests, line by line.
fn lines() -> String {
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {} });
    Protocol::session(&[list, Protocol::Initialize.call(3, KEY)])
}

/// The ids that the server answers when the input is `sent`, sorted.
fn answered(sent: &str) -> Vec<String> {
    let ids = sent
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter_map(|message| message.get("id").map(Value::to_string));
    let mut ids: Vec<_> = ids.collect();
    ids.sort();
    ids
}

#[test]
fn the_input_may_end_after_any_byte_and_what_was_whole_is_answered() {
    let (whole, world, next) = (lines(), world("text"), AtomicUsize::new(0));
    let cut = || {
        while let Some(sent) = whole.get(..next.fetch_add(1, Ordering::Relaxed)) {
            let mut session = world.serve();
            session.send_bytes(sent.as_bytes());
            session.hang_up();
            let ended = session.ended();
            let ids = ended.messages.iter();
            let mut ids: Vec<_> = ids.map(|message| message["id"].to_string()).collect();
            // Calls that run at once may overtake each other.
            ids.sort();
            assert_eq!(ids, answered(sent), "{sent}");
            ended.quietly(sent);
            // Nothing of the input, and no path, came back.
            let said = format!("{:?}", ended.messages);
            assert!(!said.contains(MARKER), "{said}");
        }
    };
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(cut);
        }
    });
    assert!(next.into_inner() > whole.len());
}

/// The state of a session when the signal comes.
type Point = (&'static str, fn(&World) -> Session);

const POINTS: [Point; 5] = [
    ("before the handshake", |world| {
        let mut session = world.serve();
        // Its answer shows that the server listens to signals.
        let _ = session.request("ping", json!({}));
        session
    }),
    ("after a call", |world| {
        let mut session = world.client();
        session.load(KEY).is(&text());
        session
    }),
    ("within a line", |world| {
        let mut session = world.client();
        session.send_bytes(b"{\"jsonrpc\":\"2.0\",");
        settle(&session);
        session
    }),
    ("while calls run", |world| {
        let mut session = world.client();
        for _ in 0..100 {
            session.call(KEY);
        }
        session
    }),
    ("after the end of input", |world| {
        let mut session = world.client();
        for _ in 0..100 {
            session.call(KEY);
        }
        session.hang_up();
        session
    }),
];

/// A text so short that its answer is written whole or not at all: it fits in
/// `PIPE_BUF`.
fn text() -> String {
    "text ".repeat(100)
}

#[test]
fn a_signal_ends_the_server_in_order_at_every_point() {
    // Whoever starts it may have blocked them.
    let block = ["/usr/bin/env", "--block-signal=INT,TERM"];
    let worlds = [world(&text()), world(&text()).through(block)];
    let worlds = &worlds[..if cfg!(target_os = "linux") { 2 } else { 1 }];
    for (world, (point, go)) in worlds.iter().flat_map(|world| POINTS.map(|it| (world, it))) {
        for signal in [Signal::INT, Signal::TERM] {
            let session = go(world);
            session.signal(signal);
            // Its answers until then are whole lines: `ended` reads them.
            session.ended().quietly(&format!("{signal:?} {point}"));
        }
    }
}

#[test]
fn a_signal_ends_a_server_whose_answers_nobody_reads() {
    let world = world(&"x".repeat(1 << 20));
    for signal in [Signal::INT, Signal::TERM] {
        let mut session = world.serve();
        session.begin();
        for _ in 0..20 {
            session.call(KEY);
        }
        settle(&session);
        session.signal(signal);
        let ended = session.ended_with_half_an_answer();
        ended.quietly(&format!("{signal:?}"));
    }
}

/// The map has no roots, which the server says at its start.
#[test]
fn a_start_does_not_wait_for_who_reads_what_it_says() {
    let full = "mkfifo full && exec 2<>full && head -c 65536 /dev/zero >&2";
    let mut session = world("text").after(full).client();
    session.load(KEY).is("text");
    session.signal(Signal::TERM);
    session.ends_quietly();
}
