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
        .says(
            "map: HOME/.config/keyhole/context-map.toml\n\
             \n\
             RESULT    BYTES  LINE  PATH\n\
             ok           10     2  ~/notes/a.md\n\
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
        .mentions("not-found           -     4  ~/gone.md\n")
        .mentions("too-large           -     5  ~/big.md\n")
        .mentions("not-markdown        -     6  …\n")
        .mentions("not-a-file          -     7  ~/dir.md\n")
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
        .says(
            "error: map-missing: there is no map at \
             HOME/.config/keyhole/context-map.toml; create it, or name another with --map\n  \
             help: make it so, with the path of your Markdown file for FILE:\n\n\
             (umask 077; mkdir -p HOME/.config/keyhole &&\n  \
             keyhole setup key FILE >> HOME/.config/keyhole/context-map.toml)\n",
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

/// What `check` prints for a missing map, typed as it stands.
#[test]
fn the_two_lines_that_make_a_map_make_one() {
    let world = World::new().file("my notes/a.md", "a").directory("bin");
    std::os::unix::fs::symlink(keyhole_tests::binary(), world.path("bin/keyhole")).unwrap();
    let said = world.run(["check"]).exits(2).stdout;
    let (_, lines) = said.split_once(":\n\n").unwrap();
    let lines = lines.replace("HOME", world.home().to_str().unwrap());
    let lines = lines.replace("FILE", "~/'my notes/a.md'");
    let path = format!("{}:/usr/bin:/bin", world.path("bin").display());
    let mut shell = std::process::Command::new("/bin/sh");
    shell
        .args(["-c", &lines])
        .env("HOME", world.home())
        .env("PATH", path);
    let _ = keyhole_tests::Ran::of(&mut shell, b"").exits(0);
    let _ = world
        .run(["check"])
        .exits(0)
        .mentions("1 of 1 would be served.\n");
}

#[test]
fn it_names_both_places_if_the_shells_map_is_not_at_the_usual_one() {
    let world = World::new();
    let set = world.path("xdg");
    world
        .env("XDG_CONFIG_HOME", set)
        .run(["check"])
        .exits(2)
        .mentions("there is no map at HOME/xdg/keyhole/context-map.toml;")
        .mentions("\nwarning: XDG_CONFIG_HOME is set here; a client that starts without it looks for HOME/.config/keyhole/context-map.toml\n")
        .says_nothing_on_stderr();
}

#[test]
fn quiet_prints_nothing_and_verbose_says_which_walls_stand() {
    let world = World::new()
        .file("notes/a.md", "a")
        .map(format!("[keys]\n{STRONG} = '~/notes/a.md'\n"));
    let _ = world
        .run(["check", "-q"])
        .exits(0)
        .says("")
        .says_nothing_on_stderr();
    let _ = mixed().run(["check", "--quiet"]).exits(1).says("");
    let _ = world
        .run(["check", "-v"])
        .exits(0)
        .mentions("\nsecond wall: ");
    let _ = mixed().run(["check", "--color=always"]).mentions("\u{1b}[");
    let _ = mixed()
        .env("CLICOLOR_FORCE", "1")
        .run(["check", "--color=never"])
        .conceals("\u{1b}[");
}

#[test]
fn a_second_keys_header_is_told_with_both_lines() {
    World::new()
        .map(format!(
            "[keys]\n{STRONG} = '~/a.md'\n\n[keys]\n{ALSO_STRONG} = '~/a.md'\n"
        ))
        .run(["check"])
        .exits(2)
        .mentions("map-invalid: a second [keys]: the first stands on line 1\n")
        .mentions("context-map.toml:4\n  help: move the lines under this one");
}

#[test]
fn an_open_folder_of_the_map_is_closed_by_the_command_that_is_printed() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new().map("");
    let folder = world.path(".config/keyhole");
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777)).unwrap();
    let ran = world
        .run(["check"])
        .exits(2)
        .mentions("others can write to HOME/.config/keyhole,");
    let (_, command) = ran.stdout.split_once("  help: run: ").unwrap();
    let command = command.replace("HOME", world.home().to_str().unwrap());
    let mut shell = std::process::Command::new("/bin/sh");
    let _ = keyhole_tests::Ran::of(shell.args(["-c", &command]), b"").exits(0);
    let _ = world.run(["check"]).exits(0);
}

/// The client's settings are not Keyhole's: their directory may be on a file system that
/// hangs.
#[test]
fn settings_of_the_client_that_hang_keep_no_check_from_ending() {
    let world = World::new().directory(".claude").map("");
    crate::hostile::ground::fifo(&world.path(".claude/settings.json"));
    let _ = world
        .run(["check", "--plugin", "/p/keyhole"])
        .mentions("permissions.deny in ~/.claude/settings.json lacks");
}
