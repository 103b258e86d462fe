//! What a server of `serve --bind NAME` shows, and what `check` says of bindings. What it answers
//! is in `sessions/`.

use crate::{cli::check::said, surface::shown};
use keyhole_tests::World;
use serde_json::json;

/// A world with one binding among others, other files, and a key.
fn world() -> World {
    World::new()
        .file("a.md", "# A\n")
        .file("b.md", "another")
        .file("list.txt", "a")
        .map(
            "[keys]\n\
             k-hunter2-9c55aa01beef = '~/a.md'\n\
             [bindings.scanner-catalog]\n\
             path = '~/a.md'\n\
             title = 'Identifiers to look for'\n\
             description = 'Names and numbers that must not leave the project.'\n\
             [bindings.plain]\n\
             path = '~/b.md'\n",
        )
}

fn tools(name: &str) -> String {
    let mut client = world().arguments(["--bind", name]).client();
    shown(&client.request("tools/list", json!({})))
}

#[test]
fn tools_of_2025() {
    insta::assert_snapshot!(tools("scanner-catalog"));
}

#[test]
fn tools_where_the_map_says_nothing_of_the_binding() {
    insta::assert_snapshot!(tools("plain"));
}

#[test]
fn check_says_of_each_binding_whether_it_would_be_served() {
    let world = world();
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
