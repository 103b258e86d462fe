//! Which calls the guard allows, which it denies, and which questions it does not answer.

use super::{
    AGENT, TOOL, ask, ask_of,
    callers::{BOUND, UNBOUND, WRONG, data, user},
    own_agent, own_server, question,
};
use keyhole_core::AgentName;
use keyhole_tests::World;
use serde_json::{Deserializer, Value, json};
use std::fs;

/// Each section has the expected answer, then rows of a field and its values. Each value in
/// turn replaces that field of a good question; "gone" removes it.
const SHARED: &str = r#"
allow
effort {"level": "high"}
mcp_server null {"source": "plugin"}

deny caller-not-verified
agent_id "gone" "aprivacy-scanner-9884851eba053841" "areader-2-a8f75ac62263dd48"
agent_id "a-3f29c07b1d4e8560" "reader@session-f20f9dd5" "3f29c07b-1d4e-8560-3f29-c07b1d4e8560"
agent_id "a" "3f29c07b1d4e8560" "b3f29c07b1d4e8560" "A3f29c07b1d4e8560" "a3F29C07B1D4E8560"
agent_id "a3f29c07b1d4e856" "a3f29c07b1d4e85601" "a3f29c07b1d4e856g" "a3f29c07b1d4e8560\n"
agent_type "fork"

deny unknown-key
agent_type "privacy-scanner" "other:privacy-scanner" "keyhole:privacy-scanner2"
agent_type "keyhole" "keyhole:privacy-scanne" "Keyhole:privacy-scanner" " keyhole:privacy-scanner"
tool_input {"key": "WRONG"} {"key": ""} {"key": "not a key"} {"key": "LONG"}

this is not a question that this hook understands
hook_event_name "gone" 1
tool_name "gone" ["TOOL"]
tool_use_id "gone" {} ""
tool_input "gone"
agent_id true ""
agent_type "gone" ["AGENT"] ""
mcp_server ["plugin"]

the guard was asked about something other than its own tool
tool_name "Bash" "load_context" "mcp__context__load_context" "TOOL2" "xTOOL" "hunter2"
hook_event_name "PostToolUse" "pretooluse" ""
mcp_server {"source": "project"} {"source": "user"} {"source": "agent"} {"source": "Plugin"}

the arguments must be an object with exactly one string
tool_input null [] ["BOUND"] "key" {} {"key": 1} {"key": null} {"Key": "BOUND"} {"hunter2": 1}
tool_input {"key": "BOUND", "agent": "AGENT"}
"#;

/// The same of a key that is not bound, which any subagent may use.
const UNBOUND_KEY: &str = r#"
allow
agent_type "reader"

deny caller-not-verified
agent_id "gone" "areader-9884851eba053841"
agent_type "fork"

the agent's name cannot be used
agent_type "hunter2\n" "LONG"
"#;

/// The same of the tool of the agent's own server, which takes no key.
const OWN: &str = r#"
allow
tool_input {}

deny caller-not-verified
agent_id "gone" "a0000000000000000"

the guard was asked about something other than its own tool
mcp_server "gone" {"source": "project"} {"source": "user"} {"source": "plugin"} {"source": "Agent"}
agent_type "general-purpose" "privacy-scanner" "keyhole:other" "fork"

this is not a question that this hook understands
mcp_server {"source": null}

this tool takes no arguments
tool_input {"key": "BOUND"} null
"#;

/// The same of an agent of the user's own, which starts a server itself.
const OF_USER: &str = r#"
allow
tool_input {}
mcp_server null {"source": "agent"}

deny caller-not-verified
agent_id "gone" "areader-9884851eba053841" "a0000000000000000"
transcript_path "gone" "/nonexistent.jsonl" "session.jsonl" ""

the guard was asked about something other than its own tool
mcp_server {"source": "project"} {"source": "user"} {"source": "plugin"} {"source": "Agent"}
agent_type "gone" "general-purpose" "reader2" "keyhole:reader" "fork" "Reader"
tool_name "TOOL" "mcp__plugin_reader__load_context" "mcp__reader2__load_context" "Bash"
hook_event_name "PostToolUse"

