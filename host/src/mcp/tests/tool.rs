//! Tests of the tool through the protocol.

use super::{Client, DOCUMENT, MARKER, call, request};
use crate::Code;
use serde_json::json;

#[tokio::test(start_paused = true)]
async fn there_is_one_tool_with_a_strict_schema() {
    let mut client = Client::initialized().await;
    client.send(request(1, "tools/list", json!({}))).await;
    let mut answer = client.answer().await;
    let description = answer["result"]["tools"][0]["description"].take();
    assert!(description.as_str().unwrap().contains("Never guess a key"));
    assert_eq!(
        answer["result"],
        json!({"tools": [{
            "name": "load_context",
            "title": "Load context",
            "description": null,
            "inputSchema": {
                "type": "object",
                "properties": {"key": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 128,
                    "description": "The key from your own instructions, exactly as it stands there.",
                }},
                "required": ["key"],
                "additionalProperties": false,
            },
            "annotations": {
                "readOnlyHint": true,
                "destructiveHint": false,
                "idempotentHint": true,
                "openWorldHint": false,
            },
            "_meta": {"anthropic/maxResultSizeChars": 500_000},
        }]})
    );
}

#[tokio::test(start_paused = true)]
async fn the_description_names_every_code_that_is_worth_calling_again() {
    let mut client = Client::initialized().await;
    client.send(request(1, "tools/list", json!({}))).await;
    let answer = client.answer().await;
    let description = answer["result"]["tools"][0]["description"]
        .as_str()
        .unwrap();
    for code in Code::ALL {
        assert_eq!(
            description.contains(&format!("`{}`", code.as_str())),
            code.advice().to_lowercase().contains("call again"),
            "{code:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_document_is_one_text_unchanged_and_nothing_else() {
    let mut client = Client::initialized().await;
    client.call(1, "document").await;
    assert_eq!(
        client.answer().await,
        json!({"jsonrpc": "2.0", "id": 1, "result": {
            "content": [{"type": "text", "text": DOCUMENT}],
            "isError": false,
        }})
    );
}

#[tokio::test(start_paused = true)]
async fn what_claude_code_would_keep_from_its_model_is_too_large_for_it_and_for_no_other() {
    let mut client = Client::initialized().await;
    for (key, is_claude, refused) in [
        ("huge", true, true),
        ("huge", false, false),
        ("document", true, false),
    ] {
        let mut call = call(1, key);
        if is_claude {
            call["params"]["_meta"] = json!({"claudecode/toolUseId": "toolu_1"});
        }
        client.send(call).await;
        let answer = client.answer().await;
        let result = &answer["result"];
        assert_eq!(result["isError"], refused, "{key} {is_claude}");
        if refused {
            assert_eq!(result["structuredContent"]["code"], "too-large");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_carries_its_code_in_text_and_in_structure() {
    let mut client = Client::initialized().await;
    for code in Code::ALL {
        client.call(1, code.as_str()).await;
        assert_eq!(
            client.answer().await["result"],
            json!({
                "content": [{
                    "type": "text",
                    "text": format!("{}: {}", code.as_str(), code.advice()),
                }],
                "structuredContent": {"code": code.as_str(), "message": code.advice()},
                "isError": true,
            })
        );
    }
}

#[tokio::test(start_paused = true)]
async fn arguments_other_than_one_string_key_are_refused_in_the_same_words() {
    let mut client = Client::initialized().await;
    let mut words = Vec::new();
    for arguments in [
        json!({}),
        json!({"key": 1}),
        json!({"key": null}),
        json!({"key": [MARKER]}),
        json!({"Key": MARKER}),
        json!({"key": "document", MARKER: true}),
        json!({"key": "document", "namespace": MARKER}),
    ] {
        let params = json!({"name": "load_context", "arguments": arguments});
        client.send(request(1, "tools/call", params)).await;
        words.push(client.error(-32602, 1).await);
    }
    client
        .send(request(1, "tools/call", json!({"name": "load_context"})))
        .await;
    words.push(client.error(-32602, 1).await);
    assert!(words.iter().all(|error| *error == words[0]), "{words:?}");
    assert_eq!(client.begun(), 0);
}

#[tokio::test(start_paused = true)]
async fn another_tool_is_refused_without_being_named() {
    let mut client = Client::initialized().await;
    let mut message = call(1, "document");
    message["params"]["name"] = MARKER.into();
    client.send(message).await;
    client.error(-32602, 1).await;
    assert_eq!(client.begun(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_cursor_is_refused() {
    let mut client = Client::initialized().await;
    client
        .send(request(1, "tools/list", json!({"cursor": MARKER})))
        .await;
    client.error(-32602, 1).await;
}
