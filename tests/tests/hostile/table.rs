//! attacks.md: every attack, and what it got. The attack's own test asserts that.

use super::guest::{reads, resources, writes};
use super::{imports, map, names, shapes, swaps, tree};
use crate::docs::is_committed;

const HEAD: &str = "\
# Attacks, and what came of them

Written from the tests of `tests/tests/hostile/`: each line is a test of that name, which
fails if it is not what happens. `./x bless` writes this page again. After each attack, the
next honest call was served: the tests assert that too.
";

/// Attacks of one kind, under a heading: the name of each, what it does, and what it gets.
pub(super) type Section = (&'static str, &'static [[&'static str; 3]]);

const SECTIONS: [Section; 9] = [
    ("A guest that wants to read", reads::ATTACKS),
    ("A guest that wants to write", writes::ATTACKS),
    ("A guest that wants to exhaust the host", resources::ATTACKS),
    ("A component that breaks the rules", shapes::ATTACKS),
    (
        "A component that imports what is not there",
        imports::ATTACKS,
    ),
    tree::SECTION,
    names::SECTION,
    swaps::SECTION,
    map::SECTION,
];

#[test]
fn the_table_lists_every_attack_and_nothing_else() {
    let mut text = HEAD.to_owned();
    for (heading, attacks) in SECTIONS {
        text += &format!("\n## {heading}\n\n| attack | it | it got |\n|---|---|---|\n");
        for [name, about, got] in attacks {
            text += &format!("| `{name}` | {about} | {got} |\n");
        }
    }
    is_committed("tests/tests/hostile/attacks.md", &text);
}
