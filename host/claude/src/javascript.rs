//! JSON as JavaScript reads it, in which the client is written.

use serde::de::DeserializeOwned;

/// Parses JSON as JavaScript does: an escape for half a pair of surrogates, such as `\ud83d`,
/// counts as a character. Here, that is U+FFFD.
///
/// # Errors
/// If the text is not JSON even so: the error of the text before the halves are replaced.
pub fn of_javascript<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    serde_json::from_str(text)
        .or_else(|error| serde_json::from_str(&without_halves(text)).map_err(|_| error))
}

/// This JSON with `\ufffd` in place of each escape for half a pair of surrogates: of
/// `"\ud83d, \n"`, that is `"\ufffd, \n"`. A whole pair, such as `\ud83d\ude00`, stays, and so do
/// all other escapes.
fn without_halves(json: &str) -> String {
    let mut whole = String::new();
    let mut rest = json;
    while let Some(backslash) = rest.find('\\')
        && let Some((before, escape)) = rest.split_at_checked(backslash)
    {
        // An escape such as `\ud83d` has six bytes.
        let (length, is_half) = match (utf16_unit(escape, 0), utf16_unit(escape, 6)) {
            // A whole pair: the first half and then the second.
            (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => (12, false),
            // One half alone.
            (Some(0xd800..0xe000), _) => (6, true),
            // Any other escape: its first two bytes, as `\n` or `\\`, are enough.
            _ => (2, false),
        };
        let (escaped, behind) = escape.split_at_checked(length).unwrap_or((escape, ""));
        whole += before;
        whole += if is_half { "\\ufffd" } else { escaped };
        rest = behind;
    }
    whole + rest
}

/// The UTF-16 code unit whose escape, such as `\ud83d`, begins at this byte of the text. None if no
/// such escape begins there.
fn utf16_unit(text: &str, at: usize) -> Option<u16> {
    let escape = text.get(at..at + 6)?;
    u16::from_str_radix(escape.strip_prefix("\\u")?, 16).ok()
}
