use super::{around_text, escape, find_special};
use proptest::prelude::*;
use rmcp::model::{CallToolResult, ContentBlock, RequestId, ServerJsonRpcMessage, ServerResult};

/// An answer to the request `id` is written as serde_json does.
fn is_right(id: &str, text: &str) {
    let answer = |text| {
        let result = CallToolResult::success(vec![ContentBlock::text(text)]);
        let result = ServerResult::CallToolResult(result);
        ServerJsonRpcMessage::response(result, RequestId::String(id.into()))
    };
    let right = serde_json::to_vec(&answer(text)).unwrap();
    let (mut line, rest) = around_text(&answer("")).unwrap();
    escape(text.as_bytes(), &mut line);
    line.extend(rest);
    assert_eq!(line, right);
}

#[test]
fn a_text_is_put_where_it_was_taken_whatever_the_request_is_called() {
    for id in ["a", "\"text\":\"\"", "\\\"text\":\"\"", "{\"text\":\"\"}"] {
        for text in ["", "t", "\"text\":\"\""] {
            is_right(id, text);
        }
    }
}

#[test]
fn each_byte_at_each_place_is_escaped_as_serde_json_does() {
    for byte in 0..=0x7f_u8 {
        for before in 0..20 {
            let [accents, letters] = ["é".repeat(before / 2), "a".repeat(before % 2)];
            let text = format!("{accents}{letters}{}é\u{7f}{accents}", byte as char);
            is_right("a", &(text + &"b".repeat(before)));
        }
        let special = find_special([byte; 8]).is_some();
        assert_eq!(special, byte < 0x20 || byte == b'"' || byte == b'\\');
    }
}

proptest! {
    #[test]
    fn any_text_is_escaped_as_serde_json_does(text in any::<String>()) {
        is_right("a", &text);
    }
}
