//! What the README promises that can be held against the program.

use keyhole::{
    Code,
    limits::{DEFAULT_MAX_BYTES, Limits, MAX_MAX_BYTES},
};
use keyhole_tests::{World, workspace};
use std::fs;

fn readme() -> String {
    fs::read_to_string(workspace().join("README.md")).unwrap()
}

/// The fenced blocks of this language.
fn blocks(language: &str) -> Vec<String> {
    let readme = readme();
    let mut blocks = Vec::new();
    let mut lines = readme.lines().map(str::trim_start);
    while let Some(line) = lines.next() {
        if line == format!("```{language}") {
            let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            blocks.push(block.join("\n"));
        }
    }
    blocks
}

#[test]
fn the_table_of_codes_has_every_code_once_and_no_other() {
    let readme = readme();
    let listed: Vec<&str> = readme
        .lines()
        .skip_while(|line| !line.starts_with("| code |"))
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .filter_map(|line| line.split('`').nth(1))
        .collect();
    assert_eq!(listed, Code::ALL.map(Code::as_str));
}

#[test]
fn each_map_in_it_is_a_map() {
    let maps = blocks("toml");
    assert!(maps.iter().any(|map| map.contains("[keys]")));
    for map in maps.iter().filter(|map| map.contains("[keys]")) {
        // Nothing that it maps is there, and that is all that is wrong.
        let _ = World::new()
            .directory("notes")
            .map(map)
            .run(["check"])
            .exits(1)
            .mentions("would be served")
            .conceals("may be guessed");
    }
}

#[test]
fn its_limits_are_those_of_the_program() {
    let limits = Limits::default();
    let mib = |bytes: u64| format!("{} MiB", bytes >> 20);
    let readme = readme();
    for row in [
        format!(
            "| size of a file | {} | `max_bytes` in the map, up to {} | `too-large` |",
            mib(DEFAULT_MAX_BYTES),
            mib(MAX_MAX_BYTES)
        ),
        format!(
            "| calls that run at once | {} | | they wait |",
            limits.running
        ),
        format!(
            "| threads stuck in the kernel | {} | | `busy` |",
            limits.left_behind
        ),
        format!(
            "| the guest's handles | {} | | `internal` |",
            limits.handles
        ),
    ] {
        assert!(readme.contains(&row), "not in README: {row}");
    }
}
