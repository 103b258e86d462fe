//! Requests that are not quite right.

use keyhole_tests::World;
use serde_json::json;

fn world() -> World {
    World::new().with_k1("one")
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
            json!([]),
            json!("k-1"),
            json!(["k-1"]),
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
    for (_world, mut client) in World::in_each_protocol(world) {
        for name in [
            "load_context2",
            "Load_context",
            " load_context",
            "hunter2",
            "",
        ] {
            let call = json!({ "name": name, "arguments": { "key": "k-1" } });
            client.request("tools/call", call).error("unknown tool");
        }
        client.load("k-1").is("one");
        client.end();
    }
}

/// As in rmcp, params of another form count as none.
#[test]
fn a_call_whose_params_have_another_form_is_no_call() {
    let world = world();
    let mut client = world.client();
    let key = json!({ "key": "k-1" });
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
        client.request("tools/call", params).error("unknown tool");
    }
    client.load("k-1").is("one");
    client.end();
}
