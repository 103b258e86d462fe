//! Which calls the guard allows, and which it denies.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

mod questions;

use super::{GuardError, HookError, KEY_IN_TICKET, NOT_OURS, guard, guard_after, hook::TOOL};
use crate::tests::live;
use keyhole_core::{
    Code,
    ticket::{Ticket, Tickets},
};
use keyhole_tree::Tree;
use serde_json::{Value, json};
use std::fs;

const BOUND: &str = "k-bound-hunter2-0001";
const UNBOUND: &str = "k-unbound-hunter2-02";
const AGENT: &str = "keyhole:privacy-scanner";

/// A user's map, and the plugin's data folder.
struct User(Tree);

impl User {
    fn new() -> Self {
        Self(Tree::with(format!(
            "[keys]\n{BOUND} = {{ path = 'a.md', agents = ['{AGENT}'] }}\n{UNBOUND} = 'b.md'\n"
        )))
    }

    fn tickets(&self) -> Tickets {
        Tickets::under(self.0.directory())
    }

    /// The number of tickets that the guard has written, each with its receipt.
    fn left(&self) -> usize {
        fs::read_dir(self.0.path("tickets")).map_or(0, Iterator::count) / 2
    }

    /// What the guard says after a call. Nothing leaves the answer as it is.
    fn after(&self, input: &[u8]) -> String {
        let mut said = Vec::new();
        guard_after(Some(&self.tickets()), input, &mut said).unwrap();
        String::from_utf8(said).unwrap()
    }

    fn ask(&self, input: &[u8]) -> Result<Value, GuardError> {
        let mut answer = Vec::new();
        guard(&live(&self.0), &self.tickets(), input, &mut answer)?;
        assert!(answer.ends_with(b"\n"));
        let mut answer: Value = serde_json::from_slice(&answer).unwrap();
        let output = answer["hookSpecificOutput"].take();
        assert_eq!(answer, json!({"hookSpecificOutput": null}));
        assert_eq!(output["hookEventName"], "PreToolUse");
        assert!(!output.to_string().contains("hunter2"), "{output}");
        Ok(output)
    }

    #[track_caller]
    fn allows(&self, question: &Value) {
        let before = self.left();
        let output = self.ask(question.to_string().as_bytes()).unwrap();
        assert_eq!(output["permissionDecision"], "allow", "{question}");
        assert_eq!(self.left(), before + 1);
    }

    #[track_caller]
    fn denies(&self, question: &Value, code: Code) {
        let output = self.ask(question.to_string().as_bytes()).unwrap();
        assert_eq!(output["permissionDecision"], "deny", "{question}");
        assert_eq!(output["permissionDecisionReason"], code.to_string());
        assert_eq!(self.left(), 0);
    }

    #[track_caller]
    fn fails(&self, input: impl AsRef<[u8]>, why: HookError) {
        let input = input.as_ref();
        match self.ask(input) {
            Err(GuardError::Hook(error)) => assert_eq!(error, why),
            other => panic!("{}: {other:?}", String::from_utf8_lossy(input)),
        }
        assert_eq!(self.left(), 0);
    }
}

/// The client's question about a call of the main conversation.
fn parent(key: &str) -> Value {
    json!({
        "session_id": "s",
        "transcript_path": "/t.jsonl",
        "cwd": "/c",
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": TOOL,
        "tool_input": {"key": key},
        "tool_use_id": "toolu_1",
    })
}

/// The client's question about a subagent's call.
fn subagent(agent: &str, key: &str) -> Value {
    let mut question = parent(key);
    question["agent_id"] = "a3f29c07b1d4e8560".into();
    question["agent_type"] = agent.into();
    question
}

fn without(mut question: Value, field: &str) -> Value {
    question.as_object_mut().unwrap().remove(field).unwrap();
    question
}

fn with(mut question: Value, field: &str, value: impl Into<Value>) -> Value {
    question[field] = value.into();
    question
}

/// The question about the bundled agent's call, with this in a field.
fn but(field: &str, value: impl Into<Value>) -> Value {
    with(subagent(AGENT, BOUND), field, value)
}

#[test]
fn a_subagent_may_use_its_key_and_only_the_ticket_holds_it() {
    for (agent, key) in [(AGENT, BOUND), ("reader", UNBOUND)] {
        let user = User::new();
        let output = user.ask(subagent(agent, key).to_string().as_bytes());
        let output = output.unwrap();
        assert_eq!(output["permissionDecision"], "allow");
        // What the server is sent, or another that has its name.
        assert_eq!(output["updatedInput"], json!({ "key": KEY_IN_TICKET }));
        let ticket = Ticket {
            agent: agent.try_into().unwrap(),
            key: Some(key.try_into().unwrap()),
        };
        assert_eq!(user.tickets().redeem("toolu_1"), Some(ticket));
    }
}

