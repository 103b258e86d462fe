//! Input that is not a request: garbage, long lines, odd ends.

use keyhole_tests::{Protocol, Session, World};
use serde_json::Value;

/// The longest line that the server reads, in bytes.
const LONGEST: usize = 1 << 20;

const NOT_JSON: &str = "not valid JSON";
const NO_MESSAGE: &str = "not a JSON-RPC 2.0";

fn world() -> World {
    World::new().with_k1("one")
}

#[test]
fn what_is_not_json_is_answered_and_survived() {
    let lines: [&[u8]; 14] = [
        b"garbage",
        b"{",
        b"[1,2",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"} trailing",
        b"{}{}",
        b"\x00\x01\x02",
        b"\xff\xfe",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"x\":\"\xff\"}",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\\ud800\"}",
        b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
        b"GET / HTTP/1.1",
        b"Content-Length: 42",
    ];
    for (_world, mut client) in World::in_each_protocol(world) {
        for line in lines {
            client.send_line(line);
            let answer = client.receive();
            answer.error(NOT_JSON);
            assert_eq!(answer.message().get("id"), Some(&Value::Null));
            client.load("k-1").is("one");
        }
        client.end();
    }
}

/// Lines of JSON that are no message, after the id that the answer has.
const NO_MESSAGES: &str = r#"
null 1
null null
null true
null "ping"
null []
null {}
null [{"jsonrpc":"2.0","id":1,"method":"ping"}]
7    {"id":7,"method":"ping"}
"x"  {"jsonrpc":"1.0","id":"x","method":"ping"}
null {"jsonrpc":"2.0"}
"x"  {"jsonrpc":"2.0","id":"x"}
7    {"jsonrpc":"2.0","id":7,"method":8}
null {"jsonrpc":"2.0","id":null,"method":"ping"}
null {"jsonrpc":"2.0","id":{},"method":"ping"}
null {"jsonrpc":"2.0","id":["x"],"method":"ping"}
null {"jsonrpc":"2.0","id":1.5,"method":"ping"}
null {"jsonrpc":"2.0","id":18446744073709551615,"method":"ping"}
7    {"jsonrpc":"2.0","id":7,"method":"ping","result":{}}
null {"jsonrpc":"2.0","method":"ping","error":{}}
7    {"jsonrpc":"2.0","id":7,"result":{},"error":{}}
null {"jsonrpc":"2.0","result":{}}
7    {"id":7,"result":{}}
null {"error":{}}
"#;

#[test]
fn json_that_is_no_message_gets_its_id_back_if_that_can_be_used() {
    for (_world, mut client) in World::in_each_protocol(world) {
        for row in NO_MESSAGES.trim().lines() {
            let (id, line) = row.split_once(' ').unwrap();
            client.send_line(line.as_bytes());
            let answer = client.receive();
            answer.error(NO_MESSAGE);
            let id: Value = serde_json::from_str(id).unwrap();
            assert_eq!(answer.message().get("id"), Some(&id), "{row}");
        }
        client.load("k-1").is("one");
        client.end();
    }
}

#[test]
fn a_request_of_the_longest_line_is_served() {
    for (world, mut client) in World::in_each_protocol(world) {
        let call = |padding: usize| {
            let mut call = world.protocol().call(9, "k-1");
            call["params"]["_meta"]["padding"] = "x".repeat(padding).into();
            call.to_string()
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
        let world = world().speaking(protocol);
        let mut client = world.serve();
        client.send_bytes(b"\n\r\n   \n\t\n");
        let _ = client.handshake();
        let call = protocol.call(9, "k-1");
        client.send_bytes(format!("\r\n\n\n  {call} \r\n\r\n").as_bytes());
        client.answer(9).is("one");
        client.end();
    }
}

#[test]
fn a_last_line_without_an_end_is_answered() {
    let call = Protocol::Discover.call(7, "k-1").to_string();
    for (last, says) in [
        (call, None),
        ("garbage".to_owned(), Some(NOT_JSON)),
        ("x".repeat(LONGEST + 1), Some("line too long")),
    ] {
        let world = world().speaking(Protocol::Discover);
        let mut client = world.serve();
        client.send_bytes(last.as_bytes());
        client.hang_up();
        match says {
            Some(says) => client.receive().error(says),
            None => client.answer(7).is("one"),
        }
        client.ends_quietly();
    }
}

#[test]
fn what_asks_for_nothing_is_not_answered_and_garbage_is_survived_before_the_handshake_too() {
    for protocol in Protocol::ALL {
        let world = world().speaking(protocol);
        let mut client = world.serve();
        client.send_line(b"garbage");
        client.receive().error(NOT_JSON);
        client.send_line(b"[]");
        client.receive().error(NO_MESSAGE);
        ignores(&mut client);
        let _ = client.handshake();
        ignores(&mut client);
        client.load("k-1").is("one");
        client.end();
    }
}

/// Notifications, known or not, and answers to questions that nobody asked.
fn ignores(client: &mut Session) {
    for line in [
        r#"{"jsonrpc":"2.0","method":"notifications/whatever","params":[1]}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":["x"]}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}"#,
        r#"{"jsonrpc":"2.0","method":"tools/call","params":{}}"#,
        r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"load_context","arguments":{"key":"k-1"}}}"#,
        r#"{"jsonrpc":"2.0","id":99,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":99,"error":{"code":1,"message":"x"}}"#,
        r#"{"jsonrpc":"2.0","id":99,"error":5}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"x"}}"#,
        r#"{"jsonrpc":"2.0","error":{"code":1,"message":"x"}}"#,
    ] {
        client.send_line(line.as_bytes());
    }
}
