//! With agent teams, the main conversation can give a teammate any name, and the
//! client tells hooks this name as the type of the agent that calls. `client::14`
//! tests this with the real client.

use crate::plugin::{ask, decision, question};
use keyhole_tests::World;

const KEY: &str = "k-hunter2-bound-0123456789";

/// What the guard decides about a call of `agent`, and how many files it left.
fn guard(world: &World, id: &str, agent: &str) -> (String, usize) {
    let mut question = question("toolu_1", agent, KEY);
    question["agent_id"] = id.into();
    let ran = ask(world, &question).exits(0);
    let tickets = world.path("data/tickets").read_dir();
    (decision(&ran), tickets.map_or(0, Iterator::count))
}

#[test]
fn a_teammate_named_as_a_bound_agent_gets_no_ticket() {
    let world = World::new().directory("data").map(format!(
        "[keys]\n{KEY} = {{ path = '~/a.md', agents = ['reader'] }}\n"
    ));
    let data = world.path("data");
    let world = world.env("CLAUDE_PLUGIN_DATA", data);
    for id in ["areader-9884851eba053841", "reader@session-f20f9dd5"] {
        assert_eq!(guard(&world, id, "reader"), ("deny".to_owned(), 0));
    }
    // The agent itself does, and a receipt.
    let agent = guard(&world, "a517209194a51b493", "reader");
    assert_eq!(agent, ("allow".to_owned(), 2));
}