#[test]
fn what_cannot_be_read_after_a_call_takes_its_answer_away() {
    let user = User::new();
    user.allows(&subagent(AGENT, BOUND));
    user.tickets().redeem("toolu_1").unwrap();
    let mut answered = but("hook_event_name", "PostToolUse");
    answered["tool_response"] = json!([{"type": "text", "text": "# Catalog"}]);
    let taken = json!({ "hookEventName": "PostToolUse", "updatedToolOutput": NOT_OURS });
    let taken = format!("{}\n", json!({ "hookSpecificOutput": taken }));
    for (field, value) in [
        ("tool_name", json!("Read")),
        ("hook_event_name", json!("PreToolUse")),
        ("tool_use_id", json!("toolu_2")),
        ("tool_use_id", json!(["toolu_1"])),
    ] {
        let said = with(answered.clone(), field, value).to_string();
        assert_eq!(user.after(said.as_bytes()), taken, "{said}");
    }
    let answered = answered.to_string();
    let long = answered.clone() + &" ".repeat(16 << 20);
    assert_eq!(user.after(long.as_bytes()), taken);
    assert_eq!(user.after(b""), taken);
    let mut without_tickets = Vec::new();
    guard_after(None, answered.as_bytes(), &mut without_tickets).unwrap();
    assert_eq!(without_tickets, taken.as_bytes());
    // Until then, nothing has used the receipt up.
    assert_eq!(user.after(answered.as_bytes()), "");
}

#[test]
fn neither_the_parent_nor_its_fork_nor_a_session_that_runs_as_an_agent_may_use_a_key() {
    for key in [BOUND, UNBOUND, "k-wrong"] {
        let nulls = with(parent(key), "agent_id", Value::Null);
        for question in [
            parent(key),
            with(nulls, "agent_type", Value::Null),
            subagent("fork", key),
            without(subagent(AGENT, key), "agent_id"),
        ] {
            User::new().denies(&question, Code::CallerNotVerified);
        }
    }
}

/// The main conversation chooses a teammate's name, and the client sends it as the
/// agent's type. The first five ids have the forms that we saw clients give to teammates,
/// or similar ones.
#[test]
fn who_has_an_id_of_another_form_than_a_subagents_may_use_no_key_whatever_its_name() {
    let user = User::new();
    for id in [
        "aprivacy-scanner-9884851eba053841",
        "areader-2-a8f75ac62263dd48",
        "a-3f29c07b1d4e8560",
        "aa-3f29c07b1d4e856",
        "reader@session-f20f9dd5",
        "a",
        "3f29c07b1d4e8560",
        "b3f29c07b1d4e8560",
        "A3f29c07b1d4e8560",
        "a3F29C07B1D4E8560",
        "a3f29c07b1d4e856",
        "a3f29c07b1d4e85601",
        "a3f29c07b1d4e856g",
        "a3f29c07b1d4e8560\n",
        " a3f29c07b1d4e8560",
        "a3f29c07b1d4e8\u{e9}",
        "3f29c07b-1d4e-8560-3f29-c07b1d4e8560",
    ] {
        for agent in [AGENT, "reader", "general-purpose"] {
            for key in [BOUND, UNBOUND, "k-wrong"] {
                let question = with(subagent(agent, key), "agent_id", id);
                user.denies(&question, Code::CallerNotVerified);
            }
        }
    }
}

#[test]
fn to_an_impostor_a_bound_key_is_an_unknown_one() {
    let user = User::new();
    for impostor in [
        "privacy-scanner",
        "other:privacy-scanner",
        "keyhole:privacy-scanner2",
        "keyhole:privacy-scanne",
        "Keyhole:privacy-scanner",
        " keyhole:privacy-scanner",
        "keyhole",
    ] {
        for key in [BOUND, "k-wrong", "", "not a key", &"k".repeat(129)] {
            user.denies(&subagent(impostor, key), Code::UnknownKey);
        }
    }
}

#[test]
fn of_what_is_wrong_with_the_map_only_subagents_learn_and_only_from_the_server() {
    for map in [Some("[keys"), Some("not a map"), None] {
        let user = User::new();
        match map {
            Some(map) => user.0.write("map.toml", map),
            None => fs::remove_file(user.0.map()).unwrap(),
        }
        user.denies(&parent(BOUND), Code::CallerNotVerified);
        user.allows(&subagent(AGENT, BOUND));
    }
}

#[test]
fn an_answer_that_cannot_be_written_is_a_failure() {
    let user = User::new();
    let question = subagent(AGENT, BOUND).to_string();
    let mut full: &mut [u8] = &mut [0; 10];
    let asked = guard(
        &live(&user.0),
        &user.tickets(),
        question.as_bytes(),
        &mut full,
    );
    assert!(matches!(asked, Err(GuardError::Output(_))), "{asked:?}");
}
