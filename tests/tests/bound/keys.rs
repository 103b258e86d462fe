//! Who may use a binding, what `check` says of it, and that nobody is shown a key.

use super::{KEY, bound, loaded, world};
use crate::cli::check::said;
use keyhole_tests::World;
use serde_json::json;

#[test]
fn a_binding_for_agents_needs_the_agent() {
    loaded(world(), "for-reviewer").refused("unknown-key");
    let other = world().arguments(["--agent", "acme:other"]);
    loaded(other, "for-reviewer").refused("unknown-key");
    let reviewer = world().arguments(["--agent", "acme:reviewer"]);
    loaded(reviewer, "for-reviewer").is("another");
}

/// The agents of a binding are those of one server.
#[test]
fn a_bindings_agents_get_nothing_by_the_hook_nor_the_plugins_tool() {
    let world = World::new()
        .file("b.md", "another")
        .map("[bindings.b]\npath = '~/b.md'\nagents = ['reviewer']\n");
    let hook = json!({
        "session_id": "s",
        "hook_event_name": "SubagentStart",
        "agent_id": "a3f29c07b1d4e8560",
        "agent_type": "reviewer",
    });
    let _ = world
        .run_with(["inject"], hook.to_string().as_bytes())
        .exits(0)
        .mentions("unknown-key")
        .conceals("another");
    let _ = world.run(["agents"]).exits(0).says("");
}

#[test]
fn check_says_of_each_binding_whether_it_would_be_served() {
    let world = world().file("list.txt", "a");
    let _ = world.run(["check"]).exits(0);
    world.replace_map(
        "[bindings.gone]\npath = '~/gone.md'\n\
         [keys]\nk-strong-9c55aa01beef = '~/a.md'\n\
         [bindings.for-reviewer]\npath = '~/b.md'\nagents = ['acme:reviewer']\n\
         [bindings.b]\npath = '~/b.md'\nmax_bytes = 3\n\
         [bindings.c]\npath = '~/a.md'\ntitle = 'not k-strong-9c55aa01beef'\n\
         [bindings.list]\npath = '~/list.txt'\n",
    );
    let said = said(&world, &[], 1);
    assert!(!said.contains("9c55aa01beef"), "{said}");
    let report = world.run(["check", "--json"]).exits(1).json();
    insta::assert_snapshot!(format!("{said}\n{:#}\n", report["bindings"]));
    // A map needs no key.
    world.replace_map("[bindings.b]\npath = '~/b.md'\n");
    let _ = world
        .run(["check"])
        .exits(0)
        .mentions("\n\nRESULT    BYTES  LINE  PATH\nok            7     1  ~/b.md (binding b)\n\n1 of 1 would be served.\n");
}

#[test]
fn no_key_is_shown_to_clients() {
    for (name, shows) in [
        ("b", format!("title = 'for {KEY}'")),
        ("b", format!("description = 'not {KEY}'")),
        (KEY, String::new()),
    ] {
        let map =
            format!("[keys]\n{KEY} = '~/a.md'\n[bindings.{name}]\npath = '~/a.md'\n{shows}\n");
        let world = World::new().file("a.md", "a").map(map);
        let said = world.run(["check"]).exits(1).stdout;
        assert!(said.contains("holds a key"), "{said}");
        assert!(!said.contains(KEY), "{said}");
        let said = bound(world, name).serve().does_not_start();
        assert!(said.contains("holds a key"), "{said}");
        assert!(!said.contains("9c55aa01beef"), "{said}");
    }
    // A short key may be any word.
    let map = "[keys]\nword = '~/a.md'\n[bindings.word]\npath = '~/a.md'\ntitle = 'a word'\n";
    let world = World::new().file("a.md", "a").map(map);
    let _ = world.run(["check"]).conceals("holds a key");
    loaded(world, "word").is("a");
}
