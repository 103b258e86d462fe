#![allow(clippy::unwrap_used, reason = "tests")]

use super::{place_of_text, take_text};
use crate::escape::escape;
use rmcp::model::{CallToolResult, ContentBlock, RequestId, ServerJsonRpcMessage, ServerResult};

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
