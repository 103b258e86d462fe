//! A client that takes silence for "no" and continues finds nothing sooner.

use keyhole_tests::{PATIENCE, Session, World};
use serde_json::{Value, json};
use std::{
    thread,
    time::{Duration, Instant},
};

const LONG: &str = "k-hunter2-long-7f3a9c55aa01";

/// A key that could be guessed.
const SHORT: &str = "k-short";

/// Guesses in flight at one time. The first of them is right.
const BATCH: usize = 50;

/// Without the limit, each of them would find the short key.
const BATCHES: usize = 15;

/// How long a guesser still waits for a document when other calls have been answered.
const SILENCE: Duration = Duration::from_millis(60);

fn call(id: &str, key: &str) -> Value {
    let params = json!({ "name": "load_context", "arguments": { "key": key } });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}

fn cancel(id: &str) -> Value {
    json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": { "requestId": id },
    })
}

fn send(client: &mut Session, messages: &[Value]) {
    let lines = messages.iter().map(|message| format!("{message}\n"));
    client.send_bytes(lines.collect::<String>().as_bytes());
}

/// Calls with the long key, and returns how many guesses got a document before its answer.
fn found_before_a_long_key(client: &mut Session) -> usize {
    let long = client.call(LONG);
    let mut found = 0;
    loop {
        let answer = client.receive();
        match answer.code() {
            _ if answer.message()["id"] == long => {
                answer.is("text");
                return found;
            }
            Some("unknown-key") => answer.refused("unknown-key"),
            _ => found += usize::from(answer.is_or_late("text")),
        }
    }
}

/// After a right guess, a wrong one of the same batch is looked up, and no other for a second.
#[test]
fn a_client_that_cancels_its_guesses_finds_no_short_key_sooner_and_delays_no_long_one() {
    let world = World::new()
        .file("a.md", "text")
        .map(format!("[keys]\n{LONG} = '~/a.md'\n{SHORT} = '~/a.md'\n"));
    let mut client = world.client();
    client.load(SHORT).is("text");
    let began = Instant::now();
    // The guesses that cost nothing, so that a mistyped key slows nobody down.
    for guess in 0..16 {
        client.load(&format!("k-{guess}")).refused("unknown-key");
    }
    let (mut found, mut batches) = (0, 0);
    while batches < BATCHES || found == 0 && began.elapsed() < PATIENCE {
        let ids: Vec<_> = (0..BATCH).map(|at| format!("{batches}-{at}")).collect();
        let mut messages = vec![call(&ids[0], SHORT)];
        for (at, id) in ids.iter().enumerate().skip(1) {
            messages.push(call(id, &format!("k-{id}")));
            // Every other guess is cancelled in the write that sends it.
            messages.extend((at % 2 == 0).then(|| cancel(id)));
        }
        send(&mut client, &messages);
        found += found_before_a_long_key(&mut client);
        thread::sleep(SILENCE);
        let cancelled: Vec<_> = ids.iter().map(|id| cancel(id)).collect();
        send(&mut client, &cancelled);
        batches += 1;
    }
    found += found_before_a_long_key(&mut client);
    let seconds = usize::try_from(began.elapsed().as_secs()).unwrap();
    assert!(found > 0, "no guess was looked up any more");
    assert!(found <= seconds + 1, "{found} found in {seconds} s");
    client.end();
}
