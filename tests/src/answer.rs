//! The answer to one request.

use crate::{Protocol, transcript::Transcript};
use keyhole_core::Refusal;
use serde_json::{Value, json};

/// What the protocol's errors say, each with its code. Clients show the words.
const ERRORS: [(&str, i64); 3] = [
    ("method not found", -32601),
    ("unknown tool", -32602),
    (
        "request _meta is missing or has malformed required fields: \
        io.modelcontextprotocol/protocolVersion, io.modelcontextprotocol/clientCapabilities",
        -32602,
    ),
];

/// An answer. Each check says what it should be, exactly, and fails with the
/// session's transcript.
#[derive(Clone)]
#[must_use]
pub struct Answer {
    pub(crate) message: Value,
    pub(crate) protocol: Protocol,
    pub(crate) transcript: Transcript,
}

impl Answer {
    /// The whole message.
    #[must_use]
    pub fn message(&self) -> &Value {
        &self.message
    }

    /// The document `text`, and nothing else.
    #[track_caller]
    pub fn is(&self, text: &str) {
        self.has(json!({ "content": [{ "type": "text", "text": text }], "isError": false }));
    }

    /// The document `text`, or a refusal for want of time, as a busy machine gives one.
    /// Returns whether it is the document.
    #[track_caller]
    pub fn is_or_late(&self, text: &str) -> bool {
        match self.code() {
            Some("timed-out") => self.refused("timed-out"),
            Some(_) => self.refused("busy"),
            None => self.is(text),
        }
        self.code().is_none()
    }

    /// The document, if it is one.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        let result = &self.message["result"];
        (result["isError"] != true).then(|| result["content"][0]["text"].as_str())?
    }

    /// The code of a refusal, if it is one.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        let result = &self.message["result"];
        (result["isError"] == true).then(|| result["structuredContent"]["code"].as_str())?
    }

    /// The refusal with this code: in the text, for clients that pass on only the
    /// text of an error, and as data.
    #[track_caller]
    pub fn refused(&self, code: &str) {
        let known = Refusal::ALL.iter().find(|known| known.as_str() == code);
        let advice = known
            .unwrap_or_else(|| panic!("{code} is no code"))
            .advice();
        self.has(json!({
            "content": [{ "type": "text", "text": format!("{code}: {advice}") }],
            "isError": true,
            "structuredContent": { "code": code, "message": advice },
        }));
    }

    /// The refusal of arguments that the tool does not take, with this text and no code.
    #[track_caller]
    pub fn refused_arguments(&self, advice: &str) {
        self.has(json!({ "content": [{ "type": "text", "text": advice }], "isError": true }));
    }

    /// The result is this, and what its protocol adds.
    #[track_caller]
    fn has(&self, expected: Value) {
        let mut found = self.result().clone();
        if let Some(fields) = found.as_object_mut() {
            fields.retain(|name, _| !["_meta", "resultType"].contains(&&**name));
        }
        self.check(found == expected, &expected);
    }

    /// The protocol error that begins with these words, and nothing else.
    #[track_caller]
    pub fn error(&self, says: &str) {
        let known = ERRORS.iter().find(|(message, _)| message.starts_with(says));
        let (message, code) = known.unwrap_or_else(|| panic!("nothing says {says}"));
        let error = json!({ "code": code, "message": message });
        let is_alone = self.message.get("result").is_none();
        self.check(is_alone && self.message["error"] == error, &error);
    }

    /// The result, with what its protocol wants in each.
    #[must_use]
    #[track_caller]
    pub fn result(&self) -> &Value {
        let result = &self.message["result"];
        let is_alone = self.message.get("error").is_none();
        self.check(is_alone && result.is_object(), &json!("a result"));
        let added = match self.protocol {
            Protocol::Initialize => json!([null, null]),
            Protocol::Discover => {
                let name = json!({ "name": "keyhole", "version": env!("CARGO_PKG_VERSION") });
                json!(["complete", { "io.modelcontextprotocol/serverInfo": name }])
            }
        };
        self.check(
            json!([result["resultType"], result["_meta"]]) == added,
            &added,
        );
        result
    }

    #[track_caller]
    fn check(&self, holds: bool, expected: &Value) {
        // A document can be long.
        let short = |value: &Value| value.to_string().chars().take(2000).collect::<String>();
        assert!(
            holds,
            "expected {}\ngot {}\n{}",
            short(expected),
            short(&self.message),
            self.transcript
        );
    }
}
