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

#[cfg(test)]
mod tests;
