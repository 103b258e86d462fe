//! What the README promises that can be held against the program.

use super::read;
use keyhole::{
    Code,
    limits::{DEFAULT_MAX_BYTES, Limits, MAX_MAP_BYTES, MAX_MAX_BYTES},
};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

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
    let Limits {
        deadline,
        running,
        waiting,
        left_behind,
        memory_bytes,
        handles,
        host_call_bytes,
        tables,
        table_elements,
        // What components are made of: not for users to run into.
        instances: _,
        free_guesses,
        first_guess_delay,
        longest_guess_delay,
        guess_memory,
    } = Limits::default();
    let size = |bytes: u64| match bytes % (1 << 20) {
        0 => format!("{} MiB", bytes >> 20),
        _ => format!("{} KiB", bytes >> 10),
    };
    let seconds = deadline.as_secs();
    assert_eq!((longest_guess_delay, guess_memory), (SECOND, 60 * SECOND));
    let readme = read("README.md");
    for row in [
        format!(
            "| size of a file | {} | `max_bytes` in the map, up to {} | `too-large` |",
            size(DEFAULT_MAX_BYTES),
            size(MAX_MAX_BYTES)
        ),
        format!(
            "| size of the map | {} | | `map-invalid` |",
            size(MAX_MAP_BYTES)
        ),
        format!(
            "| time of a call, computing and blocked reads alike | {seconds} s | | `timed-out` |"
        ),
        format!("| calls that run at once | {running} | | they wait |"),
        format!("| calls that wait | {waiting}, for {seconds} s at most | | `busy` |"),
        format!("| threads stuck in the kernel | {left_behind} | | `busy` |"),
        format!(
            "| the guest's memory | {} | | `internal` |",
            size(memory_bytes as u64)
        ),
        format!("| the guest's handles | {handles} | | `internal` |"),
        format!("| the guest's tables | {tables} of {table_elements} elements | | `internal` |"),
        format!(
            "| bytes in one call to the host, or in the answer | the file's limit + {} | | \
             `internal` |",
            size(host_call_bytes as u64)
        ),
        format!(
            "| unknown keys in a row | {free_guesses} at once; then each refusal is held back, \
             for {} ms at first and up to 1 s, until a minute passes without one | | \
             `unknown-key`, later |",
            first_guess_delay.as_millis()
        ),
    ] {
        assert!(readme.contains(&row), "not in README: {row}");
    }
}
