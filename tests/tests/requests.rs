//! Requests that are not quite right.

use keyhole_tests::World;
use serde_json::{Value, json};

const PARAMS: &str = "params do not have the form";

fn world() -> World {
    World::new().with_k1("one")
}

/// The server refuses a request of `method` with each of these params, in these words, and
/// the session goes on.
fn refuses(says: &str, requests: &[(&str, Value)]) {
    for (_world, mut client) in World::in_each_protocol(world) {
        for (method, params) in requests {
            let answer = client.request(method, params.clone());
            answer.error(says);
        }
        client.load("k-1").is("one");
        client.end();
    }
}

/// A model may never see an error of the protocol, so it is an error of the tool.
#[test]
fn a_call_with_other_arguments_than_one_key_is_told_what_to_send_and_nothing_else() {
    let advice = "Wrong arguments. Call again with exactly one, \"key\", which is a string.";
    for (_world, mut client) in World::in_each_protocol(world) {
        for arguments in [
            json!(null),
            json!({}),
            json!({ "key": null }),
            json!({ "key": 1 }),
            json!({ "key": true }),
            json!({ "key": ["k-1"] }),
            json!({ "key": { "key": "k-1" } }),
            json!({ "Key": "k-1" }),
            json!({ "key": "k-1", "path": "/etc/passwd" }),
            json!({ "key": "k-1", "max_bytes": 1 }),
            json!({ "key": "k-1", "namespace": "x" }),
            json!({ "key": "k-1", "": "" }),
        ] {
            let call = json!({ "name": "load_context", "arguments": arguments });
            let answer = client.request("tools/call", call);
            answer.refused_arguments(advice);
        }
        let answer = client.request("tools/call", json!({ "name": "load_context" }));
        answer.refused_arguments(advice);
        client.load("k-1").is("one");
        client.end();
    }
}

/// A server that asks for nothing ignores it.
#[test]
fn what_the_protocol_itself_adds_to_a_call_is_ignored() {
    for (_world, mut client) in World::in_each_protocol(world) {
        for (field, value) in [
            ("task", json!({ "ttl": 60_000 })),
            ("task", json!({})),
            ("inputResponses", json!({ "a": { "action": "cancel" } })),
            ("requestState", json!("hunter2")),
        ] {
            let mut call = json!({ "name": "load_context", "arguments": { "key": "k-1" } });
            call[field] = value.clone();
            client.request("tools/call", call).is("one");
            let arguments = json!({ "key": "k-1", field: value });
            let call = json!({ "name": "load_context", "arguments": arguments });
            client.request("tools/call", call).refused_arguments(
                "Wrong arguments. Call again with exactly one, \"key\", which is a string.",
            );
        }
        client.end();
    }
}

#[test]
fn a_call_for_another_tool_is_no_call() {
    let call = |name: Value| {
        let call = json!({ "name": name, "arguments": { "key": "k-1" } });
        ("tools/call", call)
    };
    refuses(
        "unknown tool",
        &[
            "load_context2",
            "Load_context",
            " load_context",
            "hunter2",
            "",
        ]
        .map(|name| call(name.into())),
    );
    let nameless = ("tools/call", json!({ "arguments": { "key": "k-1" } }));
    refuses(PARAMS, &[nameless, call(json!(null)), call(json!(7))]);
}

#[test]
fn a_request_whose_params_have_another_form_is_refused() {
    let call = |field: &str, value: Value| {
        let mut call = json!({ "name": "load_context", "arguments": { "key": "k-1" } });
        call[field] = value;
        ("tools/call", call)
    };
    refuses(
        PARAMS,
        &[
            ("tools/call", json!([])),
            ("tools/call", json!("hunter2")),
            ("tools/call", json!(7)),
            ("tools/call", json!(null)),
            ("tools/call", json!({})),
            ("tools/call", json!({ "_meta": 7 })),
            call("unknown", json!(5)),
            call("_meta", json!(5)),
            call("arguments", json!([])),
            call("arguments", json!("k-1")),
            call("arguments", json!(["k-1"])),
            ("tools/list", json!([])),
            ("tools/list", json!("hunter2")),
            ("tools/list", json!(7)),
            ("tools/list", json!({ "_meta": "hunter2" })),
            ("tools/list", json!({ "unknown": "hunter2" })),
            ("tools/list", json!({ "cursor": 5 })),
            ("server/discover", json!([])),
        ],
    );
    refuses(
        "unknown cursor",
        &[("tools/list", json!({ "cursor": "next" }))],
    );
    let world = world();
    let mut client = world.client();
    client.send(&json!({ "jsonrpc": "2.0", "id": 50, "method": "tools/call" }));
    client.answer(50).error(PARAMS);
    for (method, params) in [
        ("initialize", json!({ "protocolVersion": "hunter2" })),
        ("initialize", json!({})),
        ("ping", json!("hunter2")),
    ] {
        client.request(method, params).error(PARAMS);
    }
    client.end();
}
