//! Tests of requests that are received and not yet answered.

use super::{CALL_PERMITS, Client, DOCUMENT, PATIENCE, call, cancel, settle, stateless, until};
use std::collections::BTreeSet;
use tokio::io::AsyncWriteExt;

/// `MAX_IN_FLIGHT_BYTES / MIN_REQUEST_BYTES` of `transport.rs`.
const MAX_IN_FLIGHT: usize = 1024;

#[tokio::test(start_paused = true)]
async fn a_second_request_with_an_id_in_flight_is_refused_and_the_first_is_served() {
    let mut client = Client::initialized().await;
    client.call(1, "slow").await;
    client.call(1, "document").await;
    client.error(-32600, 1).await;
    // The same id as a string is another id.
    client.call("1", "document").await;
    assert_eq!(client.answer().await["id"], "1");
    client.loader.gate.add_permits(1);
    let answer = client.answer().await;
    assert_eq!(answer["id"], 1);
    assert_eq!(answer["result"]["content"][0]["text"], "slow");
    client.call(1, "document").await;
    assert_eq!(
        client.answer().await["result"]["content"][0]["text"],
        DOCUMENT
    );
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_request_is_given_up_and_never_answered() {
    let (session, none) = (Client::initialized().await, Client::new());
    for (mut client, call) in [
        (session, call(1, "slow")),
        (none, stateless(call(1, "slow"))),
    ] {
        client.send(call).await;
        until(|| client.loading() == 1).await;
        client.cancel(1).await;
        until(|| client.loading() == 0).await;
        client.loader.gate.add_permits(1);
        let (answers, ended) = client.end().await;
        assert!(answers.is_empty(), "{answers:?}");
        ended.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn an_id_used_again_after_a_cancellation_gets_its_own_answer() {
    let mut client = Client::initialized().await;
    for _ in 0..100 {
        // The lines are sent in one piece, so that the server reads them right
        // after each other.
        let (unknown, document) = (call(1, "unknown-key"), call(1, "document"));
        let lines = format!("{unknown}\n{}\n{document}\n", cancel(1));
        client.send_bytes(lines.as_bytes()).await;
        let answer = client.answer().await;
        // The server may answer the first request before it reads the cancellation.
        let answer = match answer["result"]["isError"] == true {
            true => client.answer().await,
            false => answer,
        };
        assert_eq!(answer["result"]["content"][0]["text"], DOCUMENT);
    }
    client.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn a_place_is_held_until_its_answer_is_written_and_none_is_after_a_cancellation() {
    let mut client = Client::with_room(1 << 20, 1000);
    client.initialize().await;
    client.call(1, "big").await;
    client.call(2, "document").await;
    until(|| client.call_permits() == 2).await;
    settle().await;
    assert_eq!((client.loading(), client.call_permits()), (0, 2));
    client.cancel(2).await;
    until(|| client.call_permits() == 1).await;
    assert_eq!(client.answer().await["id"], 1);
    until(|| client.call_permits() == 0).await;
    client.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn no_more_is_read_while_the_most_requests_are_in_flight() {
    let mut client = Client::with_room(1000, 1 << 20);
    client.initialize().await;
    let (lost, _) = tokio::io::duplex(1);
    let mut to = std::mem::replace(&mut client.to, lost);
    let sending = tokio::spawn(async move {
        for id in 0..2 * MAX_IN_FLIGHT {
            let line = format!("{}\n", call(id, "slow"));
            to.write_all(line.as_bytes()).await.unwrap();
        }
        to
    });
    until(|| client.begun() == MAX_IN_FLIGHT).await;
    settle().await;
    assert_eq!(client.begun(), MAX_IN_FLIGHT);
    assert!(!sending.is_finished());

    client.loader.gate.add_permits(2 * MAX_IN_FLIGHT);
    let mut answered = BTreeSet::new();
    for _ in 0..2 * MAX_IN_FLIGHT {
        answered.insert(client.answer().await["id"].as_u64().unwrap());
    }
    assert_eq!(answered.len(), 2 * MAX_IN_FLIGHT);
    client.to = sending.await.unwrap();
    client.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn cancelled_requests_make_room() {
    let mut client = Client::initialized().await;
    for id in 0..2 * MAX_IN_FLIGHT {
        client.call(id, "slow").await;
        client.cancel(id).await;
    }
    client.is_quiet().await;
    until(|| client.loading() == 0).await;
}

#[tokio::test(start_paused = true)]
async fn a_place_is_given_back_when_nobody_reads_any_more() {
    let mut client = Client::with_room(1 << 20, 1000);
    client.initialize().await;
    client.call(1, "big").await;
    client.call(2, "big").await;
    until(|| client.call_permits() == 2).await;
    let loader = client.loader.clone();
    drop(client.from);
    let ended = tokio::time::timeout(PATIENCE, client.session).await;
    ended.unwrap().unwrap().unwrap();
    until(|| loader.call_permits.available_permits() == CALL_PERMITS).await;
}
