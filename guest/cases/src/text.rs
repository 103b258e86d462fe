//! A text of the table: a string, or parts to join.

use serde::Deserialize;

/// A string, or a list of parts to join, so that the table stays data even if a value
/// is long.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Text {
    Plain(String),
    Joined(Vec<Part>),
}

/// A string, or one repeated.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Part {
    Plain(String),
    Repeated(Repeated),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Repeated {
    text: String,
    times: usize,
}

impl Text {
    /// The text in full.
    pub(crate) fn join(&self) -> String {
        match self {
            Self::Plain(text) => text.clone(),
            Self::Joined(parts) => parts
                .iter()
                .map(|part| match part {
                    Part::Plain(text) => text.clone(),
                    Part::Repeated(Repeated { text, times }) => text.repeat(*times),
                })
                .collect(),
        }
    }

    /// The bytes of the text's hexadecimal digits, two digits each.
    pub(crate) fn unhex(&self) -> Result<Vec<u8>, String> {
        let digits: Vec<u8> = self
            .join()
            .chars()
            .map(|digit| digit.to_digit(16).map(|value| value as u8))
            .collect::<Option<_>>()
            .ok_or("hex holds something else than hexadecimal digits")?;
        let (pairs, rest) = digits.as_chunks::<2>();
        if !rest.is_empty() {
            return Err("hex has half a byte".into());
        }
        Ok(pairs.iter().map(|[high, low]| high << 4 | low).collect())
    }
}
