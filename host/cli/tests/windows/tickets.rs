use crate::{
    KEY, answer,
    machine::{Machine, Place, Ran, machine},
};
use serde_json::{Value, json};
use std::time::Instant;

const AGENT: &str = "keyhole:privacy-scanner";

/// What the guard says of a call before it, or after it.
fn guard(machine: &Machine, place: &Place, event: &str, id: &str) -> Ran {
    // What a client keeps of a subagent.
    place.write("session/subagents/agent-a0123456789abcdef.meta.json", "{}");
    let question = json!({
        "transcript_path": place.path("session.jsonl"),
        "hook_event_name": event,
        "tool_name": "mcp__plugin_keyhole_context__load_context",
        "tool_use_id": id,
        "tool_input": {"key": KEY},
        "agent_id": "a0123456789abcdef",
        "agent_type": AGENT,
    });
    let map = place.path("map.toml");
    let arguments = match event {
        "PostToolUse" => &["guard", "--after"][..],
        _ => &["guard", "--map", &map],
    };
    machine.run(arguments, &question.to_string())
}

fn call(machine: &Machine, place: &Place, id: &str) -> Result<String, String> {
    let requests = crate::session(&[]);
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "load_context", "arguments": {"key": KEY},
        "_meta": {"claudecode/toolUseId": id},
    }});
    let map = place.path("map.toml");
    // Once, because the call uses up its ticket.
    let ran = machine.run_once(
        &["serve", "--require-ticket", "--map", &map],
        &format!("{requests}{call}\n"),
    );
    assert_eq!(ran.code, 0, "{}", ran.err);
    answer(&ran.out, 1)
}

#[test]
fn a_ticket_that_the_guard_leaves_is_redeemed_once() {
    let Some(machine) = machine() else { return };
    let place = machine.place();
    place.write("a.md", "# A\n");
    place.write(
        "map.toml",
        format!("[keys]\n\"{KEY}\" = {{ path = 'a.md', agents = ['{AGENT}'] }}\n"),
    );
    place.write("data/x", "");
    let machine = machine.with("CLAUDE_PLUGIN_DATA", &place.path("data"));
    let before = |id: &str| guard(&machine, &place, "PreToolUse", id);
    let denied = Err("caller-not-verified".to_owned());

    assert_eq!(call(&machine, &place, "toolu_0"), denied);
    let mut served = denied.clone();
    // A machine may be so busy that the call is stopped, or that its ticket is void by then.
    for id in (1..=10).map(|number| format!("toolu_{number}")) {
        let began = Instant::now();
        let asked = before(&id);
        assert_eq!((asked.code, &*asked.err), (0, ""));
        let decision: Value = serde_json::from_str(&asked.out).unwrap_or_default();
        assert_ne!(decision["hookSpecificOutput"]["permissionDecision"], "deny");
        // The client has asked about it before.
        assert_eq!(before(&id).code, 2);
        assert_eq!(call(&machine, &place, "toolu_0"), denied);
        served = call(&machine, &place, &id);
        assert_eq!(call(&machine, &place, &id), denied);
        let answered = guard(&machine, &place, "PostToolUse", &id);
        let is_ours = (answered.code, &*answered.out) == (0, "");
        assert!(is_ours || served.is_err(), "{}", answered.out);
        let stopped = served == Err("timed-out".to_owned());
        if served.is_ok() || (!stopped && began.elapsed() < keyhole_core::ticket::LIFE) {
            break;
        }
    }
    assert_eq!(served.as_deref(), Ok("# A\n"));
    let left = std::fs::read_dir(place.here("data/tickets")).unwrap();
    assert_eq!(left.count(), 0);
}

#[test]
fn no_ticket_is_left_in_a_folder_that_others_can_read() {
    let Some(machine) = machine() else { return };
    let place = machine.place();
    place.write("map.toml", crate::map_of("a.md"));
    // This folder is created by hand and inherits its rights: under wine all may read
    // it.
    place.write("data/tickets/x", "");
    if cfg!(windows) {
        let grant = ["/grant", "*S-1-1-0:(R)"];
        let folder = place.path(r"data\tickets");
        let ran = machine.run_program("icacls", &[&folder, grant[0], grant[1]], "");
        assert_eq!(ran.code, 0, "{}", ran.out);
    }
    let machine = machine.with("CLAUDE_PLUGIN_DATA", &place.path("data"));
    let Ran { code, out, err } = guard(&machine, &place, "PreToolUse", "toolu_1");
    assert!(code == 2 || out.contains("deny"), "{out} {err}");
    assert!(err.contains("not private"), "{out} {err}");
}
