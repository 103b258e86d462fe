//! What the page of codes and limits says, compared with the program.

use super::{is_committed, read};
use keyhole_core::{
    AgentName, Key, Refusal,
    limits::{DEFAULT_MAX_BYTES, Limits, MAX_MAP_BYTES, MAX_MAX_BYTES},
};

/// Each section begins with what the program says; what follows is only on the page.
#[test]
fn each_code_has_a_section_with_what_the_program_says() {
    let page = read("docs/refusals.md");
    let (start, rest) = page.split_once("### ").unwrap();
    let (sections, end) = rest.split_once("## Limits\n").unwrap();
    let sections = Refusal::ALL.map(|code| {
        let heading = format!("`{}`\n\n", code.as_str());
        let found = sections
            .split("### ")
            .find_map(|one| one.strip_prefix(&heading));
        let more = found.and_then(|text| text.split_once("\n\n"));
        let more = more.map_or("", |(_, more)| more);
        format!("### {heading}{}\n\n{more}", code.remedy())
    });
    let made = [start, &sections.concat(), "## Limits\n", end];
    is_committed("docs/refusals.md", &made.concat());
}

#[test]
fn its_limits_are_those_of_the_program() {
    let Limits {
        deadline,
        running,
        waiting,
        handles,
        host_call_bytes,
    } = Limits::default();
    let size = |bytes: u64| match bytes % (1 << 20) {
        0 => format!("{} MiB", bytes >> 20),
        _ => format!("{} KiB", bytes >> 10),
    };
    let seconds = deadline.as_secs();
    let (default, most) = (size(DEFAULT_MAX_BYTES), size(MAX_MAX_BYTES));
    let (map, memory) = (size(MAX_MAP_BYTES), size(keyhole_engine::MAX_MEMORY as u64));
    let (tables, table_elements) = (keyhole_engine::MAX_TABLES, keyhole_engine::MAX_ELEMENTS);
    let host_call = size(host_call_bytes as u64);
    let (key, name) = (Key::MAX_LEN, AgentName::MAX_CHARS);
    let rows = format!(
        "\
| size of a file | {default} | `max_bytes` in the map, up to {most} | `too-large` |
| size of the map | {map} | | `map-invalid` |
| time of a call, computing and blocked reads alike | {seconds} s | | `timed-out` |
| a key | {key} characters | | `unknown-key`; in the map `map-invalid` |
| an agent's name | {name} characters | | in the map `map-invalid` |
| calls that run at once, those that hang in the kernel among them | {running} | | more calls \
wait; if all {running} hang, the code is `timed-out` |
| calls that wait | {waiting}, for {seconds} s at most | | `busy` |
| the guest's memory | {memory} | | `internal` |
| the guest's handles | {handles} | | `internal` |
| the guest's tables | {tables} of {table_elements} elements | | `internal` |
| bytes in one call to the host | the file's limit + {host_call} | | `internal` |"
    );
    let page = read("docs/refusals.md");
    for row in rows.lines() {
        assert!(page.contains(row), "not in docs/refusals.md: {row}");
    }
}