this is not a question that this hook understands
mcp_server {"source": null} ["agent"]
tool_use_id "gone" ""
agent_id ""

this tool takes no arguments
tool_input {"key": "BOUND"} null
"#;

fn left(world: &World) -> usize {
    let tickets = data(world).join("tickets").read_dir();
    tickets.map_or(0, Iterator::count)
}

/// The guard's answer begins with `says`. It leaves a ticket and a receipt only if it allows
/// the call, and then a key goes to no server: it is in the ticket.
#[track_caller]
fn answers(world: &World, question: &Value, says: &str) {
    answer(world, &["guard"], question, says);
}

/// The same of a guard with these arguments.
#[track_caller]
fn answer(world: &World, guard: &[&str], question: &Value, says: &str) {
    let before = left(world);
    let ran = ask_of(world, guard, question);
    let said = if ran.exit == Some(0) {
        let mut answer = ran.json();
        let output = answer["hookSpecificOutput"].take();
        assert_eq!(answer, json!({ "hookSpecificOutput": null }));
        assert_eq!(output["hookEventName"], "PreToolUse");
        let sent = match says == "allow" && question["tool_name"] == TOOL {
            true => json!({ "key": "the-key-is-in-the-ticket" }),
            false => Value::Null,
        };
        assert_eq!(output["updatedInput"], sent, "{question}");
        let [decision, reason] = ["permissionDecision", "permissionDecisionReason"]
            .map(|field| output[field].as_str().unwrap());
        let _ = ran.says_nothing_on_stderr();
        format!("{decision} {reason}")
    } else {
        let ran = ran.exits(2).says("");
        let line = ran.stderr.strip_suffix('\n').unwrap();
        assert!(!line.contains('\n'), "{line}");
        line.strip_prefix("keyhole: ").unwrap().to_owned()
    };
    assert!(said.starts_with(says), "{question}: {said}");
    let more = if says == "allow" { 2 } else { 0 };
    assert_eq!(left(world), before + more, "{question}");
}

#[track_caller]
fn all_answer(table: &str, good: impl Fn(&str) -> Value) {
    all_answer_of(&user(true), &["guard"], table, good);
}

#[track_caller]
fn all_answer_of(world: &World, guard: &[&str], table: &str, good: impl Fn(&str) -> Value) {
    let long = "k".repeat(AgentName::MAX_BYTES + 1);
    let words = [
        ("BOUND", BOUND),
        ("WRONG", WRONG),
        ("TOOL", TOOL),
        ("AGENT", AGENT),
        ("LONG", &long),
    ];
    let table = words.iter().fold(table.to_owned(), |table, (word, text)| {
        table.replace(word, text)
    });
    let mut id = 0;
    for section in table.trim().split("\n\n") {
        let (says, rows) = section.split_once('\n').unwrap();
        for row in rows.lines() {
            let (field, values) = row.split_once(' ').unwrap();
            for value in Deserializer::from_str(values).into_iter::<Value>() {
                id += 1;
                let mut question = good(&format!("toolu_{id}"));
                let value = value.unwrap();
                match value == "gone" {
                    true => drop(question.as_object_mut().unwrap().remove(field).unwrap()),
                    false => question[field] = value,
                }
                answer(world, guard, &question, says);
            }
        }
    }
}

/// The main conversation chooses a teammate's name, and the client sends it as the agent's
/// type. So nobody with another form of id than a subagent's may use a key, whatever its name.
#[test]
fn the_shared_servers_tool_is_for_a_subagent_that_may_use_the_key_and_only_its_ticket_holds_it() {
    all_answer(SHARED, |id| question(id, AGENT, BOUND));
    all_answer(UNBOUND_KEY, |id| question(id, AGENT, UNBOUND));
    let world = user(true);
    // Of a wrong key, too, the parent learns nothing.
    for key in [UNBOUND, WRONG] {
        let mut parent = question("toolu_1", AGENT, key);
        for field in ["agent_id", "agent_type"] {
            parent[field].take();
        }
        answers(&world, &parent, "deny caller-not-verified");
    }
}

