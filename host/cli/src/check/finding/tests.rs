#![allow(clippy::disallowed_methods, reason = "the page that the table makes")]

use super::*;
use std::{collections::BTreeSet, env, fs};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/check.md");

const HEAD: &str = "\
# What `keyhole check` finds

`check` loads each file of the map as a server would. For each entry it says `ok`, or the [code](refusals.md) with which a call would be refused. Beside that, it names what this page lists.

In JSON (`keyhole check --json`), each member of `warnings` has such an `id`, a `severity`, the `line` of the map (`null` if it is about no one entry) and a `message`. An id keeps its meaning. A message may be reworded.

An error makes `check` end with 1, and so does an entry that would not be served; if the plugin asks, also its own agent without a file. A warning changes no exit code.
";

/// The page as the table makes it.
fn page() -> String {
    let mut page = format!(
        "{HEAD}\n## The map and its files\n\n| id | severity | what it means |\n|---|---|---|\n"
    );
    for (id, severity, meaning) in Finding::TABLE {
        if id == "program-gone" {
            page += "\n## Claude Code\n\n| id | severity | what it means |\n|---|---|---|\n";
        }
        page += &format!("| `{id}` | {} | {meaning} |\n", severity.as_str());
    }
    page += "\n## Claude Code's settings\n\nOne of these is an error if it stops the plugin's agent or an agent with a server of ours. It is a warning if it stops only rules, or if something cannot be read. Else it is not told.\n\n| id | what it means |\n|---|---|\n";
    for (id, meaning) in Fault::MEANINGS {
        page += &format!("| `{id}` | {meaning} |\n");
    }
    page
}

#[test]
fn the_page_has_each_finding() {
    if env::var_os("KEYHOLE_BLESS").is_some() {
        fs::write(PAGE, page()).unwrap();
    }
    let committed = fs::read_to_string(PAGE).unwrap();
    assert!(
        committed == page(),
        "docs/check.md is not as the table makes it: ./x bless"
    );
}

#[test]
fn no_two_findings_have_one_id() {
    let own = Finding::TABLE.iter().map(|(id, ..)| *id);
    let ids: Vec<_> = own
        .chain(Fault::MEANINGS.iter().map(|(id, _)| *id))
        .collect();
    let different: BTreeSet<_> = ids.iter().collect();
    assert_eq!(different.len(), ids.len());
}
