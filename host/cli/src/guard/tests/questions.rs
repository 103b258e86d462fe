//! Questions that the guard does not answer, since the client does not ask so.

use super::{AGENT, BOUND, UNBOUND, User, but, subagent, with, without};
use crate::guard::{
    GuardError, HookError, MAX_INPUT_BYTES, guard,
    hook::{OWN_TOOL, TOOL},
};
use keyhole_core::{AgentName, BadAgentName};
use serde_json::{Value, json};
use std::io;

/// None of these has an answer, and all for this reason.
#[track_caller]
fn fail(questions: impl IntoIterator<Item = Value>, why: HookError) {
    let user = User::new();
    for question in questions {
        user.fails(question.to_string(), why);
    }
}

#[test]
fn a_question_without_what_counts_has_no_answer_and_one_with_more_has() {
    User::new().allows(&but("effort", json!({"level": "high"})));
    let counts = "hook_event_name tool_name tool_use_id tool_input agent_type";
    let lacking = counts
        .split(' ')
        .map(|field| without(subagent(AGENT, BOUND), field));
    fail(lacking, HookError::NotUnderstood);
}

#[test]
fn a_question_with_something_else_where_it_counts_has_no_answer() {
    let texts = [
        "hook_event_name",
        "tool_name",
        "tool_use_id",
        "agent_id",
        "agent_type",
    ];
    for value in [json!(1), json!(true), json!([AGENT]), json!({})] {
        let other = texts.map(|field| but(field, value.clone()));
        fail(other, HookError::NotUnderstood);
    }
    let ids = ["tool_use_id", "agent_id", "agent_type"];
    fail(ids.map(|field| but(field, "")), HookError::NotUnderstood);
    fail(
        [but("mcp_server", json!(["plugin"]))],
        HookError::NotUnderstood,
    );
    let arguments = [
        json!(null),
        json!([]),
        json!([BOUND]),
        json!("key"),
        json!({}),
        json!({"key": 1}),
        json!({"key": null}),
        json!({"Key": BOUND}),
        json!({"key": BOUND, "agent": AGENT}),
    ];
    let other = arguments.map(|arguments| but("tool_input", arguments));
    fail(other, HookError::Arguments);
}

#[test]
fn another_tool_or_event_has_no_answer() {
    let tools = [
        "Bash",
        "load_context",
        "mcp__context__load_context",
        "mcp__plugin_keyhole_context__load_context2",
        "xmcp__plugin_keyhole_context__load_context",
        "mcp__plugin_other_context__load_context",
    ];
    fail(tools.map(|tool| but("tool_name", tool)), HookError::NotOurs);
    let events = ["PostToolUse", "pretooluse", "PermissionRequest", ""];
    fail(
        events.map(|event| but("hook_event_name", event)),
        HookError::NotOurs,
    );
}

#[test]
fn the_tool_of_the_agents_own_server_is_that_agents_only_and_its_definition_brought_it() {
    let own = with(but("tool_name", OWN_TOOL), "tool_input", json!({}));
    let of = |source: Value| with(own.clone(), "mcp_server", json!({"source": source}));
    User::new().allows(&of("agent".into()));
    fail([own.clone()], HookError::NotOurs);
    let others = ["project", "user", "plugin", "Agent", ""];
    fail(others.map(|source| of(source.into())), HookError::NotOurs);
    fail([of(Value::Null)], HookError::NotUnderstood);
    let agents = ["general-purpose", "privacy-scanner", "keyhole:other"];
    let asks = agents.map(|agent| with(of("agent".into()), "agent_type", agent));
    fail(asks, HookError::NotOurs);
}

#[test]
fn the_shared_servers_tool_is_ours_only_if_a_plugin_brought_it_or_the_client_does_not_say() {
    let of = |source: &str| but("mcp_server", json!({"source": source}));
    User::new().allows(&of("plugin"));
    User::new().allows(&but("mcp_server", Value::Null));
    let others = ["project", "user", "agent", "Plugin", ""];
    fail(others.map(of), HookError::NotOurs);
}

#[test]
fn a_field_that_is_there_twice_has_no_answer() {
    let good = but("mcp_server", json!({"source": "plugin"})).to_string();
    for (field, why) in [
        ("\"agent_type\":", HookError::NotUnderstood),
        ("\"tool_use_id\":", HookError::NotUnderstood),
        ("\"tool_input\":", HookError::NotUnderstood),
        ("\"source\":", HookError::NotUnderstood),
        ("\"key\":", HookError::Arguments),
    ] {
        let twice = good.replacen(field, &format!("{field}\"x\",{field}"), 1);
        User::new().fails(twice, why);
    }
}

#[test]
fn what_is_not_one_json_object_has_no_answer() {
    let good = subagent(AGENT, BOUND).to_string();
    let nested = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let list =
        json!(["PreToolUse", TOOL, "toolu_1", "a3f29c07b1d4e8560", AGENT, null, {"key": BOUND}]);
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
        &list.to_string(),
        &nested,
    ] {
        User::new().fails(input, HookError::NotUnderstood);
    }
    User::new().fails(b"\xff\xfe{}", HookError::NotUnderstood);
}

#[test]
fn a_question_may_be_long_but_not_endless() {
    let most = usize::try_from(MAX_INPUT_BYTES).unwrap();
    let room = most - but("pad", "").to_string().len();
    let longest = but("pad", "x".repeat(room)).to_string();
    let user = User::new();
    assert!(user.ask(longest.as_bytes()).is_ok());
    User::new().fails(longest.replacen('x', "xx", 1), HookError::NotUnderstood);
    // Spaces at the end count too.
    User::new().fails(longest + " ", HookError::NotUnderstood);

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
fn a_subagent_whose_name_fits_no_ticket_gets_none() {
    let names = ["a\nb".to_owned(), "a".repeat(AgentName::MAX_BYTES + 1)];
    let asks = names.map(|name| subagent(&name, UNBOUND));
    fail(asks, HookError::Agent(BadAgentName));
}
