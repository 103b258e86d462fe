//! Lines that are not valid messages, and lines that barely are.

use super::{Client, DOCUMENT, MARKER, call, initialize, request};
use crate::mcp::line::MAX_LINE_BYTES;
use serde_json::{Value, json};

#[tokio::test(start_paused = true)]
async fn what_is_not_json_is_a_parse_error_and_the_session_goes_on() {
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"ping","x":{}{}}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let mut client = Client::new();
    for line in [
        MARKER.as_bytes(),
        b"{",
        br#"{"jsonrpc":"2.0","id":1,"method":"ping""#,
        br#"{"jsonrpc":"2.0","id":1,"method":"ping"} trailing"#,
        b"[1,2",
        b"\xff\xfe",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"x\":\"\xff\"}",
        br#"{"jsonrpc":"2.0","id":1,"method":"ping","x":"\ud800"}"#,
        deep.as_bytes(),
    ] {
        client.send_bytes(&[line, b"\n"].concat()).await;
        client.error(-32700, Value::Null).await;
    }
    client.initialize().await;
}

#[tokio::test(start_paused = true)]
async fn json_that_is_no_message_is_an_invalid_request_with_its_id_if_usable() {
    let mut client = Client::initialized().await;
    for (message, id) in [
        (json!(1), json!(null)),
        (json!(MARKER), json!(null)),
        (json!([]), json!(null)),
        (json!([call(1, "document")]), json!(null)),
        (json!({}), json!(null)),
        (json!({"id": 7, "method": "ping"}), json!(7)),
        (
            json!({"jsonrpc": "1.0", "id": "a", "method": "ping"}),
            json!("a"),
        ),
        (json!({"jsonrpc": "2.0", "id": 7}), json!(7)),
        (json!({"jsonrpc": "2.0", "id": 7, "method": 8}), json!(7)),
        (
            json!({"jsonrpc": "2.0", "id": null, "method": "ping"}),
            json!(null),
        ),
        (
            json!({"jsonrpc": "2.0", "id": [MARKER], "method": "ping"}),
            json!(null),
        ),
        (
            json!({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}),
            json!(null),
        ),
        (
            json!({"jsonrpc": "2.0", "id": u64::MAX, "method": "ping"}),
            json!(null),
        ),
        (
            json!({"jsonrpc": "2.0", "id": 7, "method": "ping", "result": {}}),
            json!(7),
        ),
        (
            json!({"jsonrpc": "2.0", "method": "ping", "error": {}}),
            json!(null),
        ),
        (
            json!({"jsonrpc": "2.0", "id": 7, "result": {}, "error": {}}),
            json!(7),
        ),
        (json!({"jsonrpc": "2.0", "result": {}}), json!(null)),
        (json!({"id": 7, "result": {}}), json!(7)),
        (json!({"error": {}}), json!(null)),
        (json!({"jsonrpc": "2.0"}), json!(null)),
    ] {
        client.send(message).await;
        client.error(-32600, id).await;
    }
    client.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn malformed_params_of_a_method_that_is_served_are_invalid_params() {
    let mut client = Client::initialized().await;
    for (method, params) in [
        ("initialize", json!({"protocolVersion": MARKER})),
        ("initialize", json!({})),
        ("server/discover", json!([])),
        ("ping", json!(MARKER)),
        ("tools/list", json!([])),
        ("tools/list", json!({"cursor": 5})),
        ("tools/list", json!({"_meta": MARKER})),
        ("tools/call", json!([MARKER])),
        ("tools/call", json!(null)),
        ("tools/call", json!({})),
        ("tools/call", json!({"name": 5})),
        ("tools/list", json!({"unknown": MARKER})),
        (
            "tools/call",
            json!({"name": "load_context", "arguments": {"key": "document"}, "unknown": 5}),
        ),
        (
            "tools/call",
            json!({"name": null, "arguments": {"key": MARKER}}),
        ),
        (
            "tools/call",
            json!({"name": "load_context", "arguments": MARKER}),
        ),
        (
            "tools/call",
            json!({"name": "load_context", "arguments": [MARKER]}),
        ),
        (
            "tools/call",
            json!({"name": "load_context", "arguments": {"key": "document"}, "_meta": 5}),
        ),
    ] {
        client.send(request("x", method, params)).await;
        client.error(-32602, "x").await;
    }
    client
        .send(json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call"}))
        .await;
    client.error(-32602, 5).await;
    assert_eq!(client.begun(), 0);
    client.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn notifications_and_responses_are_never_answered() {
    let mut client = Client::initialized().await;
    for message in [
        json!({"jsonrpc": "2.0", "method": MARKER}),
        json!({"jsonrpc": "2.0", "method": "tools/call", "params": call(1, "document")["params"]}),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}}),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": [MARKER]}),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled"}),
        json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {}}),
        json!({"jsonrpc": "2.0", "id": 1, "result": {}}),
        json!({"jsonrpc": "2.0", "id": 1, "error": 5}),
    ] {
        client.send(message).await;
    }
    client.is_quiet().await;
    assert_eq!(client.begun(), 0);
}

#[tokio::test(start_paused = true)]
async fn blank_lines_are_ignored_and_lines_may_end_in_crlf() {
    let mut client = Client::new();
    let message = initialize("2025-11-25");
    client
        .send_bytes(format!("\n\r\n  \t\n{message}\r\n\r\n").as_bytes())
        .await;
    assert_eq!(client.answer().await["id"], "init");
    client.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn a_last_line_without_a_newline_is_answered() {
    let mut client = Client::initialized().await;
    client
        .send_bytes(call(1, "document").to_string().as_bytes())
        .await;
    let (answers, ended) = client.end().await;
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0]["result"]["content"][0]["text"], DOCUMENT);
    ended.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_broken_last_line_is_answered_even_if_it_is_all_there_is() {
    let mut client = Client::new();
    client.send_bytes(MARKER.as_bytes()).await;
    let (answers, ended) = client.end().await;
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0]["error"]["code"], -32700);
    ended.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_line_of_the_longest_length_is_served_and_one_byte_more_is_not() {
    let mut client = Client::initialized().await;
    let short = call(1, "document").to_string();
    for (length, served) in [
        (MAX_LINE_BYTES, true),
        (MAX_LINE_BYTES + 1, false),
        (5 * MAX_LINE_BYTES, false),
    ] {
        let blanks = " ".repeat(length - short.len());
        client
            .send_bytes(format!("{short}{blanks}\n").as_bytes())
            .await;
        if served {
            assert_eq!(client.answer().await["id"], 1);
        } else {
            client.error(-32600, Value::Null).await;
        }
    }
    client.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn a_last_line_that_is_too_long_is_answered() {
    let mut client = Client::initialized().await;
    client.send_bytes(&vec![b'x'; MAX_LINE_BYTES + 1]).await;
    let (answers, ended) = client.end().await;
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0]["error"]["code"], -32600);
    ended.unwrap();
}
