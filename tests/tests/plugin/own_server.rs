//! The bundled agent's own server, which the client starts for the plugin's module: it
//! has the key, and serves one agent.

use super::{AGENT, call, is_allowed, leave};
use keyhole_tests::{Answer, MARKER, Protocol, Session, World};
use serde_json::{Value, json};

const TOOL: &str = "mcp__keyhole_privacy_scanner__load_context";
const KEY: &str = "k-hunter2-of-the-agent-01234";
const VARIABLE: &str = "KEYHOLE_KEY";

/// A user whose map has `entry` for the key, and the server's command line.
fn user(entry: &str) -> World {
    let world = World::new()
        .file("catalog.md", "the catalog\n")
        .plugin_data()
        .map(format!("[keys]\n{KEY} = {entry}\n"));
    world
        .arguments(["--bind", "privacy-scanner", "--key-env", VARIABLE])
        .arguments(["--agent", AGENT, "--require-ticket"])
        .env(VARIABLE, KEY)
}

fn bound() -> World {
    user(&format!(
        "{{ path = '~/catalog.md', agents = ['{AGENT}', 'team:other'] }}"
    ))
}

/// The client's question to the guard about a call of the tool.
pub(super) fn question(id: &str, agent: &str) -> Value {
    let mut question = super::question(id, agent, "");
    question["tool_name"] = TOOL.into();
    question["tool_input"] = json!({});
    question["mcp_server"] = json!({ "name": "keyhole_privacy_scanner", "source": "agent" });
    question
}

fn load(session: &mut Session, id: &str) -> Answer {
    call(session, json!({}), id)
}

/// It serves no other agent: neither one that may use the key elsewhere, nor any if the key is
/// for all.
#[test]
fn it_gives_its_agent_the_file_once_a_ticket_and_no_other_agent_and_shows_no_key() {
    for protocol in Protocol::ALL {
        for world in [bound(), user("'~/catalog.md'")] {
            let world = world.speaking(protocol);
            let mut client = world.client();
            let shown = client.request("tools/list", json!({}));
            assert!(!shown.message().to_string().contains(MARKER));
            is_allowed(&world, &question("toolu_1", AGENT));
            // This uses up no ticket.
            for arguments in [json!({ "key": KEY }), json!({ "x": 1 })] {
                let answer = call(&mut client, arguments, "toolu_1");
                answer.refused_arguments("This tool takes no arguments. Call again without any.");
            }
            load(&mut client, "toolu_1").is("the catalog\n");
            load(&mut client, "toolu_1").refused("caller-not-verified");
            load(&mut client, "toolu_2").refused("caller-not-verified");
            for other in ["team:other", "privacy-scanner", "keyhole:privacy-scanner2"] {
                leave(&world.path("data"), other, other);
                load(&mut client, other).refused("caller-not-verified");
            }
            client.end();
        }
    }
}

#[test]
fn without_a_key_in_its_variable_it_does_not_start() {
    for key in ["", "not a key", "hunter2 hunter2"] {
        assert_eq!(
            bound().env(VARIABLE, key).serve().does_not_start(),
            "keyhole: the variable that --key-env names is not set to a key\n"
        );
    }
    // The key is a part of the server's name, which clients show.
    let said = bound().env(VARIABLE, "scanner").serve().does_not_start();
    assert!(said.contains("holds a key"), "{said}");
}

#[test]
fn the_agents_that_the_map_names_are_told_and_nothing_else_of_it() {
    let world = World::new();
    let _ = world.run(["agents"]).exits(0).says("");
    let world = world.map("[keys]\nk-a = { path = 'a.md', agents = ['b:c', 'a'] }\nk-b = { path = 'b.md', agents = ['a'] }\n");
    let _ = world.run(["agents"]).exits(0).says("a\nb:c\n");
    world.write_map("[keys]\nk-a = 'a.md'\nk-b = { path = 'b.md', agents = ['a'] }\n");
    let _ = world.run(["agents"]).exits(0).says("*\na\n");
    world.write_map("[keys]\nk-hunter2 = 7\n");
    let ran = world.run(["agents"]).exits(1).says("");
    assert!(!ran.stderr.contains(MARKER), "{}", ran.stderr);
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
