//! What the program is made of. Only a release knows its size; but most of it is its
//! crates.

use crate::limits::CRATES;
use std::{collections::BTreeSet, env, process::Command};

#[test]
fn the_program_is_made_of_few_crates() {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let tree = Command::new(cargo)
        .args(["tree", "--locked", "--offline", "--package", "keyhole"])
        .args(["--edges", "normal,no-proc-macro", "--prefix", "none"])
        .args(["--format", "{p}"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(tree.status.success(), "{tree:?}");
    let tree = String::from_utf8(tree.stdout).unwrap();
    // A name and a version; the rest of a line is a place or a mark.
    let crates: BTreeSet<_> = tree
        .lines()
        .filter_map(|line| line.split(" (").next())
        .collect();
    println!("{}", crates.len());
    assert!(crates.len() > 50, "{tree}");
    assert!(crates.len() <= CRATES, "{tree}");
}
