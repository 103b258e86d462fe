//! Where the key of a binding comes from, who may use it, and that nobody is shown it.

use super::{KEY, bound, loaded, world};
use keyhole_tests::World;

#[test]
fn the_key_may_come_from_a_file_or_the_environment() {
    let file = world().file("secret/key", format!("{KEY}\n"));
    loaded(file, "from-file").is("# A\n");
    loaded(world().env("CATALOG_KEY", KEY), "from-env").is("# A\n");
}

#[test]
fn a_key_that_is_bound_to_agents_needs_the_agent_here_too() {
    loaded(world(), "for-reviewer").refused("unknown-key");
    let reviewer = world().arguments(["--agent", "acme:reviewer"]);
    loaded(reviewer, "for-reviewer").is("another");
}

#[test]
fn check_says_of_each_binding_whether_it_would_be_served() {
    let json = world().run(["check", "--json"]).exits(1).json();
    let served = json["bindings"].as_array().unwrap().iter();
    let served: Vec<_> = served.map(|binding| binding["ok"].as_bool()).collect();
    let [yes, no] = [Some(true), Some(false)];
    assert_eq!(served, [yes, yes, no, None, yes]);
    let _ = world().run(["check"]).exits(1).conceals(KEY).mentions(
        "\nLINE  BINDING          RESULT\n   \
         5  scanner-catalog  ok\n   \
         9  plain            ok\n  \
         11  from-file        its key_file cannot be read (nothing is there); create it, \
         or fix its path or permissions\n  \
         13  from-env         its key_env is not set here, so this cannot be checked; \
         set it where the server is started\n  \
         15  for-reviewer     ok\n",
    );
    // A variable that only the client sets is not an error here.
    let file = world().file("secret/key", KEY);
    let _ = file.run(["check"]).exits(0);
    file.write("secret/key", "k-nowhere");
    let nowhere = "its key has no entry; add [keys.\"…\"] for it, or fix the key\n";
    let _ = file.run(["check"]).exits(1).mentions(nowhere);
}

#[test]
fn no_key_is_shown_to_clients_wherever_it_comes_from() {
    let other = "k-other-9c55aa01beef";
    for (name, shows) in [
        ("b", format!("title = 'for {KEY}'")),
        ("b", format!("description = 'not {other}'")),
        (KEY, String::new()),
    ] {
        let map = format!(
            "[keys]\n{KEY} = '~/a.md'\n{other} = '~/b.md'\n\
             [bindings.{name}]\nkey_file = '~/secret/key'\n{shows}\n"
        );
        let world = World::new()
            .file("a.md", "# A\n")
            .file("b.md", "another")
            .file("secret/key", KEY)
            .map(map);
        let said = world.run(["check"]).exits(1).stdout;
        assert!(said.contains("holds a key"), "{said}");
        assert!(!said.contains(KEY) && !said.contains("k-other"), "{said}");
        let said = bound(world, name).serve().does_not_start();
        assert!(said.contains("holds a key"), "{said}");
        assert!(!said.contains("9c55aa01beef"), "{said}");
    }
}
