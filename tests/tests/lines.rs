//! Input that is not a request: garbage, long lines, odd ends.

use keyhole_tests::{Protocol, World};

/// The longest line that the server reads, in bytes, with its newline.
const LONGEST: usize = 1 << 20;

fn world() -> World {
    World::new().with_k1("one")
}

/// Blank lines, garbage, JSON that is no message, requests without a usable id, notifications, known or not,
/// and answers to questions that nobody asked.
const IGNORED: [&[u8]; 46] = [
    b"",
    b"\r",
    b"  \t",
    b"garbage",
    b"{",
    b"[1,2",
    b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"",
    b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"} trailing",
    b"{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":1,\"method\":\"ping\"}",
    b"{}{}",
    b"\x00\x01\x02",
    b"\xff\xfe",
    b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}",
    b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"x\":\"\xff\"}",
    b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\\ud800\"}",
    b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
    b"GET / HTTP/1.1",
    b"Content-Length: 42",
    b"1",
    b"null",
    b"\"ping\"",
    b"[]",
    b"{}",
    br#"[1,"ping",{}]"#,
    br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
    br#"{"jsonrpc":"2.0"}"#,
    br#"{"jsonrpc":"2.0","id":7}"#,
    br#"{"jsonrpc":"2.0","id":7,"method":8}"#,
    br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
    br#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
    br#"{"jsonrpc":"2.0","id":["x"],"method":"ping"}"#,
    br#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
    br#"{"jsonrpc":"2.0","id":18446744073709551615,"method":"ping"}"#,
    br#"{"jsonrpc":"2.0","method":"notifications/whatever","params":[1]}"#,
    br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    br#"{"jsonrpc":"2.0","method":"notifications/progress","params":{}}"#,
    br#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
    br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":["x"]}"#,
    br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}"#,
    br#"{"jsonrpc":"2.0","method":"tools/call","params":{}}"#,
    br#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"load_context","arguments":{"key":"k-1"}}}"#,
    br#"{"jsonrpc":"2.0","id":99,"result":{}}"#,
    br#"{"jsonrpc":"2.0","id":99,"error":{"code":1,"message":"x"}}"#,
    br#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"x"}}"#,
    br#"{"jsonrpc":"2.0","error":{"code":1,"message":"x"}}"#,
    br#"{"error":{}}"#,
];

#[test]
fn what_is_no_request_is_ignored_and_survived_also_before_the_handshake() {
    for protocol in Protocol::ALL {
        let world = world().speaking(protocol);
        let mut client = world.serve();
        let ignores = |client: &mut keyhole_tests::Session| {
            for line in IGNORED {
                client.send_line(line);
            }
        };
        ignores(&mut client);
        let _ = client.handshake();
        ignores(&mut client);
        // A client of Windows.
        let call = protocol.call(9, "k-1");
        client.send_bytes(format!("\r\n  {call} \r\n\r\n").as_bytes());
        client.answer(9).is("one");
        client.end();
    }
}

#[test]
fn a_request_of_the_longest_line_is_served_and_a_longer_one_is_ignored() {
    for (world, mut client) in World::in_each_protocol(world) {
        let call = |padding: usize| {
            let mut call = world.protocol().call(9, "k-1");
            call["params"]["_meta"]["padding"] = "x".repeat(padding).into();
            call.to_string()
        };
        let longest = LONGEST - 1 - call(0).len();
        client.send_line(call(longest + 1).as_bytes());
        client.send_line(call(longest).as_bytes());
        client.answer(9).is("one");
        client.end();
    }
}
