//! A client that takes silence for "no" and continues finds nothing sooner.

use keyhole_tests::World;
use serde_json::json;
use std::{
    thread,
    time::{Duration, Instant},
};

const LONG: &str = "k-hunter2-long-7f3a9c55aa01";

/// Guesses in flight at one time, one of them right.
const BATCH: usize = 50;

/// How long a guesser waits for a document.
const SILENCE: Duration = Duration::from_millis(60);

#[test]
fn a_client_that_cancels_its_guesses_finds_no_short_key_sooner_and_delays_no_long_one() {
    let batches = 2..30;
    let right = |batch: usize| format!("k-{}", batch * BATCH + BATCH / 2);
    let mut map = format!("[keys]\n{LONG} = '~/a.md'\n");
    for batch in batches.clone() {
        map += &format!("{} = '~/a.md'\n", right(batch));
    }
    let world = World::new().file("a.md", "text").map(map);
    let mut client = world.client();
    client.load(&right(2)).is("text");
    let began = Instant::now();
    // The guesses that cost nothing, so that a mistyped key slows nobody down.
    for guess in 0..16 {
        client.load(&format!("k-{guess}")).refused("unknown-key");
    }
    let mut found = 0;
    for batch in batches {
        let guesses = (0..BATCH).map(|guess| format!("k-{}", batch * BATCH + guess));
        let ids: Vec<u64> = guesses.map(|guess| client.call(&guess)).collect();
        thread::sleep(SILENCE);
        for id in ids {
            client.send(&json!({
                "jsonrpc": "2.0", "method": "notifications/cancelled",
                "params": { "requestId": id },
            }));
        }
        // This comes after all answers that were sent before the cancellation.
        let marker = client.call(LONG);
        loop {
            let answer = client.receive();
            match answer.message()["id"].as_u64() {
                Some(id) if id == marker => break answer.is("text"),
                _ if answer.text().is_some() => found += 1,
                // As slow as guesses are: the answer says no more than that.
                _ if answer.code() == Some("unknown-key") => {}
                _ => answer.refused("busy"),
            }
        }
    }
    let seconds = usize::try_from(began.elapsed().as_secs()).unwrap();
    assert!(found <= seconds + 1, "{found} found in {seconds} s");
    client.end();
}
