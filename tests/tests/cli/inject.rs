//! `keyhole inject`: what the agent of a SubagentStart hook reads, and what a wall it is
//! read behind.

use crate::secrecy::{conceals, talkative};
use keyhole_tests::{MARKER, Ran, World};
use serde_json::{Value, json};

const AGENT: &str = "acme:reviewer";
/// The ids of agents in Claude Code, and in Codex and Copilot.
const CLAUDE: &str = "a3f29c07b1d4e8560";
const CODEX: &str = "01a20a86-fc8c-7a90-9a39-0261fd42f0be";

const ENTRY: &str = "{ path = '~/hunter2.md', agents = ['acme:reviewer'] }";

fn start(id: &str, agent: &str) -> Value {
    json!({
        "session_id": "s",
        "cwd": {"hook_event_name": "PreToolUse"},
        "hook_event_name": "SubagentStart",
        "agent_id": id,
        "agent_type": agent,
    })
}

fn inject(world: &World, input: &Value) -> Ran {
    world.run_with(["inject"], input.to_string().as_bytes())
}

#[track_caller]
fn read_by(world: &World, input: &Value) -> String {
    let ran = inject(world, input).exits(0).says_nothing_on_stderr();
    context(&ran)
}

#[track_caller]
fn read(world: &World, agent: &str) -> String {
    read_by(world, &start(CLAUDE, agent))
}

#[track_caller]
fn context(ran: &Ran) -> String {
    let mut answer = ran.json();
    let output = answer["hookSpecificOutput"].take();
    assert_eq!(answer, json!({ "hookSpecificOutput": null }));
    let text = &output["additionalContext"];
    let whole = json!({ "hookEventName": "SubagentStart", "additionalContext": text });
    assert_eq!(output, whole);
    text.as_str().unwrap().to_owned()
}

#[track_caller]
fn refuses(world: &World, agent: &str, code: &str) {
    is_refusal(&read(world, agent), code);
}

#[track_caller]
fn is_refusal(said: &str, code: &str) {
    assert!(said.contains(&format!("not loaded. {code}: ")), "{said}");
    assert!(said.contains("Do not go on without the document"), "{said}");
    conceals(said);
}

/// A user with a document, and this entry for it.
fn user(entry: &str) -> World {
    World::new()
        .file("hunter2.md", format!("# {MARKER}\n"))
        .map(format!(
            "roots = ['~/']\n[keys]\nk-hunter2-7f3a9c55aa01beef = {entry}\n"
        ))
}

/// In each section an entry of the map, then an agent's id and type, and what it reads: its
/// file, or a code.
const READS: &str = include_str!("inject.txt");

#[test]
fn the_agent_that_one_entry_names_reads_its_document_and_no_other_agent_does() {
    for section in READS.trim().split("\n\n") {
        let (entry, rows) = section.split_once('\n').unwrap();
        let world = user(&entry.replace('¶', "\n"));
        for row in rows.lines() {
            let (asked, reads) = row.split_once(" ⇒ ").unwrap();
            let (id, agent) = asked.split_once(' ').unwrap();
            let said = read_by(&world, &start(id, &agent.replace('¶', "\n")));
            match reads {
                "its file" => assert_eq!(said, format!("# {MARKER}\n"), "{entry}\n{row}"),
                code => is_refusal(&said, code),
            }
        }
    }
    for field in ["agent_id", "agent_type"] {
        let mut input = start(CLAUDE, AGENT);
        input[field].take();
        is_refusal(&read_by(&user(ENTRY), &input), "caller-not-verified");
    }
}

/// Claude Code sends a watcher all that the watched agent reads, and the main conversation what it
/// does. Codex does neither.
#[test]
fn an_agent_that_others_may_watch_gets_no_document() {
    for variable in [
        "CLAUDE_CODE_EXPERIMENTAL_OBSERVER_AGENTS",
        "CLAUDE_CODE_WORKER_CHECKIN_SCHEDULE",
    ] {
        let world = user(ENTRY).env(variable, "1");
        let said = read(&world, AGENT);
        assert!(said.contains("not loaded. agents are watched"), "{said}");
        conceals(&said);
        let document = format!("# {MARKER}\n");
        assert_eq!(read_by(&world, &start(CODEX, AGENT)), document);
    }
}

