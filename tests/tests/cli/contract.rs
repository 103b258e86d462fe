//! `keyhole contract`: a reviewer sees what is really in the program.

use keyhole_core::sandbox::COMPONENT;
use keyhole_tests::{MARKER, World};
use std::{
    io::Write as _,
    process::{Command, Stdio},
};

/// What a person reads before allowing the server, on one screen.
#[test]
fn it_says_on_one_screen_what_could_be_touched_and_nothing_that_is_secret() {
    let world = World::new()
        .file("notes/a.md", MARKER)
        .map("[keys]\nk-hunter2-7f3a9c55aa01beef = '~/notes/a.md'\nk-hunter2-c55aa01beef7f3a9 = '~/notes/b.md'\n");
    let ran = world
        .run(["contract"])
        .exits(0)
        .says_nothing_on_stderr()
        .mentions(&format!("sha256:{}\n", sha256(COMPONENT)))
        .mentions("no arguments, environment, clocks, random numbers, sockets")
        .mentions("at most 5 s of time, 18 MiB of memory, 16 handles\n")
        .mentions("second wall: ");
    let world = include_str!("../../../guest/component.wit");
    let imports = world.lines().filter(|line| line.starts_with("  import "));
    for line in imports {
        assert!(ran.stdout.contains(line.trim()), "{line} in {ran:?}");
    }
    let entries = ["ok 7 2 ~/notes/a.md", "not-found - 3 ~/notes/b.md"];
    for entry in entries {
        let words = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(entry), "{entry} in {ran:?}");
    }
    assert!(ran.stdout.lines().count() <= 24, "{ran:?}");
    let _ = ran.conceals(MARKER).conceals("7f3a");
    // Without a map there is something to read as well.
    let _ = World::new()
        .env("CLICOLOR_FORCE", "1")
        .run(["contract", "--color=never"])
        .exits(0)
        .mentions("error: map-missing");
    let _ = World::new()
        .without_env("HOME")
        .without_env("XDG_CONFIG_HOME")
        .run(["contract"])
        .exits(1)
        .says("");
}

/// The SHA-256, computed by a program that is not ours.
fn sha256(bytes: &[u8]) -> String {
    let start = |program: &str, arguments: &[&str]| {
        Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
    };
    // The first is on Linux, the second on macOS.
    let mut child = start("sha256sum", &[])
        .or_else(|_| start("shasum", &["-a", "256"]))
        .expect("sha256sum or shasum");
    child.stdin.take().unwrap().write_all(bytes).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.split(' ').next().unwrap().to_owned()
}

#[test]
fn all_of_it_is_wit_and_says_what_the_component_is_and_what_the_committed_listing_says() {
    let ran = World::new().run(["contract", "--wit"]).exits(0);
    let ran = ran.says_nothing_on_stderr();
    let (size, sum) = (COMPONENT.len(), sha256(COMPONENT));
    let head = format!("// The component in this program: {size} bytes\n// sha256:{sum}\n");
    assert!(ran.stdout.starts_with(&head), "{ran:?}");
    let mut resolve = wit_parser::Resolve::default();
    let package = resolve.push_str("contract.wit", &ran.stdout).unwrap();
    let root = resolve.select_world(&[package], None).unwrap();
    assert_eq!(resolve.worlds[root].name, "root");
    let listing = include_str!("../../../guest/component.wit");
    assert!(ran.stdout.ends_with(listing), "{ran:?}");
}
