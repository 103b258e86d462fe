//! `keyhole check`, `contract`, `setup`, the command line itself, and the demonstration.

#[cfg(target_os = "linux")]
mod cases;
pub(crate) mod check;
mod contract;
mod gate;
mod hand_over;
#[cfg(target_os = "linux")]
mod homes;
mod inject;
mod setup_example;
#[cfg(target_os = "linux")]
mod setup_killed;
mod setup_page;
mod withhold;

use keyhole_tests::{MARKER, World, workspace};
use std::fs;

#[test]
fn help_names_every_command_and_gives_examples() {
    let world = World::new();
    let help = |arguments: &[&str]| world.run(arguments).exits(0).says_nothing_on_stderr();
    insta::assert_snapshot!(help(&["--help"]).stdout);
    for command in ["serve", "check", "contract", "setup", "scan"] {
        let _ = help(&[command, "--help"]).mentions(&format!("Usage: keyhole {command}"));
    }
}

/// A program that parses the lines relies on their order.
#[test]
fn the_version_says_the_maps_format_and_the_contract_too() {
    let read = |file: &str| fs::read_to_string(workspace().join(file)).unwrap();
    let contract = read("wit/context.wit");
    let (_, contract) = contract.split_once("\npackage ").unwrap();
    let (contract, _) = contract.split_once(';').unwrap();
    let schema = read("docs/context-map.schema.json");
    let (_, format) = schema.split_once("context map, format ").unwrap();
    let (format, _) = format.split_once('"').unwrap();
    let first = format!("keyhole {}\n", env!("CARGO_PKG_VERSION"));
    let all = format!("{first}map format {format}\ncontract {contract}\n");
    let world = World::new();
    for (typed, said) in [("--version", &all), ("-V", &first)] {
        let ran = world.run([typed]).exits(0).says_nothing_on_stderr();
        let _ = ran.says(said);
    }
}

/// Command lines with a mistake each. In an argument, `·` is a blank.
const MISTAKES: &str = include_str!("mistakes.txt");

#[test]
fn a_mistake_on_the_command_line_is_told_in_a_line_that_repeats_no_argument() {
    let mut all = String::new();
    for line in MISTAKES.trim().lines() {
        let arguments = line.split(' ').filter(|argument| !argument.is_empty());
        let arguments = arguments.map(|argument| argument.replace('·', " "));
        let ran = World::new().run(arguments).exits(2).says("");
        assert!(!ran.stderr.contains(MARKER), "{ran:#?}");
        assert_eq!(ran.stderr.lines().count(), 1, "{ran:#?}");
        all += &format!("keyhole {line}\n  {}", ran.stderr);
    }
    insta::assert_snapshot!(all);
    let no_command = World::new().run([""; 0]).exits(2);
    let _ = no_command.only_complains("Usage: keyhole");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told_and_a_reader_that_has_seen_enough_is_not() {
    let world = World::new();
    for command in ["check", "--help", "contract", "setup"] {
        let ran = world
            .typed(&format!("keyhole {command} >/dev/full"))
            .exits(1);
        assert!(
            ran.stderr.starts_with("keyhole: cannot write: "),
            "{ran:#?}"
        );
        // The reader is gone before anything is written.
        let ran = world.typed(&format!("{{ sleep 0.2; keyhole {command}; }} | :"));
        assert_eq!(ran.stderr, "", "{command}: {ran:#?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_on_a_terminal_says_that_it_waits_for_a_client_and_how_to_end_it() {
    let control_c = ("Ctrl-C ends it", "\x03");
    let (shown, exit) = World::new().asked(["serve"], &[control_c]);
    let says = "keyhole: waiting for an MCP client on standard input;";
    assert!(shown.contains(says), "{shown}");
    assert_eq!(exit, Some(0), "{shown}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_guard_on_a_terminal_says_that_a_hook_runs_it_and_what_the_user_wants() {
    for arguments in [&["guard"][..], &["guard", "--after"]] {
        let (shown, exit) = World::new().asked(arguments, &[]);
        assert!(shown.contains("you want `keyhole check`"), "{shown}");
        assert_eq!(exit, Some(2), "{shown}");
    }
}

#[test]
fn without_a_home_check_exits_as_for_a_missing_map_and_says_what_to_set() {
    let world = World::new().homeless();
    let _ = world.run(["check"]).exits(2).only_complains("set HOME");
    let quiet = world.run(["check", "-q"]).exits(2).says("");
    let _ = quiet.says_nothing_on_stderr();
}

/// Clients show nothing of a server that does not start.
#[test]
fn without_a_home_a_server_refuses_each_call_and_says_what_to_set() {
    for arguments in [&[][..], &["--bind", "a"]] {
        let mut client = World::new().homeless().arguments(arguments).client();
        let answer = match arguments {
            [] => client.load("k-1"),
            _ => client.load_bound(),
        };
        answer.refused("map-missing");
        let said = client.ends_saying();
        assert!(said.contains("set HOME"), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

#[test]
fn a_server_that_finds_no_map_says_where_it_looked_and_nothing_of_the_user() {
    let set = |name: &str| {
        let world = World::new();
        let place = world.path(name);
        world.env("XDG_CONFIG_HOME", place)
    };
    for (world, looked) in [
        (set(".config"), "~/.config/keyhole/context-map.toml"),
        (set("other"), "$XDG_CONFIG_HOME/keyhole/context-map.toml"),
    ] {
        let said =
            format!("keyhole: map-missing: there is no context map at {looked}; create it. ");
        let ends = |world: &World| world.client().ends_saying();
        for stderr in [ends(&world), ends(&world.arguments(["--bind", "a"]))] {
            assert!(stderr.starts_with(&said), "{stderr}");
        }
    }
}
