//! `keyhole inject`: what the agent of a SubagentStart hook reads, and what a wall it is
//! read behind.

use crate::secrecy::{conceals, talkative};
use keyhole_tests::{MARKER, PATIENCE, Ran, World, binary};
use serde_json::{Value, json};
use std::{fs, process::Command, thread, time::Instant};

const AGENT: &str = "acme:reviewer";

fn start(agent: &str) -> Value {
    json!({
        "session_id": "s",
        "cwd": "/c",
        "hook_event_name": "SubagentStart",
        "agent_id": "a3f29c07b1d4e8560",
        "agent_type": agent,
    })
}

/// The command of a hook that is told of this agent.
fn inject(world: &World, agent: &str) -> Ran {
    world.run_with(["inject"], start(agent).to_string().as_bytes())
}

/// What the agent reads.
#[track_caller]
fn read(world: &World, agent: &str) -> String {
    let ran = inject(world, agent).exits(0).says_nothing_on_stderr();
    context(&ran)
}

#[track_caller]
fn context(ran: &Ran) -> String {
    let output = &ran.json()["hookSpecificOutput"];
    assert_eq!(output["hookEventName"], "SubagentStart");
    output["additionalContext"].as_str().unwrap().to_owned()
}

#[track_caller]
fn refuses(world: &World, agent: &str, code: &str) {
    let said = read(world, agent);
    assert!(said.contains(&format!("not loaded. {code}: ")), "{said}");
    assert!(said.contains("Do not go on without the document"), "{said}");
    conceals(&said);
}

/// A user with a document, and this entry for it.
fn user(entry: &str) -> World {
    World::new()
        .file("hunter2.md", format!("# {MARKER}\n"))
        .map(format!("[keys]\nk-hunter2-7f3a9c55aa01beef = {entry}\n"))
}

#[test]
fn the_agent_that_one_entry_names_reads_its_document_and_no_other_agent_does() {
    let world = user("{ path = '~/hunter2.md', agents = ['acme:reviewer', 'reader'] }");
    for agent in [AGENT, "reader"] {
        assert_eq!(read(&world, agent), format!("# {MARKER}\n"));
    }
    for other in [
        "reviewer",
        "acme:reviewer2",
        "Reader",
        "general-purpose",
        "k-hunter2-7f3a9c55aa01beef",
    ] {
        refuses(&world, other, "unknown-key");
    }
    for other in ["fork", ""] {
        refuses(&world, other, "caller-not-verified");
    }
}

#[test]
fn an_entry_for_anyone_is_nobodys_document_and_of_two_entries_neither_is() {
    refuses(&user("'~/hunter2.md'"), AGENT, "unknown-key");
    let world = user(
        "{ path = '~/hunter2.md', agents = ['acme:reviewer'] }\nk-other-hunter2-0123456 = { path = '~/hunter2.md', agents = ['acme:reviewer'] }",
    );
    refuses(&world, AGENT, "unknown-key");
}

