//! The client: what it sends, and the answers that it must get.

mod script;

use crate::{
    maps::KEYS,
    sim::{Broken, Sim},
};
use serde_json::{Value, json};

/// One act of the client.
#[derive(Clone, Debug)]
pub enum Act {
    /// It writes these bytes.
    Write(Vec<u8>),
    /// A whole line has been written: the request that is now the server's.
    Asked(usize),
    /// It cancels the request of this id.
    Cancelled(Value),
    /// It waits until this request has an answer.
    Await(usize),
    /// It waits for this many milliseconds.
    Wait(u64),
    /// It waits until all requests have answers.
    AwaitAll,
}

/// What a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The file of a key.
    Call(String),
    /// Any request whose answer is a result, but not a file.
    Result,
    /// Any request whose answer is a protocol error.
    Error,
}

/// One request.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The id. Null if the server cannot know it.
    pub id: Value,
    /// What it asks for.
    pub kind: Kind,
    /// When all of it was written: the clock, and the step.
    pub sent: Option<(u64, u64)>,
    /// The client cancelled it, so that there may be no answer.
    pub cancelled: bool,
}

/// See the module.
pub struct Client {
    /// The acts that are left.
    pub acts: std::collections::VecDeque<Act>,
    /// The requests that were or will be sent.
    pub asked: Vec<Asked>,
    /// The answers: the id, and the requests that it may answer.
    answers: Vec<(Value, Vec<usize>)>,
    /// Part of a line.
    line: Vec<u8>,
    broken: Option<Broken>,
    bound: bool,
    modern: bool,
    ids: i64,
}

impl Client {
    /// Whether a request has no answer yet.
    #[must_use]
    pub fn waits(&self) -> bool {
        self.waits_since(u64::MAX)
    }

    /// Whether a request that was sent before this time has no answer yet.
    #[must_use]
    pub fn waits_since(&self, time: u64) -> bool {
        let due = |index: &usize| {
            let asked = &self.asked[*index];
            asked.sent.is_some_and(|(at, _)| at < time) && !asked.cancelled
        };
        let due: Vec<usize> = (0..self.asked.len()).filter(due).collect();
        !pairs(&due, |request, answer| {
            self.answers
                .get(answer)
                .map(|(_, fits)| fits.contains(&request))
        })
    }

    /// Whether this request may have an answer.
    #[must_use]
    pub fn is_answered(&self, request: usize) -> bool {
        self.answers.iter().any(|(_, fits)| fits.contains(&request))
    }

    /// Notes that all requests with this id may stay without an answer.
    pub fn cancel(&mut self, id: &Value) {
        for asked in self.asked.iter_mut().filter(|asked| asked.id == *id) {
            asked.cancelled |= asked.sent.is_some();
        }
    }

    /// Takes bytes that came.
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
                .chain(&["/home", "/srv", " of a; ", "acme"]);
            for secret in leaks {
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
        // If the client reused an id, an answer may fit several requests: then it must be
        // possible to give each answer a request of its own.
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
}

/// Whether each of these can have a partner of its own. `fits` says whether two go
/// together; None means that there are no more partners.
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
