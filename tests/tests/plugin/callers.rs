//! Who gets which file: guard, tickets and binding, with the real programs.

use super::{AGENT, call, is_allowed, leave, question};
use keyhole_tests::{Answer, MARKER, Session, World};
use serde_json::{Value, json};
use std::path::PathBuf;

pub(super) const BOUND: &str = "k-hunter2-bound-0123456789";
pub(super) const UNBOUND: &str = "k-hunter2-unbound-01234567";
pub(super) const WRONG: &str = "k-hunter2-wrong-0123456789";

/// A user with one key for anyone and one for [`AGENT`], and the plugin's data
/// folder. Servers require tickets if `ticketed`.
pub(super) fn user(ticketed: bool) -> World {
    let world = World::new()
        .file("bound.md", "bound\n")
        .file("unbound.md", "unbound\n")
        .directory("data")
        .map(format!(
            "[keys]\n{BOUND} = {{ path = '~/bound.md', agents = ['{AGENT}', 'team:other'] }}\n\
             {UNBOUND} = '~/unbound.md'\n"
        ));
    match ticketed {
        true => world.plugin_data().argument("--require-ticket"),
        false => world,
    }
}

pub(super) fn data(world: &World) -> PathBuf {
    world.path("data")
}

#[track_caller]
fn allows(world: &World, id: &str, agent: &str, key: &str) {
    is_allowed(world, &question(id, agent, key));
}

/// A call under the client's id.
fn load(session: &mut Session, key: &str, id: impl Into<Value>) -> Answer {
    call(session, json!({ "key": key }), id)
}

/// The client sends the call to whatever server has the name.
#[test]
fn a_call_that_the_guard_allowed_gets_its_document_once_whatever_key_it_sends() {
    for (world, mut client) in World::in_each_protocol(|| user(true)) {
        allows(&world, "toolu_1", "anyone", UNBOUND);
        load(&mut client, UNBOUND, "toolu_1").is("unbound\n");
        for sent in ["the-key-is-in-the-ticket", BOUND, UNBOUND, WRONG, ""] {
            let id = format!("toolu_{sent}");
            allows(&world, &id, AGENT, BOUND);
            load(&mut client, sent, &*id).is("bound\n");
            load(&mut client, BOUND, &*id).refused("caller-not-verified");
        }
        // The guard would not leave such tickets, but the server decides for itself.
        for key in [BOUND, WRONG] {
            leave(&data(&world), key, "privacy-scanner");
            load(&mut client, key, key).refused("unknown-key");
        }
        client.end();
    }
}

#[test]
fn after_a_call_an_answer_that_our_server_did_not_give_is_taken_away() {
    let world = user(true);
    let mut client = world.client();
    let is_taken = |said: &str| {
        world.write("said", said);
        let ran = world.typed("keyhole guard --after <said").exits(0);
        let ran = ran.says_nothing_on_stderr();
        assert!(!ran.stdout.contains(MARKER), "{ran:?}");
        if ran.stdout.is_empty() {
            return false;
        }
        let output = &ran.json()["hookSpecificOutput"];
        assert_eq!(output["hookEventName"], "PostToolUse");
        let instead = output["updatedToolOutput"].as_str().unwrap();
        instead.starts_with("keyhole: this answer was not from Keyhole's server")
    };
    let answered = |id: &str| {
        let mut said = question(id, AGENT, BOUND);
        said["hook_event_name"] = "PostToolUse".into();
        said["tool_response"] = json!(MARKER);
        said
    };
    assert!(is_taken(&answered("toolu_1").to_string()));
    allows(&world, "toolu_2", AGENT, BOUND);
    assert!(is_taken(&answered("toolu_2").to_string()));
    allows(&world, "toolu_3", AGENT, BOUND);
    load(&mut client, BOUND, "toolu_3").is("bound\n");
    // What cannot be read, or is about another call, does not use the receipt up.
    for (field, value) in [
        ("tool_name", json!("Read")),
        ("hook_event_name", json!("PreToolUse")),
        ("tool_use_id", json!("toolu_4")),
        ("tool_use_id", json!(["toolu_3"])),
    ] {
        let mut other = answered("toolu_3");
        other[field] = value;
        assert!(is_taken(&other.to_string()), "{other}");
    }
    let good = answered("toolu_3").to_string();
    assert!(is_taken("") && is_taken(&(good.clone() + &" ".repeat(16 << 20))));
    world.write("said", &good);
    let unset = "unset CLAUDE_PLUGIN_DATA; keyhole guard --after <said";
    let _ = world.typed(unset).exits(0).mentions("updatedToolOutput");
    assert!(!is_taken(&good));
    client.end();
}

#[test]
fn without_its_ticket_a_call_gets_nothing_whatever_the_key() {
    for (world, mut client) in World::in_each_protocol(|| user(true)) {
        allows(&world, "toolu_1", AGENT, BOUND);
        let mut answers = Vec::new();
        for key in [BOUND, UNBOUND, WRONG, "", "not a key"] {
            client.load(key).refused("caller-not-verified");
            for id in [json!("toolu_2"), json!(""), json!(1), json!(["toolu_1"])] {
                let answer = load(&mut client, key, id);
                answer.refused("caller-not-verified");
                answers.push(answer.result().clone());
            }
        }
        world.write_map("no map");
        let answer = load(&mut client, BOUND, "toolu_2");
        answer.refused("caller-not-verified");
        answers.push(answer.result().clone());
        assert!(answers.iter().all(|answer| *answer == answers[0]));
        client.end();
    }
}

#[test]
fn the_operator_can_state_who_calls_and_no_parameter_can() {
    for (agent, opens) in [
        (AGENT, true),
        ("team:other", true),
        ("privacy-scanner", false),
        ("keyhole", false),
    ] {
        let world = user(false).arguments(["--agent", agent]);
        let mut client = world.client();
        client.load(UNBOUND).is("unbound\n");
        match opens {
            true => client.load(BOUND).is("bound\n"),
            false => client.load(BOUND).refused("unknown-key"),
        }
        client.end();
    }
    let world = user(false);
    let mut client = world.client();
    let call = json!({
        "name": "load_context",
        "arguments": { "key": BOUND },
        "_meta": { "agent": AGENT, "agent_type": AGENT, "claudecode/agentType": AGENT },
    });
    client.request("tools/call", call).refused("unknown-key");
    client.end();
}

#[test]
fn a_server_that_needs_tickets_is_told_where_they_are() {
    for data in [None, Some(""), Some("relative")] {
        let world = match data {
            None => World::new(),
            Some(data) => World::new().env("CLAUDE_PLUGIN_DATA", data),
        };
        let ran = world.run(["serve", "--require-ticket"]).says("").exits(1);
        assert_eq!(
            ran.stderr,
            "keyhole: CLAUDE_PLUGIN_DATA is not set to an absolute path; \
             only the Claude Code plugin sets it: name a folder with --tickets\n"
        );
    }
}
