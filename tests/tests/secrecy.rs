//! Neither a refusal nor standard error contains a key, a path, a content or a count. Of
//! every code, [`crate::codes`] tests it.

use crate::codes::KEY;
use keyhole_tests::{MARKER, Protocol, Session, World};
use serde_json::{Value, json};

/// Sets every variable that makes Rust programs print more.
pub(crate) fn talkative(world: World) -> World {
    world
        .env("RUST_LOG", "trace")
        .env("RUST_BACKTRACE", "full")
        .env("RUST_LIB_BACKTRACE", "1")
        .env("WASMTIME_LOG", "trace")
        .env("WASMTIME_BACKTRACE_DETAILS", "1")
        .env("DEBUG", "1")
}

/// `text` does not contain the marker in any form.
#[track_caller]
pub(crate) fn conceals(text: &str) {
    let text = text.to_lowercase();
    let parts = "7f3a9c55aa01beef keyhole-hunter /home .config tmp".split(' ');
    for told in parts.chain([MARKER]) {
        assert!(!text.contains(told), "{told} in {text}");
    }
}

/// Each way to start one.
const SERVERS: [&[&str]; 4] = [
    &[],
    &["--bind", "document"],
    &["--require-ticket"],
    &["--bind", "document", "--key-env", "CATALOG_KEY"],
];

/// What the server says in a session in which it serves nothing, and how it ends.
fn exchange(mut client: Session) -> Vec<String> {
    let mut said = vec![client.handshake().message().to_string()];
    let call = |arguments: Value| json!({ "name": "load_context", "arguments": arguments });
    for (method, params) in [
        ("tools/list", json!({})),
        ("tools/call", json!({ "name": KEY, "arguments": {} })),
        ("tools/call", call(json!({ KEY: KEY }))),
        ("tools/call", call(json!({ "key": [KEY] }))),
        ("tools/call", call(json!(KEY))),
        ("tools/call", call(json!({ "key": "k-other" }))),
        ("tools/call", json!([KEY])),
        ("tools/list", json!({ "cursor": KEY })),
        ("resources/read", json!({ "uri": KEY })),
        (KEY, json!({ KEY: KEY })),
    ] {
        said.push(client.request(method, params).message().to_string());
    }
    client.send_line(format!("{{\"{KEY}\"").as_bytes());
    client.send_line(format!("{{\"jsonrpc\":\"2.0\",\"id\":\"{KEY}\"}}").as_bytes());
    client.end();
    for line in &said {
        conceals(line);
    }
    said
}

#[test]
fn what_was_sent_does_not_come_back_and_nothing_depends_on_how_many_keys_there_are() {
    for protocol in Protocol::ALL {
        for arguments in SERVERS {
            let exchange = |keys: &str, bindings: &str| {
                let world = talkative(World::new().speaking(protocol)).plugin_data();
                let world = world.arguments(arguments).env("CATALOG_KEY", KEY);
                let bound = "[bindings]\ndocument.path = '~/hunter2.md'\n";
                exchange(
                    world
                        .map(format!("[keys]\n{keys}{bound}{bindings}"))
                        .serve(),
                )
            };
            let many = |name: &str| -> String {
                (0..500)
                    .map(|n| format!("{name}-{n:032}.path = '~/hunter2/{n}.md'\n"))
                    .collect()
            };
            assert_eq!(exchange("", ""), exchange(&many("k"), &many("b")));
        }
    }
}

#[test]
fn of_a_call_that_is_served_standard_error_says_nothing() {
    let content = format!("# {MARKER}\n");
    talkative(World::new().with_k1(&content))
        .load("k-1")
        .is(&content);
}
