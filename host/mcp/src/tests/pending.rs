//! Tests of requests that are received and not yet answered.

use super::{Client, DOCUMENT, call, cancel, settle, stateless, until};
use serde_json::Value;
use std::collections::BTreeSet;
use tokio::io::AsyncWriteExt;

/// `MAX_LINE_BYTES / MIN_REQUEST_BYTES` of `transport.rs`.
const MAX_IN_FLIGHT: usize = 1024;

#[tokio::test(start_paused = true)]
async fn two_requests_with_one_id_get_an_answer_each() {
    let mut client = Client::initialized().await;
    client.call(1, "slow").await;
    client.call(1, "document").await;
    client.is(1, DOCUMENT).await;
    client.loader.gate.add_permits(1);
    client.is(1, "slow").await;
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_request_is_given_up_and_never_answered() {
    let (session, none) = (Client::initialized().await, Client::new());
    let as_it_is: fn(Value) -> Value = |call| call;
    for (mut client, in_form) in [(session, as_it_is), (none, stateless)] {
        client.send(in_form(call(1, "slow"))).await;
        until(|| client.loader.loading() == 1).await;
        client.cancel(1).await;
        until(|| client.loader.loading() == 0).await;
        client.loader.gate.add_permits(1);
        client.send(in_form(call(2, "document"))).await;
        client.is(2, DOCUMENT).await;
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
        match answer["result"]["isError"] == true {
            true => client.is(1, DOCUMENT).await,
            false => assert_eq!(answer["result"]["content"][0]["text"], DOCUMENT),
        }
    }
    client.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn a_place_is_held_until_its_answer_is_written_and_none_is_after_a_cancellation() {
    let mut client = Client::with_room(1 << 20, 1000);
    client.initialize().await;
    client.call(1, "big").await;
    client.call(2, "document").await;
    until(|| client.loader.held() == 2).await;
    settle().await;
    assert_eq!((client.loader.loading(), client.loader.held()), (0, 2));
    client.cancel(2).await;
    until(|| client.loader.held() == 1).await;
    assert_eq!(client.answer().await["id"], 1);
    until(|| client.loader.held() == 0).await;
    client.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_has_closed_its_end_holds_no_place() {
    let mut client = Client::with_room(1 << 20, 1000);
    client.initialize().await;
    client.call(1, "big").await;
    client.call(2, "big").await;
    until(|| client.loader.held() == 2).await;
    drop(client.from);
    until(|| client.loader.held() == 0).await;
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
    until(|| client.loader.loading() == MAX_IN_FLIGHT).await;
    settle().await;
    assert_eq!(client.loader.loading(), MAX_IN_FLIGHT);
    assert!(!sending.is_finished());

    client.loader.gate.add_permits(2 * MAX_IN_FLIGHT);
    let mut answered = BTreeSet::new();
    for _ in 0..2 * MAX_IN_FLIGHT {
        answered.insert(client.answer().await["id"].as_u64());
    }
    assert_eq!(answered.len(), 2 * MAX_IN_FLIGHT);
    client.to = sending.await.unwrap();
    client.is_quiet().await;
}
