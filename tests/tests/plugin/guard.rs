//! Which calls the guard allows, which it denies, and which questions it does not answer; and
//! which answers it lets stand after a call.

use super::{
    AGENT, SUBAGENT, TOOL, ask, ask_of, call, is_allowed, own_agent, own_server, package::files,
    question, temporary,
};
use keyhole_core::AgentName;
use keyhole_tests::{MARKER, World};
use serde_json::{Deserializer, Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    process,
    time::SystemTime,
};

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

/// Each section has the expected answer, then rows of a field and its values. Each value in
/// turn replaces that field of a good question; "gone" removes it.
const SHARED: &str = include_str!("guard/shared.txt");

/// The same of a key that is not bound, which any subagent may use.
const UNBOUND_KEY: &str = include_str!("guard/unbound.txt");

/// The same of the tool of the agent's own server, which takes no key.
const OWN: &str = include_str!("guard/own.txt");

/// The same of an agent of the user's own, which starts a server itself.
const OF_USER: &str = include_str!("guard/of_user.txt");

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
        let told = if reason.starts_with("caller-not-verified") {
            format!("keyhole: {reason}\n")
        } else {
            String::new()
        };
        assert_eq!(ran.stderr, told, "{question}");
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
    let of_session = "deny caller-not-verified: the main conversation calls, or a session";
    for key in [UNBOUND, WRONG] {
        let mut parent = question("toolu_1", AGENT, key);
        for field in ["agent_id", "agent_type"] {
            parent[field].take();
        }
        answers(&world, &parent, of_session);
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
fn what_a_question_holds_twice_has_no_answer() {
    let world = user(true);
    let mut good = question("toolu_1", AGENT, BOUND);
    good["mcp_server"] = json!({ "source": "plugin" });
    let not_understood = "this is not a question that this hook understands";
    for (field, why) in [
        ("tool_input", not_understood),
        ("source", not_understood),
        (
            "key",
            "the arguments must be an object with exactly one string",
        ),
    ] {
        let field = format!("\"{field}\":");
        let twice = good
            .to_string()
            .replacen(&field, &format!("{field}\"x\",{field}"), 1);
        let ran = world.run_with(["guard"], twice.as_bytes()).exits(2);
        let _ = ran.only_complains(why);
        assert_eq!(left(&world), 0, "{twice}");
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

/// Each file below `root` but the tickets: its name, its text, and when it was written.
fn all_but_tickets(root: &Path) -> Vec<(String, Vec<u8>, SystemTime)> {
    let mut names = files(root);
    names.retain(|name| !name.contains("/tickets/"));
    let found = names.into_iter().map(|name| {
        let path = root.join(&name);
        let written = path.metadata().unwrap().modified().unwrap();
        (name, fs::read(path).unwrap(), written)
    });
    found.collect()
}

#[test]
fn guard_serve_and_inject_leave_all_files_but_tickets_as_they_were() {
    let world = user(true);
    let root = world.outside("");
    let before = all_but_tickets(&root);
    is_allowed(&world, &question("toolu_1", AGENT, BOUND));
    assert_eq!(left(&world), 2);
    let mut session = world.client();
    call(&mut session, json!({ "key": BOUND }), "toolu_1").is("bound\n");
    session.end();
    let start = json!({
        "hook_event_name": "SubagentStart",
        "agent_id": SUBAGENT,
        "agent_type": "team:other",
    });
    let ran = world.run_with(["inject"], start.to_string().as_bytes());
    let _ = ran.exits(0).mentions("bound");
    assert_eq!(all_but_tickets(&root), before);
}

/// A gateway chooses the ids of calls, so one may repeat in a session of another client.
#[test]
fn a_ticket_is_redeemed_by_a_server_of_the_client_whose_guard_left_it() {
    for (client, is_served) in [(process::id(), true), (1, false)] {
        let world = user(true).env("CLAUDE_PID", client.to_string());
        let mut session = world.client();
        is_allowed(&world, &question("toolu_1", AGENT, BOUND));
        let answer = call(&mut session, json!({ "key": BOUND }), "toolu_1");
        if is_served {
            answer.is("bound\n");
        } else {
            answer.refused("caller-not-verified");
        }
    }
}

/// The client sends a watcher all that the watched agent reads, or tells the main conversation what
/// the agent looks for, and asks no hook about it.
#[test]
fn an_agent_that_watches_or_is_watched_gets_nothing() {
    let watched = "agents are watched in this session";
    let mut asked = question("toolu_1", AGENT, BOUND);
    let mut parent = asked.clone();
    parent["agent_id"].take();
    for variable in [
        "CLAUDE_CODE_EXPERIMENTAL_OBSERVER_AGENTS",
        "CLAUDE_CODE_WORKER_CHECKIN_SCHEDULE",
    ] {
        let world = user(true).env(variable, "1");
        answers(&world, &asked, watched);
        answers(&world, &parent, "deny caller-not-verified");
    }

    let session = temporary();
    let records = session.path().join("session/subagents");
    fs::create_dir_all(&records).unwrap();
    asked["transcript_path"] = json!(session.path().join("session.jsonl"));
    for (record, says) in [
        ("{\"isObserver\": true}", watched),
        ("{\"observerTaskId\": \"a1\"}", watched),
        ("{\"observerTaskIds\": {\"spy\": \"a1\"}}", watched),
        // The client has not written it to its end.
        ("{\"isObserver\"", "deny caller-not-verified"),
        ("{\"isObserver\": false, \"observerTaskId\": null}", "allow"),
    ] {
        fs::write(records.join(format!("agent-{SUBAGENT}.meta.json")), record).unwrap();
        answers(&user(true), &asked, says);
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
    is_allowed(&world, &question("toolu_2", AGENT, BOUND));
    assert!(is_taken(&answered("toolu_2").to_string()));
    is_allowed(&world, &question("toolu_3", AGENT, BOUND));
    call(&mut client, json!({ "key": BOUND }), "toolu_3").is("bound\n");
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
