//! Input that is not a request: garbage, long lines, odd ends.

use keyhole_tests::{Protocol, World};

/// The longest line that the server reads, in bytes, with its newline.
const LONGEST: usize = 1 << 20;

fn world() -> World {
    World::new().with_k1("one")
}

/// Blank lines, garbage, JSON that is no message, requests without a usable id, notifications,
/// known or not, and answers to questions that nobody asked. `\x` and two digits are a byte.
fn ignored() -> impl Iterator<Item = Vec<u8>> {
    include_str!("ignored.txt").lines().map(|line| {
        let mut parts = line.split("\\x").map(str::as_bytes);
        let mut bytes = parts.next().unwrap().to_vec();
        for part in parts {
            let digits = str::from_utf8(&part[..2]).unwrap();
            bytes.push(u8::from_str_radix(digits, 16).unwrap());
            bytes.extend(&part[2..]);
        }
        bytes
    })
}

#[test]
fn what_is_no_request_is_ignored_and_survived_also_before_the_handshake() {
    for protocol in Protocol::ALL {
        let world = world().speaking(protocol);
        let mut client = world.serve();
        let ignores = |client: &mut keyhole_tests::Session| {
            ignored().for_each(|line| client.send_line(&line));
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

/// A client would wait for its answer.
#[test]
fn a_request_in_which_a_byte_is_no_text_is_answered() {
    for (world, mut client) in World::in_each_protocol(world) {
        let call = world.protocol().call(9, "k-1").to_string();
        let (begin, end) = call.split_at(call.find("k-1").unwrap());
        client.send_line(&[begin.as_bytes(), b"\xff", end.as_bytes()].concat());
        client.answer(9).refused("unknown-key");
        client.send_line(b"{\"jsonrpc\":\"2.0\",\"id\":10,\"method\":\"\xff\"}");
        let answer = client.answer(10).message().to_string();
        assert!(answer.contains("\"error\""), "{answer}");
        client.end();
    }
}

/// Whatever it is, and also if no 64 bits hold it, or no text of Rust.
#[test]
fn an_answer_has_the_id_as_the_client_wrote_it() {
    let world = world();
    let mut client = world.client();
    for id in [
        "1.5",
        "1e999",
        "18446744073709551616",
        "-0",
        "true",
        r#""\ud800\u00e9""#,
    ] {
        client.send_line(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#).as_bytes());
        let whole = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
        let line = client.receive_line().unwrap();
        assert_eq!(String::from_utf8_lossy(&line).trim_end(), whole);
    }
    client.end();
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
