//! Which inputs get a document, which a refusal, and which nothing.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::{InjectError, MAX_DOCUMENT, answer};
use serde_json::{Value, json};

const CLAUDE: &str = "a3f29c07b1d4e8560";
const CODEX: &str = "01a20a86-fc8c-7a90-9a39-0261fd42f0be";

fn start(id: &str, agent: &str) -> Value {
    json!({
        "session_id": "s",
        "cwd": {"hook_event_name": "PreToolUse"},
        "hook_event_name": "SubagentStart",
        "agent_id": id,
        "agent_type": agent,
    })
}

/// What the agent reads, if its document is `text`.
fn read(input: &Value, text: &str) -> String {
    let load = |agent: keyhole_core::AgentName| {
        assert_eq!(Some(&*agent), input["agent_type"].as_str());
        Ok(text.to_owned())
    };
    let answer = answer(input.to_string().as_bytes(), load).unwrap().unwrap();
    let mut answer: Value = serde_json::from_str(&answer).unwrap();
    let output = answer["hookSpecificOutput"].take();
    assert_eq!(answer, json!({"hookSpecificOutput": null}));
    assert_eq!(output["hookEventName"], "SubagentStart");
    assert_eq!(output.as_object().unwrap().len(), 2);
    output["additionalContext"].as_str().unwrap().to_owned()
}

#[test]
fn an_agent_that_starts_gets_its_document_unchanged() {
    for id in [CLAUDE, CODEX] {
        for text in ["- \"a\" \\ {$1}\n\n", "\u{feff}ä\r\n\0\u{2028}"] {
            assert_eq!(read(&start(id, "acme:reviewer"), text), text);
        }
    }
}

/// Copilot names no event, has a parent's id, and reads an answer without a name.
#[test]
fn copilot_is_answered_in_its_own_form_and_takes_no_id_of_another_form() {
    let input = |id| {
        let mut input = start(id, "reviewer");
        input.as_object_mut().unwrap().remove("hook_event_name");
        input["parent_agent_id"] = CODEX.into();
        input.to_string()
    };
    let said = answer(input(CODEX).as_bytes(), |_| Ok("# A\n".to_owned()));
    let said: Value = serde_json::from_str(&said.unwrap().unwrap()).unwrap();
    assert_eq!(said, json!({ "additionalContext": "# A\n" }));
    let said = answer(input(CLAUDE).as_bytes(), |_| unreachable!());
    assert!(said.unwrap().unwrap().contains("caller-not-verified: "));
}

#[test]
fn who_is_no_subagent_by_its_id_or_type_gets_a_refusal_and_nothing_is_loaded() {
    let mut inputs: Vec<Value> = [
        "ascanner-3f29c07b1d4e8560",
        "a3f29c07b1d4e856",
        "A3f29c07b1d4e8560",
        "",
        "01a20a86-fc8c-7a90-9a39-0261fd42f0b",
        "01A20a86-fc8c-7a90-9a39-0261fd42f0be",
        "01a20a86-fc8c-7a90-9a39-0261fd42f0be-",
        "01a20a86fc8c-7a90-9a39-0261fd42f0be0",
        "a01a20a8-fc8c-7a90-9a39-0261fd42f0be7a90",
    ]
    .map(|id| start(id, "scanner"))
    .into();
    inputs.push(start(CLAUDE, "fork"));
    inputs.push(start(CLAUDE, "hunter2\n"));
    inputs.push(start(CLAUDE, ""));
    for field in ["agent_id", "agent_type"] {
        let mut input = start(CLAUDE, "scanner");
        input[field] = Value::Null;
        inputs.push(input);
    }
    for input in inputs {
        let loaded = answer(input.to_string().as_bytes(), |_| unreachable!("{input}"));
        assert!(loaded.unwrap().unwrap().contains("caller-not-verified: "));
    }
}

#[test]
fn a_document_at_the_clients_limit_is_whole_and_a_longer_one_is_refused() {
    for (id, most) in [
        (CLAUDE, "🔑".repeat(MAX_DOCUMENT / 2)),
        (CODEX, "ä".repeat(MAX_DOCUMENT / 2)),
    ] {
        let input = start(id, "scanner");
        assert_eq!(read(&input, &most), most);
        let refusal = read(&input, &format!("{most}a"));
        assert!(refusal.contains("not loaded. too-large: "), "{refusal}");
    }
}

#[test]
fn what_is_not_one_object_with_each_field_once_is_not_understood() {
    let good = start(CLAUDE, "scanner").to_string();
    let twice = |field: &str| good.replacen('{', &format!("{{{field},"), 1);
    let with = |field: &str, value: Value| {
        let mut input = start(CLAUDE, "scanner");
        input[field] = value;
        input.to_string()
    };
    for input in [
        "".to_owned(),
        "null".to_owned(),
        "[]".to_owned(),
        "{}".to_owned(),
        "SubagentStart".to_owned(),
        json!(["SubagentStart", CLAUDE, "scanner"]).to_string(),
        twice(r#""agent_type":"fork""#),
        twice(r#""agent_id":"a3f29c07b1d4e8561""#),
        twice(r#""hook_event_name":"SubagentStop""#),
        format!("{good}{good}"),
        format!("[{good}]"),
        format!("{good}x"),
        with("agent_id", json!([CLAUDE])),
        with("agent_type", json!({})),
        with("hook_event_name", json!(1)),
    ] {
        let said = answer(input.as_bytes(), |_| unreachable!("{input}"));
        assert!(matches!(said, Err(InjectError::NotUnderstood)), "{input}");
    }
}
