//! Who gets which file: guard, tickets and binding, with the real programs.

use super::{Package, ask, call, decision, in_home, is_allowed, leave, question};
use keyhole_tests::{Answer, MARKER, Protocol, Ran, Session, World};
use serde_json::{Value, json};
use std::{fs, path::PathBuf, process::Command};

const AGENT: &str = "keyhole:privacy-scanner";
const BOUND: &str = "k-hunter2-bound-0123456789";
const UNBOUND: &str = "k-hunter2-unbound-01234567";
const WRONG: &str = "k-hunter2-wrong-0123456789";

/// A user with one key for anyone and one for [`AGENT`], and the plugin's data
/// folder. Servers require tickets if `ticketed`.
fn user(ticketed: bool) -> World {
    let world = World::new()
        .file("bound.md", "bound\n")
        .file("unbound.md", "unbound\n")
        .directory("data")
        .map(format!(
            "[keys]\n{BOUND} = {{ path = '~/bound.md', agents = ['{AGENT}', 'team:other'] }}\n\
             {UNBOUND} = '~/unbound.md'\n"
        ));
    match ticketed {
        true => {
            let data = data(&world);
            world
                .env("CLAUDE_PLUGIN_DATA", data)
                .argument("--require-ticket")
        }
        false => world,
    }
}