#[test]
fn of_another_event_nothing_is_said() {
    let stop = start(CLAUDE, AGENT).to_string();
    let stop = stop.replace("SubagentStart", "SubagentStop");
    let other = user(ENTRY).run_with(["inject"], stop.as_bytes());
    let _ = other.exits(0).says("").says_nothing_on_stderr();
}

/// Copilot names no event, has a parent's id, and reads an answer without a name.
#[test]
fn copilot_is_answered_in_its_own_form_and_takes_no_id_of_another_form() {
    let world = user(ENTRY);
    let answer = |id| {
        let mut input = start(id, AGENT);
        input.as_object_mut().unwrap().remove("hook_event_name");
        input["parent_agent_id"] = CODEX.into();
        inject(&world, &input).exits(0).json()
    };
    let document = format!("# {MARKER}\n");
    assert_eq!(answer(CODEX), json!({ "additionalContext": document }));
    let refusal = answer(CLAUDE);
    let refusal = refusal["additionalContext"].as_str().unwrap();
    is_refusal(refusal, "caller-not-verified");
}

#[cfg(target_os = "linux")]
#[test]
fn what_cannot_start_tells_the_agent_to_stop() {
    let mut world = user(ENTRY);
    let mut refused = 0;
    for most in 4..=24 {
        world = world.after(&format!("ulimit -n {most}"));
        // The program itself may not have been loaded.
        let ran = inject(&world, &start(CLAUDE, AGENT));
        if ran.exit != Some(0) {
            assert!(most < 5 && !ran.stderr.contains("panicked"), "{ran:#?}");
            let _ = ran.says("");
            continue;
        }
        let said = context(&ran);
        if said != format!("# {MARKER}\n") {
            is_refusal(&said, "out-of-resources");
            refused += 1;
        }
    }
    assert!(refused > 1, "{refused}");
    let said = inject(&user(ENTRY).homeless(), &start(CLAUDE, AGENT));
    is_refusal(&context(&said), "map-missing");
}

#[test]
fn what_a_call_would_refuse_is_refused() {
    let world = talkative(user(ENTRY));
    world.write("hunter2.md", [0xff]);
    refuses(&world, AGENT, "not-utf8");
    for blank in ["", " \n", "\u{feff}", "\u{200b}\u{2060}\n", "\0\0"] {
        world.write("hunter2.md", blank);
        let said = read(&world, AGENT);
        assert!(
            said.starts_with("keyhole: the document of this agent was not loaded. Its file is empty. Ask the user to write it.\nDo not go on"),
            "{said}"
        );
    }
    world.write_map("[keys");
    refuses(&world, AGENT, "map-invalid");
    world.remove_map();
    refuses(&world, AGENT, "map-missing");
}

/// Claude Code counts in UTF-16 units, the others in bytes.
#[test]
fn a_document_at_the_clients_limit_comes_whole_and_unchanged_and_a_longer_one_is_refused() {
    let world = user(ENTRY);
    for (id, most, longer) in [
        (CLAUDE, "🔑".repeat(5_000), "a"),
        (CODEX, "ä".repeat(5_000), "a"),
        (
            CODEX,
            "- \"a\" \\ {$1}\n\u{feff}\r\n\0\u{2028}\n".to_owned(),
            &"a".repeat(10_000),
        ),
    ] {
        world.write("hunter2.md", &most);
        assert_eq!(read_by(&world, &start(id, AGENT)), most);
        world.write("hunter2.md", most + longer);
        is_refusal(&read_by(&world, &start(id, AGENT)), "too-large");
    }
}
