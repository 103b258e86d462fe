//! Requests that are not quite right.

use keyhole_tests::{Protocol, World};
use serde_json::json;

fn world(protocol: Protocol) -> World {
    World::new()
        .speaking(protocol)
        .file("1.md", "one")
        .map("[keys]\nk-1 = '~/1.md'\n")
}

#[test]
fn a_call_with_other_arguments_than_one_key_is_no_call() {
    for protocol in Protocol::ALL {
        let world = world(protocol);
        let mut client = world.client();
        for arguments in [
            json!({}),
            json!(null),
            json!([]),
            json!("k-1"),
            json!(["k-1"]),
            json!({ "key": null }),
            json!({ "key": 1 }),
            json!({ "key": true }),
            json!({ "key": ["k-1"] }),
            json!({ "key": { "key": "k-1" } }),
            json!({ "Key": "k-1" }),
            json!({ "key": "k-1", "path": "/etc/passwd" }),
            json!({ "key": "k-1", "max_bytes": 1 }),
            json!({ "key": "k-1", "": "" }),
        ] {
            let call = json!({ "name": "load_context", "arguments": arguments });
            client.request("tools/call", call).error(-32602);
        }
        client.load("k-1").is("one");
        client.end();
    }
}

#[test]
fn a_call_for_another_tool_is_no_call() {
    for protocol in Protocol::ALL {
        let world = world(protocol);
        let mut client = world.client();
        for name in [
            json!("load_context2"),
            json!("Load_context"),
            json!(" load_context"),
            json!("list_keys"),
            json!(""),
            json!(null),
            json!(7),
        ] {
            let call = json!({ "name": name, "arguments": { "key": "k-1" } });
            client.request("tools/call", call).error(-32602);
        }
        client
            .request("tools/call", json!({ "arguments": { "key": "k-1" } }))
            .error(-32602);
        client.end();
    }
}

#[test]
fn a_call_whose_params_have_another_form_is_no_call() {
    for protocol in Protocol::ALL {
        let world = world(protocol);
        let mut client = world.client();
        for params in [json!([]), json!("x"), json!(7), json!({ "_meta": 7 })] {
            for method in ["tools/call", "tools/list"] {
                client.request(method, params.clone()).error(-32602);
            }
        }
        client
            .request("tools/list", json!({ "cursor": "next" }))
            .error(-32602);
        client.load("k-1").is("one");
        client.end();
    }
}

#[test]
fn an_id_that_is_in_use_is_refused_and_the_first_call_answered() {
    for protocol in Protocol::ALL {
        let world = world(protocol).file("2.md", "two\n".repeat(1 << 18));
        world.write_map("[keys]\nk-2 = '~/2.md'\n");
        let mut client = world.client();
        let params = protocol.params(json!({
            "name": "load_context", "arguments": { "key": "k-2" },
        }));
        let call =
            json!({ "jsonrpc": "2.0", "id": "twin", "method": "tools/call", "params": params });
        // In one write, so that the second arrives while the first is still running.
        client.send_bytes(format!("{call}\n{call}\n").as_bytes());
        client.hang_up();
        let (first, second) = (client.receive(), client.receive());
        assert_eq!(first.message()["id"], "twin");
        assert_eq!(second.message()["id"], "twin");
        first.error(-32600);
        second.is(&"two\n".repeat(1 << 18));
        client.ends_quietly();
    }
}

#[test]
fn an_id_may_be_used_again_and_may_be_a_text() {
    for protocol in Protocol::ALL {
        let world = world(protocol);
        let mut client = world.client();
        for id in [
            json!("x"),
            json!("x"),
            json!(0),
            json!(-5),
            json!(""),
            json!("\u{1f511}"),
        ] {
            let params = protocol.params(json!({
                "name": "load_context", "arguments": { "key": "k-1" },
            }));
            client.send(
                &json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }),
            );
            let answer = client.receive();
            assert_eq!(answer.message()["id"], id);
            answer.is("one");
        }
        client.end();
    }
}

#[test]
fn a_call_that_was_cancelled_is_not_answered() {
    let world = world(Protocol::Initialize).file("2.md", "two\n".repeat(1 << 18));
    world.write_map("[keys]\nk-1 = '~/1.md'\nk-2 = '~/2.md'\n");
    let mut client = world.client();
    for _ in 0..20 {
        let id = client.call("k-2");
        client.send(&json!({
            "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id },
        }));
        // An answer may have come before the cancellation, but none after it.
        client.load("k-1").is("one");
    }
    client.hang_up();
    let ended = client.ended();
    assert_eq!(ended.exit, Some(0));
    for message in ended.messages {
        assert_eq!(message["error"], json!(null), "{message}");
    }
}

#[test]
fn ping_is_answered_where_the_protocol_has_it() {
    let world = world(Protocol::Initialize);
    let mut client = world.client();
    assert_eq!(client.request("ping", json!({})).result(), &json!({}));
    client.end();
    let world = self::world(Protocol::Discover);
    let mut client = world.client();
    // The first call shows that this is a client without a session.
    client.load("k-1").is("one");
    client.request("ping", json!({})).error(-32601);
    client.end();
}
