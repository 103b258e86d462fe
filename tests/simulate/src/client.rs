//! The client: what it sends, and what it must get for it.

use crate::{
    maps::{AGENTS, BINDING, KEYS},
    rng::Rng,
    sim::{Broken, Sim},
};
use serde_json::{Value, json};

/// One thing that the client does.
#[derive(Clone, Debug)]
pub enum Act {
    /// It writes these bytes.
    Write(Vec<u8>),
    /// A whole line has been written: the request that is now the server's.
    Asked(usize),
    /// It cancels the request of this id.
    Cancelled(Value),
    /// It waits until this request is answered.
    Await(usize),
    /// It waits for so many milliseconds.
    Wait(u64),
    /// It waits until all is answered.
    AwaitAll,
}

/// What a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The file of a key.
    Call(String),
    /// Anything that is answered with a result that is not a file.
    Result,
    /// Anything that is refused as a protocol error.
    Error,
}

/// One request.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Null, if the server cannot know it.
    pub id: Value,
    /// What for.
    pub kind: Kind,
    /// When all of it had been written: the clock, and the step.
    pub sent: Option<(u64, u64)>,
    /// It was cancelled, so that there may be no answer.
    pub cancelled: bool,
}

/// See the module.
pub struct Client {
    /// What is still to be done.
    pub acts: std::collections::VecDeque<Act>,
    /// What was or will be asked.
    pub asked: Vec<Asked>,
    /// What came: the id, and which requests it may answer.
    answers: Vec<(Value, Vec<usize>)>,
    /// Part of a line.
    line: Vec<u8>,
    broken: Option<Broken>,
    bound: bool,
    modern: bool,
    ids: i64,
}

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

    /// Whether something was asked that is not answered.
    #[must_use]
    pub fn waits(&self) -> bool {
        let due = |index: &usize| {
            let asked = &self.asked[*index];
            asked.sent.is_some() && !asked.cancelled
        };
        let due: Vec<usize> = (0..self.asked.len()).filter(due).collect();
        !pairs(&due, |request, answer| {
            self.answers
                .get(answer)
                .map(|(_, fits)| fits.contains(&request))
        })
    }

    /// Whether this request may have been answered.
    #[must_use]
    pub fn is_answered(&self, request: usize) -> bool {
        self.answers.iter().any(|(_, fits)| fits.contains(&request))
    }

    /// All that was sent for this id may stay without an answer.
    pub fn cancel(&mut self, id: &Value) {
        for asked in self.asked.iter_mut().filter(|asked| asked.id == *id) {
            asked.cancelled |= asked.sent.is_some();
        }
    }

    /// Bytes that came.
    pub fn take(&mut self, sim: &mut Sim, bytes: &[u8], blocked: u64) {
        for byte in bytes {
            match byte {
                b'\n' => {
                    let line = std::mem::take(&mut self.line);
                    self.answer(sim, &line, blocked);
                }
                byte => self.line.push(*byte),
            }
        }
    }

    /// Whether the last line that came is whole.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.line.is_empty()
    }

    fn answer(&mut self, sim: &mut Sim, line: &[u8], blocked: u64) {
        sim.note(("answer", line), |_| {
            format!("client: gets {}", String::from_utf8_lossy(line))
        });
        let Ok(mut answer) = serde_json::from_slice::<Value>(line) else {
            return sim.violation(|| "a line is no JSON".into());
        };
        match self.broken {
            Some(Broken::Silent) if sim.rng.once_in(30) => return,
            Some(Broken::WrongId) => {
                let others: Vec<_> = self
                    .asked
                    .iter()
                    .filter(|asked| asked.sent.is_some() && asked.id != answer["id"])
                    .collect();
                if !others.is_empty() && sim.rng.once_in(8) {
                    answer["id"] = others[sim.rng.below(others.len())].id.clone();
                }
            }
            Some(Broken::Leaks) if answer["result"]["isError"] == true => {
                answer["result"]["content"][0]["text"] = json!(format!("no such key: {}", KEYS[0]));
            }
            _ => {}
        }
        self.judge(sim, &answer, blocked);
        if self.broken == Some(Broken::Twice) && sim.rng.once_in(30) {
            self.judge(sim, &answer, blocked);
        }
    }

    fn judge(&mut self, sim: &mut Sim, answer: &Value, blocked: u64) {
        let has = |name| answer.get(name).is_some();
        if answer["jsonrpc"] != "2.0" || has("result") == has("error") || has("method") {
            return sim.violation(|| format!("this is no answer of JSON-RPC: {answer}"));
        }
        let text = answer["result"]["content"][0]["text"].as_str();
        let refused = answer["result"]["isError"] == true;
        if refused || has("error") {
            let told = answer.to_string();
            let leaks = KEYS[..5]
                .iter()
                .chain(&["/home", "/srv", " of a; ", "acme", BINDING]);
            // A binding's name is a word that may stand anywhere.
            for secret in leaks.filter(|secret| **secret != BINDING) {
                if told.contains(secret) {
                    return sim.violation(|| format!("an error tells {secret}: {told}"));
                }
            }
        }
        let error = answer["error"]["code"].as_i64();
        let in_use = answer["error"]["message"] == "this id is in use";
        let given = |key: &str, from: u64| {
            let mut given = sim.given.iter();
            given.any(|(k, t, at)| k == key && Some(&**t) == text && *at >= from)
        };
        let fits = |asked: &Asked| {
            let Some((_, from)) = asked.sent else {
                return false;
            };
            let kind = match &asked.kind {
                _ if in_use => true,
                Kind::Call(_) if refused => {
                    let code = answer["result"]["structuredContent"]["code"].as_str();
                    keyhole::Code::ALL
                        .iter()
                        .any(|known| Some(known.as_str()) == code)
                }
                Kind::Call(key) => text.is_some() && given(key, from),
                Kind::Result => has("result") && text.is_none(),
                Kind::Error => error.is_some(),
            };
            asked.id == answer["id"] && kind
        };
        // With ids that are used again, several may fit: then it must be possible that
        // each answer is another request's.
        let fits: Vec<usize> = (0..self.asked.len())
            .filter(|index| fits(&self.asked[*index]))
            .collect();
        let sent = fits.iter().filter_map(|index| self.asked[*index].sent);
        let sent = sent.map(|(at, _)| at).max();
        self.answers.push((answer["id"].clone(), fits));
        let of_id: Vec<usize> = (0..self.answers.len())
            .filter(|index| self.answers[*index].0 == answer["id"])
            .collect();
        let possible = pairs(&of_id, |answer, request| {
            (request < self.asked.len()).then(|| self.answers[answer].1.contains(&request))
        });
        if !possible {
            return sim.violation(|| format!("this answers no request: {answer}"));
        }
        let took = sim.world.disk.clock - sent.unwrap_or(0);
        if took > crate::host::LONGEST + blocked {
            sim.violation(|| format!("this took {} ms: {answer}", took / 1_000_000));
        }
    }

    /// The agent that a server may be for.
    #[must_use]
    pub fn agent(rng: &mut Rng) -> Option<&'static str> {
        rng.once_in(3).then_some(AGENTS[0])
    }
}

/// Whether each of these can have another partner of its own. `fits` tells whether two
/// go together; none: there are no more partners.
fn pairs(ones: &[usize], fits: impl Fn(usize, usize) -> Option<bool>) -> bool {
    fn find(
        one: usize,
        fits: &impl Fn(usize, usize) -> Option<bool>,
        seen: &mut Vec<usize>,
        taken: &mut Vec<(usize, usize)>,
    ) -> bool {
        for partner in 0.. {
            match fits(one, partner) {
                None => return false,
                Some(true) if !seen.contains(&partner) => {}
                Some(_) => continue,
            }
            seen.push(partner);
            let by = taken.iter().position(|(_, taken)| *taken == partner);
            if by.is_none_or(|by| find(taken[by].0, fits, seen, taken)) {
                taken.retain(|(_, taken)| *taken != partner);
                taken.push((one, partner));
                return true;
            }
        }
        false
    }
    let mut taken = Vec::new();
    ones.iter()
        .all(|one| find(*one, &fits, &mut Vec::new(), &mut taken))
}
