//! The answer to one request.

use crate::{Protocol, transcript::Transcript};
use keyhole_core::Code;
use serde_json::{Value, json};

/// What the protocol's errors say, each with its code. Clients show the words.
const ERRORS: [(&str, i64); 9] = [
    ("not valid JSON", -32700),
    (
        "not a JSON-RPC 2.0 request, notification or response",
        -32600,
    ),
    ("line too long", -32600),
    ("this id is in use", -32600),
    ("method not found", -32601),
    ("params do not have the form that this method takes", -32602),
    ("unknown cursor", -32602),
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
        let result = self.result();
        self.check(self.text() == Some(text), || {
            format!("the document {text:?}")
        });
        let [block] = &result["content"].as_array().expect("content")[..] else {
            self.fail("one block");
        };
        self.check(block["type"] == "text", || "a block of text".into());
        self.check(result["isError"] == false, || "no error".into());
        self.has_only("content isError");
    }

    /// The document, if it is one.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        let result = self.message.get("result")?;
        match result["isError"] == true {
            true => None,
            false => result["content"][0]["text"].as_str(),
        }
    }

    /// The code of a refusal, if it is one.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        let result = self.message.get("result")?;
        (result["isError"] == true)
            .then(|| result["structuredContent"]["code"].as_str())
            .flatten()
    }

    /// The refusal with this code: in the text, for clients that pass on only the
    /// text of an error, and as data.
    #[track_caller]
    pub fn refused(&self, code: &str) {
        let expected = Code::ALL.iter().find(|known| known.as_str() == code);
        let expected = expected.unwrap_or_else(|| panic!("{code} is no code"));
        let result = self.result();
        self.check(self.code() == Some(code), || format!("the refusal {code}"));
        let text = json!([{ "type": "text", "text": format!("{code}: {}", expected.advice()) }]);
        self.check(result["content"] == text, || format!("content: {text}"));
        let data = json!({ "code": code, "message": expected.advice() });
        self.check(result["structuredContent"] == data, || format!("{data}"));
        self.has_only("content isError structuredContent");
    }

    /// The refusal of arguments that the tool does not take, with this text and no code.
    #[track_caller]
    pub fn refused_arguments(&self, advice: &str) {
        let result = self.result();
        self.check(result["isError"] == true, || "an error of the tool".into());
        let text = json!([{ "type": "text", "text": advice }]);
        self.check(result["content"] == text, || format!("content: {text}"));
        self.has_only("content isError");
    }

    /// The result has these fields, and else only what its protocol adds.
    #[track_caller]
    fn has_only(&self, fields: &str) {
        let result = self.result().as_object().expect("an object");
        let added = ["_meta", "resultType"];
        let found = result
            .keys()
            .filter(|field| !added.contains(&field.as_str()));
        let found: Vec<_> = found.map(String::as_str).collect();
        self.check(found.join(" ") == fields, || fields.into());
    }

    /// The protocol error that begins with these words, and nothing else.
    #[track_caller]
    pub fn error(&self, says: &str) {
        let known = ERRORS.iter().find(|(message, _)| message.starts_with(says));
        let (message, code) = known.unwrap_or_else(|| panic!("nothing says {says}"));
        let error = json!({ "code": code, "message": message });
        self.check(
            self.message["error"] == error && self.message.get("result").is_none(),
            || error.to_string(),
        );
    }

    /// The result, with what its protocol wants in each.
    #[must_use]
    #[track_caller]
    pub fn result(&self) -> &Value {
        let result = match self.message.get("result") {
            Some(result) if self.message.get("error").is_none() => result,
            _ => self.fail("a result"),
        };
        let name = json!({ "name": "keyhole", "version": env!("CARGO_PKG_VERSION") });
        let added = match self.protocol {
            Protocol::Initialize => [Value::Null, Value::Null],
            Protocol::Discover => [
                "complete".into(),
                json!({ "io.modelcontextprotocol/serverInfo": name }),
            ],
        };
        let fields = ["resultType", "_meta"].map(|field| result[field].clone());
        self.check(fields == added, || format!("{added:?}"));
        result
    }

    #[track_caller]
    fn check(&self, holds: bool, expected: impl FnOnce() -> String) {
        if !holds {
            self.fail(&expected());
        }
    }

    #[track_caller]
    fn fail(&self, expected: &str) -> ! {
        // A document can be long.
        let short = |text: &str| text.chars().take(2000).collect::<String>();
        let got = short(&self.message.to_string());
        panic!(
            "expected {}\ngot {got}\n{}",
            short(expected),
            self.transcript
        )
    }
}
