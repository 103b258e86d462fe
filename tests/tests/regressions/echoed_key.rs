//! No output contains a key that somebody put in the wrong place: logs keep what a
//! client's server writes to standard error, and people share screens.

use keyhole_tests::{MARKER, Ran, World};
use serde_json::Value;
use std::{ffi::OsString, os::unix::ffi::OsStringExt as _};

const KEY: &str = "k-hunter2-7f3a9c55aa01beef";
/// A name that neither a binding nor an option can have.
const ODD: &str = "K_hunter2=7f3a9c55aa01beef";

#[track_caller]
fn conceals(ran: Ran) -> Ran {
    for text in [&ran.stdout, &ran.stderr] {
        // Even the end of the key alone would be too much.
        for part in [MARKER, "7f3a", "hunter", "739394"] {
            assert!(!text.to_lowercase().contains(part), "{ran:#?}");
        }
    }
    ran
}

/// Ways to write a key that a command line does not accept. `KEY` is the key, `BYTES` the key
/// with a byte that is not UTF-8, and in an argument, `·` is a blank.
const MISPLACED: &str = include_str!("misplaced.txt");

/// The arguments that a line of [`MISPLACED`] means.
fn arguments<'a>(line: &'a str, key: &'a str) -> impl Iterator<Item = OsString> + use<'a> {
    line.split_whitespace().map(move |argument| {
        let argument = argument.replace("KEY", key).replace('·', " ");
        match argument == "BYTES" {
            true => OsString::from_vec([key.as_bytes(), b"\xff"].concat()),
            false => argument.into(),
        }
    })
}

#[test]
fn no_argument_comes_back_whatever_is_wrong_with_it() {
    for command in ",serve,check,guard,contract,help,setup,setup key,setup cursor".split(',') {
        for key in [KEY, ODD] {
            for line in MISPLACED.trim().lines() {
                let words = command.split_whitespace().map(OsString::from);
                let line: Vec<OsString> = words.chain(arguments(line, key)).collect();
                // Some of these a command does accept, such as a name of a map.
                let ran = conceals(World::new().run(&line));
                assert!(matches!(ran.exit, Some(0..=2)), "{line:?} {ran:?}");
                if ran.exit == Some(2) && command != "check" {
                    assert_eq!(ran.stdout, "", "{line:?}");
                }
            }
        }
    }
}

/// Two maps that differ only in a key's length and marks look the same.
#[test]
fn check_tells_neither_a_keys_length_nor_its_marks() {
    let said = |key: &str, value: &str| {
        [&["check"][..], &["check", "--json"]].map(|arguments| {
            let world = World::new().file("notes/a.md", "a");
            let world = world.map(format!("[keys]\n'{key}' = {value}\n"));
            world.run(arguments).says_nothing_on_stderr().stdout
        })
    };
    for value in [
        "'~/notes/a.md'",
        "'~/notes/b.md'",
        "7",
        "{ pth = 'x' }",
        "'",
        "'a' 'b'",
        "\"\\q\"",
    ] {
        let short = said("k-7f3a9c55aa01beef", value);
        let long = said("m.3f{=}[,]\"7f3a9c55aa01beef91c09c55aa01beef", value);
        assert_eq!(short, long, "{value}");
        let report: Value = serde_json::from_str(&short[1]).unwrap();
        assert_eq!(report["error"].get("column"), None, "{report}");
    }
}