/// The client does not tell a hook which marketplace it is.
#[test]
fn an_entry_for_a_plugin_of_one_marketplace_is_nobodys_document() {
    for agents in [
        "'acme@good:reviewer'",
        "'acme:reviewer', 'acme@good:reviewer'",
    ] {
        let world = user(&format!(
            "{{ path = '~/hunter2.md', agents = [{agents}, 'reader'] }}"
        ));
        for agent in [AGENT, "acme@good:reviewer"] {
            refuses(&world, agent, "unknown-key");
        }
        assert_eq!(read(&world, "reader"), format!("# {MARKER}\n"));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_cannot_start_tells_the_agent_to_stop() {
    let mut world = user("{ path = '~/hunter2.md', agents = ['acme:reviewer'] }");
    let mut refused = 0;
    for most in 4..=24 {
        world = world.after(&format!("ulimit -n {most}"));
        // The program itself may not have been loaded.
        let ran = inject(&world, AGENT);
        if ran.exit != Some(0) {
            assert!(most < 5 && !ran.stderr.contains("panicked"), "{ran:#?}");
            let _ = ran.says("");
            continue;
        }
        let said = context(&ran);
        if said != format!("# {MARKER}\n") {
            let code = "not loaded. out-of-resources: ";
            assert!(said.contains(code) && !said.contains(MARKER), "{said}");
            refused += 1;
        }
    }
    assert!(refused > 1, "{refused}");
    let homeless = user("'~/hunter2.md'").without_env("HOME");
    let homeless = homeless.without_env("XDG_CONFIG_HOME");
    let said = context(&inject(&homeless, AGENT));
    assert!(said.contains("not loaded. map-missing: "), "{said}");
}

#[test]
fn what_a_call_would_refuse_is_refused() {
    let entry = "{ path = '~/hunter2.md', agents = ['acme:reviewer'] }";
    let world = user(entry);
    world.remove_map();
    refuses(&world, AGENT, "map-missing");
    world.write_map("[keys");
    refuses(&world, AGENT, "map-invalid");
    refuses(
        &user(&entry.replace("hunter2.md", "hunter2.txt")),
        AGENT,
        "not-markdown",
    );
    refuses(
        &user(&entry.replace("hunter2.md", "hunter3.md")),
        AGENT,
        "not-found",
    );
    refuses(
        &user(&entry.replace(" }", ", max_bytes = 6 }")),
        AGENT,
        "too-large",
    );
    for (text, code) in [(vec![b'a'; 10_001], "too-large"), (vec![0xff], "not-utf8")] {
        let world = user(entry);
        world.write("hunter2.md", text);
        refuses(&world, AGENT, code);
    }
    let world = talkative(user(entry));
    for blank in ["", " \n"] {
        world.write("hunter2.md", blank);
        let said = read(&world, AGENT);
        assert!(
            said.starts_with("keyhole: the document of this agent was not loaded. Its file is empty. Ask the user to write it.\nDo not go on"),
            "{said}"
        );
    }
    world.write("hunter2.md", "a".repeat(10_000));
    assert_eq!(read(&world, AGENT), "a".repeat(10_000));
}

#[test]
fn what_is_no_hooks_input_gets_no_answer_and_tells_nothing() {
    let world = user("{ path = '~/hunter2.md', agents = ['acme:reviewer'] }");
    let other = start(AGENT)
        .to_string()
        .replace("SubagentStart", "SubagentStop");
    let _ = world
        .run_with(["inject"], other.as_bytes())
        .exits(0)
        .says("")
        .says_nothing_on_stderr();
    for input in [
        "",
        MARKER,
        "[]",
        "{}",
        r#"["SubagentStart", "a3f29c07b1d4e8560", "acme:reviewer"]"#,
    ] {
        let ran = world.run_with(["inject"], input.as_bytes());
        let ran = ran.exits(1).says("");
        conceals(&ran.stderr);
    }
    // More than a hook is ever told.
    let long = start(&"x".repeat(17 << 20)).to_string();
    world.write("input", long);
    let input = fs::File::open(world.path("input")).unwrap();
    let ran = Command::new(binary())
        .arg("inject")
        .stdin(input)
        .output()
        .unwrap();
    assert_eq!((ran.status.code(), &*ran.stdout), (Some(1), &[][..]));
}

#[cfg(target_os = "linux")]
#[test]
fn it_waits_for_its_input_behind_the_second_wall() {
    let world = World::new();
    let inject = world.start(&["inject".into()]);
    let status = format!("/proc/{}/status", inject.process_id());
    let began = Instant::now();
    while !fs::read_to_string(&status)
        .unwrap()
        .contains("Seccomp:\t2\n")
    {
        assert!(began.elapsed() < PATIENCE, "no wall before the input");
        thread::yield_now();
    }
}
