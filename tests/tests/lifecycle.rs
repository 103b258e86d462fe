//! How a server starts and ends.

use keyhole_tests::{Protocol, World};
use serde_json::json;

const META: &str = "request _meta is missing";

fn world() -> World {
    World::new().with_k1("one")
}

/// Without a session, each request says its protocol.
#[test]
fn what_does_not_say_its_protocol_is_not_served_without_a_session() {
    let world = world();
    let mut client = world.serve();
    client.load("k-1").error(META);
    client.request("server/discover", json!({})).error(META);
    client.request("no/such/method", json!({})).error(META);
    // The server still works after that.
    assert_eq!(client.request("ping", json!({})).result(), &json!({}));
    let _ = client.handshake();
    client.load("k-x").refused("unknown-key");
    client.end();

    let world = self::world().speaking(Protocol::Discover);
    let mut client = world.serve();
    client.load("k-1").is("one");
    for method in ["initialize", "ping"] {
        client.request(method, json!({})).error("method not found");
    }
    client.send(&Protocol::Initialize.call(5, "k-1"));
    client.answer(5).error(META);
    client.end();
}

#[test]
fn a_protocol_that_is_not_known_is_refused_with_those_that_are() {
    let world = world().speaking(Protocol::Discover);
    let mut client = world.serve();
    let supported = ["2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28"];
    for requested in ["2099-01-01", "2025-03-26", "none", ""] {
        let version = json!({ "io.modelcontextprotocol/protocolVersion": requested });
        let answer = client.request("tools/list", json!({ "_meta": version }));
        let data = json!({ "requested": requested, "supported": supported });
        let message = "Unsupported protocol version";
        let error = json!({ "code": -32022, "message": message, "data": data });
        assert_eq!(answer.message()["error"], error);
    }
    client.end();
}

#[test]
fn a_client_of_another_version_is_offered_it_if_it_is_known_and_else_the_newest() {
    let world = world();
    let newest = "2025-11-25";
    for (asked, offered) in [
        ("2024-11-05", "2024-11-05"),
        // By this one, a server must take batches.
        ("2025-03-26", newest),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", newest),
        ("2026-07-28", newest),
        ("1999-01-01", newest),
    ] {
        let mut client = world.serve();
        let answer = client.request("initialize", Protocol::hello(asked));
        assert_eq!(answer.result()["protocolVersion"], offered);
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client.load("k-x").refused("unknown-key");
        client.end();
    }
}
