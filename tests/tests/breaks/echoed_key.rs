//! No output contains a key that somebody put in the wrong place: logs keep what a
//! client's server writes to standard error, and people share screens.

use keyhole_tests::{MARKER, Ran, World};
use serde_json::Value;
use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt as _,
};

const KEY: &str = "k-hunter2-7f3a9c55aa01beef";
/// A name that neither a binding nor an option can have.
const ODD: &str = "K_hunter2=7f3a9c55aa01beef";

#[track_caller]
fn conceals(ran: Ran) -> Ran {
    for text in [&ran.stdout, &ran.stderr] {
        // Even the end of the key alone would be too much.
        for part in [MARKER, "7f3a", "hunter"] {
            assert!(!text.to_lowercase().contains(part), "{ran:#?}");
        }
    }
    ran
}

/// Every way to write `text` as something that a command line does not accept.
fn misplaced(text: &str) -> Vec<Vec<OsString>> {
    let odd = [text.as_bytes(), b"\xff"].concat();
    let lines = [
        vec![text.to_owned()],
        vec![format!("-{text}")],
        vec![format!("--{text}")],
        vec![format!("--{text}=x")],
        vec!["--".to_owned(), text.to_owned()],
        vec!["--help=".to_owned() + text],
        vec!["--json=".to_owned() + text],
        vec!["--sealed=".to_owned() + text],
        vec!["--require-ticket=".to_owned() + text],
        vec!["--show-keys".to_owned(), text.to_owned()],
        vec!["--map".to_owned(), "m".to_owned(), text.to_owned()],
        vec!["--map=m".to_owned(), format!("--map={text}")],
        vec![format!("--ma{text}")],
        vec![format!("--bind=a b{text}")],
        vec!["--bind".to_owned(), text.to_owned(), text.to_owned()],
        vec![format!("--bind={}", text.repeat(9))],
        vec![format!("--agent=a b{text}")],
        vec![format!("--agent={}", text.repeat(9))],
        vec![format!("--agent={text}"), "--require-ticket".to_owned()],
        vec![format!("--agent={text}"), format!("--agent={text}")],
        vec!["--save".to_owned(), "/dev/null".to_owned(), text.to_owned()],
    ];
    let mut lines: Vec<Vec<OsString>> = lines
        .into_iter()
        .map(|line| line.into_iter().map(Into::into).collect())
        .collect();
    for option in ["", "--bind", "--agent", "--map", "--save"] {
        let value = OsStr::from_bytes(&odd).to_owned();
        lines.push(
            [option.into(), value]
                .into_iter()
                .filter(|argument| !argument.is_empty())
                .collect(),
        );
    }
    lines
}

#[test]
fn no_argument_comes_back_whatever_is_wrong_with_it() {
    for command in [
        "",
        "serve",
        "check",
        "guard",
        "contract",
        "demo",
        "help",
        "setup",
        "setup key",
        "setup cursor",
    ] {
        for text in [KEY, ODD] {
            for line in misplaced(text) {
                let words = command.split(' ').filter(|word| !word.is_empty());
                let mut arguments: Vec<OsString> = words.map(Into::into).collect();
                arguments.extend(line);
                // Some of these a command does accept, such as a name of a map.
                let ran = conceals(World::new().run(&arguments));
                assert!(matches!(ran.exit, Some(0..=2)), "{arguments:?} {ran:?}");
                if ran.exit == Some(2) && command != "check" {
                    assert_eq!(ran.stdout, "", "{arguments:?}");
                }
            }
        }
    }
}

#[test]
fn a_server_says_no_name_that_it_was_given() {
    let world = || World::new().map(format!("[keys]\n{KEY} = '~/a.md'\n"));
    for (arguments, exit) in [
        (&["serve", "--bind", KEY][..], 0),
        (&["serve", "--sealed", "--bind", KEY], 1),
        (&["serve", "--map", KEY, "--bind", "a"], 0),
        (&["serve", "--sealed", "--map", KEY], 1),
    ] {
        let ran = conceals(world().run(arguments).says("").exits(exit));
        assert_ne!(ran.stderr, "", "{arguments:?}");
    }
    let _ = conceals(world().run(["serve", "--agent", KEY]).says("").exits(0));
}

#[test]
fn check_says_nothing_of_a_key_wherever_it_stands() {
    for map in [
        format!("[keys]\n{KEY} = '~/notes/a.md'\n"),
        format!("[keys]\n{KEY} = '~/notes/{KEY}.md'\n"),
        format!("[keys]\nk = '{KEY}'\n"),
        format!("[keys]\n'~/notes/a.md' = '{KEY}'\n"),
        format!("[keys]\nk = {{ path = '~/notes/a.md', agents = ['{KEY}'] }}\n"),
        format!("[keys]\n{KEY} = 'a.md'\n[bindings.{KEY}]\nkey = '{KEY}x'\n"),
        format!("[keys]\nk = 'a.md'\n[bindings.{KEY}]\nkey = '{KEY}'\n"),
        format!("[keys]\n{KEY} = 7\n"),
        format!("[keys]\n{KEY} = 'a.md'\n{KEY} = 'b.md'\n"),
        format!("{KEY} = 'a.md'\n"),
        format!("[{KEY}]\n"),
        format!("[keys]\n'{KEY} = 'a.md'\n"),
    ] {
        for arguments in [&["check"][..], &["check", "--json"]] {
            let world = World::new().file("notes/a.md", "a").map(&map);
            let _ = conceals(world.run(arguments).says_nothing_on_stderr());
        }
    }
    for arguments in [
        &["check", "--map", KEY][..],
        &["check", "--json", "--map", KEY],
    ] {
        let ran = conceals(
            World::new()
                .run(arguments)
                .exits(2)
                .says_nothing_on_stderr(),
        );
        assert!(ran.stdout.contains("map-missing"), "{ran:?}");
    }
}

/// Two maps that differ only in a key's length and marks look the same.
#[test]
fn check_tells_neither_a_keys_length_nor_its_marks() {
    let said = |key: &str, value: &str| {
        ["", "--json"].map(|option| {
            let arguments = ["check", option];
            World::new()
                .file("notes/a.md", "a")
                .map(format!("[keys]\n'{key}' = {value}\n"))
                .run(arguments.iter().filter(|argument| !argument.is_empty()))
                .says_nothing_on_stderr()
                .stdout
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
