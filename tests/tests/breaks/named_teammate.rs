//! With agent teams, the main conversation can give a teammate any name, and the
//! client tells hooks this name as the type of the agent that calls. `client::14`
//! tests this with the real client.

use keyhole_tests::{Ran, World, binary};
use serde_json::{Value, json};
use std::process::Command;

const KEY: &str = "k-hunter2-bound-0123456789";

/// What the guard decides about a call of `agent`, and how many tickets it left.
fn guard(world: &World, id: &str, agent: &str) -> (String, usize) {
    let question = json!({
        "hook_event_name": "PreToolUse",
        "tool_name": "mcp__plugin_keyhole_context__load_context",
        "tool_input": { "key": KEY },
        "tool_use_id": "toolu_1",
        "agent_id": id,
        "agent_type": agent,
    });
    let ran = Ran::of(
        Command::new(binary())
            .arg("guard")
            .env("HOME", world.home())
            .env_remove("XDG_CONFIG_HOME")
            .env("CLAUDE_PLUGIN_DATA", world.path("data")),
        question.to_string().as_bytes(),
    )
    .exits(0);
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    let output = &answer["hookSpecificOutput"];
    let tickets = world.path("data/tickets").read_dir();
    (
        output["permissionDecision"].as_str().unwrap().to_owned(),
        tickets.map_or(0, Iterator::count),
    )
}

#[test]
fn a_teammate_named_as_a_bound_agent_gets_no_ticket() {
    let world = World::new().directory("data").map(format!(
        "[keys]\n{KEY} = {{ path = '~/a.md', agents = ['reader'] }}\n"
    ));
    for id in ["areader-9884851eba053841", "reader@session-f20f9dd5"] {
        assert_eq!(guard(&world, id, "reader"), ("deny".to_owned(), 0));
    }
    // The agent itself does.
    let agent = guard(&world, "a517209194a51b493", "reader");
    assert_eq!(agent, ("allow".to_owned(), 1));
}
