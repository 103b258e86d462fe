//! A text in an answer, escaped for JSON straight from where it is.
//!
//! serde_json looks at each byte separately, and writes the whole answer before any of
//! it can be sent. For a document of 1 MiB that was half of the host's work, and a
//! buffer of 2 MiB.

use rmcp::model::{ContentBlock, ServerJsonRpcMessage, ServerResult};

/// How an answer writes an empty text. It occurs nowhere else: inside a JSON string, a
/// quote has a backslash before it.
const EMPTY_TEXT: &[u8] = br#""text":"""#;

/// This many bytes of a text are escaped before they are written.
pub(super) const PIECE: usize = 128 << 10;

/// Takes the text out of an answer that has one, so that nothing of it remains in the
/// answer.
pub(super) fn take_text(message: &mut ServerJsonRpcMessage) -> Option<String> {
    let ServerJsonRpcMessage::Response(response) = message else {
        return None;
    };
    let ServerResult::CallToolResult(result) = &mut response.result else {
        return None;
    };
    match result.content.as_mut_slice() {
        [ContentBlock::Text(content)] => Some(std::mem::take(&mut content.text)),
        _ => None,
    }
}

/// The position in `line` where the text that was taken out of this answer belongs.
pub(super) fn place_of_text(line: &[u8]) -> Option<usize> {
    let found = line
        .windows(EMPTY_TEXT.len())
        .position(|window| window == EMPTY_TEXT)?;
    Some(found + EMPTY_TEXT.len() - 1)
}

/// The text in pieces, to be escaped one after another.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = &[u8]> {
    // A piece may end within a character: escaping works on bytes again.
    text.as_bytes().chunks(PIECE)
}

/// Appends `text` to `out` as the inside of a JSON string: exactly the bytes that
/// serde_json writes.
///
/// It copies eight bytes at a time, and takes back those behind a byte that must be
/// escaped. So nothing calls `memcpy` for the few bytes between two of them: musl's is
/// slow to begin, and took half of the time of a document of 1 MiB.
pub(super) fn escape(text: &[u8], out: &mut Vec<u8>) {
    // Room for a few escaped quotes; with more of them it grows.
    out.reserve(text.len() + text.len() / 8);
    let mut left = text;
    while let Some((word, behind)) = left.split_first_chunk::<WORD>() {
        out.extend_from_slice(word);
        let Some(at) = find_special(*word) else {
            left = behind;
            continue;
        };
        out.truncate(out.len() - WORD + at);
        let Some((byte, behind)) = left.get(at..).and_then(<[u8]>::split_first) else {
            break;
        };
        escape_byte(*byte, out);
        left = behind;
    }
    for byte in left {
        escape_byte(*byte, out);
    }
}

/// Appends one byte, escaped if it must be.
fn escape_byte(byte: u8, out: &mut Vec<u8>) {
    let short = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0c => b'f',
        b'\r' => b'r',
        ..0x20 => {
            let digit = b"0123456789abcdef"
                .get(usize::from(byte & 15))
                .unwrap_or(&b'0');
            out.extend_from_slice(&[b'\\', b'u', b'0', b'0', b'0' + (byte >> 4), *digit]);
            return;
        }
        _ => {
            out.push(byte);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

/// How many bytes are looked at together.
const WORD: usize = 8;

/// Where the first byte is that must be escaped: a control character, a quote, a
/// backslash.
fn find_special(word: [u8; WORD]) -> Option<usize> {
    const ONES: u64 = u64::from_le_bytes([0x01; WORD]);
    const HIGHS: u64 = u64::from_le_bytes([0x80; WORD]);
    // Sets a byte's high bit if it is one of them. A borrow can wrongly set only
    // higher bits, so the lowest bit that is set is right.
    let word = u64::from_le_bytes(word);
    let is_zero = |word: u64| word.wrapping_sub(ONES) & !word;
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    let special = control
        | is_zero(word ^ (ONES * u64::from(b'"')))
        | is_zero(word ^ (ONES * u64::from(b'\\')));
    match special & HIGHS {
        0 => None,
        special => Some(special.trailing_zeros() as usize / 8),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::{PIECE, escape, find_special, pieces, place_of_text, take_text};
    use proptest::prelude::*;
    use rmcp::model::{
        CallToolResult, ContentBlock, RequestId, ServerJsonRpcMessage, ServerResult,
    };

    fn escaped(text: &str) -> Vec<u8> {
        let mut out = vec![b'"'];
        pieces(text).for_each(|piece| escape(piece, &mut out));
        out.push(b'"');
        out
    }

    #[test]
    fn each_byte_at_each_place_is_escaped_as_serde_json_does() {
        for byte in 0..=0x7f_u8 {
            for before in 0..20 {
                let text = format!(
                    "{}{}é\u{7f}{}",
                    "é".repeat(before / 2),
                    "a".repeat(before % 2),
                    byte as char
                );
                let text = text + &"b".repeat(before);
                assert_eq!(escaped(&text), serde_json::to_vec(&text).unwrap());
            }
            let special = find_special([byte; 8]).is_some();
            assert_eq!(special, byte < 0x20 || byte == b'"' || byte == b'\\');
        }
    }

    #[test]
    fn a_text_of_many_pieces_is_whole_wherever_they_end() {
        for shift in 0..4 {
            let text = "a".repeat(shift) + &"€\"🔑\n".repeat(PIECE / 3);
            assert!(pieces(&text).count() > 2);
            assert_eq!(escaped(&text), serde_json::to_vec(&text).unwrap());
        }
    }

    #[test]
    fn a_text_is_put_where_it_was_taken_whatever_the_request_is_called() {
        for id in ["a", "\"text\":\"\"", "\\\"text\":\"\"", "{\"text\":\"\"}"] {
            for text in ["", "t", "\"text\":\"\""] {
                let answer = |text: &str| {
                    let result = CallToolResult::success(vec![ContentBlock::text(text)]);
                    ServerJsonRpcMessage::response(
                        ServerResult::CallToolResult(result),
                        RequestId::String(id.into()),
                    )
                };
                let mut message = answer(text);
                assert_eq!(take_text(&mut message).unwrap(), text);
                let mut line = serde_json::to_vec(&message).unwrap();
                let at = place_of_text(&line).unwrap();
                let tail = line.split_off(at);
                escape(text.as_bytes(), &mut line);
                line.extend(tail);
                assert_eq!(line, serde_json::to_vec(&answer(text)).unwrap());
            }
        }
    }

    proptest! {
        #[test]
        fn any_text_is_escaped_as_serde_json_does(text in any::<String>()) {
            prop_assert_eq!(escaped(&text), serde_json::to_vec(&text).unwrap());
        }
    }
}
