//! Input that is not a request: garbage, long lines, odd ends.

use keyhole_tests::{Protocol, Session, World};
use serde_json::{Value, json};

/// The longest line that the server reads, in bytes.
const LONGEST: usize = 1 << 20;

fn world(protocol: Protocol) -> World {
    World::new()
        .speaking(protocol)
        .file("1.md", "one")
        .map("[keys]\nk-1 = '~/1.md'\n")
}

/// The server answers each of `lines` with an error, and the session goes on.
fn survives(code: i64, lines: &[&[u8]]) {
    for protocol in Protocol::ALL {
        let world = world(protocol);
        let mut client = world.client();
        for line in lines {
            client.send_line(line);
            let answer = client.receive();
            answer.error(code);
            assert_eq!(answer.message()["id"], Value::Null);
            client.load("k-1").is("one");
        }
        client.end();
    }
}

#[test]
fn what_is_not_json_is_answered_and_survived() {
    survives(
        -32700,
        &[
            b"garbage",
            b"{",
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"",
            b"{}{}",
            b"\x00\x01\x02",
            b"\xff\xfe",
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}",
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\\ud800\"}",
            b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
            b"GET / HTTP/1.1",
            b"Content-Length: 42",
        ],
    );
}

#[test]
fn json_that_is_nested_too_deep_is_answered_and_survived() {
    survives(-32700, &["[".repeat(100_000).as_bytes()]);
    let nested = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{}1{}}}",
        "{\"a\":".repeat(10_000),
        "}".repeat(10_000)
    );
    survives(-32700, &[nested.as_bytes()]);
}

#[test]
fn json_that_is_no_message_is_answered_and_survived() {
    survives(
        -32600,
        &[
            b"1",
            b"null",
            b"true",
            b"\"ping\"",
            b"[]",
            b"{}",
            b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]",
            b"{\"jsonrpc\":\"2.0\"}",
            b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"tools/list\"}",
            b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"tools/list\"}",
            b"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"tools/list\"}",
        ],
    );
}

#[test]
fn a_message_with_an_id_that_is_wrong_gets_its_id_back() {
    for protocol in Protocol::ALL {
        let world = world(protocol);
        let mut client = world.client();
        for line in [
            json!({ "id": "x", "method": "tools/list" }),
            json!({ "jsonrpc": "1.0", "id": "x", "method": "tools/list" }),
            json!({ "jsonrpc": "2.0", "id": "x" }),
            json!({ "jsonrpc": "2.0", "id": "x", "method": 7 }),
            json!({ "jsonrpc": "2.0", "id": "x", "method": "tools/list", "result": {} }),
        ] {
            client.send(&line);
            let answer = client.receive();
            answer.error(-32600);
            assert_eq!(answer.message()["id"], "x");
        }
        client.end();
    }
}

#[test]
fn a_line_that_is_too_long_is_answered_and_survived() {
    survives(-32600, &["x".repeat(LONGEST + 1).as_bytes()]);
    survives(-32600, &["x".repeat(40 * LONGEST).as_bytes()]);
}

#[test]
fn a_request_of_the_longest_line_is_served() {
    for protocol in Protocol::ALL {
        let world = world(protocol);
        let mut client = world.client();
        let call = |padding: usize| {
            let params = protocol.params(json!({
                "name": "load_context",
                "arguments": { "key": "k-1" },
                "_meta": { "padding": "x".repeat(padding) },
            }));
            json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": params })
                .to_string()
        };
        let longest = call(LONGEST - call(0).len());
        assert_eq!(longest.len(), LONGEST);
        client.send_line(longest.as_bytes());
        client.answer(9).is("one");
        client.end();
    }
}

#[test]
fn blank_lines_and_carriage_returns_do_not_matter() {
    for protocol in Protocol::ALL {
        let world = world(protocol);
        let mut client = world.serve();
        client.send_bytes(b"\n\r\n   \n\t\n");
        let _ = client.handshake();
        client.send_bytes(b"\r\n\n\n");
        let params = protocol.params(json!({
            "name": "load_context", "arguments": { "key": "k-1" },
        }));
        let call = json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": params });
        client.send_bytes(format!("  {call} \r\n\r\n").as_bytes());
        client.answer(9).is("one");
        client.end();
    }
}

#[test]
fn a_request_in_small_pieces_is_one_request() {
    let world = world(Protocol::Initialize);
    let mut client = world.client();
    let call = json!({
        "jsonrpc": "2.0", "id": 9, "method": "tools/call",
        "params": { "name": "load_context", "arguments": { "key": "k-1" } },
    });
    for byte in format!("{call}\n").as_bytes() {
        client.send_bytes(&[*byte]);
    }
    client.answer(9).is("one");
    client.end();
}

#[test]
fn garbage_before_the_handshake_is_answered_and_survived() {
    for protocol in Protocol::ALL {
        let world = world(protocol);
        let mut client = world.serve();
        client.send_line(b"garbage");
        client.receive().error(-32700);
        client.send_line(b"[]");
        client.receive().error(-32600);
        ignores(&mut client);
        let _ = client.handshake();
        client.load("k-1").is("one");
        client.end();
    }
}

#[test]
fn what_asks_for_nothing_is_not_answered() {
    for protocol in Protocol::ALL {
        let world = world(protocol);
        let mut client = world.client();
        ignores(&mut client);
        client.load("k-1").is("one");
        client.end();
    }
}

/// Notifications, known or not, and answers to questions that nobody asked.
fn ignores(client: &mut Session) {
    for message in [
        json!({ "jsonrpc": "2.0", "method": "notifications/whatever" }),
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled" }),
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 99 } }),
        json!({ "jsonrpc": "2.0", "method": "tools/call", "params": {} }),
        json!({ "jsonrpc": "2.0", "id": 99, "result": {} }),
        json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -1, "message": "x" } }),
    ] {
        client.send(&message);
    }
}
