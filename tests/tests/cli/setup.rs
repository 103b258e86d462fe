//! `keyhole setup` without a terminal: what it lists, prints and refuses. `cases` has the rest.

use crate::docs::fenced;
use keyhole_setup::clients::{self, Client};
use keyhole_tests::{Ran, World, copy_program};
use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, process::Command};

const KEY: &str = "k-7f3a9c55aa01beef";

/// Each client that needs a server of its own.
pub(super) fn clients() -> impl Iterator<Item = Client> {
    clients::all().filter(|client| !client.is_plugin())
}

/// The output for a client with these names.
#[track_caller]
pub(super) fn setup(world: &World, client: &str, names: &[&str]) -> Ran {
    let ran = world.run(["setup", client].iter().chain(names));
    ran.exits(0).says_nothing_on_stderr()
}

/// The blocks that are not commands, as users paste them.
pub(super) fn pastes(text: &str) -> Vec<String> {
    fenced(text, |language| language != "sh")
}

/// Makes a copy of the program at `place`.
pub(super) fn program_at(place: &Path) {
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    copy_program(place);
}

pub(super) fn run_at(program: &Path, world: &World, arguments: &[&str]) -> Ran {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .env("HOME", world.home())
        .current_dir(world.home());
    Ran::of(&mut command, b"")
}

#[test]
fn the_list_says_by_what_it_knows_that_a_client_is_here() {
    let world = World::new()
        .file("bin/codex", "")
        .directory(".gemini")
        .directory("config/opencode");
    let [path, config] = ["bin", "config"].map(|folder| world.path(folder));
    let world = world.env("PATH", path).env("XDG_CONFIG_HOME", config);
    let ran = world.run(["setup"]).exits(0).says_nothing_on_stderr();
    let signs = [
        ("codex", "yes, the command codex"),
        ("gemini-cli", "yes, ~/.gemini"),
        ("opencode", "yes, ~/.config/opencode"),
    ];
    for Client { name, .. } in clients() {
        let mut lines = ran.stdout.lines();
        let line = lines.find(|line| line.starts_with(&format!("{name} ")));
        let sign = signs.iter().find(|(here, _)| *here == name);
        let says = sign.map_or("  -", |(_, sign)| sign);
        assert!(line.unwrap().ends_with(says), "{ran:#?}");
    }
}

/// Commands that print nothing on standard output. The map has the key `KEY` and the binding
/// `a`.
const REFUSED: &str = include_str!("refused.txt");

#[test]
fn what_is_refused_is_told_without_repeating_it_and_nothing_is_written() {
    let mut all = String::new();
    for line in REFUSED.trim().lines() {
        let map = format!("[bindings]\na = {{ path = '~/a.md' }}\n\n[keys]\n{KEY} = '~/a.md'\n");
        let world = World::new().file("a.md", "a").map(&map);
        let world = world.file(&format!("d/{KEY}/a.md"), "a");
        let ran = world.run(line.replace("KEY", KEY).split(' ')).exits(1);
        let ran = ran.says("");
        assert!(!ran.stderr.contains("7f3a"), "{ran:#?}");
        assert_eq!(fs::read_to_string(world.map_path()).unwrap(), map);
        all += &format!("keyhole {line}\n  {}", ran.stderr);
    }
    insta::assert_snapshot!(all);
    let invalid = World::new().file("a.md", "a").map("[keys");
    for arguments in [&["setup", "cursor"][..], &["setup", "key", "~/a.md"]] {
        let ran = invalid.run(arguments).exits(1);
        let _ = ran.only_complains("Run `keyhole check`");
    }
    // Also not as a word that the text has anyway.
    let world = World::new().map("[keys]\nidentifier-scanner = 'a.md'\n");
    let ran = world.run(["setup", "claude-code"]).exits(1).says("");
    assert!(!ran.stderr.contains("identifier-scanner"), "{ran:#?}");
}

#[test]
fn a_program_that_will_not_last_is_said_to_be_one_and_an_odd_one_is_not_printed() {
    let world = World::new();
    let setup_at = |place: &str| {
        let program = world.path(place);
        program_at(&program);
        let ran = run_at(&program, &world, &["setup", "claude-desktop"]);
        fs::remove_file(program).unwrap();
        ran
    };
    // A unit test has more such places.
    let _ = setup_at("x/target/release/keyhole")
        .exits(0)
        .mentions("\n\nCareful: this program lies in a folder of cargo's, ");
    for odd in [
        "$HOME", "{x}", "a\nb", "\u{7f}", "\u{202e}", "\u{2028}", "\u{fffe}",
    ] {
        let ran = setup_at(&format!("{odd}/keyhole")).exits(1);
        let _ = ran.only_complains("install it in another place");
    }
}

#[test]
fn the_command_that_is_printed_for_the_map_makes_the_binding_that_is_served() {
    for (client, names) in [
        ("cursor", &["--bind", "a"][..]),
        ("copilot-cli", &["--bind", "a", "--agent", "reviewer"]),
    ] {
        // No map yet.
        let world = World::new().file("notes of mine/it's.md", "private words\n");
        let ran = setup(&world, client, names);
        let mut lines = ran.stdout.lines();
        let command = lines.find_map(|line| line.split("By hand, ").nth(1)?.split_once(": "));
        let (_, command) = command.unwrap();
        let command = command.replace("FILE", "\"HOME/notes of mine/it's.md\"");
        let map = "~/.config/keyhole/context-map.toml";
        let command = format!("umask 077; mkdir -p ~/.config/keyhole; {command} >> {map}");
        let _ = world.typed(&command).exits(0).says("");
        let found = fs::metadata(world.map_path()).unwrap();
        assert_eq!(found.permissions().mode() & 0o777, 0o600);
        let map = fs::read_to_string(world.map_path()).unwrap();
        assert!(
            map.starts_with("roots = ") && map.contains("it's.md") && !map.contains("keys"),
            "{map}"
        );
        let mut session = world.arguments(names).client();
        session.load_bound().is("private words\n");
        session.end();
    }
}
