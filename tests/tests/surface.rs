//! What a client sees of the server and its tool, to the letter.
//!
//! A client's user agrees to this surface, so a change of it is a change of the
//! product. With `INSTA_UPDATE=no`, as in CI, a missing snapshot is an error;
//! `./x bless` accepts the present surface.

use keyhole_tests::{Answer, Protocol, World};
use serde_json::{Value, json};

/// The result as text for people, without the version, which changes with each release.
pub(crate) fn shown(answer: &Answer) -> String {
    let text = serde_json::to_string_pretty(answer.result()).unwrap();
    text.replace(
        &format!("\"{}\"", env!("CARGO_PKG_VERSION")),
        "\"[version]\"",
    )
}

fn asked(protocol: Protocol, method: Option<&str>) -> Answer {
    let world = World::new()
        .speaking(protocol)
        .file("a.md", "text")
        .map("[keys]\nk-a = '~/a.md'\nk-b = '~/b.md'\n");
    let mut client = world.serve();
    let mut answer = client.handshake();
    if let Some(method) = method {
        answer = client.request(method, json!({}));
    }
    client.end();
    answer
}

#[test]
fn initialize() {
    insta::assert_snapshot!(shown(&asked(Protocol::Initialize, None)));
}

#[test]
fn discover() {
    insta::assert_snapshot!(shown(&asked(Protocol::Discover, None)));
}

#[test]
fn tools_of_2025() {
    insta::assert_snapshot!(shown(&asked(Protocol::Initialize, Some("tools/list"))));
}

#[test]
fn tools_of_2026() {
    insta::assert_snapshot!(shown(&asked(Protocol::Discover, Some("tools/list"))));
}

/// Methods of MCP that no server of ours has, and others.
const NOT_SERVED: &str = "\
    prompts/list prompts/get resources/list resources/read resources/templates/list \
    resources/subscribe resources/unsubscribe subscriptions/listen subscriptions/list \
    completion/complete logging/setLevel sampling/createMessage roots/list elicitation/create \
    tasks/list tasks/get tasks/cancel tasks/result tasks/update skills/list bindings/list \
    keys/list server/info rpc.discover load_context no/such/method ";

#[test]
fn prompts_resources_and_completion_are_neither_declared_nor_answered() {
    for protocol in Protocol::ALL {
        let declared = asked(protocol, None).result()["capabilities"].clone();
        assert_eq!(declared, json!({ "tools": {} }));
    }
    let unknown = |protocol, bound: &[&str], params: Value| {
        let world = World::new().map("[bindings.b]\npath = '~/b.md'\n");
        let world = world.arguments(bound).speaking(protocol);
        // Without a session, what is asked for is the first request.
        let mut client = match protocol {
            Protocol::Initialize => world.client(),
            Protocol::Discover => world.serve(),
        };
        for method in NOT_SERVED.split(' ') {
            let answer = client.request(method, params.clone());
            let said = json!({ "code": -32601, "message": "method not found" });
            assert_eq!(answer.message()["error"], said, "{bound:?} {method}");
        }
        client.end();
    };
    for bound in [&[][..], &["--bind", "b"]] {
        for protocol in Protocol::ALL {
            unknown(protocol, bound, json!({}));
            unknown(protocol, bound, json!({ "name": "x" }));
        }
        unknown(Protocol::Initialize, bound, json!(["x"]));
    }
}
