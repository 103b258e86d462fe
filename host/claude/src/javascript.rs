//! JSON as JavaScript reads it, in which the client is written.

use serde::de::DeserializeOwned;

/// Parses JSON as JavaScript does, to which half a pair of surrogates is a character: here, U+FFFD.
///
/// # Errors
/// That of the text as it stands.
pub fn of_javascript<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    serde_json::from_str(text)
        .or_else(|error| serde_json::from_str(&without_halves(text)).map_err(|_| error))
}

/// This JSON with `\ufffd` in place of each escape that is half a pair of surrogates: `\ud83d`
/// alone is one. A whole pair, `\ud83d\ude00`, and all other escapes stay.
fn without_halves(json: &str) -> String {
    let mut whole = String::new();
    let mut rest = json;
    while let Some(backslash) = rest.find('\\')
        && let Some((before, escape)) = rest.split_at_checked(backslash)
    {
        // An escape of a unit, as `\ud83d`, has six bytes. Others begin with two.
        let (length, is_half) = match (utf16_unit(escape, 0), utf16_unit(escape, 6)) {
            // A whole pair.
            (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => (12, false),
            // Half of one.
            (Some(0xd800..0xe000), _) => (6, true),
            _ => (2, false),
        };
        let (escaped, behind) = escape.split_at_checked(length).unwrap_or((escape, ""));
        whole += before;
        whole += if is_half { "\\ufffd" } else { escaped };
        rest = behind;
    }
    whole + rest
}

/// The UTF-16 code unit whose escape, such as `\ud83d`, is at this byte of the text.
fn utf16_unit(text: &str, at: usize) -> Option<u16> {
    let escape = text.get(at..at + 6)?;
    u16::from_str_radix(escape.strip_prefix("\\u")?, 16).ok()
}
