use super::{KEY, took_at_most, world};
use keyhole_tests::Protocol;

#[test]
fn a_line_of_a_hundred_million_bytes_is_survived_and_takes_no_memory() {
    let world = world("text");
    let mut session = world.client();
    let chunk = vec![b'['; 1 << 20];
    for _ in 0..100 {
        session.send_bytes(&chunk);
    }
    session.send_bytes(b"\n");
    session.load(KEY).is("text");
    took_at_most(&session, 40);
    session.end();
}

#[test]
fn brackets_within_brackets_by_the_hundred_thousand_are_survived() {
    let world = world("text");
    let mut session = world.client();
    let nested = |open: &str, close: &str| open.repeat(100_000) + &close.repeat(100_000);
    let inside = |field: &str, value: &str| {
        format!("{{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"{field}\":{value}}}")
    };
    for line in [
        nested("[", ""),
        nested("[", "]"),
        nested("{\"a\":", ""),
        nested("{\"a\":", "}"),
        inside("x", &nested("[", "]")),
        inside(
            "params",
            &format!("{}1{}", "{\"a\":".repeat(10_000), "}".repeat(10_000)),
        ),
    ] {
        session.send_line(line.as_bytes());
        session.load(KEY).is("text");
    }
    took_at_most(&session, 40);
    session.end();
}

/// Small objects in each other: a tree of them takes some 400 times the memory of its text.
#[test]
fn what_the_server_does_not_use_of_a_request_takes_no_memory_and_it_is_served() {
    let world = world("text");
    let mut session = world.serve();
    let nested = format!("{}0{}", "{\"a\":".repeat(100), "}".repeat(100));
    let fields = (0..1600).map(|number| format!("\"{number}\":{nested}"));
    let deep = format!("{{{}}}", fields.collect::<Vec<_>>().join(","));
    let hello = Protocol::hello("2025-06-18").to_string();
    for (given, full) in [
        (
            "\"capabilities\":{",
            format!("\"capabilities\":{{\"experimental\":{deep}"),
        ),
        (
            "\"clientInfo\":{",
            format!("\"clientInfo\":{{\"x\":{deep},"),
        ),
        ("{", format!("{{\"_meta\":{{\"x\":{deep}}},")),
    ] {
        let hello = hello.replacen(given, &full, 1);
        let line = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":77,\"method\":\"initialize\",\"params\":{hello}}}"
        );
        session.send_line(line.as_bytes());
        assert_eq!(session.receive().result()["protocolVersion"], "2025-06-18");
    }
    for id in 80..90 {
        let line = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"load_context\",\
             \"arguments\":{{\"key\":\"{KEY}\"}},\"_meta\":{{\"x\":{deep}}}}}}}"
        );
        session.send_line(line.as_bytes());
        session.answer(id).is_or_late("text");
    }
    took_at_most(&session, 40);
    session.end();
}
