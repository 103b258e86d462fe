//! How a server starts and ends.

use keyhole_tests::{Protocol, World};
use rustix::process::Signal;
use serde_json::json;

fn world(protocol: Protocol) -> World {
    World::new()
        .speaking(protocol)
        .file("1.md", "one\n".repeat(50_000))
        .map("[keys]\nk-1 = '~/1.md'\n")
}

#[test]
fn calls_under_way_at_the_end_of_input_are_answered() {
    for protocol in Protocol::ALL {
        let world = world(protocol);
        let mut client = world.client();
        let ids: Vec<u64> = (0..8).map(|_| client.call("k-1")).collect();
        client.hang_up();
        for id in ids {
            client.answer(id).is(&"one\n".repeat(50_000));
        }
        client.ends_quietly();
    }
}

#[test]
fn a_call_without_a_last_line_end_is_answered() {
    let world = world(Protocol::Initialize);
    let mut client = world.client();
    let call = json!({
        "jsonrpc": "2.0", "id": 77, "method": "tools/call",
        "params": { "name": "load_context", "arguments": { "key": "k-x" } },
    });
    client.send_bytes(call.to_string().as_bytes());
    client.hang_up();
    client.answer(77).refused("unknown-key");
    client.ends_quietly();
}

#[test]
fn an_input_that_is_empty_from_the_start_is_no_error() {
    let world = world(Protocol::Initialize);
    world.serve().end();
    // And also without any stream that it could read.
    world
        .run(["serve"])
        .exits(0)
        .says("")
        .says_nothing_on_stderr();
}

#[test]
fn sigint_and_sigterm_end_it_in_order() {
    for protocol in Protocol::ALL {
        for signal in [Signal::INT, Signal::TERM] {
            let world = world(protocol);
            let mut client = world.client();
            client.load("k-x").refused("unknown-key");
            client.signal(signal);
            // Its input is still open.
            client.ends_quietly();
        }
    }
}

#[test]
fn a_signal_ends_a_server_that_no_client_has_spoken_to() {
    for signal in [Signal::INT, Signal::TERM] {
        let world = world(Protocol::Initialize);
        let mut client = world.serve();
        // Blank lines are no messages, so it still waits for the first. Its answer to
        // the garbage shows that the signal handlers are in place.
        client.send_line(b"\n\ngarbage");
        client.receive().error(-32700);
        client.signal(signal);
        client.ends_quietly();
    }
}

#[test]
fn a_signal_ends_a_server_in_the_midst_of_calls() {
    for signal in [Signal::INT, Signal::TERM] {
        let world = world(Protocol::Initialize);
        let mut client = world.client();
        // Nobody reads the answers: they fill the pipe and block the server.
        for _ in 0..32 {
            client.call("k-1");
        }
        client.signal(signal);
        let ended = client.ended_with_half_an_answer();
        assert_eq!(ended.exit, Some(0));
        assert_eq!(ended.stderr, "");
    }
}

#[test]
fn a_call_before_the_handshake_is_not_served() {
    let world = world(Protocol::Initialize);
    let mut client = world.serve();
    // The server takes it for a call without a session, which lacks its version.
    client.load("k-1").error(-32602);
    // The server still works after that.
    let _ = client.handshake();
    client.load("k-x").refused("unknown-key");
    client.end();
}

#[test]
fn a_call_that_does_not_say_its_protocol_is_not_served_without_a_session() {
    let world = world(Protocol::Discover);
    let mut client = world.client();
    client.send(&json!({
        "jsonrpc": "2.0", "id": 5, "method": "tools/call",
        "params": { "name": "load_context", "arguments": { "key": "k-1" } },
    }));
    client.answer(5).error(-32602);
    client.end();
}

#[test]
fn a_protocol_that_is_not_known_is_refused_with_those_that_are() {
    let world = world(Protocol::Discover);
    let mut client = world.serve();
    let answer = client.request(
        "tools/call",
        json!({
            "name": "load_context",
            "arguments": { "key": "k-1" },
            "_meta": { "io.modelcontextprotocol/protocolVersion": "2099-01-01" },
        }),
    );
    answer.error(-32022);
    let supported = answer.message()["error"]["data"]["supported"].to_string();
    for protocol in Protocol::ALL {
        assert!(supported.contains(protocol.version()), "{supported}");
    }
    client.end();
}

#[test]
fn a_client_of_another_version_is_offered_one_that_is_known() {
    let world = world(Protocol::Initialize);
    for asked in ["2024-11-05", "2025-03-26", "2025-06-18", "1999-01-01"] {
        let mut client = world.serve();
        let answer = client.request(
            "initialize",
            json!({
                "protocolVersion": asked,
                "capabilities": {},
                "clientInfo": { "name": "keyhole-tests", "version": "0" },
            }),
        );
        let offered = answer.result()["protocolVersion"].as_str().unwrap();
        assert!(
            offered == asked || asked == "1999-01-01",
            "{asked}: {offered}"
        );
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client.load("k-x").refused("unknown-key");
        client.end();
    }
}

#[test]
fn a_server_starts_with_a_map_that_cannot_be_used() {
    for map in ["", "[keys]\nk-1 = '~/1.md'\nk-1 = '~/2.md'\n", "nonsense"] {
        let world = World::new().map(map);
        let mut client = world.client();
        let code = if map.is_empty() {
            "unknown-key"
        } else {
            "map-invalid"
        };
        client.load("k-1").refused(code);
        client.end();
    }
}
