use super::{KEY, took_at_most, world};
use serde_json::json;

#[test]
fn a_line_of_a_hundred_million_bytes_is_answered_and_takes_no_memory() {
    let world = world("text");
    let mut session = world.client();
    let chunk = vec![b'['; 1 << 20];
    for _ in 0..100 {
        session.send_bytes(&chunk);
    }
    session.send_bytes(b"\n");
    session.receive().error("line too long");
    session.load(KEY).is("text");
    took_at_most(&session, 40);
    session.end();
}

#[test]
fn brackets_within_brackets_by_the_hundred_thousand_are_answered() {
    let world = world("text");
    let mut session = world.client();
    let nested = |open: &str, close: &str| open.repeat(100_000) + &close.repeat(100_000);
    let inside = |field: &str, value: &str| {
        format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"{field}\":{value}}}")
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
        session.receive().error("not valid JSON");
        session.load(KEY).is("text");
    }
    took_at_most(&session, 40);
    session.end();
}

/// The line that needs the most memory to parse: small objects.
#[test]
fn requests_full_of_small_values_take_bounded_memory_and_are_served() {
    let world = world("text");
    let mut session = world.client();
    let values = vec![json!({}); 340_000];
    let ids: Vec<u64> = (0..10)
        .map(|_| {
            session.ask(
                "tools/call",
                json!({
                    "name": "load_context",
                    "arguments": { "key": KEY },
                    "_meta": { "values": &values },
                }),
            )
        })
        .collect();
    for id in ids {
        if !session.answer(id).is_or_late("text") {
            session.load_at_last(KEY).is("text");
        }
    }
    took_at_most(&session, 300);
    session.end();
}
