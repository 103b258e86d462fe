//! A text of the table: a string, or parts to join.

use serde::Deserialize;

/// A text, joined.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "Written")]
pub(crate) struct Text(pub(crate) String);

/// A string, or a list of parts to join, so that the table stays data even if a value
/// is long.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Plain(String),
    Joined(Vec<Part>),
}

/// A string, or one repeated.
#[derive(Deserialize)]
#[serde(untagged)]
enum Part {
    Plain(String),
    Repeated { text: String, times: usize },
}

impl From<Written> for Text {
    fn from(written: Written) -> Self {
        let part = |part| match part {
            Part::Plain(text) => text,
            Part::Repeated { text, times } => text.repeat(times),
        };
        Self(match written {
            Written::Plain(text) => text,
            Written::Joined(parts) => parts.into_iter().map(part).collect(),
        })
    }
}

impl Text {
    /// The bytes of the text's hexadecimal digits, two digits each.
    pub(crate) fn unhex(&self) -> Vec<u8> {
        let pairs = self.0.as_bytes().chunks(2);
        pairs
            .map(|pair| {
                assert_eq!(pair.len(), 2, "hex has half a byte");
                u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()
            })
            .collect()
    }
}
