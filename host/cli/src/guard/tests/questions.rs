//! Questions that the guard does not answer, since the client does not ask so.

use super::{AGENT, BOUND, UNBOUND, User, subagent, with, without};
use crate::guard::{
    GuardError, HookError, MAX_INPUT_BYTES, guard,
    hook::{OWN_TOOL, TOOL},
};
use serde_json::json;
use std::io;

#[test]
fn a_question_without_what_counts_has_no_answer_and_one_with_more_has() {
    let newer = with(subagent(AGENT, BOUND), "effort", json!({"level": "high"}));
    User::new().allows(&newer);
    for field in [
        "hook_event_name",
        "tool_name",
        "tool_use_id",
        "tool_input",
        "agent_type",
    ] {
        let question = without(subagent(AGENT, BOUND), field);
        User::new().fails(question.to_string(), HookError::NotUnderstood);
    }
}

#[test]
fn a_question_with_something_else_where_it_counts_has_no_answer() {
    for field in [
        "hook_event_name",
        "tool_name",
        "tool_use_id",
        "agent_id",
        "agent_type",
    ] {
        for value in [json!(1), json!(true), json!([AGENT]), json!({})] {
            let question = with(subagent(AGENT, BOUND), field, value);
            User::new().fails(question.to_string(), HookError::NotUnderstood);
        }
    }
    for field in ["tool_use_id", "agent_id", "agent_type"] {
        let question = with(subagent(AGENT, BOUND), field, json!(""));
        User::new().fails(question.to_string(), HookError::NotUnderstood);
    }
    for arguments in [
        json!(null),
        json!([]),
        json!("key"),
        json!({}),
        json!({"key": 1}),
        json!({"key": null}),
        json!({"Key": BOUND}),
        json!({"key": BOUND, "agent": AGENT}),
    ] {
        let question = with(subagent(AGENT, BOUND), "tool_input", arguments);
        User::new().fails(question.to_string(), HookError::Arguments);
    }
}

#[test]
fn another_tool_or_event_has_no_answer() {
    for tool in [
        "Bash",
        "load_context",
        "mcp__context__load_context",
        "mcp__plugin_keyhole_context__load_context2",
        "xmcp__plugin_keyhole_context__load_context",
        "mcp__plugin_other_context__load_context",
    ] {
        let question = with(subagent(AGENT, BOUND), "tool_name", json!(tool));
        User::new().fails(question.to_string(), HookError::NotOurs);
    }
    for event in ["PostToolUse", "pretooluse", "PermissionRequest", ""] {
        let question = with(subagent(AGENT, BOUND), "hook_event_name", json!(event));
        User::new().fails(question.to_string(), HookError::NotOurs);
    }
}

#[test]
fn the_tool_of_the_agents_own_server_is_that_agents_only_and_its_definition_brought_it() {
    let mut question = with(subagent(AGENT, BOUND), "tool_name", json!(OWN_TOOL));
    question["tool_input"] = json!({});
    User::new().fails(question.to_string(), HookError::NotOurs);
    let of = |source| with(question.clone(), "mcp_server", json!({"source": source}));
    User::new().allows(&of(json!("agent")));
    for source in ["project", "user", "plugin", "Agent", ""].map(|source| json!(source)) {
        User::new().fails(of(source).to_string(), HookError::NotOurs);
    }
    User::new().fails(of(json!(null)).to_string(), HookError::NotUnderstood);
    for agent in ["general-purpose", "privacy-scanner", "keyhole:other"] {
        let other = with(of(json!("agent")), "agent_type", json!(agent));
        User::new().fails(other.to_string(), HookError::NotOurs);
    }
}

#[test]
fn the_shared_servers_tool_is_ours_only_if_a_plugin_brought_it_or_the_client_does_not_say() {
    let of = |source| {
        with(
            subagent(AGENT, BOUND),
            "mcp_server",
            json!({"source": source}),
        )
    };
    User::new().allows(&of(json!("plugin")));
    User::new().allows(&with(subagent(AGENT, BOUND), "mcp_server", json!(null)));
    for source in ["project", "user", "agent", "Plugin", ""].map(|source| json!(source)) {
        User::new().fails(of(source).to_string(), HookError::NotOurs);
    }
}

#[test]
fn an_array_in_an_objects_place_has_no_answer() {
    let list =
        json!(["PreToolUse", TOOL, "toolu_1", "a3f29c07b1d4e8560", AGENT, null, {"key": BOUND}]);
    User::new().fails(list.to_string(), HookError::NotUnderstood);
    let server = with(subagent(AGENT, BOUND), "mcp_server", json!(["plugin"]));
    User::new().fails(server.to_string(), HookError::NotUnderstood);
    let arguments = with(subagent(AGENT, BOUND), "tool_input", json!([BOUND]));
    User::new().fails(arguments.to_string(), HookError::Arguments);
}

#[test]
fn a_field_that_is_there_twice_has_no_answer() {
    let good = with(
        subagent(AGENT, BOUND),
        "mcp_server",
        json!({"source": "plugin"}),
    );
    for (field, error) in [
        ("\"tool_use_id\":", HookError::NotUnderstood),
        ("\"tool_input\":", HookError::NotUnderstood),
        ("\"source\":", HookError::NotUnderstood),
        ("\"key\":", HookError::Arguments),
    ] {
        let twice = good
            .to_string()
            .replacen(field, &format!("{field}\"x\",{field}"), 1);
        User::new().fails(twice, error);
    }
}

#[test]
fn what_is_not_one_json_object_has_no_answer() {
    let good = subagent(AGENT, BOUND).to_string();
    let nested = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let twice = good.replacen('{', "{\"agent_type\":\"reader\",", 1);
    for input in [
        "",
        " ",
        "null",
        "[]",
        "{",
        "hunter2",
        &good[..good.len() - 1],
        &format!("{good}{good}"),
        &format!("{good} hunter2"),
        &twice,
        &nested,
    ] {
        User::new().fails(input, HookError::NotUnderstood);
    }
    User::new().fails(b"\xff\xfe{}", HookError::NotUnderstood);
}

#[test]
fn a_question_may_be_long_but_not_endless() {
    let padded = |bytes: usize| {
        let mut question = subagent(AGENT, BOUND);
        let room = bytes - with(question.clone(), "pad", json!("")).to_string().len();
        question["pad"] = "x".repeat(room).into();
        question.to_string()
    };
    let most = usize::try_from(MAX_INPUT_BYTES).unwrap();
    let user = User::new();
    assert!(user.ask(padded(most).as_bytes()).is_ok());
    User::new().fails(padded(most + 1), HookError::NotUnderstood);
    // Spaces at the end count too.
    User::new().fails(padded(most) + " ", HookError::NotUnderstood);

    let endless = guard(
        &crate::tests::live(&user.0),
        &user.tickets(),
        io::repeat(b' '),
        io::sink(),
    );
    assert!(matches!(
        endless,
        Err(GuardError::Hook(HookError::NotUnderstood))
    ));
}

#[test]
fn no_failure_repeats_what_was_asked() {
    let user = User::new();
    for (agent, field, value) in [
        ("hunter2", "hook_event_name", json!("hunter2")),
        ("hunter2", "tool_input", json!({"hunter2": 1})),
        ("hunter2\n", "tool_use_id", json!("hunter2")),
    ] {
        let input = with(subagent(agent, UNBOUND), field, value);
        let error = user.ask(input.to_string().as_bytes()).unwrap_err();
        let line = error.to_string();
        assert!(!line.contains("hunter2") && !line.contains('\n'), "{line}");
    }
}
