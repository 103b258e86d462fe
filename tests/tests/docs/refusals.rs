//! What the tables of codes and limits say, compared with the program.

use super::read;
use keyhole::{
    Code, Key,
    limits::{DEFAULT_MAX_BYTES, Limits, MAX_MAP_BYTES, MAX_MAX_BYTES},
};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn the_table_of_codes_has_every_code_once_and_no_other() {
    let page = read("docs/refusals.md");
    let listed: Vec<&str> = page
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
        abandoned,
        memory_bytes,
        handles,
        host_call_bytes,
        tables,
        table_elements,
        // A limit of what components are made of, which users do not reach.
        instances: _,
        // When a call gives up its permit only affects other calls.
        slow_after: _,
        for_one_file,
        waiting_for_one_file,
        hung_after,
        free_guesses,
        guess_every,
        waiting_guesses,
    } = Limits::default();
    let size = |bytes: u64| match bytes % (1 << 20) {
        0 => format!("{} MiB", bytes >> 20),
        _ => format!("{} KiB", bytes >> 10),
    };
    let seconds = deadline.as_secs();
    assert_eq!((hung_after, guess_every), (2 * SECOND, SECOND));
    // "At most four threads", "three such files leave four threads".
    assert_eq!((for_one_file, running + abandoned), (4, 3 * 4 + 4));
    let page = read("docs/refusals.md");
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
        format!(
            "| calls for one key, and for one file, that run at once | {for_one_file} | | they wait |"
        ),
        format!(
            "| calls that wait for one key | {waiting_for_one_file}, and none behind one that has \
             run for 2 s | | `busy` |"
        ),
        format!(
            "| threads, those that are stuck in the kernel among them | {} | | `busy` |",
            running + abandoned
        ),
        format!(
            "| the guest's memory | {} | | `internal` |",
            size(memory_bytes as u64)
        ),
        format!("| the guest's handles | {handles} | | `internal` |"),
        format!("| the guest's tables | {tables} of {table_elements} elements | | `internal` |"),
        format!(
            "| bytes in one call to the host, or in one part of the answer | the file's limit + {} | | \
             `internal` |",
            size(host_call_bytes as u64)
        ),
        format!(
            "| wrong keys that are looked up, of fewer than {} characters or fewer than {} \
             different ones | {free_guesses} at once, then one a second | | {waiting_guesses} wait, \
             for {seconds} s at most; then `busy` |",
            Key::STRONG_LEN,
            Key::STRONG_CHARS
        ),
    ] {
        assert!(page.contains(&row), "not in docs/refusals.md: {row}");
    }
}
