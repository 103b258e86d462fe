//! What holds in any session, whatever a client sends. The fuzz target `session` includes this
//! file, so it needs nothing of this crate.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The fields of a request.
const FIELDS: [&str; 3] = ["\"id\"", "\"method\"", "\"params\""];

/// The answers in `got`, which is all that the client got for the lines that it sent. It must be
/// JSON-RPC, one message a line, and at most one for each line that the client sent.
pub(crate) fn answers(sent: &[u8], got: &[u8]) -> Vec<Value> {
    let got = str::from_utf8(got).expect("UTF-8");
    assert!(got.is_empty() || got.ends_with('\n'), "half a line");
    let mut answers = Vec::new();
    for line in got.lines() {
        let answer: Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(answer["jsonrpc"], "2.0");
        assert!(answer.get("result").is_some() != answer.get("error").is_some());
        answers.push(answer);
    }
    assert!(answers.len() <= lines(sent).count());
    answers
}

/// The ids, as JSON, of the valid requests in `sent` that have no answer among these.
pub(crate) fn unanswered(sent: &[u8], answers: &[Value]) -> BTreeSet<String> {
    // An id that several requests have needs as many answers.
    let mut missing = BTreeMap::<String, usize>::new();
    for id in lines(sent).filter_map(id_of_request) {
        *missing.entry(id).or_default() += 1;
    }
    for answer in answers {
        if let Some(count) = missing.get_mut(&answer["id"].to_string()) {
            *count = count.saturating_sub(1);
        }
    }
    missing.retain(|_, count| *count > 0);
    missing.into_keys().collect()
}

fn lines(sent: &[u8]) -> impl Iterator<Item = &[u8]> {
    sent.split(|byte| *byte == b'\n')
}

/// The id, as JSON, if the line is a valid request.
fn id_of_request(line: &[u8]) -> Option<String> {
    let message: Value = serde_json::from_slice(line).ok()?;
    let text = String::from_utf8_lossy(line);
    // A message with one of these twice is ignored.
    if FIELDS.iter().any(|field| text.matches(field).count() > 1) {
        return None;
    }
    let id = &message["id"];
    let is_request = message["jsonrpc"] == "2.0"
        && message["method"].is_string()
        && (id.is_i64() || id.is_string())
        && message.get("result").is_none()
        && message.get("error").is_none();
    is_request.then(|| id.to_string())
}