fn data(world: &World) -> PathBuf {
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

#[test]
fn a_call_that_the_guard_allowed_gets_its_document_once() {
    for (world, mut client) in World::in_each_protocol(|| user(true)) {
        allows(&world, "toolu_1", AGENT, BOUND);
        allows(&world, "toolu_2", "anyone", UNBOUND);
        load(&mut client, UNBOUND, "toolu_2").is("unbound\n");
        load(&mut client, BOUND, "toolu_1").is("bound\n");
        for (key, id) in [(BOUND, "toolu_1"), (UNBOUND, "toolu_2")] {
            load(&mut client, key, id).refused("caller-not-verified");
        }
        client.end();
    }
}

/// The client sends the call to whatever server has the name.
#[test]
fn the_key_is_in_the_ticket_and_what_the_call_says_does_not_count() {
    for (world, mut client) in World::in_each_protocol(|| user(true)) {
        for (id, sent) in ["in-the-ticket", UNBOUND, WRONG, ""].iter().enumerate() {
            let id = format!("toolu_{id}");
            allows(&world, &id, AGENT, BOUND);
            load(&mut client, sent, &*id).is("bound\n");
        }
        client.end();
    }
}

#[test]
fn after_a_call_an_answer_that_our_server_did_not_give_is_taken_away() {
    let world = user(true);
    let mut client = world.client();
    let after = |id: &str| {
        let mut said = question(id, AGENT, BOUND);
        said["hook_event_name"] = "PostToolUse".into();
        said["tool_response"] = json!(MARKER);
        let ran = world.run_with(["guard", "--after"], said.to_string().as_bytes());
        let ran = ran.says_nothing_on_stderr();
        assert!(!ran.stdout.contains(MARKER), "{ran:?}");
        ran.exits(0).stdout.contains("updatedToolOutput")
    };
    assert!(after("toolu_1"));
    allows(&world, "toolu_2", AGENT, BOUND);
    assert!(after("toolu_2"));
    allows(&world, "toolu_3", AGENT, BOUND);
    load(&mut client, BOUND, "toolu_3").is("bound\n");
    assert!(!after("toolu_3"));
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
fn a_ticket_that_names_another_agent_opens_no_bound_key() {
    let world = user(true);
    let mut client = world.client();
    // The guard would not leave such tickets, but the server decides for itself.
    leave(&data(&world), "toolu_1", "privacy-scanner");
    leave(&data(&world), "toolu_2", "privacy-scanner");
    let bound = load(&mut client, BOUND, "toolu_1");
    bound.refused("unknown-key");
    let wrong = load(&mut client, WRONG, "toolu_2");
    assert_eq!(bound.result(), wrong.result());
    client.end();
}

#[test]
fn a_key_that_is_bound_meanwhile_is_refused_at_the_very_next_call() {
    let world = user(true);
    let mut client = world.client();
    for id in ["toolu_1", "toolu_2"] {
        allows(&world, id, "anyone", UNBOUND);
    }
    load(&mut client, UNBOUND, "toolu_1").is("unbound\n");
    world.replace_map(format!(
        "[keys]\n{UNBOUND} = {{ path = '~/unbound.md', agents = ['{AGENT}'] }}\n"
    ));
    load(&mut client, UNBOUND, "toolu_2").refused("unknown-key");
    client.end();
}

#[test]
fn the_guard_denies_in_the_servers_words() {
    let world = user(true);
    let mut client = world.client();
    let unverified = load(&mut client, BOUND, "toolu_9");
    leave(&data(&world), "toolu_8", "x");
    let unknown = load(&mut client, WRONG, "toolu_8");
    client.end();
    let left = || fs::read_dir(data(&world).join("tickets")).unwrap().count();
    let before = left();

    let mut parent = question("toolu_1", AGENT, BOUND);
    parent["agent_id"].take();
    let denials = [
        (parent, unverified),
        (question("toolu_1", "impostor", BOUND), unknown),
    ];
    for (question, answer) in denials {
        let ran = ask(&world, &question).exits(0);
        assert_eq!(decision(&ran), "deny");
        let said = ran.json();
        assert_eq!(
            said["hookSpecificOutput"]["permissionDecisionReason"],
            answer.result()["content"][0]["text"]
        );
    }
    assert_eq!(left(), before);
}

#[test]
fn the_guard_ends_with_2_and_one_line_where_anything_is_amiss() {
    let world = user(true);
    let good = question("toolu_1", AGENT, BOUND);
    let mut other = good.clone();
    other["tool_name"] = MARKER.into();
    let mut bare = good.clone();
    bare["tool_input"] = json!({ MARKER: 1 });
    let fails = |ran: Ran| {
        let ran = ran.says("").exits(2);
        let line = ran.stderr.strip_suffix('\n').unwrap();
        assert!(line.starts_with("keyhole: ") && !line.contains('\n'));
        assert!(!line.contains(MARKER), "{line}");
    };
    let lines = question("toolu_1", &format!("{MARKER}\n"), UNBOUND);
    for question in [&other, &bare, &lines, &json!(MARKER), &json!({})] {
        fails(ask(&world, question));
    }
    fails(ask(&user(false), &good));
    let homeless = user(true).without_env("HOME");
    fails(ask(&homeless.without_env("XDG_CONFIG_HOME"), &good));
    fs::write(data(&world).join("tickets"), "").unwrap();
    fails(ask(&world, &good));
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
        "arguments": { "key": BOUND, "agent": AGENT },
    });
    let answer = client.request("tools/call", call);
    assert_eq!(
        (answer.text(), answer.result()["isError"] == true),
        (None, true)
    );
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
             only the Claude Code plugin sets it: serve without --require-ticket\n"
        );
    }
}

#[test]
fn the_packaged_plugin_hands_out_what_its_guard_allowed() {
    let package = Package::shared();
    let world = user(true);
    let start = |arguments: &[&str], input: &str| {
        let mut sh = Command::new("sh");
        let sh = sh
            .arg(package.plugin().join("start.sh"))
            .arg(data(&world))
            .args(arguments);
        Ran::of(in_home(sh, &world), input.as_bytes())
    };
    let _ = start(&["install"], "").says("").exits(0);
    let asked = question("toolu_1", AGENT, BOUND).to_string();
    let ran = start(&["guard"], &asked).says_nothing_on_stderr().exits(0);
    assert_eq!(decision(&ran), "allow");
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": Protocol::Discover.params(json!({
            "name": "load_context",
            "arguments": { "key": BOUND },
            "_meta": { "claudecode/toolUseId": "toolu_1" },
        })),
    });
    let ran = start(&["serve", "--require-ticket"], &format!("{call}\n"));
    let ran = ran.says_nothing_on_stderr().exits(0);
    assert_eq!(ran.json()["result"]["content"][0]["text"], "bound\n");
}
