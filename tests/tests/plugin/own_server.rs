//! The bundled agent's own server, which the client starts for the plugin's module: it
//! has the key, and serves one agent.

use keyhole_tests::World;
use serde_json::{Value, json};

const TOOL: &str = "mcp__keyhole_privacy_scanner__load_context";

/// The client's question to the guard about a call of the tool.
pub(crate) fn question(id: &str, agent: &str) -> Value {
    let mut question = super::question(id, agent, "");
    question["tool_name"] = TOOL.into();
    question["tool_input"] = json!({});
    question["mcp_server"] = json!({ "name": "keyhole_privacy_scanner", "source": "agent" });
    question
}

#[test]
fn what_the_client_would_write_to_a_file_is_too_large() {
    let call = |world: &World, meta: Value| {
        let mut client = world.client();
        let call = json!({ "name": "load_context", "arguments": { "key": "k-7f3a9c55aa01beef" }, "_meta": meta });
        let answer = client.request("tools/call", call);
        client.end();
        answer
    };
    let claude = json!({ "claudecode/toolUseId": "toolu_1" });
    // Counted in the client's units: one of these characters counts as two.
    for (text, fits) in [
        ("a".repeat(500_000), true),
        ("a".repeat(500_001), false),
        ("\u{e4}".repeat(500_000), true),
        ("\u{20ac}".repeat(500_000), true),
        ("\u{1f511}".repeat(250_000), true),
        (format!("{}a", "\u{1f511}".repeat(250_000)), false),
    ] {
        let world = World::new()
            .file("a.md", text.as_bytes())
            .map("[keys]\nk-7f3a9c55aa01beef = { path = '~/a.md', max_bytes = 2000000 }\nkeyhole-privacy-catalog = { path = '~/a.md', max_bytes = 2000000, agents = ['keyhole:privacy-scanner'] }\n");
        match fits {
            true => call(&world, claude.clone()).is(&text),
            false => call(&world, claude.clone()).refused("too-large"),
        }
        // Other clients have other limits.
        call(&world, json!({})).is(&text);
        let (exit, served) = match fits {
            true => (0, "2 of 2 would be served.\n"),
            false => (
                1,
                "1 of 2 would be served; but in Claude Code, a file of more than 500000 characters is refused as too-large: line 2.\n",
            ),
        };
        let ran = world.run(["check"]).exits(exit).mentions(served);
        let shorten =
            "line 3: it has 500001 characters, and Claude Code takes 500000 at most: shorten it\n";
        assert_eq!(ran.stdout.contains(shorten), !fits, "{ran:#?}");
        let says = if fits { "would be served" } else { "too-large" };
        let ran = world.run(["check", "--plugin", "/p/keyhole"]);
        let _ = ran
            .exits(i32::from(!fits))
            .mentions(&format!("\nkeyhole:privacy-scanner: {says}, line 3"));
    }
}
