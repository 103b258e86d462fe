//! `pending.rs` and `transport.rs`: each request gets one answer, and never another's;
//! a cancelled request gets none; a reused id gets its own answer; and the room and the
//! permits of all requests come back.

use crate::{
    host::{
        call::{CallPermit, Content},
        mcp::service::{Answers, run_session},
    },
    run::{Scenario, met},
    shim::{
        Plain, choose,
        clock::{Pace, sleep},
        others_first,
        tokio::{
            sync::{Semaphore, permits_out},
            task::join_all,
        },
    },
};
use serde_json::{Value, json};
use shuttle::future::{block_on, spawn};
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, duplex};

/// How many requests a client sends. The third one has to wait for room.
const REQUESTS: usize = 4;

/// Each request has a key of its own, which its answer repeats. So the test knows whose
/// answer it is, whatever its id.
struct Keys {
    call_permits: Arc<Semaphore>,
    cancelled: Plain<HashSet<String>>,
    asked: Plain<HashSet<String>>,
}

impl Answers for Keys {
    async fn answer(&self, key: &str) -> Content {
        self.asked.lock().insert(key.to_owned());
        let call_permit = Arc::clone(&self.call_permits)
            .acquire_owned()
            .await
            .unwrap();
        if choose(2) == 0 {
            sleep(Duration::from_millis(10)).await;
        }
        Content {
            text: key.to_owned(),
            call_permit: CallPermit(call_permit),
        }
    }

    fn cancelled(&self, key: &str) {
        met("cancelled in time");
        self.cancelled.lock().insert(key.to_owned());
    }
}

/// What the client knows.
#[derive(Default)]
struct Client {
    /// The requests whose answers it waits for, by id.
    waits: HashMap<u64, usize>,
    /// The id of each request.
    ids: HashMap<usize, u64>,
    /// Those that it cancelled.
    cancelled: HashSet<usize>,
    answered: HashSet<usize>,
}

/// A client that uses only two ids, each again as soon as it may: after its answer came,
/// or after the request was cancelled.
fn session() {
    let (to_server, from_client) = duplex(4096);
    // So small that an answer does not fit, and another has to wait for it.
    let (to_client, from_server) = duplex(48);
    let keys = Arc::new(Keys {
        call_permits: Arc::new(Semaphore::new(2)),
        cancelled: Plain::default(),
        asked: Plain::default(),
    });
    let server = spawn(run_session(Arc::clone(&keys), from_client, to_client));
    let client = Arc::new(Plain::new(Client::default()));
    let reader = {
        let (client, keys) = (Arc::clone(&client), Arc::clone(&keys));
        spawn(async move {
            let mut lines = BufReader::new(from_server).lines();
            while let Some(line) = lines.next_line().await.unwrap() {
                others_first();
                is_due(&line, &mut client.lock(), &keys);
            }
        })
    };
    let writer = {
        let client = Arc::clone(&client);
        spawn(async move { write(to_server, &client).await })
    };
    block_on(writer).unwrap();
    let failures = block_on(server).unwrap();
    assert!(failures.is_empty(), "{failures:?}");
    join_all();
    block_on(reader).unwrap();
    let client = client.lock();
    for request in 0..REQUESTS {
        let cancelled = client.cancelled.contains(&request);
        let answered = client.answered.contains(&request);
        met(match (answered, cancelled) {
            (true, false) => "answered",
            (true, true) => "answered although cancelled",
            (false, _) => "not answered",
        });
        assert!(answered || cancelled, "{request} has no answer");
    }
    assert_eq!(permits_out(), 0);
}

async fn write(mut to: tokio::io::DuplexStream, client: &Plain<Client>) {
    for request in 0..REQUESTS {
        let id = loop {
            let id = choose(2) as u64;
            let waits = client.lock().waits.get(&id).copied();
            match waits {
                None => break id,
                Some(other) if choose(2) == 0 => {
                    {
                        let mut client = client.lock();
                        client.waits.remove(&id);
                        client.cancelled.insert(other);
                    }
                    line(&mut to, &cancel(id)).await;
                }
                Some(_) => sleep(Duration::from_millis(5)).await,
            }
        };
        {
            let mut client = client.lock();
            client.waits.insert(id, request);
            client.ids.insert(request, id);
        }
        line(&mut to, &call(id, request)).await;
    }
}

