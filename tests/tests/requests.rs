//! Requests that are not quite right.

use keyhole_tests::{Protocol, World};
use serde_json::{Value, json};

fn world() -> World {
    World::new().with_k1("one")
}

/// A model may never see an error of the protocol, so it is an error of the tool. What the
/// protocol itself adds is ignored: a server that asks for nothing needs none of it.
#[test]
fn a_call_with_other_arguments_than_one_key_is_told_what_to_send_and_nothing_else() {
    let advice = "Wrong arguments. Call again with exactly one, \"key\", which is a string.";
    let call = |arguments: Value| json!({ "name": "load_context", "arguments": arguments });
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
            json!([]),
            json!("k-1"),
            json!(["k-1"]),
        ] {
            let answer = client.request("tools/call", call(arguments));
            answer.refused_arguments(advice);
        }
        let answer = client.request("tools/call", json!({ "name": "load_context" }));
        answer.refused_arguments(advice);
        for (field, value) in [
            ("task", json!({ "ttl": 60_000 })),
            ("task", json!({})),
            ("inputResponses", json!({ "a": { "action": "cancel" } })),
            ("requestState", json!("hunter2")),
        ] {
            let answer = client.request("tools/call", call(json!({ "key": "k-1", field: value })));
            answer.refused_arguments(advice);
            let mut call = call(json!({ "key": "k-1" }));
            call[field] = value;
            client.request("tools/call", call).is("one");
        }
        client.end();
    }
}

/// As in rmcp, params of another form count as none.
#[test]
fn a_call_for_another_tool_or_whose_params_have_another_form_is_no_call() {
    let key = json!({ "key": "k-1" });
    for (world, mut client) in World::in_each_protocol(world) {
        for name in [
            "load_context2",
            "Load_context",
            " load_context",
            "hunter2",
            "",
        ] {
            let call = json!({ "name": name, "arguments": key });
            client.request("tools/call", call).error("unknown tool");
        }
        for params in [
            json!([]),
            json!(["load_context", { "key": "k-1" }]),
            json!("hunter2"),
            json!(7),
            json!(null),
            json!({ "arguments": key }),
            json!({ "name": null, "arguments": key }),
            json!({ "name": 7, "arguments": key }),
            json!({ "name": "load_context", "arguments": key, "_meta": 7 }),
        ] {
            // Without a session, each says its protocol.
            if world.protocol() == Protocol::Initialize {
                client.request("tools/call", params).error("unknown tool");
            }
        }
        client.load("k-1").is("one");
        client.end();
    }
}
