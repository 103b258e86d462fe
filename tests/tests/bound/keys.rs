//! Who may use a binding, what `check` says of it, and that nobody is shown a key.

use super::{KEY, bound, loaded, world};
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
    let report = world.run(["check", "--json"]).exits(1).json();
    let bindings = report["bindings"].as_array().unwrap().iter();
    let said: Vec<_> = bindings
        .map(|binding| {
            let text = |field: &str| binding[field].as_str().unwrap_or("-").to_owned();
            let (ok, bound) = (&binding["ok"], &binding["bound"]);
            format!(
                "{} {} {} {ok} {bound} {} {}",
                binding["line"],
                text("name"),
                text("path"),
                binding["bytes"],
                text("code"),
            )
        })
        .collect();
    assert_eq!(
        said,
        [
            "1 gone ~/gone.md false false null not-found",
            "5 for-reviewer ~/b.md true true 7 -",
            "8 b ~/b.md false false null too-large",
            "11 - ~/a.md false false 4 -",
            "14 list - false false null not-markdown",
        ]
    );
    let _ = world
        .run(["check"])
        .exits(1)
        .conceals("9c55aa01beef")
        .mentions(
            "
RESULT          BYTES  LINE  PATH
ok                  4     4  ~/a.md

RESULT          BYTES  LINE  BINDING       PATH
not-found           -     1  gone          ~/gone.md
ok                  7     5  for-reviewer  ~/b.md
too-large           -     8  b             ~/b.md
shows-a-key         4    11  …             ~/a.md
not-markdown        -    14  list          …

",
        )
        .mentions("shows-a-key: the binding's name, title or description holds a key, and clients show them; reword it: line 11\n")
        .mentions("  line 8: it has 7 bytes: add max_bytes = 7 below its path\n")
        .mentions("2 of 6 would be served.\nTo its agents only, whose names cannot be checked here: line 5.\n");
    // A map needs no key.
    world.replace_map("[bindings.b]\npath = '~/b.md'\n");
    let _ = world
        .run(["check"])
        .exits(0)
        .mentions("\n\nRESULT    BYTES  LINE  BINDING  PATH\nok            7     1  b        ~/b.md\n\n1 of 1 would be served.\n");
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
}

/// What earlier versions had.
#[test]
fn a_binding_with_a_key_is_told_what_to_write() {
    for field in [
        "key = 'k-SECRET'",
        "key_file = '~/SECRET'",
        "key_env = 'SECRET'",
    ] {
        let map = format!("[keys]\nk-SECRET = '~/a.md'\n[bindings.SECRET]\n{field}\n");
        let world = World::new()
            .file("a.md", "a")
            .map(map.replace("[bindings.SECRET]", "[bindings.b]"));
        let _ = world.run(["check"]).exits(2).conceals("SECRET").mentions(
            "context-map.toml:4\n  help: write these lines instead, with the path of the key's entry, and its agents, if it has any:\n\n\
             [bindings.NAME]\npath = \"…\"\nagents = [\"…\"]\n",
        );
        let world = bound(world, "b");
        let mut client = world.client();
        client.load_bound().refused("map-invalid");
        client.end();
    }
}
