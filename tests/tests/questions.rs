//! What a hook or the plugin's module asks a command on its standard input: one object, with
//! each field once. To anything else there is no answer, and nothing of it is repeated.

use crate::{plugin::question, secrecy::conceals};
use keyhole_tests::{MARKER, World};
use serde_json::{Value, json};

/// Each command, with the exit code of a failure, a good question, and the fields that it reads.
fn commands() -> [(&'static str, i32, Value, &'static [&'static str]); 3] {
    let agent = ("a3f29c07b1d4e8560", "acme:reviewer");
    let mut asked = question("toolu_1", agent.1, "k-hunter2");
    asked["mcp_server"] = json!({ "source": "plugin" });
    let started = json!({
        "hook_event_name": "SubagentStart", "agent_id": agent.0, "agent_type": agent.1,
    });
    let reported = json!({ "agent": agent.1, "report": MARKER });
    let of_call = &[
        "hook_event_name",
        "tool_name",
        "tool_use_id",
        "agent_id",
        "agent_type",
    ];
    [
        ("guard", 2, asked, of_call),
        (
            "inject",
            1,
            started,
            &["hook_event_name", "agent_id", "agent_type"],
        ),
        ("withhold", 1, reported, &["agent", "report"]),
    ]
}

#[test]
fn what_is_not_one_object_with_each_field_once_gets_no_answer_and_tells_nothing() {
    let map = "[keys]\nk-hunter2 = { path = '~/hunter2.md', agents = ['acme:reviewer'], withhold = true }\n";
    let world = World::new().file("hunter2.md", MARKER).map(map);
    let world = world.plugin_data();
    for (command, exit, good, fields) in commands() {
        let text = good.to_string();
        let usual = world.run_with([command], text.as_bytes()).exits(0);
        assert_ne!(usual.stdout, "", "{command}");
        let values: Vec<_> = fields.iter().map(|field| &good[field]).collect();
        let mut bad = vec![
            String::new(),
            "null".to_owned(),
            "[]".to_owned(),
            "{}".to_owned(),
            MARKER.to_owned(),
            "[".repeat(10_000),
            json!(values).to_string(),
            text[..text.len() - 1].to_owned(),
            format!("{text}{text}"),
            format!("{text} {MARKER}"),
        ];
        for field in fields {
            bad.push(text.replacen('{', &format!("{{\"{field}\":\"x\","), 1));
            let mut other = good.clone();
            for value in [json!([good[field]]), json!({}), json!(1)] {
                other[field] = value;
                bad.push(other.to_string());
            }
        }
        for input in bad {
            let ran = world.run_with([command], input.as_bytes());
            conceals(&ran.exits(exit).says("").stderr);
        }
        // More than one is ever told.
        world.write("input", text + &" ".repeat(17 << 20));
        let ran = world.typed(&format!("keyhole {command} <input"));
        let _ = ran.exits(exit).says("");
    }
    let tickets = world.path("data/tickets").read_dir().unwrap();
    assert_eq!(tickets.count(), 2, "of the good question");
}
