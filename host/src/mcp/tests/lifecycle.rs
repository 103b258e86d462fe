//! How sessions begin, with `initialize` and stateless.

use super::{Client, DOCUMENT, MARKER, call, initialize, request, stateless};
use serde_json::{Value, json};

/// Methods of MCP that this server does not have.
const NOT_SERVED: [&str; 13] = [
    "prompts/list",
    "prompts/get",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "resources/subscribe",
    "resources/unsubscribe",
    "subscriptions/listen",
    "completion/complete",
    "logging/setLevel",
    "tasks/get",
    "skills/list",
    MARKER,
];

#[tokio::test(start_paused = true)]
async fn initialize_agrees_on_the_version_that_the_client_asks_for() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut client = Client::new();
        client.send(initialize(version)).await;
        let answer = client.answer().await;
        assert_eq!(answer["result"]["protocolVersion"], version);
    }
}

#[tokio::test(start_paused = true)]
async fn initialize_offers_2025_11_25_instead_of_an_unknown_version() {
    for version in ["2026-07-28", "1999-01-01"] {
        let mut client = Client::new();
        client.send(initialize(version)).await;
        let answer = client.answer().await;
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
    }
}

#[tokio::test(start_paused = true)]
async fn the_server_declares_tools_and_nothing_else() {
    let mut client = Client::new();
    let answer = client.initialize().await;
    assert_eq!(
        answer["result"],
        json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "keyhole", "version": env!("CARGO_PKG_VERSION")},
        })
    );
}

#[tokio::test(start_paused = true)]
async fn a_stateless_session_discovers_lists_and_calls() {
    let mut client = Client::new();
    client
        .send(stateless(request(1, "server/discover", json!({}))))
        .await;
    let found = client.answer().await["result"].clone();
    assert_eq!(found["capabilities"], json!({"tools": {}}));
    assert_eq!(found["resultType"], "complete");
    assert_eq!(found["ttlMs"], 0);
    assert_eq!(found["cacheScope"], "private");
    assert!(found.get("instructions").is_none());
    let versions = found["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&"2026-07-28".into()));
    assert!(versions.contains(&"2025-11-25".into()));

    client
        .send(stateless(request(2, "tools/list", json!({}))))
        .await;
    let listed = client.answer().await["result"].clone();
    assert_eq!(listed["resultType"], "complete");
    assert_eq!(listed["ttlMs"], 0);
    assert_eq!(listed["cacheScope"], "private");
    assert_eq!(listed["tools"].as_array().unwrap().len(), 1);

    client.send(stateless(call(3, "document"))).await;
    let called = client.answer().await["result"].clone();
    assert_eq!(called["resultType"], "complete");
    assert_eq!(called["content"][0]["text"], DOCUMENT);
}

#[tokio::test(start_paused = true)]
async fn a_stateless_request_can_be_the_first() {
    let mut client = Client::new();
    client.send(stateless(call("a", "document"))).await;
    let answer = client.answer().await;
    assert_eq!(answer["id"], "a");
    assert_eq!(answer["result"]["content"][0]["text"], DOCUMENT);
}

#[tokio::test(start_paused = true)]
async fn a_stateless_request_must_carry_its_metadata() {
    let mut client = Client::new();
    client.send(request(1, "server/discover", json!({}))).await;
    client.error(-32602, 1).await;
    client.send(stateless(call(2, "document"))).await;
    client.answer().await;
    client.call(3, "document").await;
    client.error(-32602, 3).await;
    assert_eq!(client.begun(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_unknown_protocol_version_is_refused_with_those_that_are_known() {
    let mut client = Client::new();
    let mut message = stateless(call(1, "document"));
    message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2999-01-01".into();
    client.send(message).await;
    let error = client.error(-32022, 1).await;
    let supported = error["data"]["supported"].as_array().unwrap();
    assert!(supported.contains(&Value::from("2026-07-28")));
    assert_eq!(client.begun(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_request_before_the_handshake_is_answered_and_the_handshake_still_works() {
    let mut client = Client::new();
    client.call(1, "document").await;
    client.error(-32602, 1).await;
    client.send(request(2, MARKER, json!({}))).await;
    client.error(-32602, 2).await;
    client.is_quiet().await;
    client.initialize().await;
    client.call(3, "document").await;
    assert_eq!(client.answer().await["id"], 3);
}

#[tokio::test(start_paused = true)]
async fn what_comes_before_the_first_request_and_is_none_is_swallowed() {
    let mut client = Client::new();
    for message in [
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}),
        json!({"jsonrpc": "2.0", "method": MARKER, "params": [1]}),
        json!({"jsonrpc": "2.0", "id": 1, "result": {}}),
        json!({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "x"}}),
        json!({"jsonrpc": "2.0", "id": null, "error": {"code": 1, "message": "x"}}),
        json!({"jsonrpc": "2.0", "error": {"code": 1, "message": "x"}}),
    ] {
        client.send(message).await;
    }
    let answer = client.initialize().await;
    assert_eq!(answer["id"], "init");
}

#[tokio::test(start_paused = true)]
async fn what_is_not_served_is_not_found_and_not_named() {
    let mut client = Client::initialized().await;
    for method in NOT_SERVED {
        for params in [json!({}), json!({"name": MARKER}), json!([MARKER])] {
            client.send(request(1, method, params)).await;
            let error = client.error(-32601, 1).await;
            assert_eq!(
                error,
                json!({"code": -32601, "message": "method not found"})
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_not_served_statelessly_is_not_found_and_not_named() {
    let mut client = Client::new();
    for method in NOT_SERVED.into_iter().chain(["ping"]) {
        client.send(stateless(call(1, "document"))).await;
        client.answer().await;
        client.send(stateless(request(2, method, json!({})))).await;
        let error = client.error(-32601, 2).await;
        assert_eq!(
            error,
            json!({"code": -32601, "message": "method not found"})
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_stateless_request_for_the_handshake_is_not_found_even_as_the_first() {
    for method in ["initialize", "ping"] {
        let mut client = Client::new();
        client.send(stateless(request(1, method, json!({})))).await;
        assert_eq!(
            client.error(-32601, 1).await,
            json!({"code": -32601, "message": "method not found"})
        );
        client.send(stateless(call(2, "document"))).await;
        assert_eq!(client.answer().await["id"], 2);
    }
}
