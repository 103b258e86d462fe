use super::{KEY, still_serves, tells_nothing, took_at_most, world};
use keyhole_tests::Protocol;
use serde_json::{Value, json};

const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;

/// Brackets within brackets.
fn deep(open: &str, close: &str, depth: usize) -> Vec<u8> {
    format!("{}{}", open.repeat(depth), close.repeat(depth)).into_bytes()
}

#[test]
fn each_line_that_is_no_request_is_answered_once_and_the_next_is_served() {
    let bad: Vec<(Vec<u8>, i64)> = vec![
        (b"hunter2".to_vec(), PARSE_ERROR),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":".to_vec(),
            PARSE_ERROR,
        ),
        (b"{} {}".to_vec(), PARSE_ERROR),
        (b"\0".to_vec(), PARSE_ERROR),
        (b"\xef\xbb\xbf{}".to_vec(), PARSE_ERROR),
        (b"{\"method\":\"\xff\xfe\"}".to_vec(), PARSE_ERROR),
        (b"{\"method\":\"\\ud800\"}".to_vec(), PARSE_ERROR),
        (b"{\"method\":\"a\x01b\"}".to_vec(), PARSE_ERROR),
        (b"{\"method\":\"a\x1b[31m\"}".to_vec(), PARSE_ERROR),
        (b"[1e999999]".to_vec(), PARSE_ERROR),
        (deep("[", "]", 100_000), PARSE_ERROR),
        (deep("{\"a\":", "}", 100_000), PARSE_ERROR),
        (deep("[", "", 500_000), PARSE_ERROR),
        (b"null".to_vec(), INVALID_REQUEST),
        (b"42".to_vec(), INVALID_REQUEST),
        (b"\"hunter2\"".to_vec(), INVALID_REQUEST),
        (b"[]".to_vec(), INVALID_REQUEST),
        (
            b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]".to_vec(),
            INVALID_REQUEST,
        ),
        (b"{}".to_vec(), INVALID_REQUEST),
        (
            b"{\"jsonrpc\":\"1.0\",\"id\":null,\"method\":\"ping\"}".to_vec(),
            INVALID_REQUEST,
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"hunter2\"}".to_vec(),
            INVALID_REQUEST,
        ),
    ];
    for protocol in Protocol::ALL {
        let world = world("text").speaking(protocol);
        let mut session = world.client();
        for (line, code) in &bad {
            session.send_line(line);
            let answer = session.receive();
            answer.error(*code);
            assert_eq!(answer.message()["id"], Value::Null);
            tells_nothing(answer.message());
            still_serves(&mut session, "text");
        }
        took_at_most(&session, 40);
        session.end();
    }
}

#[test]
fn a_line_of_a_hundred_million_bytes_is_answered_and_takes_no_memory() {
    let world = world("text");
    let mut session = world.client();
    let chunk = vec![b'['; 1 << 20];
    for _ in 0..100 {
        session.send_bytes(&chunk);
    }
    session.send_bytes(b"\n");
    session.receive().error(INVALID_REQUEST);
    still_serves(&mut session, "text");
    took_at_most(&session, 40);
    session.end();
}

#[test]
fn a_huge_or_odd_key_is_an_unknown_key_and_nothing_of_it_comes_back() {
    let world = world("text");
    let mut session = world.client();
    for key in [
        String::new(),
        "hunter2".repeat(128),
        "hunter2".repeat(100_000),
        "hunter2\0".to_owned(),
        "hunter2\u{1b}[31m\r\n".to_owned(),
        "\u{202e}hunter2".to_owned(),
        format!("{KEY} "),
        format!("{KEY}\n"),
        KEY.replace('k', "\u{212a}"),
        KEY.to_uppercase(),
    ] {
        let answer = session.load(&key);
        answer.refused("unknown-key");
        tells_nothing(answer.message());
    }
    still_serves(&mut session, "text");
    took_at_most(&session, 40);
    session.end();
}

#[test]
fn params_of_another_form_are_refused_with_the_request_s_id() {
    let world = world("text");
    let mut session = world.client();
    for params in [
        json!([]),
        json!("hunter2"),
        json!({ "name": "load_context" }),
        json!({ "name": "hunter2", "arguments": { "key": KEY } }),
        json!({ "name": "load_context", "arguments": { "key": KEY, "path": "hunter2" } }),
        json!({ "name": "load_context", "arguments": { "key": [KEY] } }),
        json!({ "name": "load_context", "arguments": { "key": { "hunter2": 1 } } }),
        json!({ "name": ["load_context"], "arguments": { "key": KEY } }),
        json!({ "name": "load_context", "arguments": { "key": KEY }, "_meta": "hunter2" }),
    ] {
        let answer = session.request("tools/call", params);
        answer.error(-32602);
        tells_nothing(answer.message());
    }
    still_serves(&mut session, "text");
    session.end();
}

#[test]
fn an_id_in_use_is_refused_and_its_first_request_answered() {
    // Large enough that the answers wait for a reader.
    let text = "text ".repeat(200_000);
    let world = world(&text);
    let mut session = world.serve();
    let id = session.begin();
    let _ = session.answer(id);
    let call = |id: u64| {
        json!({
            "jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": { "name": "load_context", "arguments": { "key": KEY } },
        })
    };
    // In one write, so that the second is there before the first is answered.
    let lines = format!("{}\n{}\n{}\n", call(100), call(100), call(101));
    session.send_bytes(lines.as_bytes());
    let mut documents = 0;
    let mut refusals = 0;
    for _ in 0..3 {
        let answer = session.receive();
        match answer.text() {
            Some(document) => {
                assert!(document == text);
                documents += 1;
            }
            None => {
                answer.error(INVALID_REQUEST);
                assert_eq!(answer.message()["id"], 100);
                refusals += 1;
            }
        }
    }
    assert_eq!((documents, refusals), (2, 1));
    // It is free again.
    session.send(&call(100));
    assert!(session.receive().text() == Some(&text));
    session.end();
}
