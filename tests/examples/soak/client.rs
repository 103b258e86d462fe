use crate::{
    figures::Figures,
    user::{DOCUMENTS, REFUSED, SAVED, UNKNOWN, VERSIONS, text},
};
use keyhole_tests::{Answer, Session, World};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, HashMap},
    sync::atomic::{AtomicU64, Ordering},
};

/// Requests in flight: more than may run, fewer than may wait.
const IN_FLIGHT: usize = 32;

/// A client, and the server that it started.
pub(crate) struct Client {
    session: Session,
    /// Decides what to ask next: the state of a xorshift generator.
    random: u64,
    in_flight: HashMap<u64, Asked>,
    /// Cancelled calls: each may have been answered before its cancellation.
    cancelled: HashMap<u64, Asked>,
    /// Whether the answer to an unknown key is due. The server delays it for up to a
    /// second, so there is only one at a time.
    guessing: bool,
    counts: BTreeMap<&'static str, u64>,
    texts: HashMap<&'static str, String>,
}

/// What was asked, and so which answer must come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    Document(&'static str),
    Saved,
    Refused(&'static str),
    Unknown,
    Ping,
    Tools,
    BadParams,
}

impl Client {
    /// Starts a server, and a client that has shaken hands.
    pub(crate) fn start(world: &World, number: u64) -> Self {
        Self {
            session: world.client(),
            random: 0x9e37_79b9_7f4a_7c15 ^ number,
            in_flight: HashMap::new(),
            cancelled: HashMap::new(),
            guessing: false,
            counts: BTreeMap::new(),
            texts: DOCUMENTS
                .iter()
                .map(|(key, length)| (*key, text(key, *length)))
                .collect(),
        }
    }

    /// Makes every place of the server, and every thread's allocator, hold the largest
    /// document a few times, because each keeps some memory for later.
    pub(crate) fn warm_up(&mut self) {
        let (largest, _) = DOCUMENTS[3];
        let mut left = 40 * IN_FLIGHT;
        while left > 0 || !self.in_flight.is_empty() {
            if left > 0 && self.in_flight.len() < IN_FLIGHT {
                left -= 1;
                let id = self.session.call(largest);
                self.in_flight.insert(id, Asked::Document(largest));
            } else {
                self.take_answer();
            }
        }
    }

    /// Makes this many requests, checks each answer, and counts it in `done`.
    pub(crate) fn calls(&mut self, count: u64, done: &AtomicU64) {
        let mut left = count;
        while left > 0 || !self.in_flight.is_empty() {
            if left > 0 && self.in_flight.len() < IN_FLIGHT {
                left -= 1;
                self.ask();
                done.fetch_add(1, Ordering::Relaxed);
            } else {
                self.take_answer();
            }
        }
    }

    /// The server's process.
    pub(crate) fn server(&self) -> u32 {
        self.session.process_id()
    }

    /// What the server uses of the system now.
    pub(crate) fn figures(&self) -> Option<Figures> {
        Figures::of(self.session.process_id())
    }

    /// How often each kind of answer came.
    pub(crate) fn counts(&self) -> &BTreeMap<&'static str, u64> {
        &self.counts
    }

    /// Ends the session, which must end in order.
    pub(crate) fn end(mut self) {
        self.session.hang_up();
        // Cancelled calls that were answered before the cancellation.
        while let Some(answer) = self.session.receive_unless_ended() {
            self.check(&answer);
        }
        self.session.ends_quietly();
    }

    /// Asks for something, at random.
    fn ask(&mut self) {
        let choice = self.random() % 1000;
        let asked = match choice {
            0..700 => Asked::Document(DOCUMENTS[choice as usize % 2].0),
            700..780 => Asked::Document(DOCUMENTS[2].0),
            780..785 => Asked::Document(DOCUMENTS[3].0),
            785..880 => Asked::Saved,
            880..940 => Asked::Refused(REFUSED[choice as usize % REFUSED.len()].0),
            940..960 => Asked::Ping,
            960..970 => Asked::Tools,
            970..980 => Asked::BadParams,
            980..990 if !self.guessing => Asked::Unknown,
            980.. => Asked::Document(DOCUMENTS[1].0),
        };
        let (method, params) = match asked {
            Asked::Document(key) | Asked::Refused(key) => ("tools/call", call(key)),
            Asked::Saved => ("tools/call", call(SAVED)),
            Asked::Unknown => ("tools/call", call(UNKNOWN)),
            Asked::Ping => ("ping", json!({})),
            Asked::Tools => ("tools/list", json!({})),
            Asked::BadParams => ("tools/call", json!({ "name": "load_context" })),
        };
        self.guessing |= asked == Asked::Unknown;
        let id = self.session.ask(method, params);
        if choice >= 990 {
            self.session.send(&json!({
                "jsonrpc": "2.0", "method": "notifications/cancelled",
                "params": { "requestId": id },
            }));
            *self.counts.entry("cancelled calls").or_default() += 1;
            self.cancelled.insert(id, asked);
        } else {
            self.in_flight.insert(id, asked);
        }
    }

    fn take_answer(&mut self) {
        let answer = self.session.receive();
        self.check(&answer);
    }

    /// Asserts that this is the right answer to a request that has none yet.
    fn check(&mut self, answer: &Answer) {
        let (document, code, message) = (answer.text(), answer.code(), answer.message());
        let (id, result) = (
            message["id"].as_u64().expect("an id of ours"),
            &message["result"],
        );
        let asked = match self.in_flight.remove(&id) {
            Some(asked) => asked,
            None => self.cancelled.remove(&id).expect("no second answer"),
        };
        let (right, name) = match asked {
            Asked::Document(key) => (document == Some(&self.texts[key]), "documents"),
            Asked::Saved => (
                document.is_some_and(|text| VERSIONS.contains(&text)),
                "documents that are being saved",
            ),
            Asked::Refused(key) => {
                let expected = REFUSED.iter().find(|(refused, _)| *refused == key);
                (code == expected.map(|(_, code)| *code), "refused files")
            }
            Asked::Unknown => {
                self.guessing = false;
                (code == Some("unknown-key"), "unknown keys")
            }
            Asked::Ping => (*result == json!({}), "pings"),
            Asked::Tools => (
                result["tools"][0]["name"] == "load_context",
                "lists of tools",
            ),
            Asked::BadParams => (message["error"]["code"] == -32602, "bad requests"),
        };
        let shown = || message.to_string().chars().take(500).collect::<String>();
        assert!(right, "{}", shown());
        *self.counts.entry(name).or_default() += 1;
    }

    fn random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }
}

fn call(key: &str) -> Value {
    json!({ "name": "load_context", "arguments": { "key": key } })
}
