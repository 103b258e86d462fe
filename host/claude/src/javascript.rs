//! JSON as JavaScript reads it, in which the client is written.

use serde::de::DeserializeOwned;

/// Parses JSON as JavaScript does, to which half a pair of surrogates is a character: here, U+FFFD.
/// The error is that of the text as it stands.
pub fn of_javascript<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    serde_json::from_str(text).or_else(|error| {
        let (mut whole, mut rest) = (String::new(), text);
        while let Some((before, escape)) = rest.find('\\').and_then(|at| rest.split_at_checked(at))
        {
            let unit = |at| {
                let digits = escape.get(at..at + 6)?.strip_prefix("\\u")?;
                u16::from_str_radix(digits, 16).ok()
            };
            let (size, is_half) = match (unit(0), unit(6)) {
                (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => (12, false),
                (Some(0xd800..0xe000), _) => (6, true),
                _ => (2, false),
            };
            let (escaped, behind) = escape.split_at_checked(size).unwrap_or((escape, ""));
            whole = whole + before + if is_half { "\\ufffd" } else { escaped };
            rest = behind;
        }
        serde_json::from_str(&(whole + rest)).map_err(|_| error)
    })
}
