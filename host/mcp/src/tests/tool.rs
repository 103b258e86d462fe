//! Tests of the tool through the protocol.

use super::{Client, request};
use keyhole_core::Code;
use serde_json::json;

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
