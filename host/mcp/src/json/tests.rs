#![allow(clippy::unwrap_used, reason = "tests")]

use super::{PIECE, pieces, place_of_text, take_text};
use crate::escape::escape;
use rmcp::model::{CallToolResult, ContentBlock, RequestId, ServerJsonRpcMessage, ServerResult};

fn escaped(text: &str) -> Vec<u8> {
    let mut out = vec![b'"'];
    pieces(text).for_each(|piece| escape(piece, &mut out));
    out.push(b'"');
    out
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