#[test]
fn the_tool_of_the_agents_own_server_is_that_agents_only_and_its_definition_brought_it() {
    all_answer(OWN, |id| own_server::question(id, AGENT));
}

#[test]
fn the_tool_of_a_users_own_agent_is_that_agents_only() {
    let world = user(true).env("CLAUDE_PLUGIN_DATA", "/nonexistent");
    let folder = data(&world);
    let guard = format!(
        "guard --bind reader --agent reader --tickets {}",
        folder.display()
    );
    let guard: Vec<&str> = guard.split(' ').collect();
    all_answer_of(&world, &guard, OF_USER, |id| {
        own_agent::question(id, "reader")
    });
}

#[test]
fn what_is_not_one_object_with_each_field_once_has_no_answer() {
    let world = user(true);
    let fails = |input: &str, why: &str| {
        let ran = world.run_with(["guard"], input.as_bytes()).exits(2);
        let _ = ran.only_complains(why);
        assert_eq!(left(&world), 0, "{input}");
    };
    let mut good = question("toolu_1", AGENT, BOUND);
    let fields = ["hook_event_name", "tool_name", "tool_use_id", "agent_id"];
    let list = json!(fields.map(|field| &good[field]));
    good["mcp_server"] = json!({ "source": "plugin" });
    let good = good.to_string();
    let not_understood = "this is not a question that this hook understands";
    for (field, why) in [
        ("agent_type", not_understood),
        ("tool_use_id", not_understood),
        ("tool_input", not_understood),
        ("source", not_understood),
        (
            "key",
            "the arguments must be an object with exactly one string",
        ),
    ] {
        let field = format!("\"{field}\":");
        let twice = format!("{field}\"x\",{field}");
        fails(&good.replacen(&field, &twice, 1), why);
    }
    for input in [
        "",
        "null",
        "[]",
        "{}",
        "hunter2",
        &good[..good.len() - 1],
        &format!("{good}{good}"),
        &format!("{good} hunter2"),
        &list.to_string(),
        &"[".repeat(10_000),
    ] {
        fails(input, not_understood);
    }
}

#[test]
fn a_question_may_be_long_but_not_endless() {
    let world = user(true);
    let good = question("toolu_1", AGENT, BOUND).to_string();
    for (length, exit) in [(16 << 20, 0), ((16 << 20) + 1, 2)] {
        world.write("input", good.clone() + &" ".repeat(length - good.len()));
        let _ = world.typed("keyhole guard <input").exits(exit);
    }
    let endless = "{ head -c 99999999 /dev/zero && touch all; } | keyhole guard";
    let ran = world.typed(endless).exits(2);
    let _ = ran.only_complains("this is not a question");
    assert!(!world.path("all").exists());
}

#[test]
fn of_what_is_wrong_with_the_map_only_subagents_learn_and_only_from_the_server() {
    for is_there in [true, false] {
        let world = user(true);
        match is_there {
            true => world.write_map("[keys"),
            false => world.remove_map(),
        }
        let mut parent = question("toolu_1", AGENT, BOUND);
        parent["agent_id"].take();
        answers(&world, &parent, "deny caller-not-verified");
        let allowed = ask(&world, &question("toolu_1", AGENT, BOUND)).exits(0);
        assert!(allowed.stdout.contains("\"allow\""), "{allowed:?}");
    }
}

#[test]
fn a_guard_that_lacks_what_it_needs_denies() {
    let good = question("toolu_1", AGENT, BOUND);
    let homeless = user(true).homeless().plugin_data();
    answers(&homeless, &good, "neither ");
    answers(&user(false), &good, "CLAUDE_PLUGIN_DATA is not set");
    let world = user(true);
    fs::write(data(&world).join("tickets"), "").unwrap();
    let _ = ask(&world, &good).says("").exits(2);
    if cfg!(target_os = "linux") {
        let world = user(true).file("input", good.to_string());
        let full = world.typed("keyhole guard <input >/dev/full").exits(2);
        assert!(full.stderr.contains("cannot be written"), "{full:?}");
    }
}
