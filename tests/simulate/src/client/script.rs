//! What a client will do, from the seed.

use super::{Act, Asked, Client, Kind};
use crate::{
    maps::{AGENTS, KEYS},
    rng::Rng,
    sim::Broken,
};
use serde_json::{Value, json};

impl Client {
    /// A session's script.
    #[must_use]
    pub fn new(rng: &mut Rng, bound: bool, broken: Option<Broken>) -> Self {
        let mut client = Self {
            acts: std::collections::VecDeque::new(),
            asked: Vec::new(),
            answers: Vec::new(),
            line: Vec::new(),
            broken,
            bound,
            modern: rng.once_in(2),
            ids: 0,
        };
        if client.modern {
            if rng.once_in(2) {
                client.request(rng, "server/discover", json!({}), Kind::Result, None);
            }
        } else {
            let params = json!({
                "protocolVersion": rng.of(&["2025-11-25", "2025-06-18", "2024-11-05"]),
                "capabilities": {},
                "clientInfo": {"name": "simulated", "version": "1"},
            });
            client.request(rng, "initialize", params, Kind::Result, None);
            client.acts.push_back(Act::Await(0));
            let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            client.write(rng, &format!("{ready}\n"));
        }
        for _ in 0..3 + rng.below(16) {
            client.one(rng);
        }
        if !rng.once_in(4) {
            client.acts.push_back(Act::AwaitAll);
        }
        client
    }

    fn write(&mut self, rng: &mut Rng, text: &str) {
        let bytes = text.as_bytes();
        match rng.once_in(3) && bytes.len() > 1 {
            true => {
                let (a, b) = bytes.split_at(1 + rng.below(bytes.len() - 1));
                self.acts.push_back(Act::Write(a.to_vec()));
                if rng.once_in(3) {
                    self.acts.push_back(Act::Wait(rng.of(&[1, 30, 700])));
                }
                self.acts.push_back(Act::Write(b.to_vec()));
            }
            false => self.acts.push_back(Act::Write(bytes.to_vec())),
        }
    }

    fn request(
        &mut self,
        rng: &mut Rng,
        method: &str,
        mut params: Value,
        kind: Kind,
        id: Option<Value>,
    ) {
        self.ids += 1;
        let id = id.unwrap_or_else(|| match rng.once_in(4) {
            true => json!(format!("id-{}", self.ids)),
            false => json!(self.ids),
        });
        if self.modern {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.ask(rng, &format!("{message}\n"), id, kind);
    }

    fn ask(&mut self, rng: &mut Rng, line: &str, id: Value, kind: Kind) {
        self.asked.push(Asked {
            id,
            kind,
            sent: None,
            cancelled: false,
        });
        self.write(rng, line);
        self.acts.push_back(Act::Asked(self.asked.len() - 1));
    }

    fn call(&mut self, rng: &mut Rng, id: Option<Value>) {
        let key = match rng.below(12) {
            0 => format!("k-{:016x}", rng.any()),
            1 => rng.of(&["x", "abc", "no key\u{e9}"]).to_owned(),
            2..6 => KEYS[0].to_owned(),
            _ => rng.of(&KEYS).to_owned(),
        };
        let (arguments, kind) = match self.bound {
            true => (json!({}), Kind::Call(KEYS[0].to_owned())),
            false => (json!({"key": key}), Kind::Call(key)),
        };
        let params = json!({"name": "load_context", "arguments": arguments});
        self.request(rng, "tools/call", params, kind, id);
    }

    fn one(&mut self, rng: &mut Rng) {
        match rng.below(24) {
            0 => self.request(rng, "tools/list", json!({}), Kind::Result, None),
            1 => match self.modern {
                true => self.request(rng, "ping", json!({}), Kind::Error, None),
                false => self.request(rng, "ping", json!({}), Kind::Result, None),
            },
            2 => self.request(rng, "prompts/list", json!({}), Kind::Error, None),
            3 => {
                let params = json!({"name": "load_context", "arguments": {"path": "/etc/passwd"}});
                self.request(rng, "tools/call", params, Kind::Error, None);
            }
            4 => {
                let line = rng.of(&["{\"jsonrpc\":\"2.0\",\n", "garbage\n", "[]\n", "\u{7f}\n"]);
                self.ask(rng, line, Value::Null, Kind::Error);
            }
            5 => {
                let line = rng.of(&[
                    "\n",
                    "  \r\n",
                    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/nothing\"}\n",
                    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n",
                ]);
                self.write(rng, line);
            }
            6 if rng.once_in(12) => {
                let line = format!("{}\n", "x".repeat((1 << 20) + 1));
                self.ask(rng, &line, Value::Null, Kind::Error);
            }
            6..9 if !self.asked.is_empty() => {
                let id = self.asked[rng.below(self.asked.len())].id.clone();
                if id.is_null() || self.asked[0].id == id && !self.modern {
                    return;
                }
                let params = json!({"requestId": id, "reason": "no longer wanted"});
                let cancel = json!({
                    "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params
                });
                self.acts.push_back(Act::Cancelled(id));
                self.write(rng, &format!("{cancel}\n"));
            }
            9 | 10 if !self.asked.is_empty() => {
                let id = self.asked[rng.below(self.asked.len())].id.clone();
                if !id.is_null() {
                    self.call(rng, Some(id));
                }
            }
            11..14 => self
                .acts
                .push_back(Act::Wait(rng.of(&[1, 10, 50, 250, 1100, 3000]))),
            14 => self.acts.push_back(Act::AwaitAll),
            _ => self.call(rng, None),
        }
    }

    /// The agent that a server may be for.
    #[must_use]
    pub fn agent(rng: &mut Rng) -> Option<&'static str> {
        rng.once_in(3).then_some(AGENTS[0])
    }
}
