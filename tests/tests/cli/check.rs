//! `keyhole check`: whether each entry of the map would load, and if not, why.

use keyhole_tests::World;
use serde_json::Value;

const STRONG: &str = "k-7f3a9c55aa01beef";
const ALSO_STRONG: &str = "m-91c09c55aa01beef";

/// Two entries that load, and some that do not.
fn mixed() -> World {
    World::new()
        .file("a.md", "0123456789")
        .file("notes/b.md", "")
        .file("big.md", "0123456789")
        .file("run.sh", "#!/bin/sh\n")
        .directory("dir.md")
        .map(format!(
            "[keys]\n\
             {STRONG} = '~/a.md'\n\
             {ALSO_STRONG} = '~/notes/b.md'\n\
             n-12345678901234567890 = '~/gone.md'\n\
             tiny-key = {{ path = '~/big.md', max_bytes = 9 }}\n\
             p-12345678901234567890 = '~/run.sh'\n\
             q-12345678901234567890 = '~/dir.md'\n"
        ))
}

#[test]
fn a_map_whose_files_all_load_is_shown_and_exits_0() {
    World::new()
        .file("notes/a.md", "0123456789")
        .map(format!("[keys]\n{STRONG} = '~/notes/a.md'\n"))
        .run(["check"])
        .exits(0)
        .closes_with("second wall: ")
        .says(
            "map: HOME/.config/keyhole/context-map.toml\n\
             \n\
             RESULT  BYTES  LINE  PATH\n\
             ok         10     2  ~/notes/a.md\n\
             \n\
             1 of 1 would be served.\n",
        )
        .says_nothing_on_stderr();
}

#[test]
fn each_entry_that_would_not_load_says_why_and_exits_1() {
    mixed()
        .run(["check"])
        .exits(1)
        .mentions("not-found         -     4  ~/gone.md\n")
        .mentions("too-large         -     5  ~/big.md\n")
        .mentions("not-markdown      -     6  …\n")
        .mentions("not-a-file        -     7  ~/dir.md\n")
        .mentions("2 of 6 would be served.\n")
        .mentions("may be guessed: line 5\n")
        .mentions("a directory of its own: line 2\n")
        .says_nothing_on_stderr();
}

#[test]
fn what_check_says_is_what_a_call_gets() {
    let world = mixed();
    let ran = world.run(["check", "--json"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let map = std::fs::read_to_string(world.map_path()).unwrap();
    let mut client = world.client();
    for entry in report["entries"].as_array().unwrap() {
        let line = usize::try_from(entry["line"].as_u64().unwrap()).unwrap();
        let line = map.lines().nth(line - 1).unwrap();
        let answer = client.load(line.split(' ').next().unwrap());
        match entry["code"].as_str() {
            Some(code) => answer.refused(code),
            None => assert_eq!(entry["bytes"], answer.text().unwrap().len()),
        }
    }
    client.end();
}

#[test]
fn a_missing_map_exits_2_and_says_where_it_belongs() {
    World::new()
        .run(["check"])
        .exits(2)
        .closes_with("second wall: ")
        .says(
            "error: map-missing: there is no map at \
             HOME/.config/keyhole/context-map.toml; create it, or name another with --map\n",
        )
        .says_nothing_on_stderr();
    let ran = World::new().run(["check", "--json"]).exits(2);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["error"]["code"], "map-missing");
    assert_eq!(report["entries"], Value::Null);
}

#[test]
fn an_invalid_map_exits_2_and_points_at_the_place() {
    let world = World::new().map(format!("[keys]\n{STRONG} = '~/a.md'\n{STRONG} = 7\n"));
    world
        .run(["check"])
        .exits(2)
        .mentions("map-invalid")
        .mentions("HOME/.config/keyhole/context-map.toml:3\n")
        .conceals("7f3a")
        .says_nothing_on_stderr();
    let ran = world.run(["check", "--json"]).exits(2).conceals("7f3a");
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["error"]["code"], "map-invalid");
    assert_eq!(report["error"]["line"], 3);
    assert_eq!(report["error"].get("column"), None);
}

#[test]
fn another_map_can_be_named() {
    World::new()
        .file("a.md", "0123456789")
        .file("team/m.toml", format!("[keys]\n{STRONG} = '../a.md'\n"))
        .run(["check", "--map", "team/m.toml"])
        .exits(0)
        .mentions("map: HOME/team/m.toml\n")
        .mentions("../a.md\n")
        .says_nothing_on_stderr();
}

#[test]
fn there_are_no_colours_where_there_is_no_terminal_unless_asked_for() {
    let _ = mixed().run(["check"]).conceals("\u{1b}[");
    let _ = mixed()
        .env("CLICOLOR_FORCE", "1")
        .run(["check"])
        .mentions("\u{1b}[");
    // If the user asks for no colours, that wins.
    let _ = mixed()
        .env("CLICOLOR_FORCE", "1")
        .env("NO_COLOR", "1")
        .run(["check"])
        .conceals("\u{1b}[");
}
