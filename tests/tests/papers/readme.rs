//! What the README promises that can be held against the program.

use super::read;
use keyhole::{
    Code,
    limits::{DEFAULT_MAX_BYTES, Limits, MAX_MAX_BYTES},
};

#[test]
fn the_table_of_codes_has_every_code_once_and_no_other() {
    let readme = read("README.md");
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
fn its_limits_are_those_of_the_program() {
    let limits = Limits::default();
    let mib = |bytes: u64| format!("{} MiB", bytes >> 20);
    let readme = read("README.md");
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