fn call(id: u64, request: usize) -> Value {
    let params = json!({"name": "load_context", "arguments": {"key": request.to_string()}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

fn cancel(id: u64) -> Value {
    let params = json!({"requestId": id});
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
}

async fn line(to: &mut tokio::io::DuplexStream, message: &Value) {
    others_first();
    to.write_all(format!("{message}\n").as_bytes())
        .await
        .unwrap();
}

fn is_due(line: &str, client: &mut Client, keys: &Keys) {
    let answer: Value = serde_json::from_str(line).unwrap();
    let text = answer["result"]["content"][0]["text"].as_str();
    let request: usize = text.unwrap_or_else(|| panic!("{line}")).parse().unwrap();
    let id = answer["id"].as_u64().unwrap();
    assert_eq!(client.ids.get(&request), Some(&id), "another's id: {line}");
    assert!(client.answered.insert(request), "a second answer: {line}");
    let cancelled = keys.cancelled.lock().contains(&request.to_string());
    assert!(!cancelled, "it was cancelled: {line}");
    if client.waits.get(&id) == Some(&request) {
        client.waits.remove(&id);
    }
}

/// The client reads no answer until both requests are cancelled. One answer may be half
/// written by then; the other, which waits for it, is no longer sent.
fn cancelled_behind_another() {
    let (mut to_server, from_client) = duplex(4096);
    let (to_client, from_server) = duplex(48);
    let keys = Arc::new(Keys {
        call_permits: Arc::new(Semaphore::new(2)),
        cancelled: Plain::default(),
        asked: Plain::default(),
    });
    let server = spawn(run_session(Arc::clone(&keys), from_client, to_client));
    block_on(spawn({
        let keys = Arc::clone(&keys);
        async move {
            line(&mut to_server, &call(0, 0)).await;
            line(&mut to_server, &call(1, 1)).await;
            sleep(Duration::from_millis(20)).await;
            line(&mut to_server, &cancel(0)).await;
            line(&mut to_server, &cancel(1)).await;
            // Its answer shows that the server has read what came before.
            line(&mut to_server, &call(2, 2)).await;
            while !keys.asked.lock().contains("2") {
                sleep(Duration::from_millis(1)).await;
            }
        }
    }))
    .unwrap();
    let reader = spawn(async move {
        let mut lines = BufReader::new(from_server).lines();
        let mut of = Vec::new();
        while let Some(line) = lines.next_line().await.unwrap() {
            let answer: Value = serde_json::from_str(&line).unwrap();
            of.push(answer["id"].as_u64().unwrap());
        }
        of
    });
    let failures = block_on(server).unwrap();
    assert!(failures.is_empty(), "{failures:?}");
    join_all();
    let of = block_on(reader).unwrap();
    met(["", "none was written", "one was half written"]
        .get(of.len())
        .unwrap_or(&""));
    assert!(of.ends_with(&[2]) && of.len() <= 2, "{of:?}");
    assert_eq!(permits_out(), 0);
}

pub const BEHIND_ANOTHER: Scenario = Scenario {
    name: "an answer behind another is not sent once it is cancelled",
    pace: Pace::Any,
    play: cancelled_behind_another,
    meets: &["none was written", "one was half written"],
};

#[test]
fn an_answer_behind_another_is_not_sent_once_it_is_cancelled() {
    BEHIND_ANOTHER.holds();
}

pub const SESSION: Scenario = Scenario {
    name: "every request gets one answer and its own",
    pace: Pace::Any,
    play: session,
    meets: &[
        "answered",
        "answered although cancelled",
        "not answered",
        "cancelled in time",
    ],
};

#[test]
fn every_request_gets_one_answer_and_its_own() {
    SESSION.holds();
}

#[test]
fn broken_requests_are_found() {
    for broken in [
        "a cancelled request is answered",
        "the memory of a cancelled request is lost",
        "an id is known by itself, not by a number of ours",
        "an id that was answered is still in use",
    ] {
        SESSION.finds(broken);
    }
    BEHIND_ANOTHER.finds("an answer that waits for another cannot be cancelled");
}
