//! A text in an answer, sent in pieces straight from where it is.
//!
//! serde_json writes the whole answer before any of it can be sent. For a document of
//! 1 MiB, that was a buffer of 2 MiB.

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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::{place_of_text, take_text};
    use crate::escape::escape;
    use rmcp::model::{
        CallToolResult, ContentBlock, RequestId, ServerJsonRpcMessage, ServerResult,
    };

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
}
