use super::{KEY, settle, took_at_most, world};
use keyhole_core::limits::Limits;
use serde_json::{Value, json};
use std::collections::HashSet;

const MIB: usize = 1 << 20;

fn cancel(id: Value) -> Value {
    let params = json!({ "requestId": id });
    json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })
}

#[test]
fn ten_thousand_calls_at_once_all_get_the_document_or_busy() {
    let world = world("text");
    let mut session = world.client();
    let ids: Vec<u64> = (0..10_000).map(|_| session.call(KEY)).collect();
    let answers = ids.into_iter().map(|id| session.answer(id));
    let documents = answers.filter(|answer| answer.is_or_late("text"));
    assert!(documents.count() > 0);
    took_at_most(&session, 40);
    session.end();
}

#[test]
fn a_client_that_reads_nothing_for_a_while_gets_every_answer_then() {
    let text = "x".repeat(MIB);
    let world = world(&text);
    let mut session = world.serve();
    // The test reads standard output only once it waits for the first answer.
    let hello = session.begin();
    let ids: Vec<u64> = (0..300).map(|_| session.call(KEY)).collect();
    settle(&session);
    // At most 16 documents of 1 MiB are held.
    took_at_most(&session, 80);
    let _ = session.answer(hello);
    let answers = ids.into_iter().map(|id| session.answer(id));
    let documents = answers.filter(|answer| answer.is_or_late(&text));
    assert!(documents.count() >= 8);
    took_at_most(&session, 80);
    session.end();
}

/// The answers to cancelled calls were once kept until the client read the one before them.
#[test]
fn answers_that_nobody_reads_and_whose_calls_are_cancelled_take_no_memory() {
    let world = world(&"x".repeat(MIB));
    let mut session = world.serve();
    session.begin();
    for _ in 0..20 {
        let ids: Vec<u64> = (0..10).map(|_| session.call(KEY)).collect();
        settle(&session);
        for id in ids {
            session.send(&cancel(id.into()));
        }
    }
    took_at_most(&session, 80);
}

#[test]
fn a_cancelled_call_is_answered_at_most_once_and_costs_no_other_its_answer() {
    let world = world("text");
    let mut session = world.client();
    let mut kept = HashSet::new();
    let mut cancelled = HashSet::new();
    for number in 0..2000 {
        let id = session.call(KEY);
        match number % 2 {
            0 => kept.insert(id),
            _ => {
                session.send(&cancel(id.into()));
                cancelled.insert(id)
            }
        };
        // A client can also cancel a request that it never sent.
        session.send(&cancel(format!("never-{number}").into()));
    }
    while !kept.is_empty() {
        let answer = session.receive();
        let id = answer.message()["id"].as_u64().expect("an id of ours");
        assert!(kept.remove(&id) || cancelled.remove(&id), "{id} again");
        answer.is_or_late("text");
    }
    session.load(KEY).is("text");
    session.hang_up();
    session.ended().quietly("");
}

#[test]
fn a_valid_key_is_served_after_guesses_by_the_thousand() {
    let world = world("text");
    let mut session = world.client();
    let limits = Limits::default();
    // With the first, no more wait than may. Of the last, most are one too many.
    for number in [limits.waiting / 2, limits.waiting / 2, 2000] {
        let guesses: Vec<u64> = (0..number)
            .map(|number| session.call(&format!("k-hunter2-{number}")))
            .collect();
        if number < limits.waiting {
            session.load_at_last(KEY).is("text");
        }
        for id in guesses {
            let answer = session.answer(id);
            match answer.code() {
                Some("busy") => answer.refused("busy"),
                _ => answer.refused("unknown-key"),
            }
        }
        session.load_at_last(KEY).is("text");
    }
    session.end();
}
