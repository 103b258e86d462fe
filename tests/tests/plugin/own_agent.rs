//! An agent of the user's own: its file starts a server that needs tickets, and the guard as a
//! hook. Both are told one folder for the tickets.

use super::{call, leave};
use crate::hostile::ground::fifo;
use keyhole_core::ticket::TICKET_LIFE;
use keyhole_tests::{MARKER, World, without_start};
use serde_json::{Value, json};
use std::{fs, time::SystemTime};

const OWN: [&str; 4] = ["--bind", "reader", "--agent", "reader"];

/// The client's question to the guard about a call of the tool.
pub(super) fn question(id: &str, agent: &str) -> Value {
    let mut question = super::question(id, agent, "");
    question["tool_name"] = "mcp__reader__load_context".into();
    question["tool_input"] = json!({});
    question
}

/// The folder, which is not there yet.
fn folder(world: &World) -> String {
    let folder = world.path("state/keyhole/claude-code");
    folder.display().to_string()
}

/// A user with the binding `reader`, whose server and guard share a folder that no variable says.
fn user() -> World {
    let world = World::new()
        .file("private/reader.md", "the rules\n")
        .map("roots = ['~/private']\n[bindings.reader]\npath = '~/private/reader.md'\n")
        .env("CLAUDE_PLUGIN_DATA", "/nonexistent")
        .env("XDG_STATE_HOME", "/nonexistent");
    let folder = folder(&world);
    world
        .arguments(OWN)
        .arguments(["--require-ticket", "--tickets", &folder])
}

/// What the user reads if a call is refused.
#[test]
fn each_reason_why_a_caller_is_not_verified_is_said_once_whatever_the_map_is() {
    let grown_old = |world: &World| {
        let tickets = fs::read_dir(world.path("state/keyhole/claude-code/tickets")).unwrap();
        for ticket in tickets.flatten() {
            let file = fs::File::options().write(true).open(ticket.path()).unwrap();
            file.set_modified(SystemTime::now() - TICKET_LIFE * 3 / 2)
                .unwrap();
        }
    };
    let open = |world: &World| world.mode("state/keyhole/claude-code/tickets", 0o755);
    let mut said = Vec::new();
    for map in [None, Some("no map")] {
        let world = user();
        if let Some(map) = map {
            world.write_map(map);
        }
        let mut client = world.client();
        client.load_bound().refused("caller-not-verified");
        call(&mut client, json!({}), "toolu_1").refused("caller-not-verified");
        leave(folder(&world).as_ref(), "toolu_2", "other");
        call(&mut client, json!({}), "toolu_2").refused("caller-not-verified");
        leave(folder(&world).as_ref(), "toolu_3", "reader");
        grown_old(&world);
        call(&mut client, json!({}), "toolu_3").refused("caller-not-verified");
        open(&world);
        call(&mut client, json!({}), "toolu_4").refused("caller-not-verified");
        let all = client.ends_saying();
        assert!(!all.contains(MARKER) && !all.contains("toolu"), "{all}");
        said.push(without_start(&all).replace("keyhole: caller-not-verified: ", ""));
    }
    assert_eq!(said[0], said[1]);
    let reasons = "\
        the client sent no id with the call (claudecode/toolUseId), so it can have no ticket\n\
        no ticket: there is none for this call: the client's hook did not run or refused the call, or the client did not start this server itself\n\
        the ticket is for another agent than the one that --agent names\n\
        no ticket: the one for this call is older than a minute, or not whole, or not private\n\
        no ticket: the folder `tickets` in the folder that Keyhole keeps them in is not private to its user; remove it\n";
    assert_eq!(said[0], reasons);
}

/// 2,000 lines are more than a pipe holds.
#[test]
fn a_client_that_does_not_read_why_is_answered_all_the_same() {
    let world = user();
    fifo(&world.path("unread"));
    let mut client = world.after("exec 2<>unread").client();
    for _ in 0..2_000 {
        client.load_bound().refused("caller-not-verified");
    }
    client.hang_up();
    assert_eq!(client.ended().exit, Some(0));
}
